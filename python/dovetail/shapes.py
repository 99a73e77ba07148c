"""Shapes of inputs, and symbolic extents."""

from __future__ import annotations

from typing import List, Mapping, Optional, Sequence, Union

from .errors import bad_argument

Extents = Union[int, Sequence[int]]
"""The value of a symbolic extent, or the shape of an input."""
Shapes = Union[None, Mapping[str, Union[Extents, List[Extents]]], Sequence[str]]
"""{"batch": 4, "mask": (1, 16)}, with lists for several programs; or ["batch=4", "mask=1x16"]."""


def shape_texts(shapes: Shapes) -> Optional[Sequence[str]]:
    """{"batch": 4, "mask": (1, 16)} as ["batch=4", "mask=1x16"]; a list of several makes several programs."""
    if not isinstance(shapes, Mapping):
        if shapes is not None and not isinstance(shapes, (str, list, tuple)):
            hint = 'give {"batch": 4} or {"image": (4, 3, 224, 224)}'
            raise bad_argument("shapes", f"its type is {type(shapes).__name__}", hint)
        rows = [shapes] if isinstance(shapes, str) else shapes
        if rows is not None and not all(isinstance(row, str) for row in rows):
            raise bad_argument("shapes", f"it is {rows!r}", 'give {"batch": 4} or {"image": (4, 3, 224, 224)}')
        return rows
    lines: List[str] = []
    for name, value in shapes.items():
        if isinstance(value, list) and not value:
            raise bad_argument("shapes", f"{name!r} is an empty list", "give at least one value")
        for each in value if isinstance(value, list) else [value]:
            extents = each if isinstance(each, (tuple, list)) else [each]
            if not extents or not all(_is_extent(extent) for extent in extents):
                hint = 'give integers of at least 1: {"batch": 4} or {"image": (4, 3, 224, 224)}'
                raise bad_argument("shapes", f"{name!r} is {each!r}", hint)
            lines.append(f"{name}={'x'.join(map(str, extents))}")
    return lines


def _is_extent(value: object) -> bool:
    index = getattr(value, "__index__", None)
    return index is not None and not isinstance(value, bool) and 1 <= index() < 1 << 40
