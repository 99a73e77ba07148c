"""Many samples: evaluating a session, and collecting samples for quantizing."""

from __future__ import annotations

import ctypes
import math
from typing import (
    TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sized, Tuple, Union,
)

import numpy as np

from . import _call, show
from ._library import lib
from ._work import Progress, closing, progress_function
from .errors import bad_argument
from .tensors import ArrayLike, Tensor, borrow

if TYPE_CHECKING:
    from .session import Session

Batch = Union[Mapping[str, ArrayLike], Tuple[Mapping[str, ArrayLike], ArrayLike]]
Samples = Union[Mapping[str, ArrayLike], Iterable[Batch]]
"""Arrays by name, with samples along the first axis; or an iterable of such dicts, or of pairs of a dict and labels."""


class Evaluation(NamedTuple):
    """What a session did with many samples.

    samples: their number.
    runs: runs of the bundle, one for each batch.
    seconds: the time of all runs on this machine, which simulates the accelerator.
    cycles: of the accelerator, all runs together; None where the engine counts none.
    top1: samples whose best class is the label; None without labels.
    top5: samples whose label is among the best five; None without labels, or with five classes or fewer.
    outputs: arrays by name, of all samples along the first axis; empty without `keep_outputs`.
    """

    samples: int
    runs: int
    seconds: float
    cycles: Optional[int]
    top1: Optional[int]
    top5: Optional[int]
    outputs: Dict[str, Any]

    @property
    def accuracy(self) -> Optional[float]:
        """The share of samples whose best class is the label, 0 to 1."""
        return None if self.top1 is None else self.top1 / max(1, self.samples)

    def _repr_html_(self) -> str:
        return show.evaluation_html(self)

    def __repr__(self) -> str:
        accuracy = "" if self.top1 is None else f", {self.top1} correct ({self.accuracy:.2%})"
        cycles = "" if self.cycles is None else f", {self.cycles} cycles"
        return f"<dovetail.Evaluation of {self.samples} samples{accuracy}, {self.seconds:.3g} s{cycles}>"


def _rows(value: Any, begin: int, end: int) -> Any:
    """Some rows of an array or Tensor. Shares the memory."""
    return Tensor(value.bits()[begin:end]) if isinstance(value, Tensor) else value[begin:end]


def _by_name(inputs: List[Tuple[str, int]], samples: Any, where: str) -> Mapping[str, Any]:
    """Samples by name. Of a model with one input an array, to which the axis of the samples is added where it lacks.
    `inputs`: names and numbers of axes."""
    if isinstance(samples, Mapping):
        return samples
    if isinstance(samples, (str, bytes)) or not (hasattr(samples, "shape") or isinstance(samples, (list, tuple))):
        return _call.mapping(samples, where)
    if len(inputs) != 1:
        names = ", ".join(name for name, _ in inputs)
        raise bad_argument(where, f"it is one array, and the inputs are {names}", "give a dict of arrays by name")
    (name, axes), array = inputs[0], samples if hasattr(samples, "shape") else np.asarray(samples)
    return {name: array[None] if len(array.shape) + 1 == axes else array}


def _split(session: Session, samples: Mapping[str, ArrayLike], labels: Any, copy: bool) -> Tuple[int, Iterator[Batch]]:
    """The samples in at most 100 parts, between which progress is reported, and their number."""
    shapes = {info.name: info.shape for info in session.bundle.inputs}
    views = {
        name: borrow(value, f"Session.evaluate: samples, {name}", dtype=session._dtypes.get(name), copy=copy)
        for name, value in samples.items()
    }
    arrays = {name: Tensor(view.array) if view.dtype == "bfloat16" else view.array for name, view in views.items()}
    split = [name for name, each in arrays.items() if each.shape[:1] != shapes.get(name, each.shape)[:1]]
    if not split or any(not arrays[name].shape for name in split):
        first = next((each.shape[0] for each in arrays.values() if each.shape), 1)
        return first, iter([(arrays, labels) if labels is not None else arrays])
    counts = {name: arrays[name].shape[0] for name in split}
    if len(set(counts.values())) > 1:
        text = ", ".join(f"{count} of {name}" for name, count in counts.items())
        raise bad_argument("Session.evaluate: samples", f"there are {text}", "give each input the same number")
    count, batch = arrays[split[0]].shape[0], max(1, shapes[split[0]][0])
    if count == 0:
        raise bad_argument(f"Session.evaluate: samples, {split[0]}", "there are none", "give at least one")
    step = batch * max(1, math.ceil(count / batch / 100))

    def parts() -> Iterator[Batch]:
        for begin in range(0, max(1, count), step):
            part = {name: _rows(each, begin, begin + step) if name in split else each for name, each in arrays.items()}
            yield part if labels is None else (part, labels[begin : begin + step])

    return count, parts()


def _joined(parts: List[Any], shape: Tuple[int, ...], batch: int) -> Any:
    """The outputs of all parts, along the axis of the samples."""
    bits = [part.bits() if isinstance(part, Tensor) else part for part in parts]
    if shape[:1] != (batch,):  # one result for each run: of several, along a new axis
        bits = [part if part.ndim > len(shape) else part[np.newaxis] for part in bits]
    if len({part.shape[1:] for part in bits}) > 1:
        raise bad_argument("Session.evaluate: keep_outputs", "the shape of an output depends on values",
                           "run the session on each sample")
    array = np.concatenate(bits)
    return Tensor(array) if isinstance(parts[0], Tensor) else array


def _summary(session: Session, reports: List[Dict[str, Any]], kept: Dict[str, List[Any]]) -> Evaluation:
    """Of the reports of all parts. `kept`: the outputs of each."""
    accuracies = [each["accuracy"] for each in reports if each.get("accuracy")]
    top5 = [each["top5"] for each in accuracies if each["top5"] is not None]
    batch = next((info.shape[0] for info in session.bundle.inputs if info.shape), 1)
    return Evaluation(
        samples=sum(each["samples"] for each in reports),
        runs=sum(each["runs"] for each in reports),
        seconds=sum(each["seconds"] for each in reports),
        cycles=sum(each.get("cycles", 0) for each in reports) or None,
        top1=sum(each["top1"] for each in accuracies) if accuracies else None,
        top5=sum(top5) if top5 else None,
        outputs={
            info.name: _joined(kept[info.name], info.shape, batch)
            for info in session.bundle.outputs
            if info.name in kept
        },
    )


def evaluate(
    session: Session,
    samples: Samples,
    labels: Any,
    output: Optional[str],
    keep_outputs: bool,
    progress: Progress,
    copy: bool,
) -> Evaluation:
    """`Session.evaluate`."""
    from .session import named_tensors, take_tensors

    where = "Session.evaluate"
    if isinstance(labels, Mapping):
        raise bad_argument(f"{where}: labels", "it is a dict", "give evaluate(samples, labels), labels as an array")
    if isinstance(samples, tuple) and len(samples) == 2 and labels is None:
        samples, labels = samples
    labels = None if labels is None else np.asarray(labels)
    inputs = [(info.name, len(info.shape)) for info in session.bundle.inputs]
    if isinstance(samples, np.ndarray) or hasattr(samples, "__dlpack__"):
        samples = _by_name(inputs, samples, f"{where}: samples")
    if isinstance(samples, Mapping):
        what = "samples"
        all, batches = _split(session, samples, labels, copy)
        if labels is not None and labels.shape[:1] != (all,):
            raise bad_argument(f"{where}: labels", f"their shape is {labels.shape}, of {all} samples", "give one each")
    else:
        if isinstance(samples, (str, bytes)) or not isinstance(samples, Iterable):
            _call.mapping(samples, f"{where}: samples")
        if labels is not None:
            raise bad_argument(f"{where}: labels", "the samples are an iterable", "let it yield pairs (dict, labels)")
        what, all, batches = "batches", len(samples) if isinstance(samples, Sized) else 0, iter(samples)
    names = [info.name for info in session.bundle.outputs]
    if output is not None and output not in names:
        raise bad_argument(f"{where}: output", f"there is no output {output!r}", _call.suggestion(output, names))
    scored = None if output is None else _call.text(output, f"{where}: output")
    reports: List[Dict[str, Any]] = []
    kept: Dict[str, List[Any]] = {}
    done = 0
    with closing(progress_function(progress, "evaluate")) as report:
        for batch in batches:
            values, classes = batch if isinstance(batch, (tuple, list)) and len(batch) == 2 else (batch, None)
            if reports and (classes is None) != ("accuracy" not in reports[0] or reports[0]["accuracy"] is None):
                raise bad_argument(f"{where}: labels", "some batches have labels, and others none", "give all of them labels")
            named = _by_name(inputs, values, f"{where}: samples")
            rows = named_tensors(named, f"{where}: samples", session._dtypes, copy)
            known = None if classes is None else borrow(np.atleast_1d(classes), f"{where}: labels", copy=True)
            out, text = ctypes.c_void_p(), ctypes.c_void_p()
            status = session._stoppable(
                lib.dvt_session_evaluate,
                rows,
                len(rows),
                None if known is None else ctypes.byref(known.tensor),
                scored,
                ctypes.byref(out) if keep_outputs else None,
                ctypes.byref(text),
            )
            session._check(status, named)
            reports.append(_call.taken_json(text))
            for name, array in (take_tensors(out) if keep_outputs else {}).items():
                kept.setdefault(name, []).append(array)
            done += reports[-1]["samples"] if what == "samples" else 1
            if report is not None:
                report(what, done, all)
    if not reports:
        raise bad_argument(f"{where}: samples", "there are none", "give at least one")
    return _summary(session, reports, kept)


def collected(inputs: List[Tuple[str, int]], samples: Any, where: str) -> Dict[str, Any]:
    """All samples of an iterable in one array for each input. `inputs`: names and numbers of axes.

    samples: a mapping of arrays, which is returned as it is; or an iterable of such mappings, or, for a model of one
    input, of arrays, each of one sample or a batch of them.
    """
    if isinstance(samples, Mapping):
        if not samples or any(np.shape(value)[:1] == (0,) for value in samples.values()):
            raise bad_argument(where, "there are none", "give at least one")
        return dict(samples)
    if isinstance(samples, (str, bytes)) or not isinstance(samples, Iterable):
        raise bad_argument(where, f"its type is {type(samples).__name__}", "give a dict of arrays, or an iterable of them")
    axes = dict(inputs)
    columns: Dict[str, List[Any]] = {}
    for sample in samples:
        if not isinstance(sample, Mapping):
            if isinstance(sample, (tuple, list)) and len(sample) == 2 and np.shape(sample[0]) != np.shape(sample[1]):
                why = "an item is a pair, as of samples and labels, and labels are not needed"
                raise bad_argument(where, why, "give (x for x, _ in loader)")
            if len(inputs) != 1:
                names = ", ".join(axes)
                raise bad_argument(where, f"a sample is one array, and the inputs are {names}", "yield dicts")
            sample = {inputs[0][0]: sample}
        missing = {name for name, _ in inputs} - sample.keys()
        if missing:
            raise bad_argument(where, f"a sample has no {min(missing)!r}", "give each sample all inputs")
        for name, value in sample.items():
            array = np.asarray(borrow(value, f"{where}, {name}", copy=True).array)
            if array.ndim not in (axes.get(name, array.ndim), axes.get(name, array.ndim) - 1):
                why = f"the shape {array.shape} is neither one sample's nor a batch's: {name} has {axes[name]} axes"
                raise bad_argument(where, why, "yield samples, for example [value] for a single one")
            columns.setdefault(name, []).append(array[np.newaxis] if array.ndim + 1 == axes.get(name) else array)
    if not columns or all(len(each) == 0 for arrays in columns.values() for each in arrays):
        raise bad_argument(where, "there are none", "give at least one")
    for name, arrays in columns.items():
        shapes = {array.shape[1:] for array in arrays}
        if len(shapes) > 1:
            why = f"the samples of {name} have the shapes {', '.join(map(str, sorted(shapes)))}"
            raise bad_argument(where, why, "give samples of one shape")
    return {name: np.concatenate(arrays) for name, arrays in columns.items()}


def measure(
    metric: str, outputs: Mapping[str, ArrayLike], labels: ArrayLike, *, output: Optional[str] = None
) -> Dict[str, float]:
    """Measures outputs against labels. Needs the compiler.

    metric: "accuracy", "iou", "error", "ctc", "map" or "program", with options as in "iou:ignore=255"
        (docs/howto/own-data.md).
    outputs: arrays by name, of all samples along the first axis. labels: what they should be.
    output: the one that is measured; None: the only one.

    Returns the figures by name, for example {"mean_iou": 0.73, "pixel_accuracy": 0.91}. Raises InputError for arrays
    that do not fit the metric.
    """
    from .session import named_tensors

    rows = named_tensors(outputs, "measure: outputs", copy=True)
    view = borrow(labels, "measure: labels", copy=True)
    out = ctypes.c_void_p()
    name = _call.text(output, "measure: output") if output is not None else None
    status = lib.dvt_measure(
        _call.text(metric, "measure: metric"), rows, len(rows), ctypes.byref(view.tensor), name, ctypes.byref(out)
    )
    _call.check(status)
    return dict(_call.taken_json(out)["figures"])
