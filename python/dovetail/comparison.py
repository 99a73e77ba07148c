"""Comparing targets and machines on models."""

from __future__ import annotations

import ctypes
from typing import Any, List, Mapping, Optional, Sequence, Union

from . import _call
from ._library import lib
from ._prototypes import dvt_compare_options
from ._work import LongCall, Progress
from .compiler import TargetsLike, compile_options
from .errors import bad_argument
from .hardware import HardwareLike, hardware_text
from .model import ModelLike, models_of
from .report import Report
from .session import named_tensors
from .tensors import ArrayLike


def compare(
    models: Union[ModelLike, Sequence[ModelLike]],
    targets: TargetsLike = "accel,cpu",
    hardware: Union[None, HardwareLike, Sequence[HardwareLike]] = None,
    *,
    inputs: Mapping[str, ArrayLike] = {},
    seed: Optional[int] = None,
    repeat: Optional[int] = None,
    copy: bool = False,
    progress: Progress = None,
    **options: Any,
) -> Report:
    """Compares latency, energy, memory and results of models on targets and hardware. Needs the compiler.

    >>> dovetail.compare("digits_int8.onnx", "accel,cpu", ["1x16x16-ext", "1x8x8"])

    models: a model, or a list of them. targets: a row each, "accel,cpu,cuda".
    hardware: the accelerator, or a list: a row for each; None: "1x16x16".
    inputs: all inputs of the models; none: random values of `seed`, of which None is 1.
    repeat: timed runs on this machine; None: for about two seconds.
    options: those of `compile`, for example `threads`, `shapes`, `cpu`, `records`.

    Returns what `dovetail compare --json` prints (docs/schema/compare.json, docs/howto/comparing.md); a notebook shows
    it as the kit's page. A target that does not run on this machine has a row that says why. Raises InputError for
    models and options that do not compile. Ctrl-C stops it.
    """
    held = models_of(models)
    if not held:
        raise bad_argument("compare: models", "the list is empty", "give a model")
    machines: List[Any] = list(hardware) if isinstance(hardware, (list, tuple)) else [hardware]
    texts = [hardware_text(each, "compare: hardware") for each in machines]
    call = LongCall("compare", progress)
    compiling, _ = compile_options("compare", call, targets, **options)
    rows = named_tensors(inputs, "compare: inputs", copy=copy)
    comparing = _call.options(
        dvt_compare_options,
        "compare",
        hardware=[each.decode(errors="surrogateescape") for each in texts if each is not None],
        inputs=rows if len(rows) else None,
        input_count=len(rows),
        seed=_call.at_least_one(seed, "compare: seed"),
        repeat=_call.at_least_one(repeat, "compare: repeat"),
    )
    handles = (ctypes.c_void_p * len(held))(*(each._handle._as_parameter_ for each in held))
    out = ctypes.c_void_p()
    call.run(lib.dvt_compare, handles, len(held), compiling, comparing, ctypes.byref(out))
    return Report(_call.taken_json(out))
