"""`python -m dovetail` and the script `dovetail`: the command line, as docs/reference/command-line.md describes it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from ._library import lib
from .errors import InputError

ENDED_BY_SIGNAL = 128
"""The exit code of a command that a signal ended is this plus the number of the signal."""


def main() -> int:
    """Runs the command that the process's arguments name; its exit code. A signal that ended it ends the process."""
    # The process does nothing else: outside of work that can be stopped, Ctrl-C ends it at once, as it ends a program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    words = [b"dovetail", *map(os.fsencode, sys.argv[1:])]
    try:
        code: int = lib.dvt_command(len(words), (ctypes.c_char_p * len(words))(*words))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    if code > ENDED_BY_SIGNAL:
        signal.signal(code - ENDED_BY_SIGNAL, signal.SIG_DFL)
        os.kill(os.getpid(), code - ENDED_BY_SIGNAL)
    return code


if __name__ == "__main__":
    sys.exit(main())
