"""Finds the unit that compiles each source of a build, alone or together with others (DOVETAIL_UNITY), from compile_commands.json."""

import json
import pathlib
import re
import shlex
import typing


class Unit(typing.NamedTuple):
    file: pathlib.Path
    command: list
    object: str


def read_units(build, root):
    """{source below `root`: its unit}, in the order of the build."""
    units = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        unit = Unit(pathlib.Path(entry["file"]), words, words[words.index("-o") + 1])
        joint = re.findall(r'#include "(.*)"', unit.file.read_text()) if unit.file.parent.name == "Unity" else []
        for source in map(pathlib.Path, joint or [unit.file]):
            if source.is_relative_to(root):
                units[str(source.relative_to(root))] = unit
    return units
