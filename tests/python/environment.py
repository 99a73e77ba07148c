"""What the tests of the Python package share: the package's path, the models, and skipping."""

import importlib.util
import os
import pathlib
import sys

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


if "-fsanitize" in os.environ.get("DOVETAIL_CXX_FLAGS", ""):
    skip("the interpreter cannot load a library with a sanitizer")
require("numpy")
sys.path.insert(0, os.environ.get("DOVETAIL_PYTHON_PATH", str(SOURCE / "python")))
