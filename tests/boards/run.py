#!/usr/bin/env python3
"""Exports models, compiles them for emulated boards with all warnings as errors, and runs their tests there in QEMU.

usage: run.py DOVETAIL [--board NAME]... [--format c|object] [--keep FOLDER] [-o OUT.json] [MODEL...]
       run.py DOVETAIL [--format object] --test BOARD

A MODEL is a file, or a name of examples/digits, of ../shared/models or of the zoo, there with _int8 for the int8 form. Its
exported test compares all bits with the reference; models with functions of the mathematical library are compared as the test
says. On each board, the test of digits_int8 must fail where a value of that model is changed. Boards without an operating system
also count instructions and measure the stack. --keep: leave exports and programs in that folder. Exit status 1: a test failed; 2:
a tool is missing, and its package is named.

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
SHARED = SOURCE.parent / "shared" / "models"
MODELS = ("digits_int8", "digits_float", "resnet8_int8", "resnet8", "ds_cnn_int8")
SHARED_MODELS = ("kws_dscnn_int8", "ad_autoencoder_int8", "vww96_int8")  # of SHARED, where they are
EXPECTED = "all outputs are as expected\n"
LEVELS = ("-O3", "-O2", "-Os")
CHECKED = "-O2"
FAULTY = "digits_int8"  # the model into which a fault is planted
SKIPPED = 77


def model_file(dovetail, folder, name):
    """The file of a MODEL; one of the zoo is written into the folder."""
    if name.endswith(".onnx"):
        return pathlib.Path(name)
    if any(row.split()[:1] == [name.removesuffix("_int8")] for row in run([dovetail, "zoo", "list"]).splitlines()):
        path = folder / f"{name}.onnx"
        run([dovetail, "zoo", name.removesuffix("_int8"), *(["--int8"] if name.endswith("_int8") else []), "-o", path])
        return path
    for path in (SOURCE / "examples" / "digits" / f"{name}.onnx", SHARED / name / "model.onnx"):
        if path.exists():
            return path
    raise Failure(
        f"there is no model {name}: give a file .onnx, or a name of examples/digits, of `dovetail zoo list` or of {SHARED}"
    )


def export(dovetail, model, folder, options=()):
    """The model in the folder, which must be new or emptied; returns {arena_bytes, constant_bytes}."""
    report = run([dovetail, "export", model, "-o", folder, "--name", "net", *options])
    memory = next(line for line in report.splitlines() if line.startswith("memory"))
    return {
        "arena_bytes": int(re.search(r"arena (\d+) B", memory)[1]),
        "constant_bytes": int(re.search(r"constants (\d+) B", memory)[1]),
    }


def check(program, folder):
    """Raises Failure unless the exported test succeeds."""
    output = program.run(program.whole(sources_of(folder), folder / "test_net.c"))
    if output != EXPECTED:
        raise Failure(f"the test on {program.board.name} printed: {output}")


def check_finds_fault(board, folder):
    """Plants a fault into a copy of the export; raises Failure unless its test fails as it should. In C the fault is another
    value at the end of the last array, the scale of an output; in machine code it is another expected value."""
    faulty = folder.parent / f"{folder.name}.faulty"
    shutil.rmtree(faulty, ignore_errors=True)
    shutil.copytree(folder, faulty, ignore=lambda at, names: [name for name in names if pathlib.Path(at, name).is_dir()])
    path = faulty / ("net.c" if (faulty / "net.c").exists() else "test_net.c")
    text = path.read_text()
    last = list(re.finditer(r"(\S+)\n\};", text))[-1]
    path.write_text(text[: last.start(1)] + "99" + text[last.end(1) :])
    program = Program(board, faulty, CHECKED)
    output = program.run(program.whole(sources_of(faulty), faulty / "test_net.c"), status=1)
    if not re.search(r"^\w+\[\d+\] is .*, expected ", output):
        raise Failure(f"with a changed value, the test on {board.name} printed: {output}")
    shutil.rmtree(faulty)


def examine(board, folder, levels):
    """Checks the export on the board; returns what is measured there at the levels."""
    row = {"board": board.name, "levels": {}}
    check(Program(board, folder, CHECKED), folder)
    for level in levels if board.measuring else ():
        program = Program(board, folder, level)
        row["levels"][level] = program.sizes(sources_of(folder), "net_run") | program.measure(
            sources_of(folder), folder / "test_net.c", "net_run"
        )
    return row


def table(rows):
    """The figures of boards without an operating system, as text."""
    lines = [("model", "board", "level", "constants", "code", "arena", "stack", "instructions")]
    for row in rows:
        for level, found in row["levels"].items():
            constants, code = row["constant_bytes"], found["flash_bytes"] - row["constant_bytes"]
            figures = (constants, code, row["arena_bytes"], found["stack_bytes"], found["instructions"])
            lines.append((row["model"], row["board"], level, *(f"{figure:,}" for figure in figures)))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 3 else cell.rjust(width) for column, (cell, width) in enumerate(zip(line, widths))
        )
        for line in lines
    )


def versions(dovetail, chosen):
    tools = {board.compiler for board in chosen} | {board.emulator[0] for board in chosen}
    return {tool: run([tool, "--version"]).splitlines()[0] for tool in sorted(tools)} | {
        "dovetail": run([dovetail, "--version"]).strip()
    }


def report_missing(missing):
    """One line in the end, which is the reason of a skipped test."""
    packages = sorted({package for parts in missing.values() for _, package in parts})
    needs = [
        f"{name} needs {', '.join(f'{part} (Debian package {package})' for part, package in parts)}"
        for name, parts in missing.items()
    ]
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
    if arguments.form == "c":
        chosen = [board for board in chosen if not board.objects_only]
    missing = {board.name: parts for board in chosen if (parts := board.missing())}
    if missing:
        report_missing(missing)
        return SKIPPED if arguments.test else 2
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows, failures = run_all(arguments, chosen, folder)
    if any(row["levels"] for row in rows):
        print(table(rows))
    print(f"{len(rows)} passed, {failures} failed")
    if arguments.output and not failures:
        document = {
            "date": datetime.date.today().isoformat(),
            "format": arguments.form,
            "versions": versions(arguments.dovetail, chosen),
            "rows": rows,
        }
        arguments.output.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if failures else 0


class Exports:
    """The exports of a run, each made once."""

    def __init__(self, arguments, folder):
        self.dovetail, self.form, self.folder, self.made = arguments.dovetail, arguments.form, folder, {}

    def of(self, model, board):
        """(folder, figures) of the model for the board."""
        options = ("--format", "object", "--cpu", board.processor) if self.form == "object" else ()
        project = self.folder / "-".join([pathlib.Path(model).stem, *options[-1:]])
        if project not in self.made:
            shutil.rmtree(project, ignore_errors=True)
            self.made[project] = export(self.dovetail, model_file(self.dovetail, self.folder, model), project, options)
        return project, self.made[project]


def run_all(arguments, chosen, folder):
    """(rows of what passed, the number of failures)"""
    rows, failures, exports = [], 0, Exports(arguments, folder)
    present = [name for name in SHARED_MODELS if (SHARED / name).exists()]
    levels = () if arguments.test else LEVELS if arguments.form == "c" else (CHECKED,)
    models = [FAULTY] if arguments.test else arguments.models or [*MODELS, *present]
    if not arguments.models and not arguments.test and len(present) < len(SHARED_MODELS):
        print(f"not run, since {SHARED} does not have them: {', '.join(sorted(set(SHARED_MODELS) - set(present)))}")
    for board in chosen:
        if arguments.form == "object" and not board.processor:
            print(f"{board.name}: not run, the kit has no machine code for this processor", flush=True)
            continue
        for model in (None, *models):
            name = pathlib.Path(model or FAULTY).stem
            try:
                project, figures = exports.of(model or FAULTY, board)
                if model is None:
                    check_finds_fault(board, project)
                    continue
                exact = "TOLERANCE" not in (project / "test_net.c").read_text()
                rows.append({"model": name, **figures, "exact": exact, **examine(board, project, levels)})
                print(f"{name} {board.name}: {'all bits are' if exact else 'all outputs are'} as expected", flush=True)
            except Failure as failure:
                failures += 1
                print(f"{name} {board.name}: failed\n{failure}", flush=True)
    return rows, failures


if __name__ == "__main__":
    sys.exit(main())
