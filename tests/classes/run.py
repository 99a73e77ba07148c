#!/usr/bin/env python3
"""Runs the tests that depend on the processor class as if this machine were of a lower class: DOVETAIL_PROCESSOR=CLASS.

dependent.txt lists them. ./dev test judges a share of each file's tests, other shares for other classes (tools/tier.py). Exit status 77, with the reason in the last line: this machine has no such class below its own.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools"))
import tier  # noqa: E402

VARIABLE = "DOVETAIL_PROCESSOR"
SKIPPED = 77


def dependent(text):
    """(path, shares) of each line."""
    rows = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(path, int(shares)) for path, shares in rows]


def program_of(path):
    """tests/KIND/LAYER/... is compiled into test_KIND_LAYER."""
    _, kind, layer = path.split("/")[:3]
    return f"test_{kind}_{layer.removesuffix('.cpp')}"


def tests_in(listing, path):
    """The names, in order, of a Catch program's tests whose sources are at the path or below it. A line is NAME<tab>@FILE:LINE."""
    names = []
    for line in listing.splitlines():
        name, _, place = line.partition("\t@")
        file = place.rpartition(":")[0]
        if file.endswith("/" + path) or f"/{path}/" in file:
            names.append(name)
    return names


def chosen(names, shares, offset):
    return names[offset % shares::shares] if tier.is_sample() else names


def as_catch_reads_it(name):
    """A line of --input-file that selects only this test: a comma would end the name, even within quotes."""
    return '"' + "".join("\\" + c if c in '\\",' else c for c in name) + '"'


def run(programs, name, classes):
    environment = {**os.environ, VARIABLE: name}
    listings, chosen_names = {}, {}
    for path, shares in dependent((SOURCE / "tests/classes/dependent.txt").read_text()):
        program = program_of(path)
        if program not in listings:
            command = [programs / program, "--list-test-names-only", "--verbosity", "high"]
            # Catch's exit status is the number of tests.
            listings[program] = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        found = tests_in(listings[program], path)
        if not found:
            sys.exit(f"{path}: {program} has no tests of it; tests/classes/dependent.txt is out of date")
        chosen_names.setdefault(program, []).extend(chosen(found, shares, classes.index(name)))
    failed = []
    for program, names in chosen_names.items():
        if not names:
            continue
        print(f"{program}: {len(names)} of {len(listings[program].splitlines())} tests", flush=True)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(map(as_catch_reads_it, names)) + "\n")
            file.flush()
            done = subprocess.run([programs / program, "--input-file", file.name], env=environment, capture_output=True, text=True, errors="replace", check=False)
        unknown = "No test cases matched" in done.stdout or "Invalid Filter" in done.stdout
        if done.returncode not in (0, SKIPPED) or unknown:
            failed.append(program)
            print(done.stdout + done.stderr)
    print(f"class {name}: " + (f"failed: {', '.join(failed)}" if failed else f"{sum(map(len, chosen_names.values()))} tests passed"))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("name", metavar="CLASS")
    options = parser.parse_args()
    if os.environ.get(VARIABLE):
        print(f"this run keeps to one class itself: {VARIABLE}={os.environ[VARIABLE]}")
        return SKIPPED
    programs = options.build.resolve() / "bin"
    report = subprocess.run([programs / "dovetail", "doctor", "--json"], capture_output=True, text=True, check=True)
    processor = json.loads(report.stdout)["processor"]
    if options.name == processor["class"] or options.name not in processor["runs"]:
        print(f"{options.name} is not a class below this machine's, {processor['class'] or 'none'}")
        return SKIPPED
    return run(programs, options.name, processor["runs"])


if __name__ == "__main__":
    sys.exit(main())
