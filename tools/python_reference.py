#!/usr/bin/env python3
"""Prints docs/reference/python.md: the public names of the Python package, from its sources.

usage: python_reference.py.  ./dev gen writes the file. The sources are parsed, not imported, so that neither NumPy nor
the library is needed. A public name without a docstring is an error.
"""

import ast
import re
import string
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "dovetail"
WIDTH = 120

HEAD = """\
# Python reference

The public names of the package `dovetail`, by the module that defines them, from their docstrings.
[Using the kit from Python](../howto/python.md) leads through their use, and has the function of each command; the
[first week in Python](../guide/first-week-python.md) is a tutorial.
"""


def fail(text):
    raise SystemExit(f"python_reference.py: {text}")


def linked(text):
    """Paths of documentation as links."""

    def link(match):
        path = match.group(0)
        target = path[len("docs/reference/") :] if path.startswith("docs/reference/") else "../" + path[len("docs/") :]
        return f"[{path}]({target})" if (ROOT / path).exists() else fail(f"there is no {path}")

    return re.sub(r"docs/[\w./-]+\.(?:md|json)", link, text)


def filled(text, first="", later=""):
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )


ENTRY = re.compile(r"[a-z_]\w*(?:, [a-z_]\w*)*: ")


def escaped(text):
    """Text of a docstring as Markdown: `code` stays, and `<` and `*` outside of it are letters."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;").replace("*", "\\*") for part in parts)


def markdown(docstring, kinds={}):
    """The paragraphs of a docstring: prose, examples, and lists of arguments, or of attributes. kinds: their types."""
    blocks = []
    for paragraph in re.split(r"\n\s*\n", docstring.strip()):
        lines = paragraph.splitlines()
        if lines[0].startswith(">>>"):
            blocks.append("\n".join(["```python", *(line[4:] for line in lines), "```"]))
            continue
        items = []  # prose, and entries with their continuation lines
        for line in lines:
            entry = ENTRY.match(line)
            if entry or not items:
                items.append([bool(entry), line])
            elif items[-1][0] and not line.startswith(" "):
                items.append([False, line])
            else:
                items[-1][1] += " " + line.strip()
        listed = []
        for is_entry, text in items:
            text = linked(escaped(text))
            if is_entry:
                names, _, rest = text.partition(": ")
                code = ", ".join(f"`{name}`" for name in names.split(", "))
                kind = f" (`{kinds[names]}`)" if names in kinds else ""
                listed.append(filled(f"{code}{kind}: {rest}", "- ", "  "))
                continue
            if listed:
                blocks.append("\n".join(listed))
                listed = []
            blocks.append(filled(text))
        if listed:
            blocks.append("\n".join(listed))
    return "\n\n".join(blocks)


def shown(node):
    """Source of an expression, without the package's own modules."""
    return ast.unparse(node).replace("_call.", "").replace("'", '"')


def signature(function, name, is_method):
    """`name(arguments) -> result`, in lines of at most 120 characters."""
    arguments = function.args
    if is_method and not any(ast.unparse(each) == "staticmethod" for each in function.decorator_list):
        (arguments.posonlyargs or arguments.args).pop(0)
    result = "" if function.returns is None else f" -> {shown(function.returns)}"
    text = f"{name}({shown(arguments)}){result}"
    if len(text) <= WIDTH - 4:
        return text
    every = shown(arguments)
    parts, depth = [""], 0
    for letter in every:
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    body = textwrap.fill(
        ", ".join(part.strip().replace(" ", "\0") for part in parts) + ",",
        WIDTH - 4,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
    ).replace("\0", " ")
    return f"{name}(\n{body}\n){result}"


def decorated(function, name):
    return any(ast.unparse(each) == name for each in function.decorator_list)


def attributes_of(node, docstring):
    """{name: type} of the attributes that a class declares, each of which its docstring describes."""
    kinds = {each.target.id: shown(each.annotation) for each in node.body if isinstance(each, ast.AnnAssign)}
    for name in kinds:
        if not re.search(rf"^{name}: ", docstring, re.MULTILINE):
            fail(f"the docstring of {node.name} does not describe {name}")
    return kinds


def section(title, code, docstring):
    return "\n\n".join([title, f"```python\n{code}\n```", markdown(docstring)])


def function_text(function, name, title, is_method=False):
    docstring = ast.get_docstring(function)
    if not docstring:
        fail(f"{name} has no docstring")
    return section(title, signature(function, name, is_method), docstring)


def class_text(node):
    docstring = ast.get_docstring(node) or fail(f"{node.name} has no docstring")
    bases = ", ".join(map(ast.unparse, node.bases))
    parts = [
        f"### {node.name}",
        f"```python\nclass {node.name}{f'({bases})' if bases else ''}\n```",
        markdown(docstring, attributes_of(node, docstring)),
    ]
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    properties = [each for each in methods if decorated(each, "property") and not each.name.startswith("_")]
    lines = []
    for each in properties:
        text = ast.get_docstring(each) or fail(f"{node.name}.{each.name} has no docstring")
        text = text[0].lower() + text[1:] if text[1:2] in " " + string.ascii_lowercase else text
        lines.append(filled(f"`{each.name}` (`{shown(each.returns)}`): {linked(escaped(text))}", "- ", "  "))
    if lines:
        is_list = parts[-1].rpartition("\n\n")[2].startswith("- ")
        parts.append("\n".join([parts.pop()] * is_list + lines))
    init = next((each for each in methods if each.name == "__init__"), None)
    if init and not (ast.get_docstring(init) or "").startswith("For this package"):
        parts.append(function_text(init, node.name, f"#### {node.name}()", True))
    for method in methods:
        if method.name.startswith("_") or decorated(method, "property"):
            continue
        parts.append(function_text(method, f"{node.name}.{method.name}", f"#### {node.name}.{method.name}", True))
    return "\n\n".join(parts)


def exported():
    """The names of `dovetail`: {name: module}."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    names, public = {}, set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            names.update({each.asname or each.name: node.module for each in node.names})
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            public = {each.value for each in node.value.elts}
    return {name: names[name] for name in public if name in names}


def module_text(module, public):
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    title = (ast.get_docstring(tree) or fail(f"{module} has no docstring")).partition("\n")[0].rstrip(".")
    parts = [f"## {module}: {title[0].lower() + title[1:]}"]
    for node in tree.body:
        name = getattr(node, "name", "")
        if name not in public:
            continue
        if isinstance(node, ast.ClassDef):
            parts.append(class_text(node))
        elif isinstance(node, ast.FunctionDef):
            parts.append(function_text(node, name, f"### {name}"))
    return "\n\n".join(parts) if len(parts) > 1 else ""


def text():
    names = exported()
    order = sorted(set(names.values()) - {"_library"})
    parts = [
        "<!-- Generated by `python3 tools/python_reference.py` from python/dovetail. Do not edit. -->",
        HEAD.rstrip(),
    ]
    for module in order:
        parts.append(module_text(module, {name for name, own in names.items() if own == module}))
    return "\n\n".join(filter(None, parts)) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
