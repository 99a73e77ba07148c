"""What the kit has: models to try, operators, the instruction set, this machine, the contents of files."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, Dict, List, Optional

from . import _call
from ._library import lib
from ._prototypes import dvt_zoo_options
from ._work import LongCall, Progress
from .errors import Diagnostic, InputError
from .hardware import HardwareLike, hardware_text
from .model import Model
from .report import Report


def zoo() -> List[Dict[str, Any]]:
    """The networks that `zoo_model` makes: "name", "summary", "parameters", "macs", and the extents "image" and
    "sequence" that may be chosen, with "standard", "least" and "greatest" (null: none). Needs the compiler."""
    return list(_call.json_of(lib.dvt_zoo))


def examples() -> Path:
    """The folder of the kit's examples: `digits` (networks and images), `first_week`, `explore` (spaces), `assembly`.

    >>> dovetail.Model(dovetail.examples() / "digits/digits_float.onnx")

    Raises InputError where the kit was installed without them.
    """
    for folder in Path(lib.path).resolve().parents:
        path = folder / "share" / "dovetail" / "examples"
        if path.is_dir():
            return path
    raise InputError([Diagnostic("cannot find the examples", lib.path, "no share/dovetail/examples is above the library",
                                 "install dovetail-kit, or the kit's package")])


def zoo_model(
    name: str,
    *,
    batch: Optional[int] = None,
    image: Optional[int] = None,
    sequence: Optional[int] = None,
    seed: Optional[int] = None,
    int8: bool = False,
    calibration: Optional[str] = None,
    samples: Optional[int] = None,
    progress: Progress = None,
) -> Model:
    """Makes a network of the zoo. Needs the compiler.

    >>> dovetail.compile(dovetail.zoo_model("resnet8", int8=True), "accel,cpu")

    name: one of `zoo()`. batch, image, sequence: extents; None: the standard.
    seed: of the weights, which are pseudo-random and the same everywhere; None: 1.
    int8: quantize it in QDQ form, on seeded samples. calibration: as of `quantize`. samples: None: 8.

    Raises InputError for unknown names and extents out of range. Ctrl-C stops it.
    """
    call = LongCall("zoo_model", progress)
    options = _call.options(
        dvt_zoo_options,
        "zoo_model",
        batch=_call.at_least_one(batch, "zoo_model: batch"),
        image=_call.at_least_one(image, "zoo_model: image"),
        sequence=_call.at_least_one(sequence, "zoo_model: sequence"),
        seed=_call.at_least_one(seed, "zoo_model: seed"),
        int8=int8,
        calibration=calibration,
        samples=_call.at_least_one(samples, "zoo_model: samples"),
        callbacks=ctypes.pointer(call.callbacks),
    )
    out = ctypes.c_void_p()
    call.run(lib.dvt_zoo_model, _call.text(name, "zoo_model: name"), options, ctypes.byref(out), None)
    return Model(_call.Handle(lib.dvt_model_free, out))


def inspect(path: _call.PathLike, *, hardware: Optional[HardwareLike] = None) -> Report:
    """What a file is: a bundle, model, array, hardware, report, trace, database of records, assembly or raw program.
    Needs the compiler.

    hardware: for raw programs.

    Returns what `dovetail inspect --json` prints (docs/schema/inspect.json). Raises InputError for unknown and damaged
    files.
    """
    config = hardware_text(hardware, "inspect: hardware")
    return Report(_call.json_of(lib.dvt_inspect, _call.path_text(path, "inspect: path"), config))


def operators() -> Report:
    """The supported operators, by name: "versions", "inputs" with their types, "attributes", and "rows", what each
    target takes; and "every_operator_on", the targets that take all (docs/schema/operators.json). Needs the compiler.
    """
    return Report(_call.json_of(lib.dvt_operators))


def doctor() -> Report:
    """What this build can do on this machine: "engines", "targets", "hardware", "processor", "gpu", "mpi", "versions",
    and "missing_packages" with the line that installs them (docs/schema/doctor.json). Needs the compiler."""
    return Report(_call.json_of(lib.dvt_doctor))


def isa(hardware: Optional[HardwareLike] = None) -> Report:
    """The instruction set of a hardware: encodings, registers, memories and timing (docs/schema/isa.json). Needs the
    compiler.

    hardware: None: "1x16x16".
    """
    return Report(_call.json_of(lib.dvt_isa, hardware_text(hardware, "isa: hardware")))
