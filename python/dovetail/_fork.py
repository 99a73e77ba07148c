"""Forked processes.

A fork copies the memory of a process, and of its threads only the one that forks. So in a child a session has no
threads, and is made again at its first use; and where another thread was in a call that holds locks of the whole
process (of the loader, of LLVM) those stay locked: then a call in the child raises WorkError, which says so.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import Dict, Iterator, List

from .errors import Diagnostic, WorkError

generation = 0
"""The number of forks between the first process and this one."""

_calls: Dict[int, str] = {}  # those that may hold locks of the process, by their thread
_locked: List[str] = []  # such calls of other threads, when this process was forked


def _after_in_child() -> None:
    global generation
    generation += 1
    _locked.extend(name for thread, name in _calls.items() if thread != threading.get_ident())
    _calls.clear()


os.register_at_fork(after_in_child=_after_in_child)


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
