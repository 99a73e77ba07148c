#!/usr/bin/env python3
"""Speed and size of exported programs, compared with the kernels that the kit compiles for the same processor, in one run.

usage: speed.py DOVETAIL FOLDER [--model NAME=FILE...] [--compiler CC] [--rounds N] [-o OUT.json]

Exports each model into FOLDER as C, which is compiled with -O3, and as an object, for the processor's least class and for this
processor, checks both, and times them alternately with `dovetail run --target cpu` on one thread. Times are medians of the rounds. Without --model: the digits models of the repository, and resnet8 of the zoo in int8 and in float.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DIGITS = SOURCE / "examples" / "digits"
LEAST_SECONDS = 0.2  # of one timed process
CLASSES = {"baseline": [], "native": ["-march=native"]}


def run(words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise SystemExit(f"speed.py: {' '.join(map(str, words))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def seconds_of(program, runs):
    begin = time.perf_counter()
    run([program, runs])
    return time.perf_counter() - begin


class Exported:
    """One export, compiled with the options of a class; `net`: its C source or its archive."""

    def __init__(self, folder, compiler, name, net="net.c"):
        self.program = folder / f"speed_{name}"
        sources = [folder / file for file in ("test_net.c", "dovetail_tiny.c", net)]
        run([compiler, "-std=c99", "-O3", "-ffp-contract=off", *CLASSES[name], *sources, "-lm", "-o", self.program])
        self.runs = 1
        while seconds_of(self.program, self.runs) < LEAST_SECONDS:
            self.runs *= 2

    def seconds(self):
        """One run of the model: the start of the process does not count."""
        return (seconds_of(self.program, 3 * self.runs) - seconds_of(self.program, self.runs)) / (2 * self.runs)


class Compiled:
    """The kit's kernels for a class, on one thread."""

    def __init__(self, dovetail, folder, model, name):
        self.dovetail, self.bundle, self.report = dovetail, folder / f"{name}.dvt", folder / "run.json"
        run([dovetail, "compile", model, "--target", "cpu", "--cpu", name, "-o", self.bundle])

    def seconds(self):
        run([self.dovetail, "run", self.bundle, "--threads", 1, "--repeat", 200, "--report", self.report])
        return json.loads(self.report.read_text())["repeated"]["median_ms"] / 1000


def text_bytes(folder, compiler, options):
    """Code and constants of the net without its test, in bytes."""
    net = folder / "net.o"
    run([compiler, "-std=c99", *options, "-ffp-contract=off", "-c", folder / "net.c", "-o", net])
    return int(run(["size", net]).splitlines()[1].split()[0])


def measure(arguments, name, model):
    folder = arguments.folder / name
    for file in folder.glob("*"):
        file.unlink()  # of an earlier run
    report = run([arguments.dovetail, "export", model, "-o", folder])
    memory = next(line for line in report.splitlines() if line.startswith("memory"))
    arena, constants = (int(part.split()[-2]) for part in memory.split(",")[:2])
    row = {"model": name, "arena_bytes": arena, "constant_bytes": constants, "seconds": {}, "exported_seconds": {}, "object_seconds": {},
           "text_bytes": {level: text_bytes(folder, arguments.compiler, [level]) for level in ("-Os", "-O3")}}
    bundles = arguments.folder / f"{name}.compiled"
    bundles.mkdir(exist_ok=True)
    sides = {each: (Exported(folder, arguments.compiler, each), exported_object(arguments, name, model, each),
                    Compiled(arguments.dovetail, bundles, model, each)) for each in CLASSES}
    samples = {each: ([], [], []) for each in CLASSES}
    for _ in range(arguments.rounds):
        for each, side in sides.items():
            for times, one in zip(samples[each], side):
                times.append(one.seconds())
    for each, times in samples.items():
        for kind, side in zip(("exported_seconds", "object_seconds", "seconds"), times):
            row[kind][each] = statistics.median(side)
    return row


def exported_object(arguments, name, model, processor):
    folder = arguments.folder / f"{name}.{processor}"
    for file in folder.glob("*"):
        file.unlink()
    run([arguments.dovetail, "export", model, "-o", folder, "--format", "object", "--cpu", processor])
    return Exported(folder, arguments.compiler, processor, "net.a")


def table(rows):
    lines = ["| model | arena | constants | code and constants, `-Os` / `-O3` | C, SSE2 | object | `--target cpu` | C, this processor "
             "| object | `--target cpu` |", "|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = [row["model"], f"{row['arena_bytes']:,} B", f"{row['constant_bytes']:,} B",
                 f"{row['text_bytes']['-Os']:,} / {row['text_bytes']['-O3']:,} B"]
        for each in CLASSES:
            compiled = row["seconds"][each]
            for kind in ("exported_seconds", "object_seconds"):
                cells.append(f"{row[kind][each] * 1e6:,.0f} µs ({compiled / row[kind][each]:.2f})")
            cells.append(f"{compiled * 1e6:,.0f} µs")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dovetail", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("-o", type=pathlib.Path, dest="output")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    models = dict(each.split("=", 1) for each in arguments.model)
    if not models:
        models = {"digits_int8": DIGITS / "digits_int8.onnx", "digits_float": DIGITS / "digits_float.onnx"}
        for name, options in (("resnet8_int8", ["--int8"]), ("resnet8_float", [])):
            models[name] = arguments.folder / f"{name}.onnx"
            run([arguments.dovetail, "zoo", "resnet8", *options, "-o", models[name]])
    rows = [measure(arguments, name, model) for name, model in models.items()]
    print(table(rows))
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
