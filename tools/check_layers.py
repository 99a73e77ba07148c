#!/usr/bin/env python3
"""Checks the rules of the tree that no compiler checks.  usage: check_layers.py [ROOT]

- every include edge between folders is one that layers.txt allows, and names a file of the tree;
- headers use `#pragma once`; a source includes its own header first, which proves that the header compiles alone (the build target
  header_check compiles headers without a source);
- files have names in snake_case, none of them a catch-all;
- no file contains an absolute path of a particular machine.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from repository_files import repository_files  # noqa: E402

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
WORDS = r"[a-z0-9]+(?:_[a-z0-9]+)*"
SOURCE_NAME = re.compile(rf"{WORDS}\.(?:h|cpp|py)|_{WORDS}\.py|__(?:init|main)__\.py")  # _x.py: private to its package
CATCH_ALL_NAMES = {"common", "utils", "util", "helpers", "helper", "misc"}
COPIED = {"examples/driver", "hw/soc/firmware"}  # files that are copied out of the tree together: they include each other by their names
MACHINE_PATH = re.compile(rb"(?<![\w.~/:-])/(?:work|root|tmp)/[\w.-]")


def read_layers(text):
    """{folder: folders that it may include, its own not listed}"""
    layers = {}
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if line:
            folder, _, allowed = line.partition(":")
            layers[folder.strip()] = allowed.split()
    return layers


def is_below(path, folder):
    return path == folder or path.startswith(folder + "/")


def line_of(layers, path):
    """The longest folder of layers.txt that holds `path`, or None."""
    return max((folder for folder in layers if is_below(path, folder)), key=len, default=None)


def covers(layers, entry, path):
    """Whether an entry of layers.txt allows including `path`: a header, `folder/` with everything below it, or a folder without subfolders that are listed."""
    if entry.endswith("/"):
        return path.startswith(entry)
    return path == entry or line_of(layers, path) == entry


def check_includes(layers, path, text, existing):
    folder = line_of(layers, path)
    for match in INCLUDE.finditer(text):
        target = match.group(1)
        parent = path.rpartition("/")[0]
        if parent in COPIED and any(f"{folder}/{target}" in existing for folder in COPIED):
            continue
        place = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        if target not in existing:
            yield f'{place}: "{target}" is not a file of the tree; includes are written from the root of the repository'
        elif folder is None:
            yield f"{place}: its folder has no line in layers.txt"
        elif not any(covers(layers, entry, target) for entry in [folder, *layers[folder]]):
            yield f'{place}: {folder} may not include "{target}"; layers.txt allows: {", ".join(layers[folder]) or "nothing"}'


def check_first_include(path, text, existing):
    header = path.removesuffix(".cpp") + ".h"
    if header not in existing:
        return
    first = re.search(r"^[ \t]*#[ \t]*include[ \t]*(\S+)", text, re.MULTILINE)
    if first is None or first.group(1) != f'"{header}"':
        yield f'{path}: its first include must be "{header}", to prove that the header compiles alone'


def check_name(path):
    name = path.rsplit("/", 1)[-1]
    if not SOURCE_NAME.fullmatch(name):
        yield f"{path}: the name is not in snake_case"
    if name.split(".")[0] in CATCH_ALL_NAMES:
        yield f"{path}: a catch-all name; name the concept"


def check_machine_paths(path, content):
    if b"\0" in content or b"mktemp" in content or b"mkdtemp" in content:  # binary files, and code that makes temporary files
        return
    for match in MACHINE_PATH.finditer(content):
        yield f"{path}:{content.count(10, 0, match.start()) + 1}: an absolute path of a particular machine: {match.group(0).decode()}..."


def check(root):
    paths = [path.as_posix() for path in repository_files(root)]
    existing = set(paths)
    layers = read_layers((root / "layers.txt").read_text(encoding="utf-8"))
    problems = []
    for path in paths:
        content = (root / path).read_bytes()
        problems += check_machine_paths(path, content)
        if not path.endswith((".h", ".cpp", ".py")):
            continue
        problems += check_name(path)
        if path.endswith(".py"):
            continue
        text = content.decode("utf-8", errors="replace")
        problems += check_includes(layers, path, text, existing)
        if path.endswith(".cpp"):
            problems += check_first_include(path, text, existing)
        elif "#pragma once" not in text:
            problems.append(f"{path}: a header without #pragma once")
    return problems


if __name__ == "__main__":
    found = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)
