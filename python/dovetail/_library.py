"""Finds and opens the shared library, and declares its functions for ctypes.

The first of these that exists is opened:

1. the file that the environment variable DOVETAIL_LIBRARY names;
2. the library of the package `dovetail_kit_compiler`, which compiles;
3. the library in this package, which runs bundles;
4. where this package is in the tree of the kit's sources, that of the tree's build; in PREFIX/lib/python3/dist-packages
   of an installed kit, that in PREFIX/lib;
5. the system's, as its loader finds it: `libdovetail.so.1`, else `libdovetail_runtime.so.1`.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from pathlib import Path
from typing import Any, Callable, Iterator, List

from . import _prototypes
from .errors import Diagnostic, InputError

COMPILER, RUNTIME = "libdovetail.so.1", "libdovetail_runtime.so.1"


def _files() -> Iterator[Path]:
    spec = importlib.util.find_spec("dovetail_kit_compiler")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        yield Path(folder) / "lib" / COMPILER
    here = Path(__file__).resolve().parent
    yield here / "lib" / RUNTIME
    build = here.parent.parent / "build" / "release" / "lib"
    yield build / COMPILER
    yield build / RUNTIME
    if here.parent.name == "dist-packages":
        yield here.parents[2] / COMPILER
        yield here.parents[2] / RUNTIME


def _open() -> ctypes.CDLL:
    named = os.environ.get("DOVETAIL_LIBRARY")
    if named:
        return ctypes.CDLL(named)  # OSError names the file and the reason
    for path in _files():
        if path.exists():
            return ctypes.CDLL(str(path))
    failures: List[str] = []
    for name in (COMPILER, RUNTIME):
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            failures.append(str(error))
    raise ImportError(
        "dovetail: there is no shared library of the kit; install dovetail-kit, or set DOVETAIL_LIBRARY to the path of "
        + f"{COMPILER} or {RUNTIME} ({'; '.join(failures)})"
    )


def _missing(name: str, why: str, hint: str) -> Callable[..., Any]:
    def refuse(*_: Any) -> Any:
        raise InputError([Diagnostic("cannot call the library", name, why, hint)])

    return refuse


class Library:
    """The functions of dovetail.h as attributes. One that the opened library lacks raises InputError when called."""

    def __init__(self) -> None:
        library = _open()
        self.path: str = library._name
        try:
            version: int = library.dvt_version()
        except AttributeError:
            raise ImportError(f"dovetail: {self.path} is not a library of the kit") from None
        if version >> 16 != _prototypes.VERSION[0]:
            raise ImportError(
                f"dovetail: {self.path} has version {version >> 16} of the interface, and this package needs "
                f"{_prototypes.VERSION[0]}; install the same version of both"
            )
        compiles = bool(library.dvt_has_compiler())
        older = f"{self.path} is older than this package"
        for functions, in_library in ((_prototypes.RUNTIME, True), (_prototypes.COMPILER, compiles)):
            for name, (result, arguments) in functions.items():
                if not in_library:
                    hint = "install the compiler: pip install dovetail-kit"
                    setattr(self, name, _missing(name, f"{self.path} only runs bundles", hint))
                    continue
                try:
                    function = getattr(library, name)
                except AttributeError:
                    setattr(self, name, _missing(name, older, "install the same version of both"))
                    continue
                function.restype, function.argtypes = result, arguments
                setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"dovetail.h has no function {name}")


lib = Library()
has_compiler: bool = bool(lib.dvt_has_compiler())
version: str = lib.dvt_kit_version().decode()
