#!/usr/bin/env python3
"""Plants the faults that mutants.txt lists, one at a time, and requires the test named with each to fail.

A mutant is a copy of one file with one snippet replaced, in a temporary folder that precedes the sources. Only the sources it names are
compiled again, then linked with the objects and libraries of an existing build. The same test must pass on the unchanged build.

usage: run.py [--build FOLDER] [--jobs N] [NAME...]     (faults whose name contains one of the NAMEs; default: those of the tier, see tools/tier.py)
"""

import argparse
import concurrent.futures
import configparser
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools"))
import tier  # noqa: E402
from build_units import read_units  # noqa: E402

LIST = pathlib.Path(__file__).with_name("mutants.txt")
# The sample of ./dev test: one fault each for a unit test of the ISA, a property of the schedules, the text of a pass, and the design.
SAMPLE = ("requant: ties away from zero", "tiles: buffer overfilled by one", "qdq: clips in the wrong order", "cycle: loads before computation at the arbiter")
TEST_SECONDS = 120
TEST_MEMORY_BYTES = 8 << 30
SKIPPED = 77


class Broken(Exception):
    """A mutant that cannot be judged."""


def replaced_once(path, old, new):
    """The file's text with `old` replaced, which must occur exactly once; blanks and line breaks between its words do not matter."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise Broken(f"there is no {path.relative_to(SOURCE)}") from None
    snippet = re.compile(r"\s*".join(map(re.escape, re.findall(r"\w+|[^\w\s]", old))))
    places = list(snippet.finditer(text))
    if len(places) != 1:
        raise Broken(f"{path.relative_to(SOURCE)} has the snippet `{old}` {len(places)} times, not once")
    return text[:places[0].start()] + new + text[places[0].end():]


class Build:
    def __init__(self, folder):
        self.folder = folder
        self.units = read_units(folder, SOURCE)

    def is_sanitized(self):
        return any("-fsanitize" in word for unit in self.units.values() for word in unit.command)

    def link_command(self, test):
        lines = subprocess.run(["ninja", "-t", "commands", "-s", f"bin/{test}"], cwd=self.folder, capture_output=True, text=True).stdout.splitlines()
        for step in (lines[-1] if lines else "").split("&&"):
            words = shlex.split(step)
            if f"bin/{test}" in words:
                return words
        raise Broken(f"the build has no executable {test}")

    def unit_of(self, source):
        if source not in self.units:
            raise Broken(f"{source} is not a source of the build")
        return self.units[source]

    def is_replaced(self, source):
        """Whether all sources compiled jointly with `source` are compiled again: none, or test cases, of which no program may contain two with one name."""
        return self.unit_of(source).file == SOURCE / source or pathlib.Path(source).parts[0] == "tests"

    def compile(self, source, overlay, obj):
        """Compiles `source`, or its copy below `overlay` where there is one, alone or, for tests, with the sources of its joint build; includes prefer `overlay`."""
        unit = self.unit_of(source)
        copy = overlay / source if (overlay / source).exists() else unit.file if self.is_replaced(source) else SOURCE / source
        words = unit.command[1:] if pathlib.Path(unit.command[0]).name == "ccache" else unit.command
        command = [words[0], f"-I{overlay}"] + [obj if word == unit.object else str(copy) if word == str(unit.file) else word for word in words[1:]]
        return subprocess.run(command + ["-O1", "-w"], cwd=self.folder, capture_output=True, text=True)

    def link(self, test, objects, executable):
        """`objects`: the object of each source compiled again. It replaces that of the build; or precedes one that also contains others, a library or its sources
        compiled jointly: of two definitions the linker takes the first. (Sources compiled with it reach it through the linker too: position-
        independent code must not bind to its own definitions that another object may replace.)"""
        words = self.link_command(test)
        replaced = {self.unit_of(source).object: new for source, new in objects.items() if self.is_replaced(source)}
        named = [replaced.get(word, executable if word == f"bin/{test}" else word) for word in words]
        in_front = [new for new in objects.values() if new not in named]
        at = next(i for i, word in enumerate(named) if word.endswith(".o"))
        return subprocess.run(named[:at] + ["-Wl,-z,muldefs"] + in_front + named[at:], cwd=self.folder, capture_output=True, text=True)


def run_test(executable, arguments):
    """None if it passes, otherwise how it failed."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (TEST_MEMORY_BYTES, TEST_MEMORY_BYTES))
    with tempfile.TemporaryDirectory() as work:
        try:
            done = subprocess.run([executable, *arguments, "--abort"], cwd=work, preexec_fn=limit, timeout=TEST_SECONDS,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            return f"time-out after {TEST_SECONDS} s"
    if "No test cases matched" in done.stdout or "No tests ran" in done.stdout:
        raise Broken(f"no test matches {shlex.join(arguments)}")
    if done.returncode < 0:
        return f"crash, signal {-done.returncode}"
    return "failure" if done.returncode else None


def judge(build, name, mutant):
    """How the mutant was caught, or None."""
    with tempfile.TemporaryDirectory(prefix="dovetail_mutant_") as folder:
        overlay = pathlib.Path(folder)
        copy = overlay / mutant["file"]
        text = replaced_once(SOURCE / mutant["file"], mutant["from"], mutant["to"])
        copy.parent.mkdir(parents=True)
        copy.write_text(text)
        objects = {}
        for source in shlex.split(mutant.get("units", mutant["file"])):
            if any(build.is_replaced(other) and build.unit_of(other) == build.unit_of(source) for other in objects):
                continue  # compiled with it
            new = str(overlay / f"{len(objects)}.o")
            done = build.compile(source, overlay, new)
            if "static assertion failed" in done.stderr:
                return "static assertion"
            if done.returncode:
                raise Broken(f"{source} does not compile:\n{done.stderr[:2000]}")
            objects[source] = new
        executable = str(overlay / mutant["test"])
        done = build.link(mutant["test"], objects, executable)
        if done.returncode:
            raise Broken(f"{mutant['test']} does not link:\n{done.stderr[:2000]}")
        return run_test(executable, shlex.split(mutant["arguments"]))


def processor_classes(build):
    """The classes whose code runs here under DOVETAIL_PROCESSOR, and the empty one, which runs everywhere."""
    report = subprocess.run([build / "bin/dovetail", "doctor", "--json"], capture_output=True, text=True, check=True)
    return {"", *json.loads(report.stdout)["processor"]["runs"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    listed = configparser.ConfigParser(interpolation=None, delimiters=(":",))
    listed.read_string(LIST.read_text())
    if options.names:
        names = [name for name in listed.sections() if any(part in name for part in options.names)]
    else:
        names, which = tier.judged(listed.sections(), SAMPLE)
        print(f"mutants: {which}")

    classes = processor_classes(options.build) if any("processor" in listed[name] for name in names) else {""}
    elsewhere = [name for name in names if listed[name].get("processor", "") not in classes]
    for name in elsewhere:
        print(f"{name:42} not judged here: code for {listed[name]['processor']} does not run")
    names = [name for name in names if name not in elsewhere]

    folder = options.build.resolve()
    if not (folder / "build.ninja").exists() or not (folder / "compile_commands.json").exists():
        print(f"mutants: skipped, {options.build} is not a Ninja build with compile_commands.json")
        return SKIPPED
    build = Build(folder)
    if build.is_sanitized():
        print("mutants: skipped, the build with sanitizers has the same tests and takes several times as long")
        return SKIPPED

    problems = []

    def passes_unchanged(test, arguments):
        executable = folder / "bin" / test
        if not executable.exists():
            return f"the build has no executable {test}"
        try:
            how = run_test(executable, shlex.split(arguments))
        except Broken as broken:
            return str(broken)
        return f"{test} {arguments} does not pass without a fault: {how}" if how else None

    def timed(name):
        begin = time.monotonic()
        try:
            how = judge(build, name, listed[name])
        except Broken as broken:
            return f"BROKEN: {broken}", time.monotonic() - begin
        return how, time.monotonic() - begin

    begin = time.monotonic()
    caught = missed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        unchanged = sorted({(listed[name]["test"], listed[name]["arguments"]) for name in names})
        problems += [problem for problem in pool.map(lambda key: passes_unchanged(*key), unchanged) if problem]
        for name, (how, seconds) in zip(names, pool.map(timed, names)):
            verdict = f"MISSED by {listed[name]['test']} {listed[name]['arguments']}" if how is None else how
            print(f"{name:42} {listed[name]['test']:24} {seconds:5.1f} s  {verdict}", flush=True)
            if how is None:
                missed += 1
            elif how.startswith("BROKEN"):
                problems.append(f"{name}: {how}")
            else:
                caught += 1
    print(f"{caught} caught, {missed} missed, in {time.monotonic() - begin:.0f} s")
    for problem in problems:
        print(f"mutants: {problem}")
    return 1 if missed or problems else 0


if __name__ == "__main__":
    sys.exit(main())
