#!/usr/bin/env python3
"""Exports models, compiles them for emulated boards with all warnings as errors, and runs their tests there in QEMU.

usage: run.py DOVETAIL [--board NAME]... [--format c|object] [--keep FOLDER] [-o OUT.json] [MODEL...]
       run.py DOVETAIL --test BOARD

A MODEL is a file, a name of examples/digits, or one of the zoo, with _int8 for its int8 form. Its exported test compares all
bits with the reference; models with functions of the mathematical library are compared as the test says. On each board, a
changed value in the first model must make that test fail, too. Boards without an operating system also count instructions and
measure the stack. --keep: leave exports and programs in that folder. Exit status 1: a test failed; 2: a tool is missing, and its
package is named.

--test BOARD is what the project's own tests run: digits_int8. Exit status 77: a tool is missing.
"""

import argparse
import datetime
import json
import pathlib
import re
import shutil
import sys
import tempfile

from boards import BOARDS, Failure, Program, run, sources_of

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODELS = ("digits_int8", "digits_float", "resnet8_int8", "ds_cnn_int8", "resnet8")
EXPECTED = "all outputs are as expected\n"
LEVELS = ("-O3", "-O2", "-Os")
CHECKED = "-O2"
SKIPPED = 77


def model_file(dovetail, folder, name):
    """The file of a MODEL; one of the zoo is written into the folder."""
    if name.endswith(".onnx"):
        return pathlib.Path(name)
    digits = SOURCE / "examples" / "digits" / f"{name}.onnx"
    if digits.exists():
        return digits
    path = folder / f"{name}.onnx"
    run([dovetail, "zoo", name.removesuffix("_int8"), *(["--int8"] if name.endswith("_int8") else []), "-o", path])
    return path


def export(dovetail, model, folder, options=()):
    """The model in the folder, which must be new or emptied; returns {arena_bytes, constant_bytes}."""
    report = run([dovetail, "export", model, "-o", folder, "--name", "net", *options])
    memory = next(line for line in report.splitlines() if line.startswith("memory"))
    return {"arena_bytes": int(re.search(r"arena (\d+) B", memory)[1]), "constant_bytes": int(re.search(r"constants (\d+) B", memory)[1])}


def check(program, folder):
    """Raises Failure unless the exported test succeeds."""
    output = program.run(program.whole(sources_of(folder), folder / "test_net.c"))
    if output != EXPECTED:
        raise Failure(f"the test on {program.board.name} printed: {output}")


def check_finds_fault(board, folder):
    """A fault is planted into a copy of the export; raises Failure unless its test fails as it should. In C the fault is another
    last value of the last array of integers, a weight or a bias; in machine code it is another expected value."""
    faulty = folder.parent / f"{folder.name}.faulty"
    shutil.rmtree(faulty, ignore_errors=True)
    shutil.copytree(folder, faulty, ignore=lambda at, names: [name for name in names if pathlib.Path(at, name).is_dir()])
    path = faulty / ("net.c" if (faulty / "net.c").exists() else "test_net.c")
    text = path.read_text()
    values = [found for found in re.finditer(r"(-?\d+(?:\.\d+f)?)\n\};", text)]
    last = values[-1]
    path.write_text(text[:last.start(1)] + ("99.0f" if last[1].endswith("f") else "99") + text[last.end(1):])
    program = Program(board, faulty, CHECKED)
    output = program.run(program.whole(sources_of(faulty), faulty / "test_net.c"), status=1)
    if not re.search(r"^\w+\[\d+\] is .*, expected ", output):
        raise Failure(f"with a changed value, the test on {board.name} printed: {output}")
    shutil.rmtree(faulty)


def examine(board, folder):
    """Checks the export on the board; returns what is measured there."""
    row = {"board": board.name, "levels": {}}
    check(Program(board, folder, CHECKED), folder)
    for level in LEVELS if board.measuring else ():
        program = Program(board, folder, level)
        row["levels"][level] = program.sizes(sources_of(folder), "net_run") | program.measure(sources_of(folder), folder / "test_net.c", "net_run")
    return row


def table(rows):
    """The figures of boards without an operating system, as text."""
    lines = [f"{'model':24} {'board':12} {'level':5} {'constants':>10} {'code':>8} {'arena':>8} {'stack':>6} {'instructions':>13}"]
    for row in rows:
        for level, found in row["levels"].items():
            lines.append(f"{row['model']:24} {row['board']:12} {level:5} {row['constant_bytes']:10,} {found['flash_bytes'] - row['constant_bytes']:8,} "
                         f"{row['arena_bytes']:8,} {found['stack_bytes']:6,} {found['instructions']:13,}")
    return "\n".join(lines)


def versions(dovetail, chosen):
    tools = {board.compiler for board in chosen} | {board.emulator[0] for board in chosen}
    return {tool: run([tool, "--version"]).splitlines()[0] for tool in sorted(tools)} | {"dovetail": run([dovetail, "--version"]).strip()}


def report_missing(missing):
    """One line in the end, which is the reason of a skipped test."""
    packages = sorted({package for parts in missing.values() for _, package in parts})
    needs = [f"{name} needs {', '.join(f'{part} (Debian package {package})' for part, package in parts)}" for name, parts in missing.items()]
    print(f"boards: {'; '.join(needs)}; run apt-get install --no-install-recommends {' '.join(packages)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dovetail", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--board", action="append", choices=[board.name for board in BOARDS])
    parser.add_argument("--format", choices=("c", "object"), default="c", dest="form")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--test", choices=[board.name for board in BOARDS], metavar="BOARD")
    parser.add_argument("-o", type=pathlib.Path, dest="output", metavar="OUT.json")
    arguments = parser.parse_intermixed_args()
    names = [arguments.test] if arguments.test else arguments.board
    chosen = [board for board in BOARDS if not names or board.name in names]
    missing = {board.name: parts for board in chosen if (parts := board.missing())}
    if missing:
        report_missing(missing)
        return SKIPPED if arguments.test else 2
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows, failures = run_all(arguments, chosen, folder)
    if not arguments.test:
        print(table(rows))
    print(f"{len(rows)} passed, {failures} failed")
    if arguments.output and not failures:
        document = {"date": datetime.date.today().isoformat(), "format": arguments.form, "versions": versions(arguments.dovetail, chosen), "rows": rows}
        arguments.output.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if failures else 0


def run_all(arguments, chosen, folder):
    rows, failures = [], 0
    models = ["digits_int8"] if arguments.test else arguments.models or MODELS
    for number, model in enumerate(models):
        path = model_file(arguments.dovetail, folder, model)
        exported = {}
        for board in chosen:
            options = ("--format", "object", "--cpu", board.processor) if arguments.form == "object" else ()
            if arguments.form == "object" and not board.processor:
                print(f"{path.stem} {board.name}: not run, the kit has no machine code for this processor", flush=True)
                continue
            try:
                project = folder / "-".join([path.stem, *options[-1:]])
                if project not in exported:
                    shutil.rmtree(project, ignore_errors=True)
                    exported[project] = export(arguments.dovetail, path, project, options)
                row = {"model": path.stem, **exported[project], "exact": "TOLERANCE" not in (project / "test_net.c").read_text()}
                rows.append(row | examine(board, project))
                if number == 0:
                    check_finds_fault(board, project)
                print(f"{path.stem} {board.name}: {'all bits are' if row['exact'] else 'all outputs are'} as expected", flush=True)
            except Failure as failure:
                failures += 1
                print(f"{path.stem} {board.name}: failed\n{failure}", flush=True)
    return rows, failures


if __name__ == "__main__":
    sys.exit(main())
