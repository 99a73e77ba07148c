#!/usr/bin/env python3
"""Every public name of the package has a docstring, and the docstring of a class has a line for each attribute."""

import ast
import inspect
import re
import textwrap
import types
import unittest

import environment  # noqa: F401, I001  (sets the path)

import dovetail


def attributes(kind):
    """The public attributes of a class: those that its body declares, and those that its methods set."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    names = set(getattr(kind, "__annotations__", ())) | set(getattr(kind, "__slots__", ()))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            names.add(node.attr)
    names |= {each.id for row in tree.body if isinstance(row, ast.Assign) for each in row.targets
              if isinstance(each, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def described(docstring):
    """The names that lines "name: text" or "name, name: text" of a docstring begin with."""
    lines = re.findall(r"^(\w+(?:, \w+)*): \S", inspect.cleandoc(docstring), re.MULTILINE)
    return {name for line in lines for name in line.split(", ")}


def lacking(name, value):
    """The names without a docstring: of a function, or of a class and what it has."""
    if not (value.__doc__ or "").strip():
        yield name
    if not isinstance(value, type):
        return
    for own in attributes(value) - described(value.__doc__ or ""):
        yield f"{name}.{own}"
    for attribute, member in vars(value).items():
        is_callable = isinstance(member, (types.FunctionType, property, classmethod, staticmethod))
        if is_callable and (not attribute.startswith("_") or attribute == "__init__"):
            if not (member.__doc__ or "").strip() and not inspect.getdoc(getattr(value, attribute)):
                yield f"{name}.{attribute}"


def public():
    """(name, value) of the package, of its module `loops`, and of the bases of their classes in the package."""
    values = {f"dovetail.{name}": getattr(dovetail, name) for name in dovetail.__all__}
    values.update((f"dovetail.loops.{name}", value) for name, value in vars(dovetail.loops).items()
                  if not name.startswith("_") and getattr(value, "__module__", "") == "dovetail.loops")
    for name, value in list(values.items()):
        for base in getattr(value, "__mro__", ())[1:]:
            if base.__module__.startswith("dovetail"):
                values[f"{base.__module__}.{base.__qualname__}"] = base
    return values


class Docstrings(unittest.TestCase):
    def test_everything_public_has_one(self):
        found = []
        for name, value in public().items():
            if isinstance(value, (type, types.FunctionType, types.ModuleType)):
                found += lacking(name, value)
            elif name.rpartition(".")[2] not in described(dovetail.__doc__):
                found.append(name)
        self.assertEqual(found, [])

    def test_a_missing_one_is_found(self):
        class Undocumented:
            """A class.

            first: described.
            """

            first: int
            second: int

            def __init__(self):
                """Makes one."""
                self.third = 0

            def method(self):
                return self.third

        self.assertEqual(sorted(lacking("U", Undocumented)), ["U.method", "U.second", "U.third"])


if __name__ == "__main__":
    unittest.main()
