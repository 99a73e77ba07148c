"""Buffers that a session reads and writes at each run."""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Tuple

import numpy as np

from . import _call
from ._library import lib
from .errors import bad_argument
from .tensors import ArrayLike, Borrowed, TensorInfo, aligned, borrow

if TYPE_CHECKING:
    from .session import Session

# Runs that take longer are made in another thread, so that Ctrl-C stops them.
SHORT_S = 0.02


class _Buffers(Dict[str, Any]):
    """Bound buffers, which cannot be replaced: the library has their addresses."""

    def __init__(self, buffers: Dict[str, Any], name: str) -> None:
        super().__init__(buffers)
        self._name = name

    def __setitem__(self, key: str, value: Any) -> None:
        shown = f"binding.{self._name}[{key!r}]"
        raise bad_argument(f"Binding.{self._name}", "a bound buffer cannot be replaced",
                           f"write {shown}[...] = value, or bind another array with Session.bind")


class Binding:
    """A session's inputs and outputs, bound to buffers once and run many times. `Session.bind` makes it.

    >>> binding = session.bind()
    >>> binding.inputs["image"][...] = image
    >>> binding.run()["logits"]

    A session may have several; each runs on its own buffers.

    inputs: the buffers that are read, by name: those that were given, and those that were allocated, arrays of the
        bundle's types and shapes.
    outputs: the buffers that are written, by name, likewise.
    """

    inputs: Dict[str, Any]
    outputs: Dict[str, Any]

    def __init__(self, session: Session, inputs: Mapping[str, ArrayLike], outputs: Mapping[str, ArrayLike]) -> None:
        """For this package: users call `Session.bind`."""
        self._session = session
        self._identity = object()
        self._views: List[Tuple[Any, bytes, Borrowed]] = []
        self.inputs = _Buffers(
            self._buffers("input", session.bundle.inputs, inputs, lib.dvt_session_bind_input), "inputs"
        )
        self.outputs = _Buffers(
            self._buffers("output", session.bundle.outputs, outputs, lib.dvt_session_bind_output), "outputs"
        )
        self._check_apart()
        with session._lock:
            self._attach()

    def _check_apart(self) -> None:
        """Error: the memory of an output is also that of another buffer."""
        rows = [(name.decode(errors="replace"), view.array) for _, name, view in self._views]
        for index, (name, array) in list(enumerate(rows))[len(self.inputs) :]:
            for other, its in rows[:index]:
                if np.shares_memory(array, its):
                    raise bad_argument("Session.bind: outputs", f"{name} shares memory with {other}",
                                       "give each its own array; copy an output into an input between runs")

    def _buffers(
        self, kind: str, infos: Tuple[TensorInfo, ...], given: Mapping[str, ArrayLike], bind: Any
    ) -> Dict[str, Any]:
        unknown = _call.mapping(given, f"Session.bind: {kind}s").keys() - {info.name for info in infos}
        if unknown:
            names = ", ".join(info.name for info in infos)
            why = f"there is no {kind} {min(unknown)!r}"
            raise bad_argument(f"Session.bind: {kind}s", why, f"name one of: {names}")
        buffers: Dict[str, Any] = {}
        states = self._session.bundle.states
        for info in infos:
            if info.name not in given and info.name in (states if kind == "input" else states.values()):
                continue
            buffer = given[info.name] if info.name in given else aligned(info.dtype, info.shape)
            where = f"Session.bind: {kind}s, {info.name}"
            view = borrow(buffer, where, dtype=info.dtype, copy=None)
            if kind == "output" and not view.writable:
                raise bad_argument(where, "it is read-only", "pass an array that may be written")
            self._views.append((bind, info.name.encode(errors="surrogateescape"), view))
            buffers[info.name] = buffer
        return buffers

    def _attach(self) -> None:
        """Binds the buffers. The session's lock is held."""
        session = self._session
        session._bound = None
        states = session.bundle.states
        for bind, names, own in ((lib.dvt_session_bind_input, states, self.inputs),
                                 (lib.dvt_session_bind_output, states.values(), self.outputs)):
            for state in names:
                if state not in own:  # another Binding may have bound it
                    _call.check(bind(session._handle, state.encode(errors="surrogateescape"), None))
        for bind, name, view in self._views:
            _call.check(bind(session._handle, name, ctypes.byref(view.tensor)))
        session._bound = self._identity

    def run(self) -> Dict[str, Any]:
        """Runs on the buffers. Returns `outputs`, whose buffers it has written. Raises WorkError where a step fails."""
        session = self._session
        handle = session._current()
        with session._lock:
            if session._bound is not self._identity:
                self._attach()
            if session._is_slow:
                status = session._stoppable(lib.dvt_session_run_bound)
            else:
                start = time.perf_counter()
                status = lib.dvt_session_run_bound(handle)
                session._is_slow = time.perf_counter() - start > SHORT_S
        if status:
            session._check(status)
        return self.outputs

    def __repr__(self) -> str:
        names = (", ".join(buffers) for buffers in (self.inputs, self.outputs))
        return f"<dovetail.Binding of {self._session.bundle.name}: {' -> '.join(names)}>"
