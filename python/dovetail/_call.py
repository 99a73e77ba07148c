"""Between Python's values and those of the C interface: options, texts, status."""

from __future__ import annotations

import ctypes
import difflib
import functools
import json
import operator
import os
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Sequence, Type, TypeVar, Union

from ._library import lib
from ._names import python_names
from ._prototypes import ENUMERATIONS, dvt_target, dvt_texts
from .errors import OF_CAUSE, Diagnostic, Error, bad_argument

Struct = TypeVar("Struct", bound=ctypes.Structure)
PathLike = Union[str, "os.PathLike[str]"]


def error_of(status: int) -> Error:
    """The exception of a status, which is freed."""
    rows = json.loads(lib.dvt_status_json(status).decode(errors="replace"))
    cause = lib.dvt_status_cause(status)
    lib.dvt_status_free(status)
    names = {value: name for name, value in ENUMERATIONS["dvt_cause"].items()}
    diagnostics = [Diagnostic(**{key: python_names(value) for key, value in row.items()}) for row in rows]
    return OF_CAUSE[names[cause]](diagnostics)


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


_HINTS = ("hint", "missing", "notes", "remedy", "why")


def _with_names(row: Dict[str, Any]) -> Dict[str, Any]:
    for key in _HINTS:
        value = row.get(key)
        if isinstance(value, str):
            row[key] = python_names(value)
        elif isinstance(value, list):
            row[key] = [python_names(each) if isinstance(each, str) else each for each in value]
    return row


def read_json(content: str) -> Any:
    """JSON of the library, whose hints then have the names of this package."""
    return json.loads(content, object_hook=_with_names)


def taken_json(address: ctypes.c_void_p) -> Any:
    """JSON that the library returned, which is freed."""
    return read_json(take_text(address))


def json_of(function: Callable[..., Optional[int]], *arguments: Any) -> Any:
    """Calls a function whose last argument receives JSON."""
    out = ctypes.c_void_p()
    check(function(*arguments, ctypes.byref(out)))
    return taken_json(out)


class Owner:
    """Calls `free`, which is written in C, with its last reference.

    Python ignores an exception that is raised in __del__, so a Ctrl-C that arrives there would be lost. It arrives
    between two instructions of Python: __del__ therefore has none, only objects that are written in C.
    """

    __slots__ = ("_free", "__weakref__")

    def __init__(self, free: Callable[[], Any]) -> None:
        self._free = free

    __del__ = property(operator.attrgetter("_free"))


class Handle(Owner):
    """Owns an object of the library, and frees it with the last reference. It is passed to functions as it is, which
    keeps it during the call."""

    __slots__ = ("_as_parameter_",)

    def __init__(self, free: Callable[[int], None], out: ctypes.c_void_p) -> None:
        assert out.value is not None
        super().__init__(functools.partial(free, out.value))
        self._as_parameter_: int = out.value

    def __reduce__(self) -> Any:
        raise TypeError("an object of the library cannot be copied or pickled: make it again where it is needed")


# What other tools, the command line and abbreviations call arguments.
_OTHER_NAMES = {
    "cpu_threads": "threads", "hw": "hardware", "num_threads": "threads", "opt_level": "level", "optimize": "level",
    "shape": "shapes", "target": "targets",
}


def suggestion(given: Any, names: Iterable[str]) -> str:
    """"did you mean 'engine'?", or all names where none is similar."""
    names = list(names)
    near = [name for name in [_OTHER_NAMES.get(str(given), "")] if name in names]
    near = near or difflib.get_close_matches(str(given), names, 1)
    return f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(map(repr, names))}"


def listed(items: Iterable[str], most: int = 4) -> str:
    """Items with commas, the later ones as their number."""
    items = list(items)
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most] if more else items) + more


def text(value: str, where: str) -> bytes:
    """The bytes of a text. Error: not a text, or one that C would cut at a zero byte."""
    if not isinstance(value, str):
        raise TypeError(f"{where} must be str, not {type(value).__name__}")
    try:
        encoded = value.encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        raise bad_argument(where, f"{value!r} is not Unicode text", f"remove {value[error.start]!r}") from None
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
        raise bad_argument(where, f"it is {value}, outside {least} to {most}", "give a number of that range")
    return value


def enumeration(kind: str, value: str, where: str) -> int:
    """The number of an enumeration's value. `kind`: "dvt_level"."""
    values = ENUMERATIONS[kind]
    if not isinstance(value, str) or value not in values:
        raise bad_argument(where, f"{value!r} is unknown", suggestion(value, values))
    return values[value]


def texts(values: Optional[Iterable[str]], where: str) -> dvt_texts:
    """A list of texts, of which one may be given alone."""
    items = [text(value, where) for value in ([values] if isinstance(values, str) else values or ())]
    return dvt_texts((ctypes.c_char_p * len(items))(*items), len(items))


def function_type(kind: Type[ctypes.Structure], member: str) -> Any:
    """The type of a struct's member that is a function."""
    fields: Any = kind._fields_
    return dict(fields)[member]


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


def own_targets(targets: Sequence[Any]) -> Dict[str, Any]:
    """The two members of options for the caller's targets."""
    for each in targets:
        if not hasattr(each, "table") or isinstance(each, type):
            raise TypeError(f"a target must be an object of a class derived from dovetail.Target, not {each!r}")
    if not targets:
        return {}
    pointers = (ctypes.POINTER(dvt_target) * len(targets))(*(ctypes.pointer(each.table) for each in targets))
    return {"own_targets": pointers, "own_target_count": len(targets)}


def at_least_one(value: Optional[int], where: str) -> Optional[int]:
    """A number that is not 0, which the library takes for "not given"."""
    if value is not None and value < 1:
        raise bad_argument(where, f"it is {value}", "give at least 1, or None")
    return value


def above_zero(value: Optional[float], where: str) -> Optional[float]:
    """The same for numbers that need not be integers."""
    if value is not None and not value > 0:
        raise bad_argument(where, f"it is {value}", "give a number above 0, or None")
    return value


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    """Arrays by name."""
    if not isinstance(value, Mapping):
        example = "for example {'image': value}"
        raise TypeError(f"{where} must be a dict of arrays by name, {example}, not {type(value).__name__}")
    return value


def key_values(values: Union[None, Mapping[str, Any], Sequence[str]], where: str) -> Optional[Sequence[str]]:
    """{"conv1": "cpu"}, ["conv1=cpu"] or "conv1=cpu" as the list."""
    if isinstance(values, Mapping):
        return [f"{key}={value}" for key, value in values.items()]
    rows = [values] if isinstance(values, str) else values
    if rows is not None and not (isinstance(rows, (list, tuple)) and all(isinstance(row, str) for row in rows)):
        raise TypeError(f"{where} must be a dict of values by name, not {values!r}")
    for row in rows or ():
        if isinstance(row, str) and "=" not in row:
            raise bad_argument(where, f"{row!r} has no value", f"give {{{row!r}: value}}, or {row + '=VALUE'!r}")
    return rows
