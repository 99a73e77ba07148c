"""Searches: faster schedules, and better hardware."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import threading
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _call, _fork, show
from ._library import lib
from ._prototypes import dvt_explore_options, dvt_model_samples, dvt_tune_options
from ._work import WAIT_S, LongCall, Progress, log
from .compiler import TargetsLike, compile_options
from .errors import Diagnostic, InputError, ResourceError, WorkError, bad_argument
from .evaluation import collected
from .hardware import Hardware, HardwareLike, hardware as as_hardware, hardware_text
from .model import Model, ModelLike, models_of
from .report import Report
from .session import named_tensors
from .tensors import borrow


def tune(
    model: ModelLike,
    targets: TargetsLike,
    hardware: Optional[HardwareLike] = None,
    *,
    records: _call.PathLike,
    search: Optional[str] = None,
    trials: Optional[int] = None,
    early_stop: Optional[int] = None,
    batch: Optional[int] = None,
    seed: Optional[int] = None,
    seconds: Optional[float] = None,
    progress: Progress = None,
    **options: Any,
) -> Report:
    """Searches faster schedules for the kernels of a model, and records them for `compile(records=...)`.

    model, targets, hardware: as of `compile`, which also has the `options`, for example `threads`, `shapes`, `cpu`.
    records: the database, created if it does not exist.
    search: the search; None: "guided". trials: for each task, on average; None: 64.
    early_stop: end a task without gain in this many trials; None: 128; 0: never.
    batch: trials between two rankings; None: 8. seed: at least 1; None: 1.
    seconds: stop after the batch in which this time ends.

    Returns what `dovetail tune --json` prints (docs/schema/tune.json). Ctrl-C keeps what has been recorded, and the
    same call continues.
    """
    call = LongCall("tune", progress)
    compiling, _ = compile_options("tune", call, targets, hardware, **options)
    tuning = _call.options(
        dvt_tune_options,
        "tune",
        records=_call.path_text(records, "tune: records"),
        search=search,
        trials=_call.at_least_one(trials, "tune: trials"),
        early_stop=-1 if early_stop == 0 else _call.at_least_one(early_stop, "tune: early_stop"),
        batch=_call.at_least_one(batch, "tune: batch"),
        seed=_call.at_least_one(seed, "tune: seed"),
        seconds=_call.above_zero(seconds, "tune: seconds"),
    )
    report = ctypes.c_void_p()
    call.run(lib.dvt_tune, Model(model)._handle, compiling, tuning, ctypes.byref(report))
    return Report(_call.taken_json(report))


class Point(NamedTuple):
    """A design point of a sweep.

    machine: the hardware, as `dovetail.hardware` takes it.
    state: "measured", "pruned" (it cannot be on the front) or "infeasible".
    chosen: the value of each axis of the space.
    values: "latency_ms", "area_mm2", "energy_mj", "power_w", "gates" and so on (docs/schema/point.json); empty if it was
        not measured.
    why: why it was not measured; "" if it was.
    models: cycles, energy and bytes of each model (docs/schema/point.json).
    known: whether an earlier call measured it.
    """

    machine: str
    state: str
    chosen: Dict[str, Any]
    values: Dict[str, float]
    why: str
    models: List[Dict[str, Any]]
    known: bool

    @property
    def hardware(self) -> Hardware:
        """The hardware as a value."""
        return as_hardware(self.machine)

    def row(self) -> Dict[str, Any]:
        """All fields but the models, in one dict."""
        return {"machine": self.machine, "state": self.state, **self.chosen, **self.values, "why": self.why}

    def __repr__(self) -> str:
        values = ", ".join(f"{key} {value:.4g}" for key, value in self.values.items())
        return f"<dovetail.Point {self.machine}: {values or f'{self.state}: {self.why}'}>"


def _point(row: Mapping[str, Any], known: bool) -> Point:
    return Point(
        row["machine"],
        row["state"],
        row["chosen"],
        row.get("values", {}),
        row.get("why", ""),
        row.get("models", []),
        known,
    )


class _Sweep:
    """What the thread of a sweep has found."""

    def __init__(self) -> None:
        self.points: List[Point] = []
        self.changed = threading.Condition()
        self.ended = False
        self.error: Optional[BaseException] = None
        self.report = Report()

    def take(self, _: Any, text: bytes, known: int) -> None:
        """Receives a point."""
        point = _point(_call.read_json(text.decode(errors="replace")), bool(known))
        with self.changed:
            self.points.append(point)
            self.changed.notify_all()

    def run(self, call: LongCall, arguments: Sequence[Any], options: dvt_explore_options, _: Any) -> None:
        """The thread."""
        options.point = _call.function_type(dvt_explore_options, "point")(call.guarded(self.take))
        out = ctypes.c_void_p()
        try:
            call.run(lib.dvt_explore, *arguments, options, ctypes.byref(out))
            self.report = Report(_call.taken_json(out))
            if not any(point.state == "measured" for point in self.points):
                reasons = _call.listed(dict.fromkeys(point.why for point in self.points))
                log.warning("explore: no point of the space is feasible: %s", reasons)
        except BaseException as error:  # it continues where the points are read
            self.error = error
        with self.changed:
            self.ended = True
            self.changed.notify_all()


class Exploration:
    """A sweep of a space of hardware that runs while its points are read. `dovetail.explore` makes it.

    >>> for point in dovetail.explore("model.onnx", "space.json", "sweep"):
    ...     print(point.values["latency_ms"])

    Iterating gives each point when it is finished, also those that an earlier call has put into the folder. Ctrl-C, a
    `break` and the end of a `with` block stop the sweep; its points stay in the folder, and the same call continues.
    """

    def __init__(self, call: LongCall, arguments: Sequence[Any], options: dvt_explore_options, keep: Any) -> None:
        """For this package: users call `dovetail.explore`."""
        self._call, self._sweep = call, _Sweep()
        self._owner = _call.Owner(call.stop)  # a sweep that is dropped stops
        self._generation = _fork.generation
        self._thread = threading.Thread(
            target=self._sweep.run, args=(call, arguments, options, keep), name="dovetail explore", daemon=True
        )
        try:
            self._thread.start()
        except RuntimeError as error:
            hint = "end other threads and processes, or raise the limits (`ulimit -a`)"
            raise ResourceError([Diagnostic("cannot explore", "explore", str(error), hint, "resource")]) from error

    @property
    def points(self) -> List[Point]:
        """The points so far."""
        return self._sweep.points

    def __iter__(self) -> Iterator[Point]:
        sweep, index = self._sweep, 0
        try:
            while True:
                with sweep.changed:
                    while index >= len(sweep.points) and not sweep.ended:
                        self._check_process()
                        sweep.changed.wait(WAIT_S)
                    if index >= len(sweep.points):
                        break
                    point = sweep.points[index]
                index += 1
                yield point
        except BaseException:
            self.stop()
            raise
        if sweep.error is not None:
            raise sweep.error

    def _check_process(self) -> None:
        if self._generation != _fork.generation:
            why = "the sweep runs in the process that this one was forked from"
            hint = "call explore again: it continues"
            raise WorkError([Diagnostic("cannot read points", "explore", why, hint, "work")])

    def wait(self) -> Exploration:
        """Waits for all points. Returns itself."""
        for _ in self:
            pass
        return self

    def stop(self) -> None:
        """Stops the sweep, and returns when it has stopped. Its points stay in the folder."""
        self._call.stop()
        while self._generation == _fork.generation and self._thread.is_alive():
            try:
                self._thread.join(WAIT_S)
            except KeyboardInterrupt:  # it is about to stop
                continue

    def __enter__(self) -> Exploration:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    @property
    def report(self) -> Report:
        """What `dovetail explore --json` prints (docs/schema/explore.json). Waits for all points."""
        return self.wait()._sweep.report

    @property
    def front(self) -> List[Point]:
        """The points that no other point beats. Waits for all points."""
        rows = self.report["points"]
        return [_point(rows[each["point"]], True) for each in self.report["front"]]

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each point: machine, state, the axes, the values, and whether it is on the
        front. Waits for all points."""
        pandas = importlib.import_module("pandas")
        best = {point.machine for point in self.front}
        return pandas.DataFrame([{**point.row(), "on_front": point.machine in best} for point in self.points])

    def save(self, path: _call.PathLike) -> None:
        """Writes the sweep's report: the page, where the name ends in `.html`, else JSON. Waits for all points."""
        self.report.save(path)

    def plot(self, ax: Any = None) -> Any:
        """Plots the points and their front across the first two objectives, the third as color. Needs matplotlib.
        Waits for all points. Returns the matplotlib.axes.Axes."""
        return self.report.plot(ax)

    def _repr_html_(self) -> str:
        return show.exploration_html(self)

    def __repr__(self) -> str:
        state = "stopped" if self._sweep.error is not None else "ended" if self._sweep.ended else "running"
        measured = sum(point.state == "measured" for point in self.points)
        front = f", {len(self.front)} of them on the front" if state == "ended" and measured else ""
        return f"<dovetail.Exploration, {state}: {len(self.points)} points, {measured} measured{front}>"


def _json_value(value: Any) -> Any:
    """A value of JSON for hardware, arrays and numbers of NumPy, and ranges."""
    if isinstance(value, Hardware):
        return str(value)
    if isinstance(value, range):
        return list(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise bad_argument("explore: space", f"JSON has no {type(value).__name__}", "use numbers, texts, lists and dicts")


def _space_text(space: Union[Mapping[str, Any], _call.PathLike]) -> str:
    if isinstance(space, Mapping):
        return json.dumps(space, default=_json_value)
    if isinstance(space, str) and space.lstrip().startswith("{"):
        return space
    try:
        with open(space, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        hint = "give a dict, JSON text, or the path of a JSON file"
        why = str(error.strerror) if isinstance(error, OSError) else "it is not text"
        raise InputError([Diagnostic("cannot read the space", os.fspath(space), why, hint)]) from error


def _space_file(space: Union[Mapping[str, Any], _call.PathLike]) -> Optional[bytes]:
    if isinstance(space, Mapping) or isinstance(space, str) and space.lstrip().startswith("{"):
        return None
    return _call.path_text(space, "explore: space")


def _tensors(model: Model, samples: Any, where: str) -> Any:
    return named_tensors(collected(model.input_axes(), samples, where), where, copy=True)


def _samples(models: Sequence[Model], samples: Any, tests: Any, labels: Any) -> Any:
    """An array of dvt_model_samples, which keeps its tensors."""
    if samples is None:
        if tests is not None or labels is not None:
            raise bad_argument("explore: samples", "there are none, but tests or labels", "give samples of each model")
        return None
    columns = [[each] if len(models) == 1 else list(each) for each in (samples, tests, labels) if each is not None]
    rows: Any = (dvt_model_samples * len(models))()
    rows.keep = []
    if any(len(column) != len(models) for column in columns):
        raise bad_argument("explore: samples", f"they are not lists of {len(models)}", "give a row for each model")
    for index, (row, model) in enumerate(zip(rows, models)):
        each = _tensors(model, columns[0][index], "explore: samples")
        row.samples, row.sample_count = ctypes.cast(each, type(row.samples)), len(each)
        rows.keep.append(each)
        if tests is not None:
            each = _tensors(model, columns[1][index], "explore: tests")
            row.tests, row.test_count = ctypes.cast(each, type(row.tests)), len(each)
            rows.keep.append(each)
        if labels is not None:
            view = borrow(columns[-1][index], "explore: labels", copy=True)
            row.labels = ctypes.pointer(view.tensor)
            rows.keep.append(view)
    return rows


def _models(models: Any, weights: Optional[Sequence[float]], where: str) -> Tuple[List[Model], Any, Any]:
    """Models, and the arrays of their handles and weights for the library; null: no weights."""
    opened = models_of(models)
    if not opened:
        raise bad_argument(f"{where}: models", "there are none", "give at least one")
    if weights is not None and len(weights) != len(opened):
        raise bad_argument(f"{where}: weights", f"there are {len(weights)}, of {len(opened)} models", "give one each")
    pointers = (ctypes.c_void_p * len(opened))(*(each._handle._as_parameter_ for each in opened))
    return opened, pointers, None if weights is None else (ctypes.c_double * len(weights))(*weights)


def what_if(
    models: Union[ModelLike, Sequence[ModelLike]],
    hardware: HardwareLike,
    *,
    weights: Optional[Sequence[float]] = None,
    progress: Progress = None,
) -> Report:
    """What one step more of each resource of a hardware gives and costs: its parameters doubled, its extensions, a
    memory that answers at once, each compiled and timed anew. Needs the compiler.

    models: one model, or a list. weights: of the models, above 0.

    Returns "clock_mhz", "memory", "encoding" and "values" of the hardware, and "steps", the fastest first, each with its
    "change", its "encoding" and "values": latency, area, energy (docs/schema/what-if.json); "why" where it has none.
    Ctrl-C stops it.

    A step may cost cycles. With the encoding "wide" instructions are twice as long, and take longer to fetch; layers
    that do not fill a larger batch or block multiply more zeros; where one unit reads further ahead, another waits for
    the port.
    """
    call = LongCall("what_if", progress)
    opened, pointers, shares = _models(models, weights, "what_if")
    text, out = hardware_text(hardware, "what_if: hardware"), ctypes.c_void_p()
    calls = ctypes.pointer(call.callbacks)
    call.run(lib.dvt_what_if, pointers, len(opened), shares, text, calls, ctypes.byref(out))
    return Report(_call.taken_json(out))


def explore(
    models: Union[ModelLike, Sequence[ModelLike]],
    space: Union[Mapping[str, Any], _call.PathLike],
    folder: _call.PathLike,
    *,
    strategy: Optional[str] = None,
    points: Optional[int] = None,
    seed: Optional[int] = None,
    batch: Optional[int] = None,
    jobs: int = 0,
    prune: bool = True,
    check: bool = True,
    layers: bool = False,
    weights: Optional[Sequence[float]] = None,
    samples: Any = None,
    tests: Any = None,
    labels: Any = None,
    energy: Optional[_call.PathLike] = None,
    technology: Optional[_call.PathLike] = None,
    progress: Progress = None,
) -> Exploration:
    """Measures the design points of a space of hardware on models: latency, area, energy, accuracy.

    models: one model, or a list.
    space: a dict, JSON text, or the path of a JSON file (docs/howto/exploring.md).
    folder: keeps the points, in points.db, from which the same call continues; created if it does not exist.
    strategy: None: "exhaustive". points: most points; None: all, of other strategies 200. seed: at least 1.
    batch: points that are chosen together; None: 64. jobs: processes; 0: one per processor.
    prune: do not measure points that cannot be on the front. check: compare each hardware's programs with the CPU's.
    layers: each point's `models` have their "layers": cycles by cause, bound, bytes, energy (docs/schema/point.json).
    weights: of the models, above 0.
    samples, tests, labels: for a space with numeric choices: samples that calibrate a float model, those that measure
        its accuracy (None: the same) and their classes (None: the accuracy is agreement with the float model). With a
        list of models, a list of each.
    energy, technology: "cmos28", "cmos7" or the path of a JSON file: energies that replace those of the kit, and the
        technology of areas (docs/howto/own-memory-and-technology.md). None: the kit's 45 nm.

    The paths of DRAM files in the space are relative to the space's file, else to the working folder.
    Returns an iterator of points. What is wrong with the models or the space is raised where it is read.
    """
    call = LongCall("explore", progress)
    opened, pointers, shares = _models(models, weights, "explore")
    values = _samples(opened, samples, tests, labels)
    options = _call.options(
        dvt_explore_options,
        "explore",
        folder=_call.path_text(folder, "explore: folder"),
        strategy=strategy,
        points=_call.at_least_one(points, "explore: points"),
        seed=_call.at_least_one(seed, "explore: seed"),
        batch=_call.at_least_one(batch, "explore: batch"),
        jobs=jobs,
        no_prune=not prune,
        no_check=not check,
        layers=layers,
        energy=None if energy is None else _call.path_text(energy, "explore: energy"),
        technology=None if technology is None else _call.path_text(technology, "explore: technology"),
        space_file=_space_file(space),
        weights=shares,
        callbacks=ctypes.pointer(call.callbacks),
        samples=values,
    )
    text = _call.text(_space_text(space), "explore: space")
    return Exploration(call, (pointers, len(opened), text), options, (opened, values))
