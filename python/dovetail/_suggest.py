"""Misspelt keywords: the TypeError of a call, with the name that was meant."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from types import FunctionType
from typing import Any, Callable, Dict, FrozenSet, Iterable, Tuple

from ._call import suggestion

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
# Called in loops of microseconds, and with one keyword.
_FAST = frozenset({"run"})


def caller_level() -> int:
    """The `stacklevel` of warnings.warn, called by the caller of this function, for the first frame outside of the
    package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename).startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


def _keywords(function: Callable[..., Any]) -> Tuple[FrozenSet[str], bool]:
    """The names that may be keywords, and whether any other may."""
    parameters = inspect.signature(function).parameters.values()
    named = frozenset(each.name for each in parameters if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD))
    return named - {"self"}, any(each.kind == each.VAR_KEYWORD for each in parameters)


def _checked(function: FunctionType, name: str, more: FrozenSet[str]) -> Callable[..., Any]:
    """The function, which names what an unknown keyword may have meant. `more`: what it takes as **options."""
    own, takes_any = _keywords(function)
    known = own | more
    if takes_any and not more:
        return function

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        for given in keywords:
            if given not in known:
                meant = suggestion(given, sorted(known))
                raise TypeError(f"{name}() got an unexpected keyword argument {given!r}; {meant}")
        return function(*arguments, **keywords)

    return call


def name_keywords(names: Dict[str, Any], public: Iterable[str], options: Dict[str, Callable[..., Any]]) -> None:
    """Checks the keywords of all public functions, and of the methods of public classes.

    names: of a module, which are replaced. options: for functions with **options, what these are passed to.
    """
    for name in public:
        value = names[name]
        if isinstance(value, FunctionType):
            more = _keywords(options[name])[0] if name in options else frozenset()
            names[name] = _checked(value, name, more)
        elif isinstance(value, type):
            for attribute, method in list(vars(value).items()):
                if not isinstance(method, FunctionType) or attribute in _FAST:
                    continue
                if attribute == "__init__" or not attribute.startswith("_"):
                    shown = name if attribute == "__init__" else f"{name}.{attribute}"
                    if _keywords(method)[0]:
                        setattr(value, attribute, _checked(method, shown, frozenset()))
