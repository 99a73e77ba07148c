#!/usr/bin/env python3
"""Compiles each source and header of a joint build alone, without a precompiled header: each must include everything that it uses.

usage: compile_alone.py [--jobs N] [--root ROOT] BUILD [SOURCE...]

Without SOURCE: all sources. No code is generated. Exit status 77 if the build compiles every source alone anyway.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from build_units import read_units  # noqa: E402

HEADER_CHECK = "/header_check/"  # below the build: a source for each header without one


def is_joint(source, unit, root):
    return unit.file != root / source or any(word.endswith("cmake_pch.hxx") for word in unit.command)


def header_of(source):
    """The header that a source of header_check is about; None for others."""
    place = source.find(HEADER_CHECK)
    return None if place < 0 else source[place + len(HEADER_CHECK):].removesuffix(".cpp") + ".h"


def command_alone(source, unit, root):
    words, precompiled = [], {"-Winvalid-pch", "-fpch-preprocess"}
    remaining = iter(unit.command)
    for word in remaining:
        if word in ("-include", "-o"):
            next(remaining)
        elif word == str(unit.file):
            words.append(str(root / source))
        elif word != "-c" and word not in precompiled:
            words.append(word)
    return [*words, "-w", "-fsyntax-only"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("sources", nargs="*")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    units = read_units(arguments.build, root)
    joint = {source: unit for source, unit in units.items() if is_joint(source, unit, root)}
    if not joint:
        print("this build compiles every source alone")
        return 77
    joint.update({header: unit for source, unit in units.items() if (header := header_of(source))})
    chosen = arguments.sources or list(joint)

    def compile_one(source):
        return subprocess.run(command_alone(source, joint[source], root), cwd=arguments.build, capture_output=True, text=True, check=False)

    failures = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for source, done in zip(chosen, pool.map(compile_one, chosen)):
            if done.returncode:
                failures += 1
                print(f"{source} does not compile alone:\n{done.stderr[:2000]}")
    print(f"{len(chosen)} sources, {failures} do not compile alone")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
