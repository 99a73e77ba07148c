#!/usr/bin/env python3
"""The design is clean under slang, a second parser and linter (PyPI's pyslang), at every named configuration; ./dev test judges those of SAMPLE.

Warnings are waived by name in hw/lint/slang_waivers.txt. A planted fault of each kind below is found.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
sys.path.insert(0, str(SOURCE / "tools"))
import python_with  # noqa: E402
import tier  # noqa: E402

# The smallest, and those with all extensions and the wide encoding.
SAMPLE = ("tiny", "1x16x16-g3", "1x16x16-wide")
# slang has its driver, which prints to stderr: it runs in a separate process.
DRIVER = """
import sys
from pyslang import driver
lint = driver.Driver()
lint.addStandardArgs()
good = lint.parseCommandLine("slang " + " ".join(sys.argv[1:])) and lint.processOptions() and lint.parseAllSources()
sys.exit(0 if lint.runFullCompilation() and good else 1)
"""
# Planted: file, text that occurs once, its replacement, what slang must say.
FAULTS = (
    ("dovetail_token_fifo.sv", "assign available_o", "assign room_o = 1'b1;\n  assign available_o", "multiple"),
    ("dovetail_fifo.sv", "= mem[head_q];", "= mem[top_q];", "undeclared"),
    ("dovetail_read_buffer.sv", ".empty_o(empty),", "", "unconnected"),
    ("dovetail_sram.sv", "input  logic [AddrWidth-1:0] raddr_i,", "input  logic [AddrWidth+3:0] raddr_i,", "port-width"),
)


def lint(python, package, design):
    """(whether there is no error, [(severity, file, line, message, name of the warning)])"""
    done = subprocess.run([python, "-c", DRIVER, "-Weverything", "-Wextra", "--top", "dovetail_top", package, *design], capture_output=True, text=True, check=False)
    found = [(match[3], pathlib.Path(match[1]).name, int(match[2]), match[4], match[5] or "")
             for match in re.finditer(r"^(\S+?):(\d+):\d+: (warning|error): (.*?)(?: \[-W([\w-]+)\])?$", done.stderr, re.MULTILINE)]
    if done.returncode != 0 and not any(severity == "error" for severity, *_ in found):
        raise RuntimeError(done.stderr[-2000:])
    return done.returncode == 0, found


def read_waivers():
    rows = []
    for line in (SOURCE / "hw/lint/slang_waivers.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            cells = [cell.strip() for cell in line.split(" | ")]
            assert len(cells) == 4 and cells[3], line
            rows.append(tuple(cells[:3]))
    return rows


def waives(row, file, message, name):
    warning, where, text = row
    return warning == name and where in ("*", file) and (text == "*" or text in message)


def main():
    python = python_with.python_with("pyslang")
    if python is None:
        print("skipped: no Python with pyslang is found; ./dev tools installs it")
        return 77
    if not os.access(CLI, os.X_OK):
        print(f"there is no {CLI}")
        return 77
    design = sorted((SOURCE / "hw/rtl").glob("*.sv"))
    waivers = read_waivers()
    failures, used = [], set()
    configs = {config["name"]: config for config in json.loads(subprocess.run([CLI, "hw", "list", "--json"], capture_output=True, text=True, check=True).stdout)}
    judged, which = tier.judged(configs, SAMPLE)
    print(f"configurations: {which}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        package = folder / "dovetail_isa_pkg.sv"

        def write_package(name):
            package.write_text(subprocess.run([CLI, "isa", "--format", "sv", "--hw", name], capture_output=True, text=True, check=True).stdout)

        for config in judged:
            write_package(config)
            _, found = lint(python, package, design)
            for severity, file, line, message, name in found:
                matching = [row for row in waivers if waives(row, file, message, name)]
                used.update(matching)
                if not matching:
                    failures.append(f"{config}: {file}:{line}: {severity}: {message} [{name}]")
        if not tier.is_sample():
            failures += [f"hw/lint/slang_waivers.txt: nothing is waived by: {' | '.join(row)}" for row in waivers if row not in used]
        write_package("tiny")
        for file, before, after, said in FAULTS:
            copies = []
            for path in design:
                text = path.read_text()
                if path.name == file:
                    if text.count(before) != 1:
                        failures.append(f"{file} has {text.count(before)} times: {before}")
                    text = text.replace(before, after)
                copies.append(folder / path.name)
                copies[-1].write_text(text)
            _, found = lint(python, package, copies)
            if not any(said in f"{message} {name}" and not any(waives(row, name_of_file, message, name) for row in waivers) for _, name_of_file, _, message, name in found):
                failures.append(f"{file}: a planted fault is not found: {said}; found: {[entry[1:] for entry in found if not any(waives(row, entry[1], entry[3], entry[4]) for row in waivers)][:4]}")
    for failure in failures:
        print(failure)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
