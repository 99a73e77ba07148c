"""Compiling."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _call
from ._library import lib
from ._prototypes import dvt_compile_options
from .bundle import Bundle
from .model import Model, ModelLike

Extents = Union[int, Sequence[int]]
"""The value of a symbolic extent, or the shape of an input."""
Shapes = Union[None, Mapping[str, Union[Extents, List[Extents]]], Sequence[str]]
"""{"batch": 4, "mask": (1, 16)}, with lists for several programs; or ["batch=4", "mask=1x16"]."""


def targets() -> List[Dict[str, Any]]:
    """The targets of the compiler: "name", "description", "available", and "missing", what an unavailable one lacks."""
    return list(_call.json_of(lib.dvt_targets))


def engines() -> List[Dict[str, Any]]:
    """The engines that run the accelerator's programs: "name", "description", "available", "has_clock", "missing"."""
    return list(_call.json_of(lib.dvt_engines))


def shape_texts(shapes: Shapes) -> Optional[Sequence[str]]:
    """{"batch": 4, "mask": (1, 16)} as ["batch=4", "mask=1x16"]; a list of several makes several programs."""
    if not isinstance(shapes, Mapping):
        return shapes
    lines: List[str] = []
    for name, value in shapes.items():
        for each in value if isinstance(value, list) else [value]:
            extents = [each] if isinstance(each, int) else each
            lines.append(f"{name}={'x'.join(map(str, extents))}")
    return lines


def compile(
    model: ModelLike,
    targets: Union[str, Sequence[str]],
    hardware: Any = None,
    *,
    memory: Optional[str] = None,
    clock_mhz: Optional[float] = None,
    accelerators: Optional[int] = None,
    cpu: Optional[str] = None,
    gpu: Optional[str] = None,
    level: str = "default",
    offload: str = "possible",
    strict: bool = False,
    tf32: bool = False,
    check_bounds: bool = False,
    all_tensors: bool = False,
    threads: int = 0,
    records: Optional[_call.PathLike] = None,
    counted_candidates: Optional[int] = None,
    loop_limit: Optional[int] = None,
    place: Union[None, Mapping[str, str], Sequence[str]] = None,
    shapes: Shapes = None,
    decide: Union[None, Mapping[str, Any], Sequence[str]] = None,
    with_passes: Sequence[str] = (),
    without_passes: Sequence[str] = (),
) -> Bundle:
    """Compiles a model.

    >>> bundle = dovetail.compile("digits_int8.onnx", "accel,cpu", "1x16x16-ext")

    model: a path, bytes, an onnx.ModelProto or a Model.
    targets: in order of preference, "accel,cpu" or ["accel", "cpu"] (`dovetail.targets()`).
    hardware: the accelerator: a name, a JSON file, "NAME,key=value,...", or a Hardware; None: "1x16x16".
    memory, clock_mhz, accelerators: of the accelerator's system; None: the hardware's.
    cpu: the class of processor; None: "native". gpu: GPU architectures.
    level: "needed" (-O 0: only what running needs), "exact" (-O 1: what keeps every bit), "tolerant" (-O 2, the
        default: what stays within the operators' tolerance), "fast" (-O 3: what trades accuracy for speed).
    offload: "possible" (a region leaves later targets unless its borders alone cost more than it costs there),
        "always", "cost" (only if it saves more than its borders cost).
    strict: refuse nodes that no listed target supports. tf32: tensor cores may round the factors of float32 products.
    check_bounds: kernels check every address. all_tensors: every operation's result is a tensor, for `Session.check`.
    threads: threads that will run the kernels, which select records; 0: one per processor.
    records: the database of `dovetail.tune`.
    counted_candidates: schedules of each layer whose cycles are counted.
    place: targets of nodes, {"conv1": "cpu"}. decide: decisions of schedules, {"NAME": value}.
    shapes: symbolic extents and shapes of inputs, {"batch": 1, "x": (1, 3, 224, 224)}; a list of them, {"batch": [1,
        8]}, makes several programs.
    with_passes, without_passes: graph passes to add and to leave out.

    Returns the bundle; its machine code may run in this process. Raises InputError for a model or option that cannot
    be compiled, with every diagnostic.
    """
    model = Model(model)
    options = _call.options(
        dvt_compile_options,
        "compile",
        targets=targets if isinstance(targets, str) else ",".join(targets),
        hardware=None if hardware is None else str(hardware),
        memory=memory,
        clock_mhz=clock_mhz,
        accelerators=accelerators,
        cpu=cpu,
        gpu=gpu,
        level=_call.enumeration("dvt_level", level, "compile: level"),
        offload=_call.enumeration("dvt_offload", offload, "compile: offload"),
        strict=strict,
        tf32=tf32,
        check_bounds=check_bounds,
        all_tensors=all_tensors,
        threads=threads,
        records=None if records is None else _call.path_text(records, "compile: records"),
        counted_candidates=counted_candidates,
        loop_limit=loop_limit,
        place=_call.key_values(place, "compile: place"),
        shapes=shape_texts(shapes),
        decide=_call.key_values(decide, "compile: decide"),
        with_passes=with_passes,
        without_passes=without_passes,
    )
    out, report = ctypes.c_void_p(), ctypes.c_void_p()
    _call.check(lib.dvt_compile(model._handle.pointer, options, ctypes.byref(out), ctypes.byref(report)))
    return Bundle(_call.Handle(lib.dvt_bundle_free, out), _call.taken_json(report))
