"""Compiling."""

from __future__ import annotations

import ctypes
import warnings
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _call
from ._library import lib
from ._prototypes import dvt_compile_options
from ._suggest import caller_level
from ._work import LongCall, Progress
from .bundle import Bundle
from .errors import Error, PlacementWarning
from .hardware import HardwareLike, hardware_text
from .model import Model, ModelLike
from .own_target import Target
from .shapes import Shapes, shape_texts

TargetsLike = Union[str, Sequence[Union[str, Target]]]
"""Targets in order of preference: "accel,cpu", ["accel", "cpu"], or with the caller's own."""
KeyValues = Union[None, Mapping[str, Any], Sequence[str]]
"""{"conv1": "cpu"} or ["conv1=cpu"]."""


_LEVELS: Dict[Any, str] = {0: "needed", 1: "exact", 2: "tolerant", 3: "fast"}  # as of -O


def targets() -> List[Dict[str, Any]]:
    """The targets of the compiler: "name", "description", "available", and "missing", what an unavailable one lacks."""
    return list(_call.json_of(lib.dvt_targets))


def engines() -> List[Dict[str, Any]]:
    """The engines that run the accelerator's programs: "name", "description", "available", "has_clock", "missing".
    Engine "rtl" also has "models", the named hardware whose RTL model is built; without any it is not available."""
    return list(_call.json_of(lib.dvt_engines))


def peak() -> Dict[str, Any]:
    """The peak of one core of this processor, measured: "float32" and "int8", each with "gop_per_s", billions of
    operations a second, a multiply-add being two, and "instruction". `Session.profile` has the operations of steps."""
    return dict(_call.json_of(lib.dvt_peak))


def compile_options(
    where: str,
    call: LongCall,
    targets: TargetsLike,
    hardware: Optional[HardwareLike] = None,
    *,
    memory: Optional[str] = None,
    clock_mhz: Optional[float] = None,
    accelerators: Optional[int] = None,
    cpu: Optional[str] = None,
    gpu: Optional[str] = None,
    level: Union[str, int] = "default",
    offload: str = "possible",
    strict: bool = False,
    tf32: bool = False,
    check_bounds: bool = False,
    all_tensors: bool = False,
    threads: int = 0,
    records: Optional[_call.PathLike] = None,
    counted_candidates: Optional[int] = None,
    loop_limit: Optional[int] = None,
    place: KeyValues = None,
    shapes: Shapes = None,
    states: KeyValues = None,
    decide: KeyValues = None,
    with_passes: Sequence[str] = (),
    without_passes: Sequence[str] = (),
) -> Tuple[dvt_compile_options, List[Target]]:
    """The options of `compile`, for the library, and the caller's targets among them."""
    several: Sequence[Union[str, Target]] = targets.split(",") if isinstance(targets, str) else targets
    if not isinstance(several, (list, tuple)) or not all(isinstance(each, (str, Target)) for each in several):
        raise TypeError(f"{where}: targets must be str, or a list of str and Target, not {targets!r}")
    own = [each for each in several if isinstance(each, Target)]
    options = _call.options(
        dvt_compile_options,
        where,
        targets=",".join(each.name if isinstance(each, Target) else each for each in several),
        hardware=hardware_text(hardware, f"{where}: hardware"),
        memory=memory,
        clock_mhz=_call.above_zero(clock_mhz, f"{where}: clock_mhz"),
        accelerators=_call.at_least_one(accelerators, f"{where}: accelerators"),
        cpu=cpu,
        gpu=gpu,
        level=_call.enumeration("dvt_level", _LEVELS.get(level, str(level)), f"{where}: level"),
        offload=_call.enumeration("dvt_offload", offload, f"{where}: offload"),
        strict=strict,
        tf32=tf32,
        check_bounds=check_bounds,
        all_tensors=all_tensors,
        threads=threads,
        records=None if records is None else _call.path_text(records, f"{where}: records"),
        counted_candidates=_call.at_least_one(counted_candidates, f"{where}: counted_candidates"),
        loop_limit=_call.at_least_one(loop_limit, f"{where}: loop_limit"),
        place=_call.key_values(place, f"{where}: place"),
        shapes=shape_texts(shapes),
        states=_call.key_values(states, f"{where}: states"),
        decide=_call.key_values(decide, f"{where}: decide"),
        with_passes=with_passes,
        without_passes=without_passes,
        callbacks=ctypes.pointer(call.callbacks),
        **_call.own_targets(own),
    )
    return options, own


@contextmanager
def own_errors(own: Sequence[Target]) -> Iterator[None]:
    """Raises what a method of the caller's targets raised in the block, instead of the error that it caused."""
    error: Optional[Error] = None
    try:
        yield
    except Error as failed:
        error = failed
    for target in own:
        target.raise_cause(error)
    if error is not None:
        raise error


def compile(
    model: ModelLike,
    targets: TargetsLike,
    hardware: Optional[HardwareLike] = None,
    *,
    memory: Optional[str] = None,
    clock_mhz: Optional[float] = None,
    accelerators: Optional[int] = None,
    cpu: Optional[str] = None,
    gpu: Optional[str] = None,
    level: Union[str, int] = "default",
    offload: str = "possible",
    strict: bool = False,
    tf32: bool = False,
    check_bounds: bool = False,
    all_tensors: bool = False,
    threads: int = 0,
    records: Optional[_call.PathLike] = None,
    counted_candidates: Optional[int] = None,
    loop_limit: Optional[int] = None,
    place: KeyValues = None,
    shapes: Shapes = None,
    states: KeyValues = None,
    decide: KeyValues = None,
    with_passes: Sequence[str] = (),
    without_passes: Sequence[str] = (),
    progress: Progress = None,
) -> Bundle:
    """Compiles a model.

    >>> bundle = dovetail.compile("digits_int8.onnx", "accel,cpu", "1x16x16-ext")

    model: a path, bytes, an onnx.ModelProto or a Model.
    targets: in order of preference, "accel,cpu" or ["accel", "cpu"] (`dovetail.targets()`); a list may have the
        caller's own, each a Target. What none of them supports runs on the CPU, unless `strict`.
    hardware: the accelerator: a name, a JSON file, "NAME,key=value,...", or a Hardware; None: "1x16x16".
    memory, clock_mhz, accelerators: of the accelerator's system; None: the hardware's.
    cpu: the class of processor; None: "native". gpu: GPU architectures.
    level: "needed" (0: only what running needs), "exact" (1: what keeps every bit), "tolerant" (2, the
        default: what stays within the operators' tolerance), "fast" (3: what trades accuracy for speed).
    offload: "possible" (a region leaves later targets unless its borders alone cost more than it costs there),
        "always", "cost" (only if it saves more than its borders cost).
    strict: refuse nodes that no listed target supports. tf32: tensor cores may round the factors of float32 products.
    check_bounds: kernels check every address. all_tensors: every operation's result is a tensor, for `Session.check`.
    threads: threads that will run the kernels, which select records; 0: one per processor.
    records: the database of `dovetail.tune`.
    counted_candidates: schedules of each layer whose cycles are counted.
    place: targets of nodes, {"conv1": "cpu"}.
    decide: decisions of schedules, {"tile_x": 2}, which `dovetail.decisions` lists. Each holds for every layer whose
        schedule has a decision of this name and value; `tune` decides for each layer.
    shapes: symbolic extents and shapes of inputs, {"batch": 1, "x": (1, 3, 224, 224)}; a list of them, {"batch": [1,
        8]}, makes several programs.
    states: inputs, each with the output that is its value in the next run of a session, {"past": "present"}, or
        {"past.*": "present.*"} for all of these (docs/howto/states.md).
    with_passes, without_passes: graph passes to add and to leave out.
    progress: None: a bar of tqdm, where tqdm is and someone watches; False: nothing; or a function (what, done, all).

    Returns the bundle; its machine code may run in this process. Raises InputError for a model or option that cannot
    be compiled, with every diagnostic. Ctrl-C stops it. Warns with a PlacementWarning where the first target is the
    accelerator and no multiplication runs on it, as of a float model; the report of the bundle then has
    "left_accelerator", with "why" and "remedy".
    """
    call = LongCall("compile", progress)
    options, own = compile_options(
        "compile",
        call,
        targets,
        hardware,
        memory=memory,
        clock_mhz=clock_mhz,
        accelerators=accelerators,
        cpu=cpu,
        gpu=gpu,
        level=level,
        offload=offload,
        strict=strict,
        tf32=tf32,
        check_bounds=check_bounds,
        all_tensors=all_tensors,
        threads=threads,
        records=records,
        counted_candidates=counted_candidates,
        loop_limit=loop_limit,
        place=place,
        shapes=shapes,
        states=states,
        decide=decide,
        with_passes=with_passes,
        without_passes=without_passes,
    )
    out, report = ctypes.c_void_p(), ctypes.c_void_p()
    with own_errors(own):
        call.run(lib.dvt_compile, Model(model)._handle, options, ctypes.byref(out), ctypes.byref(report))
    bundle = Bundle(_call.Handle(lib.dvt_bundle_free, out), _call.taken_json(report), own)
    left = bundle.report.get("left_accelerator")
    if left and not place and options.targets.startswith(b"accel"):
        text = f"no multiplication runs on the accelerator: {left['why']} ({left['nodes']} of {left['of']} nodes)"
        warnings.warn(f"{text}; remedy: {left['remedy']}", PlacementWarning, stacklevel=caller_level())
    return bundle


class Decision(NamedTuple):
    """A decision of a schedule, which `compile(decide={name: value})` makes.

    kernel: the layer or kernel whose schedule makes it.
    name: its name, for example "tile_x" (docs/reference/schedules.md). Several kernels may have decisions of this name.
    values: all values, as texts; some may not fit other decisions.
    chosen: the value that the compiler chose.
    """

    kernel: str
    name: str
    values: Tuple[str, ...]
    chosen: str


def _values(rule: str, space: str) -> Tuple[str, ...]:
    """The values of a decision's space (docs/reference/schedules.md)."""
    if rule == "either":
        return tuple(space.split("|"))
    if rule == "among":
        return tuple(space.split(","))
    extent, parts = map(int, space.split(":"))

    def factors(rest: int, count: int) -> Iterator[Tuple[int, ...]]:
        if count == 1:
            yield (rest,)
            return
        for factor in range(rest, 0, -1):
            if rest % factor == 0:
                yield from ((factor, *others) for others in factors(rest // factor, count - 1))

    return tuple(",".join(map(str, each)) for each in factors(extent, parts))


def decisions(
    model: ModelLike,
    targets: TargetsLike,
    hardware: Optional[HardwareLike] = None,
    *,
    progress: Progress = None,
    **options: Any,
) -> List[Decision]:
    """The decisions of the schedules of a model: what `compile(decide={name: value})` may set. Needs the compiler.

    >>> for each in dovetail.decisions("digits_int8.onnx", "accel"):
    ...     print(each.kernel, each.name, each.values, each.chosen)

    model, targets, hardware, options: those of `compile`; with `decide`, what is chosen then.

    Ctrl-C stops it.
    """
    found: List[Decision] = []
    for stage in compile_stages(model, targets, hardware, ["trace"], progress=progress, **options):
        kernel = ""
        for line in stage.text.splitlines():
            words = line.split()
            if line.startswith("# "):
                kernel = words[1]
            elif words[:1] == ["sample"] and "=" in words:
                found.append(Decision(kernel, words[1], _values(words[2], words[3]), words[5]))
    return list(dict.fromkeys(found))


class Stage(NamedTuple):
    """What a stage of the compiler made.

    name: the stage, as `compile_stages(stages=...)` takes it.
    text: what it made: a graph, loop programs, instructions.
    """

    name: str
    text: str

    def __repr__(self) -> str:
        return f"<dovetail.Stage {self.name}: {len(self.text.splitlines())} lines>"


def compile_stages(
    model: ModelLike,
    targets: TargetsLike,
    hardware: Optional[HardwareLike] = None,
    stages: Sequence[str] = ("all",),
    *,
    stop_after: Optional[str] = None,
    progress: Progress = None,
    **options: Any,
) -> List[Stage]:
    """Compiles a model, and returns what the stages of the compiler made, as text.

    >>> print(dovetail.compile_stages("digits_int8.onnx", "accel", stages=["stream"])[0].text)

    model, targets, hardware, options: those of `compile`.
    stages: "all", names of stages, or "passes" and names of graph passes, of which the graph before and after is
        returned: as `dovetail compile --dump` takes them. stop_after: the last stage; None: compile to the end.

    Raises InputError for unknown stages, which lists them. Ctrl-C stops it.
    """
    call = LongCall("compile_stages", progress)
    compiling, own = compile_options("compile_stages", call, targets, hardware, **options)
    names = _call.texts(stages, "compile_stages: stages")
    end = None if stop_after is None else _call.text(stop_after, "compile_stages: stop_after")
    out = ctypes.c_void_p()
    with own_errors(own):
        call.run(lib.dvt_compile_stages, Model(model)._handle, compiling, names, end, ctypes.byref(out))
    return [Stage(row["stage"], row["text"]) for row in _call.taken_json(out)]
