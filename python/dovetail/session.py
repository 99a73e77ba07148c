"""Running bundles."""

from __future__ import annotations

import ctypes
import functools
import threading
import time
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _call, _fork
from ._library import lib
from ._prototypes import DLManagedTensorVersioned, dvt_named_tensor, dvt_session_options
from ._work import Progress, interruptible
from .binding import SHORT_S, Binding
from .bundle import Bundle
from .errors import Diagnostic, InputError
from .evaluation import Evaluation, Samples, evaluate
from .own_target import Target
from .report import Report
from .tensors import ArrayLike, TensorInfo, array_at, borrow, dtype_name, numpy_type, shape_of, view_of
from .trace import Trace

_Managed = ctypes.POINTER(DLManagedTensorVersioned)
_byref = ctypes.byref
_from_buffer: Any = ctypes.c_char.from_buffer
_addressof = ctypes.addressof


class _Exported(_call.Owner):
    """Owns a reference to a tensor of the library."""

    __slots__ = ()

    def __init__(self, managed: DLManagedTensorVersioned) -> None:
        super().__init__(functools.partial(managed.deleter, _addressof(managed)))


def take_tensors(out: ctypes.c_void_p, names: Optional[Sequence[str]] = None) -> Dict[str, Any]:
    """The arrays of a dvt_tensors, which is freed. Each owns its memory. `names`: theirs, where they are known."""
    if names is None:
        count = lib.dvt_tensors_count(out)
        names = [lib.dvt_tensors_name(out, index).decode(errors="replace") for index in range(count)]
    arrays: Dict[str, Any] = {}
    try:
        for index, name in enumerate(names):
            pointer = _Managed()
            _call.check(lib.dvt_tensors_export(out, index, _byref(pointer)))
            managed = pointer.contents
            tensor = managed.dl_tensor
            arrays[name] = array_at(tensor.data, dtype_name(tensor.dtype), shape_of(tensor), _Exported(managed))
    finally:
        lib.dvt_tensors_free(out)
    return arrays


def named_tensors(
    values: Mapping[str, ArrayLike], where: str, dtypes: Mapping[str, str] = {}, copy: bool = False
) -> Any:
    """An array of dvt_named_tensor, which keeps the memory of the values."""
    rows: Any = (dvt_named_tensor * len(_call.mapping(values, where)))()
    rows.keep = []
    for row, (name, value) in zip(rows, values.items()):
        view = borrow(value, f"{where}, {name}", dtype=dtypes.get(name), copy=copy)
        rows.keep.append(view)
        row.name = _call.text(name, where)
        row.tensor = ctypes.pointer(view.tensor)
    return rows


class _Inputs:
    """The arguments of a run, made once: of arrays that fit, only the address changes from run to run."""

    def __init__(self, infos: Sequence[TensorInfo]) -> None:
        self.count = len(infos)
        self.rows: Any = (dvt_named_tensor * self.count)()
        self.inputs: List[Tuple[str, Any, Tuple[int, ...], int, Any]] = []
        for row, info in zip(self.rows, infos):
            kind = numpy_type(info.dtype)
            view = view_of(None, info.dtype, info.shape)
            row.name, row.tensor = _call.text(info.name, "Session.run: inputs"), ctypes.pointer(view)
            # An array of NumPy with bfloat16's bits is one of uint16, and does not fit.
            known = None if info.dtype == "bfloat16" else kind
            self.inputs.append((info.name, known, info.shape, kind.itemsize - 1, view))

    def set(self, values: Mapping[str, ArrayLike]) -> Optional[List[Any]]:
        """Sets the addresses. Returns what keeps the memory; None: an array does not fit as it is."""
        if type(values) is not dict or len(values) != self.count:
            return None
        keep = []
        try:
            for name, kind, shape, unaligned, view in self.inputs:
                value = values[name]
                if kind is None or type(value) is not np.ndarray or value.dtype != kind or value.shape != shape:
                    return None
                memory = _from_buffer(value)  # ValueError: not contiguous; TypeError: read-only
                address = _addressof(memory)
                if address & unaligned:
                    return None
                view.data = address
                keep.append(memory)
        except (KeyError, TypeError, ValueError):
            return None
        return keep


class _SessionHandle(_call.Handle):
    """In a forked child a session has no threads that could end: it is not freed."""

    __slots__ = ("targets",)

    def __init__(self, out: ctypes.c_void_p, targets: Sequence[Target]) -> None:
        super().__init__(lib.dvt_session_free, out)
        self.targets = targets  # which free the kernels
        _fork.keep_from_children(self)


class Session:
    """A bundle with its devices, ready to run.

    It may be used from several threads: runs of one session wait for each other; use a session for each thread to run
    in parallel. In a forked process it makes its devices again. Ctrl-C stops a run, after which the session may run
    again; a kernel in machine code first runs to its end.

    bundle: what it runs; `session.bundle.inputs` has the names, types and shapes of the inputs.
    engine: what runs the accelerator's programs: "functional", "cycle", "systemc", "rtl" or "axi".
    """

    bundle: Bundle
    engine: str

    def __init__(
        self,
        bundle: Union[Bundle, _call.PathLike, bytes],
        *,
        engine: Optional[str] = None,
        threads: int = 0,
        memory: Optional[str] = None,
        clock_mhz: Optional[float] = None,
        accelerators: Optional[int] = None,
        own_targets: Iterable[Target] = (),
    ) -> None:
        """bundle: a Bundle, or what `Bundle.load` takes.
        engine: runs the accelerator's programs: "functional" (default), "cycle", "systemc", "rtl", "axi"
            (`dovetail.engines()`).
        threads: threads that run kernels, the caller's included; 0: one per processor.
        memory, clock_mhz, accelerators: the accelerator's system, for engines with a clock; None: as compiled.
        own_targets: the caller's targets with steps in the bundle. A bundle that this process compiled has them.

        Raises InputError for machine code that may not run, an unknown engine, or steps that no device runs.
        """
        self.bundle = bundle if isinstance(bundle, Bundle) else Bundle.load(bundle)
        self.engine = engine or "functional"
        self._targets = [*self.bundle._own_targets, *own_targets]
        self._options = _call.options(
            dvt_session_options,
            "Session",
            engine=engine,
            threads=threads,
            memory=memory,
            clock_mhz=_call.above_zero(clock_mhz, "Session: clock_mhz"),
            accelerators=_call.at_least_one(accelerators, "Session: accelerators"),
            **_call.own_targets(self._targets),
        )
        self._dtypes = {info.name: info.dtype for info in self.bundle.inputs}
        states = self.bundle.states
        self._given = [info for info in self.bundle.inputs if info.name not in states]
        self._outputs = [info.name for info in self.bundle.outputs if info.name not in states.values()]
        self._open()

    def __reduce__(self) -> Any:
        raise TypeError("a session cannot be copied or pickled: send its bundle, and make a session of it there")

    @property
    def inputs(self) -> Tuple[TensorInfo, ...]:
        """`bundle.inputs`."""
        return self.bundle.inputs

    @property
    def outputs(self) -> Tuple[TensorInfo, ...]:
        """`bundle.outputs`."""
        return self.bundle.outputs

    def _open(self) -> None:
        out = ctypes.c_void_p()
        with _fork.locking("Session"):
            status = lib.dvt_session_create(self.bundle._handle, self._options, ctypes.byref(out))
        self._check(status)
        self._handle = _SessionHandle(out, self._targets)
        self._generation = _fork.generation
        self._lock = threading.Lock()  # of the bound tensors
        self._bound: Any = None  # which Binding they are of
        self._inputs: List[_Inputs] = []  # those that no run uses
        self._is_slow = True

    def _check(self, status: Optional[int], inputs: Mapping[str, ArrayLike] = {}) -> None:
        if status:
            error = _call.error_of(status)
            for target in self._targets:
                target.raise_cause(error)
            raise type(error)([self._with_remedy(each, inputs) for each in error.diagnostics])

    def _check_order(self, inputs: Mapping[str, ArrayLike]) -> None:
        """Error: an input has the extents of the model's, in another order."""
        if not isinstance(inputs, Mapping) or len(self.bundle.describe()["shapes"]) > 1:
            return
        for info in self.bundle.inputs:
            shape = getattr(inputs.get(info.name), "shape", None)
            if not isinstance(shape, tuple) or shape == info.shape or sorted(shape) != sorted(info.shape):
                continue
            left, order = list(enumerate(shape)), []
            for extent in info.shape:
                place = next(each for each in left if each[1] == extent)
                left.remove(place)
                order.append(place[0])
            raise InputError([
                Diagnostic("cannot run", f"input {info.name}", f"its shape is {shape}, the model expects {info.shape}",
                           f"pass numpy.ascontiguousarray(value.transpose{tuple(order)})")
            ])

    def _with_remedy(self, problem: Diagnostic, inputs: Mapping[str, ArrayLike]) -> Diagnostic:
        """The diagnostic of an input with another batch, with what to do."""
        info = next((each for each in self.bundle.inputs if problem.where == f"input {each.name}"), None)
        if info is not None and len(self.bundle.describe()["shapes"]) > 1:
            return problem
        shape = getattr(inputs.get(info.name), "shape", None) if info is not None else None
        if info is None or shape is None or not info.shape:
            return problem
        batch = info.shape[0]
        if tuple(shape) == info.shape[1:] and batch == 1:
            return problem._replace(hint="it lacks the axis of the batch: pass value[numpy.newaxis]")
        if tuple(shape[1:]) != info.shape[1:] or len(shape) != len(info.shape):
            return problem
        several = "Session.evaluate(inputs, keep_outputs=True) runs many samples"
        one = f"pass value[:{batch}]" if shape[0] > batch else f"give {batch}"
        several += f"; compile(..., shapes={{{info.name!r}: {tuple(shape)}}}) makes runs of {shape[0]}"
        return problem._replace(hint=f"a run takes {batch} sample{'s' * (batch != 1)}: {one}; {several}")

    def _current(self) -> _SessionHandle:
        """The session of this process."""
        if self._generation != _fork.generation:
            self._open()
        return self._handle

    def _stoppable(self, function: Callable[..., Optional[int]], *arguments: Any) -> Optional[int]:
        """A call that Ctrl-C stops: the status."""
        handle = self._current()

        def call() -> Optional[int]:
            start = time.perf_counter()
            status = function(handle, *arguments)
            self._is_slow = time.perf_counter() - start > SHORT_S or bool(self._targets)
            return status

        return interruptible(call, lambda: lib.dvt_session_stop(handle))

    def run(self, inputs: Mapping[str, ArrayLike], *, copy: bool = False) -> Dict[str, Any]:
        """Runs on the inputs, all of which are given; a state that is not has its value of the last run, or zeros.

        inputs: an array for each name. Its type is the input's; its shape too, or that of another program of the
            bundle. Anything that would need a copy (another type, not contiguous, another byte order) is an InputError
            unless `copy` is True.

        Returns the outputs by name, without those of states: NumPy arrays, or a Tensor where NumPy lacks the type. They
        outlive the session.
        Raises InputError for inputs that do not fit, WorkError where a step fails.
        """
        handle = self._current()
        out = ctypes.c_void_p()
        try:
            fixed = self._inputs.pop()
        except IndexError:
            fixed = _Inputs(self._given)
        keep = fixed.set(inputs)
        rows, count = fixed.rows, fixed.count
        if keep is None:
            self._check_order(inputs)
            rows, count = named_tensors(inputs, "Session.run: inputs", self._dtypes, copy), len(inputs)
        if self._is_slow:
            status = self._stoppable(lib.dvt_session_run, rows, count, ctypes.byref(out))
        else:
            start = time.perf_counter()
            status = lib.dvt_session_run(handle, rows, count, _byref(out))
            self._is_slow = time.perf_counter() - start > SHORT_S
        self._inputs.append(fixed)
        if status:
            self._check(status, inputs)
        return take_tensors(out, self._outputs)

    def bind(
        self, inputs: Optional[Mapping[str, ArrayLike]] = None, outputs: Optional[Mapping[str, ArrayLike]] = None
    ) -> Binding:
        """Binds buffers to inputs and outputs, for many runs: `binding.run()` reads and writes them.

        inputs, outputs: buffers by name, of exactly the type and shape of the bundle's first program, read and written
            in place. The others are allocated, filled with zeros, at addresses that are multiples of 64; states and
            their outputs are not. A buffer at another address is copied at each run. A run that fails leaves outputs
            undefined.

        Raises InputError for a name, type, shape or layout that does not fit, and for an output whose extent depends
        on values.
        """
        given = ({} if each is None else each for each in (inputs, outputs))
        return Binding(self, *given)

    @property
    def states(self) -> Dict[str, Any]:
        """The values of the states that the next run reads, by input: copies. A run that fails keeps them; `profile`,
        `trace` and `check` do not change them; in a forked process they are zeros."""
        out = ctypes.c_void_p()
        _call.check(lib.dvt_session_states(self._current(), ctypes.byref(out)))
        return take_tensors(out)

    def set_states(self, values: Optional[Mapping[str, ArrayLike]] = None, *, copy: bool = False) -> None:
        """Sets states, by input; those that are not given are zeros, as at first. Raises InputError for a value that is
        not of a state's type and shape."""
        rows = named_tensors(values or {}, "Session.set_states: values", self._dtypes, copy)
        _call.check(lib.dvt_session_set_states(self._current(), rows, len(rows)))

    def stop(self) -> None:
        """Stops the calls on this session that are in progress in other threads: they raise WorkError, and the session
        may run again."""
        lib.dvt_session_stop(self._current())

    @property
    def report(self) -> Report:
        """The last `run`: "engine", "threads", "seconds", "steps", "counters"; each step with "name", "target",
        "seconds", and where a simulator ran "counters" and "cycles". Raises InputError if none ran."""
        return Report(_call.json_of(lib.dvt_session_report, self._current()))

    def _json(
        self, function: Any, inputs: Mapping[str, ArrayLike], copy: bool, where: str, *more: Any
    ) -> Dict[str, Any]:
        rows = named_tensors(inputs, f"{where}: inputs", self._dtypes, copy)
        out = ctypes.c_void_p()
        self._check(self._stoppable(function, rows, len(rows), *more, ctypes.byref(out)), inputs)
        return dict(_call.taken_json(out))

    def profile(self, inputs: Mapping[str, ArrayLike], *, repeat: int = 10, copy: bool = False) -> Report:
        """Runs once to warm up and then `repeat` times. Returns the medians of the runs: "seconds" with "median",
        "low" and "high" (tenth and ninetieth percentile), "steps" as in `report`, and "counters". Steps of the CPU's
        kernels also have "operations", where a multiply-add is two, and whether they are "integer": with
        `dovetail.peak` they give the use of the processor."""
        count = _call.number(repeat, ctypes.c_int64, "Session.profile: repeat")
        return Report(self._json(lib.dvt_session_profile, inputs, copy, "Session.profile", count))

    def trace(self, inputs: Mapping[str, ArrayLike], *, what_if: bool = False, copy: bool = False) -> Trace:
        """Runs once on an engine with a clock, and keeps what each instruction of the accelerator did. Needs the
        compiler.

        what_if: also time the same instructions on other hardware, for the page and the report. A change may cost
            cycles: where one unit reads further ahead, another waits for the port (`dovetail.what_if` compiles anew).

        Raises InputError for an engine without a clock, and where nothing runs on the accelerator. The session's
        `report` then needs another `run`.
        """
        text = ctypes.c_void_p()

        def call(handle: Any, rows: Any, count: int, out: Any) -> Optional[int]:
            status: Optional[int] = lib.dvt_session_trace(handle, rows, count, what_if, out, ctypes.byref(text))
            return status

        report = self._json(call, inputs, copy, "Session.trace")
        return Trace(_call.take_text(text), report)

    def check(self, inputs: Mapping[str, ArrayLike], *, copy: bool = False) -> Dict[str, Any]:
        """Runs, and compares every tensor with the reference: the integer graph, evaluated node by node. Needs the
        compiler, and a bundle that this process compiled.

        Returns "tensors", "graph_tensors", "elements", "different", "stepped" and "first", the first difference.
        """
        return self._json(lib.dvt_session_check, inputs, copy, "Session.check")

    def energy(self) -> Optional[Dict[str, Any]]:
        """The energy that the accelerator's steps of the last `run` would use on a chip, as "energy" in
        docs/schema/run.json; None without such steps. Needs the compiler."""
        found: Optional[Dict[str, Any]] = _call.json_of(lib.dvt_session_energy, self._current())
        return found

    def evaluate(
        self,
        samples: Samples,
        labels: Optional[ArrayLike] = None,
        *,
        output: Optional[str] = None,
        keep_outputs: bool = False,
        progress: Progress = None,
        copy: bool = False,
    ) -> Evaluation:
        """Runs many samples, and measures the accuracy. Needs the compiler.

        samples: arrays by name with any number of samples along the first axis, which are split into batches; or an
            iterable of such dicts, or of pairs (dict, labels), for example a loader of batches. For a bundle with one
            input, an array stands for the dict. Arrays of the bundle's own shape are the same in all runs.
        labels: the class of each sample, integers; None: the accuracy is not measured.
        output: the output that scores the classes; None: the only one.
        keep_outputs: return the outputs of all samples.
        progress: as everywhere; called with ("samples", done, all), all being 0 for an iterable of unknown length.

        Raises InputError for samples that do not fit.
        """
        return evaluate(self, samples, labels, output, keep_outputs, progress, copy)

    def __repr__(self) -> str:
        return f"<dovetail.Session of {self.bundle.name}, engine {self.engine}>"
