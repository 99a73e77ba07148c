"""What the tests of the Python package share: the package's path, the models, and skipping."""

import importlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
DIGITS = SOURCE / "examples" / "digits"
HARDWARE = "1x16x16-ext"


def skip(reason):
    """Ends the test; the last line is the reason that CTest's summary prints."""
    print(reason)
    sys.exit(77)


def require(*modules):
    """Skips the test where a package is missing."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            skip(f"{sys.executable} has no package {module}")


def package(name):
    """An optional package; without it the test case is skipped."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"there is no package {name}") from None


def start(program, **options):
    """A process with the interpreter of this test that runs a program with the package."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "PYTHONFAULTHANDLER": "1"}
    channels = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([sys.executable, "-c", program], env=environment, **channels)


def run(program, seconds=120):
    """The output of such a process, which must leave with 0, and print no error."""
    with start(program) as process:
        try:
            out, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"it hangs: {process.communicate()}") from None
    assert process.returncode == 0 and not errors, (process.returncode, out, errors)
    return out


if "-fsanitize" in os.environ.get("DOVETAIL_CXX_FLAGS", ""):
    skip("the interpreter cannot load a library with a sanitizer")
require("numpy")
PACKAGES = pathlib.Path(os.environ.get("DOVETAIL_PYTHON_PATH", SOURCE / "python"))
sys.path.insert(0, str(PACKAGES))
