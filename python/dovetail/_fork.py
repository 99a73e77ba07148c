"""Forked processes.

A fork copies the memory of a process, and of its threads only the one that forks. So in a child a session has no
threads, and is made again at its first use; and where another thread was in a call that holds locks of the whole
process (of the loader, of LLVM) those stay locked: then a call in the child raises WorkError, which says so.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List

from .errors import Diagnostic, WorkError

generation = 0
"""The number of forks between the first process and this one."""

_of_this_process: List[weakref.ref[Any]] = []

_calls: Dict[int, str] = {}  # those that may hold locks of the process, by their thread
_locked: List[str] = []  # such calls of other threads, when this process was forked


_nothing = functools.partial(bool)  # in C, as _call.Owner needs it


def _after_in_child() -> None:
    global generation
    generation += 1
    for each in _of_this_process:
        owner = each()
        if owner is not None:
            owner._free = _nothing
    _of_this_process.clear()
    _locked.extend(name for thread, name in _calls.items() if thread != threading.get_ident())
    _calls.clear()


os.register_at_fork(after_in_child=_after_in_child)


def keep_from_children(owner: Any) -> None:
    """A child does not free what the _call.Owner owns. (A WeakSet would have a callback in Python, where Ctrl-C is
    lost.)"""
    _of_this_process[:] = [each for each in _of_this_process if each() is not None]
    _of_this_process.append(weakref.ref(owner))


@contextmanager
def locking(name: str) -> Iterator[None]:
    """A call that may hold locks of the process. `name`: "compile"."""
    if _locked:
        raise WorkError(
            [
                Diagnostic(
                    "cannot call the library",
                    name,
                    f"this process was forked while another thread was in dovetail's {_locked[0]}, whose locks remain",
                    'fork before or after that call, or start processes with multiprocessing\'s "spawn"',
                    "work",
                )
            ]
        )
    thread = threading.get_ident()
    outer = _calls.get(thread)
    _calls[thread] = name
    try:
        yield
    finally:
        if outer is None:
            del _calls[thread]
