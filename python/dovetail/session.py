"""Running bundles."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, Optional, Union

from . import _call
from ._library import lib
from ._prototypes import DLManagedTensorVersioned, dvt_named_tensor, dvt_session_options
from .bundle import Bundle
from .errors import bad_argument
from .tensors import ArrayLike, Borrowed, TensorInfo, aligned, array_at, borrow, shape_of, dtype_name


class _Exported:
    """Owns a reference to a tensor of the library."""

    __slots__ = ("managed",)

    def __init__(self, managed: Any) -> None:
        self.managed = managed

    def __del__(self) -> None:
        self.managed.contents.deleter(ctypes.addressof(self.managed.contents))


def named(values: Mapping[str, ArrayLike], where: str, infos: Any, copy: bool) -> Any:
    """An array of dvt_named_tensor, which keeps the memory of the values."""
    types = {info.name: info.dtype for info in infos}
    views: List[Borrowed] = []
    rows: Any = (dvt_named_tensor * len(values))()
    for row, (name, value) in zip(rows, values.items()):
        view = borrow(value, f"{where}, {name}", dtype=types.get(name), copy=copy)
        views.append(view)
        row.name = _call.text(name, where)
        row.tensor = ctypes.pointer(view.tensor)
    rows.keep = views
    return rows


class Session:
    """A bundle with its devices, ready to run.

    Usable from several threads: runs of one session wait for each other; use one session for each thread to run in
    parallel.
    """

    def __init__(
        self,
        bundle: Union[Bundle, _call.PathLike, bytes],
        *,
        engine: Optional[str] = None,
        threads: int = 0,
        memory: Optional[str] = None,
        clock_mhz: Optional[float] = None,
        accelerators: Optional[int] = None,
    ) -> None:
        """bundle: a Bundle, or what `Bundle.load` takes.
        engine: runs the accelerator's programs: "functional" (default), "cycle", "systemc", "rtl"
            (`dovetail.engines()`).
        threads: threads that run kernels, the caller's included; 0: one per processor.
        memory, clock_mhz, accelerators: the accelerator's system, for engines with a clock; None: as compiled.

        Raises InputError for machine code that may not run, an unknown engine, or steps that no device runs.
        """
        self.bundle = bundle if isinstance(bundle, Bundle) else Bundle.load(bundle)
        options = _call.options(
            dvt_session_options,
            "Session",
            engine=engine,
            threads=threads,
            memory=memory,
            clock_mhz=clock_mhz,
            accelerators=accelerators,
        )
        out = ctypes.c_void_p()
        _call.check(lib.dvt_session_create(self.bundle._handle.pointer, options, ctypes.byref(out)))
        self._handle = _call.Handle(lib.dvt_session_free, out)
        self.engine = engine or "functional"

    def run(self, inputs: Mapping[str, ArrayLike], *, copy: bool = False) -> Dict[str, Any]:
        """Runs on the inputs, all of which are given.

        inputs: an array for each name: its type is the input's; its shape too, or that of another program of the
            bundle. Anything that would need a copy (another type, not contiguous, another byte order) is an InputError
            unless `copy` is True.

        Returns the outputs by name: NumPy arrays, or a Tensor where NumPy lacks the type. They outlive the session.
        """
        rows = named(inputs, "Session.run: inputs", self.bundle.inputs, copy)
        out = ctypes.c_void_p()
        _call.check(lib.dvt_session_run(self._handle.pointer, rows, len(rows), ctypes.byref(out)))
        return take_tensors(out)

    @property
    def report(self) -> Dict[str, Any]:
        """The last `run`: "engine", "threads", "seconds", "steps", "counters"; each step with "name", "target",
        "seconds", and where a simulator ran "counters" and "cycles". Raises InputError if none ran."""
        return dict(_call.json_of(lib.dvt_session_report, self._handle.pointer))

    def profile(self, inputs: Mapping[str, ArrayLike], *, repeat: int = 10, copy: bool = False) -> Dict[str, Any]:
        """Runs once to warm up and then `repeat` times. Returns the medians of the runs: "seconds" with "median",
        "low" and "high" (tenth and ninetieth percentile), "steps" and "counters"."""
        rows = named(inputs, "Session.profile: inputs", self.bundle.inputs, copy)
        count = _call.number(repeat, ctypes.c_int64, "Session.profile: repeat")
        return dict(_call.json_of(lib.dvt_session_profile, self._handle.pointer, rows, len(rows), count))

    def check(self, inputs: Mapping[str, ArrayLike], *, copy: bool = False) -> Dict[str, Any]:
        """Runs, and compares every tensor with the reference: the integer graph, evaluated node by node. Needs the
        compiler, and a bundle that this process compiled.

        Returns "tensors", "graph_tensors", "elements", "different", "stepped" and "first", the first difference.
        """
        rows = named(inputs, "Session.check: inputs", self.bundle.inputs, copy)
        return dict(_call.json_of(lib.dvt_session_check, self._handle.pointer, rows, len(rows)))

    def energy(self) -> Optional[Dict[str, Any]]:
        """The energy that the accelerator's steps of the last `run` would use on a chip, as "energy" in
        docs/schema/run.json; None without such steps. Needs the compiler."""
        found: Optional[Dict[str, Any]] = _call.json_of(lib.dvt_session_energy, self._handle.pointer)
        return found

    def __repr__(self) -> str:
        return f"<dovetail.Session of {self.bundle.name}, engine {self.engine}>"


def take_tensors(out: ctypes.c_void_p) -> Dict[str, Any]:
    """The arrays of a dvt_tensors, which is freed."""
    arrays: Dict[str, Any] = {}
    try:
        for index in range(lib.dvt_tensors_count(out)):
            managed = ctypes.POINTER(DLManagedTensorVersioned)()
            _call.check(lib.dvt_tensors_export(out, index, ctypes.byref(managed)))
            tensor = managed.contents.dl_tensor
            name = lib.dvt_tensors_name(out, index).decode(errors="replace")
            arrays[name] = array_at(tensor.data, dtype_name(tensor.dtype), shape_of(tensor), _Exported(managed))
    finally:
        lib.dvt_tensors_free(out)
    return arrays
