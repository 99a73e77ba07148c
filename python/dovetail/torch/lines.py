"""Where in a user's module something comes from."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import List, Mapping, Tuple

import torch

from ..errors import Error

# Folders whose lines are not a user's; nor are those of generated code, whose file is "<...>".
_LIBRARIES = tuple(str(Path(folder).resolve()) + "/" for folder in (Path(torch.__file__).parent, Path(__file__).parent))
_Frame = Tuple[str, int, str]  # file, line, code
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in [^\n]*\n\s*(?P<code>[^\n]*)')


def _of_users(frames: List[_Frame]) -> List[_Frame]:
    return [frame for frame in frames if not frame[0].startswith((*_LIBRARIES, "<"))]


def _last(frames: List[_Frame]) -> str:
    return "".join(f"{file}:{line}: {code.strip()}" for file, line, code in frames[-1:])


def line_of_stack(stack: str) -> str:
    """The user's line among the frames of a text; else the last one."""
    frames = [(found["file"], int(found["line"]), found["code"]) for found in _FRAME.finditer(stack)]
    return _last(_of_users(frames) or frames)


def line_of(node: torch.fx.Node) -> str:
    """The line that a node comes from, "model.py:8: y = torch.special.bessel_j0(x)"; else the module's name, or ""."""
    line = line_of_stack(str(node.meta.get("stack_trace") or ""))
    if line:
        return line
    modules = list((node.meta.get("nn_module_stack") or {}).values())
    return f"module {modules[-1][0]}" if modules and modules[-1][0] else ""


def located(error: Error, lines: Mapping[str, str]) -> Error:
    """The kit's exception with the module's line of each node that it names. `lines`: by nodes."""
    diagnostics = []
    for found in error.diagnostics:
        names = re.findall(r"[\w.]+", f"{found.where} {found.why}")
        line = next((lines[name] for name in names if lines.get(name)), "")
        diagnostics.append(found._replace(where=f"{found.where}; {line}") if line else found)
    return type(error)(diagnostics)


def line_of_error(error: BaseException) -> str:
    """The user's line in the traceback of an exception, or in its text, where torch has traced the module."""
    line = line_of_stack(str(error))
    if line:
        return line
    stack = traceback.extract_tb(error.__traceback__)
    return _last(_of_users([(frame.filename, frame.lineno or 0, frame.line or "") for frame in stack]))
