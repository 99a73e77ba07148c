"""Between Python's values and those of the C interface: options, texts, status."""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Sequence, Type, TypeVar, Union

from ._library import lib
from ._prototypes import ENUMERATIONS, dvt_texts
from .errors import OF_CAUSE, Diagnostic, Error, bad_argument

Struct = TypeVar("Struct", bound=ctypes.Structure)
PathLike = Union[str, "os.PathLike[str]"]


def error_of(status: int) -> Error:
    """The exception of a status, which is freed."""
    rows = json.loads(lib.dvt_status_json(status).decode(errors="replace"))
    cause = lib.dvt_status_cause(status)
    lib.dvt_status_free(status)
    names = {value: name for name, value in ENUMERATIONS["dvt_cause"].items()}
    return OF_CAUSE[names[cause]]([Diagnostic(**row) for row in rows])


def check(status: Optional[int]) -> None:
    """Raises the error of a status that is not null."""
    if status:
        raise error_of(status)


def take_text(address: ctypes.c_void_p) -> str:
    """Text that the library returned, which is freed."""
    if address.value is None:
        return ""
    try:
        return ctypes.string_at(address.value).decode(errors="replace")
    finally:
        lib.dvt_free(address)


def taken_json(address: ctypes.c_void_p) -> Any:
    """JSON that the library returned, which is freed."""
    return json.loads(take_text(address))


def json_of(function: Callable[..., Optional[int]], *arguments: Any) -> Any:
    """Calls a function whose last argument receives JSON."""
    out = ctypes.c_void_p()
    check(function(*arguments, ctypes.byref(out)))
    return taken_json(out)


class Handle:
    """Owns an object of the library, and frees it with the last reference."""

    __slots__ = ("pointer", "_free", "__weakref__")

    def __init__(self, free: Callable[[int], None], out: ctypes.c_void_p) -> None:
        assert out.value is not None
        self._free = free
        self.pointer: int = out.value

    def __del__(self) -> None:
        if hasattr(self, "pointer"):
            self._free(self.pointer)


def text(value: str, where: str) -> bytes:
    """The bytes of a text. Error: not a text, or one that C would cut at a zero byte."""
    if not isinstance(value, str):
        raise TypeError(f"{where} must be str, not {type(value).__name__}")
    encoded = value.encode(errors="surrogateescape")
    if b"\0" in encoded:
        raise bad_argument(where, f"{value!r} contains a zero byte", "remove it")
    return encoded


def path_text(value: PathLike, where: str) -> bytes:
    """The bytes of a path."""
    return text(os.fsdecode(value), where)


def number(value: Any, kind: Any, where: str) -> Any:
    """An integer that fits its C type, which would cut it without a word."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{where} must be int, not {type(value).__name__}")
    value = value.__index__()
    bits = 8 * ctypes.sizeof(kind)
    signed = kind(-1).value < 0
    least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if not least <= value <= most:
        raise bad_argument(where, f"it is {value}, outside {least} to {most}", "give a smaller number")
    return value


def enumeration(kind: str, value: str, where: str) -> int:
    """The number of an enumeration's value. `kind`: "dvt_level"."""
    values = ENUMERATIONS[kind]
    if value not in values:
        raise bad_argument(where, f"{value!r} is unknown", f"use one of {', '.join(map(repr, values))}")
    return values[value]


def texts(values: Optional[Iterable[str]], where: str) -> dvt_texts:
    """A list of texts."""
    if isinstance(values, str):
        raise TypeError(f"{where} must be a list of str, not one str")
    items = [text(value, where) for value in values or ()]
    return dvt_texts((ctypes.c_char_p * len(items))(*items), len(items))


def options(kind: Type[Struct], where: str, **members: Any) -> Struct:
    """A struct of options. Members that are None keep their default; texts and integers are checked."""
    fields: Dict[str, Any] = {field[0]: field[1] for field in kind._fields_}
    result = kind()
    result.struct_size = ctypes.sizeof(kind)
    for name, value in members.items():
        if value is None:
            continue
        field = fields[name]
        place = f"{where}: {name}"
        if field is ctypes.c_char_p:
            value = value if isinstance(value, bytes) else text(value, place)
        elif field is ctypes.c_double:
            value = float(value)
        elif field is dvt_texts:
            value = texts(value, place)
        elif isinstance(value, bool):
            value = int(value)
        elif hasattr(field(), "value"):
            value = number(value, field, place)
        setattr(result, name, value)
    return result


def key_values(values: Union[None, Mapping[str, Any], Sequence[str]], where: str) -> Optional[Sequence[str]]:
    """{"conv1": "cpu"} or ["conv1=cpu"] as the latter."""
    if isinstance(values, Mapping):
        return [f"{key}={value}" for key, value in values.items()]
    return values
