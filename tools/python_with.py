"""Finds a Python that has a package, for tests of the kit with tools that are optional: this one, that of build/python-tools, or one on PATH."""

import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]


def candidates():
    yield pathlib.Path(sys.executable)
    yield SOURCE / "build/python-tools/bin/python3"
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield pathlib.Path(folder) / "python3"


def python_with(*modules):
    """The path of the first Python that imports all modules, or None."""
    tried = set()
    for python in candidates():
        if python in tried or not os.access(python, os.X_OK):
            continue
        tried.add(python)
        done = subprocess.run([python, "-c", f"import {', '.join(modules)}"], capture_output=True, check=False)
        if done.returncode == 0:
            return python
    return None
