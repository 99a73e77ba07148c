"""Calls that take long: progress, Ctrl-C, the end of the interpreter."""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib
import logging
import os
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, TypeVar, Union

from . import _call, _fork
from ._names import python_names
from ._prototypes import dvt_callbacks
from .errors import Diagnostic, Error, WorkError

Value = TypeVar("Value")
ProgressFunction = Callable[[str, int, int], Any]
Progress = Union[None, bool, ProgressFunction]
"""None: a bar of tqdm, if tqdm is installed and the program runs in a terminal or a notebook. False: nothing. Or a
function that is called with what is done, for example "kernels", how much is done, and how much there is."""

log = logging.getLogger("dovetail")
"""Notes and warnings of the library: logging's INFO and WARNING."""

_Log, _Progress, _Cancelled = (_call.function_type(dvt_callbacks, name) for name in ("log", "progress", "cancelled"))
# The library asks from its own threads whether to stop, which must not need Python, whose lock the thread of an ending
# interpreter never gets. atoi() of the text at `user` is 0 or 1.
_text_is_one: Any = ctypes.cast(ctypes.CDLL(None).atoi, _Cancelled)

_stops: Dict[int, Callable[[], None]] = {}  # of the calls in progress, by their thread
os.register_at_fork(after_in_child=_stops.clear)  # the threads are not in the child
_ending = False
# A signal that arrives just before a thread waits does not wake it: the main thread never waits longer.
WAIT_S = 0.05
_LONGEST_WAIT_S = 60.0


@atexit.register
def _stop_all() -> None:
    """The library may not call back into an interpreter that has ended, nor run while its own data is destroyed."""
    global _ending
    _ending = True
    end = time.monotonic() + _LONGEST_WAIT_S
    for stop in list(_stops.values()):
        stop()
    while _stops and time.monotonic() < end:
        time.sleep(0.001)


def _registered(call: Callable[[], Value], stop: Callable[[], None]) -> Value:
    if _ending and threading.current_thread() is not threading.main_thread():
        why, hint = "the interpreter is ending", "join threads that call the library before that"
        raise WorkError([Diagnostic("cannot call the library", "", why, hint, "work")])
    thread = threading.get_ident()
    outer = _stops.get(thread)
    _stops[thread] = stop
    try:
        return call()
    finally:
        if outer is None:
            del _stops[thread]
        else:
            _stops[thread] = outer


class _Job:
    """A call in a thread, which an exception in the main thread stops."""

    def __init__(self, call: Callable[[], Any], stop: Callable[[], None]) -> None:
        self.call, self.stop = call, stop
        self.lock, self.ended = threading.Lock(), threading.Event()
        self.begun = self.dropped = False
        self.result: Any = None
        self.error: Optional[BaseException] = None

    def run(self) -> None:
        with self.lock:
            if self.dropped:
                return
            self.begun = True
        try:
            self.result = _registered(self.call, self.stop)
        except BaseException as error:  # it continues in the main thread
            self.error = error
        finally:
            self.ended.set()

    def drop(self) -> None:
        """Stops the call, and returns when it has ended."""
        with self.lock:
            self.dropped = True
        while self.begun and not self.ended.is_set():
            self.stop()
            self.ended.wait(WAIT_S)


def interruptible(call: Callable[[], Value], stop: Callable[[], None]) -> Value:
    """Calls. In the main thread the handlers of signals run meanwhile: where one raises, as Ctrl-C does, `stop` is
    called, repeatedly, until the call has ended, and the exception continues."""
    if threading.current_thread() is not threading.main_thread():
        return _registered(call, stop)
    job = _Job(call, stop)
    thread = threading.Thread(target=job.run, name="dovetail", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the interpreter ends, or the system gives no thread
        return _registered(call, stop)
    except BaseException:
        job.drop()
        raise
    try:
        while not job.ended.wait(WAIT_S):
            if not thread.is_alive() and not job.ended.is_set():
                raise MemoryError("the thread of the call ended before it had begun")
    except BaseException:
        while True:
            try:
                job.drop()
                break
            except BaseException:  # Ctrl-C again: the library is about to stop
                continue
        raise
    if job.error is not None:
        error, job.error = job.error, None
        try:
            raise error.with_traceback(None) if isinstance(error, Error) else error
        finally:
            del error  # which has this frame
    result: Value = job.result
    return result


class _Bars:
    """A bar of tqdm for each part of the work that takes longer than half a second."""

    DELAY_S = 0.5

    def __init__(self, tqdm: Any, name: str) -> None:
        self._tqdm, self._name = tqdm, name
        self._what, self._begun = "", 0.0
        self._bar: Any = None
        self._output: Any = None

    def __call__(self, what: str, done: int, all: int) -> None:
        if self._bar is None or what != self._what:
            self.close()
            self._what, self._begun = what, time.monotonic()
            self._bar = self._tqdm(total=all, desc=f"{self._name}: {what}", leave=False, delay=self.DELAY_S)
            if hasattr(self._bar, "container"):  # widgets, which are shown below
                self._bar.displayed = True
        bar = self._bar
        bar.total = all
        bar.update(done - bar.n)
        if self._output is None and hasattr(bar, "container") and time.monotonic() - self._begun > self.DELAY_S:
            display: Any = importlib.import_module("IPython.display")
            self._output = display.display(bar.container, display_id=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        if self._output is not None:  # tqdm would leave its first text, "0%", in the notebook's file
            self._output.update({"text/plain": ""}, raw=True)
            self._output = None


def _people_watch() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel") or (sys.stderr is not None and sys.stderr.isatty())


def progress_function(progress: Progress, name: str) -> Optional[ProgressFunction]:
    """The function of the argument `progress`."""
    if callable(progress):
        return progress
    if progress is not None:
        if progress is False:
            return None
        raise TypeError(f"{name}: progress must be None, False or a function, not {progress!r}")
    if not _people_watch():
        return None
    try:
        with warnings.catch_warnings():  # where ipywidgets is missing, tqdm says so, and draws with text
            warnings.simplefilter("ignore")
            return _Bars(importlib.import_module("tqdm.auto").tqdm, name)
    except ImportError:
        return None


@contextmanager
def closing(function: Optional[ProgressFunction]) -> Iterator[Optional[ProgressFunction]]:
    """A function of progress whose bars end with the block."""
    try:
        yield function
    finally:
        if isinstance(function, _Bars):
            function.close()


class LongCall:
    """The callbacks of a call that takes long. An exception of a callback stops the call, and continues from `run`."""

    def __init__(self, name: str, progress: Progress) -> None:
        self._name = name
        self._report = progress_function(progress, name)
        flag = ctypes.create_string_buffer(b"0")
        # Asks the library to stop. In C, as _call.Owner needs it.
        self.stop: Callable[[], None] = functools.partial(setattr, flag, "value", b"1")
        self._failures: List[BaseException] = []
        self.callbacks = dvt_callbacks(
            ctypes.sizeof(dvt_callbacks),
            ctypes.addressof(flag),
            _Log(self.guarded(self._log)),
            _Progress(self.guarded(self._progress)) if self._report is not None else _Progress(),
            _text_is_one,
        )

    def guarded(self, function: Callable[..., Any]) -> Callable[..., None]:
        """A function for the library to call, whose exception stops the call."""

        def call(*arguments: Any) -> None:
            try:
                if not self._failures:
                    function(*arguments)
            except BaseException as error:
                self._failures.append(error)
                self.stop()

        return call

    def _log(self, _: int, level: int, message: bytes) -> None:
        log.log(logging.INFO if level == 1 else logging.WARNING, "%s", python_names(message.decode(errors="replace")))

    def _progress(self, _: int, what: bytes, done: int, all: int) -> None:
        if self._report is not None:
            self._report(what.decode(errors="replace"), done, all)

    def run(self, function: Callable[..., Optional[int]], *arguments: Any) -> None:
        """Calls a function that returns a status."""

        def call() -> None:
            with _fork.locking(self._name):
                _call.check(function(*arguments))

        try:
            with closing(self._report):
                interruptible(call, self.stop)
        except Error as error:
            if self._failures:
                raise self._failures[0] from error
            raise
        if self._failures:
            raise self._failures[0]
