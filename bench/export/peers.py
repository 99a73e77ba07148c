#!/usr/bin/env python3
"""Exported C next to other ahead-of-time compilers and interpreters for microcontrollers, on the same models in one run.

usage: peers.py DOVETAIL FOLDER --python PYTHON [--only MODEL...] [-o OUT.json]

PYTHON, 3.12 or newer, is that of an environment with `pip install bakenn tflite tflite-micro emlearn setuptools onnx`. Models and
samples are those of MLPerf Tiny in ../shared/models, both as ONNX and as the TFLite file from which that was made. All get
the same int8 input and give int8 outputs: quantization at the borders, and a Softmax at the end, are left out.

  dovetail    `dovetail export`
  bakenn      BakeNN's portable C, and for the Cortex-M4 with CMSIS-NN
  tflm        TFLite Micro's interpreter, which its package has for x86-64 alone
  emlearn     for the float perceptron

Boards are three of tests/boards: flash (code and constants of all that the function needs), memory, stack and
instructions. On this machine: microseconds of a run, with gcc -O3 for x86-64 without vectors beyond SSE2. Tools that cannot be
had are rows with the message that they, or the registry, give.
"""

import argparse
import datetime
import json
import pathlib
import re
import shutil
import statistics
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent / "peers"
sys.path.insert(0, str(SOURCE / "tests/boards"))
from boards import BOARDS, STRICT, Failure, Program, run, sources_of  # noqa: E402

SHARED = SOURCE.parent / "shared" / "models"
CHOSEN = tuple(board for board in BOARDS if board.name in ("riscv32", "cortex-m3", "cortex-m4"))
CMSIS_NN = CHOSEN[-1:]  # Boards that BakeNN calls CMSIS-NN for.
LEVELS = ("-O3", "-Os")
ROUNDS, LEAST_SECONDS = 5, 0.2
# Folder in ../shared/models, sample, the int8 tensors of the ONNX graph at its borders.
INT8 = (
    ("resnet8_int8", "cifar_sample", "q_3", "q_160"),
    ("kws_dscnn_int8", "yes", "q_3", "q_147"),
    ("ad_autoencoder_int8", "window0", "q_3", "q_142"),
    ("vww96_int8", "coffee", "q_3", "q_399"),
)
FLOAT = ("ad_autoencoder_f32", "window0")
# What else writes C or machine code from ONNX for microcontrollers: how one would get it, after {python}.
OTHERS = (
    ("onnx2c", ("-m", "pip", "download", "--no-deps", "-q", "--disable-pip-version-check", "-d", "{folder}", "onnx2c")),
    ("microTVM", ("-c", "import tvm.micro")),
    ("deepC", ("-m", "deepC.scripts.onnx2cpp", "{model}", "{folder}")),
)


class Candidate:
    """Sources with a function that runs the model, a test that calls it, and how to compile them."""

    def __init__(self, peer, sources, test, function, options, arena_bytes, boards=CHOSEN):
        self.peer, self.sources, self.test, self.function = peer, sources, test, function
        self.options, self.arena_bytes, self.boards = tuple(options), arena_bytes, boards

    def on_boards(self, folder):
        rows = []
        for board in self.boards:
            for level in LEVELS:
                program = Program(board, folder, level, self.options)
                found = program.sizes(self.sources, self.function) | program.measure(self.sources, self.test, self.function)
                rows.append({"peer": self.peer, "board": board.name, "level": level, "arena_bytes": self.arena_bytes, **found})
                print(f"  {self.peer} {board.name} {level}: {found}", flush=True)
        return rows

    def here(self, folder):
        """The program for this machine."""
        program = folder / f"here-{self.peer.replace(' ', '-')}"
        run(["gcc", *self.options, "-O3", *self.sources, self.test, "-lm", "-o", program])
        return program


def seconds_of(program, runs):
    begin = time.perf_counter()
    run([program, runs])
    return time.perf_counter() - begin


def times(programs):
    """Seconds of a run of each program: medians of rounds in which they take turns."""
    runs, samples = {}, {peer: [] for peer in programs}
    for peer, program in programs.items():
        runs[peer] = 1
        while seconds_of(program, runs[peer]) < LEAST_SECONDS:
            runs[peer] *= 2
    for _ in range(ROUNDS):
        for peer, program in programs.items():
            samples[peer].append((seconds_of(program, 3 * runs[peer]) - seconds_of(program, runs[peer])) / (2 * runs[peer]))
    return {peer: statistics.median(values) for peer, values in samples.items()}


def export(dovetail, model, folder, options=()):
    run([dovetail, "export", model, "-o", folder, "--name", "net", *options])
    arena = int(re.search(r"ARENA_BYTES (\d+)", (folder / "net.h").read_text())[1])
    return Candidate("dovetail", sources_of(folder), folder / "test_net.c", "net_run", STRICT, arena)


def values_of(text, name):
    """The elements of an array in a C source."""
    return [
        float(one.rstrip("f"))
        for one in re.split(r"[,\s]+", re.search(rf"\b{name}\w*\[\d+\] = \{{([^}}]*)\}}", text)[1].strip())
        if one
    ]


def difference(found, expected):
    return {
        "different": sum(one != other for one, other in zip(found, expected)),
        "elements": len(expected),
        "largest": max(abs(one - other) for one, other in zip(found, expected)),
    }


class Session:
    def __init__(self, arguments):
        self.dovetail, self.python, self.folder = arguments.dovetail.resolve(), arguments.python, arguments.folder
        self.versions = {"dovetail": run([self.dovetail, "--version"]).strip()}

    def convert(self, *words):
        """The JSON of convert.py, in its last line."""
        return json.loads(run([self.python, HERE / "convert.py", *words]).splitlines()[-1])

    def fresh(self, name):
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def int8(self, name, sample, begin, end):
        print(name, flush=True)
        work, at = self.fresh(name), SHARED / name
        given = at / sample / "tflite_in_int8.npy"
        self.convert("channels-first", given, work / "in.npy")
        ours = export(
            self.dovetail,
            at / "model.onnx",
            work / "dovetail",
            ("--from", begin, "--to", end, "--input", f"{begin}={work / 'in.npy'}"),
        )
        self.convert("tflite", at / "model.tflite", work / "model.tflite")
        elements = self.convert("elements", given, work / "sample.inc")
        rows, programs = ours.on_boards(work / "dovetail"), {"dovetail": ours.here(work)}
        outputs = {"dovetail": values_of((work / "dovetail" / "test_net.c").read_text(), "expected_")}
        for kernels, boards in (("portable", CHOSEN), ("cmsis-nn", CMSIS_NN)):
            made = work / f"bakenn-{kernels}"
            report = self.convert("bakenn", work / "model.tflite", made, kernels)
            self.versions["bakenn"] = report["version"]
            includes = [
                f"-I{path}"
                for path in (made, made / "third_party/cmsis_nn/Include", made / "third_party/cmsis_core/Include")
                if path.exists()
            ]
            options = (
                "-std=c11",
                "-ffp-contract=off",
                "-DBAKENN_CMSIS_NN_BUILTIN_MEMORY",
                f'-DSAMPLE="{(work / "sample.inc").resolve()}"',
                *includes,
            )
            peer = Candidate(
                f"bakenn {kernels}",
                sorted(made.rglob("*.c")),
                HERE / "bakenn.c",
                "bknn_peer_infer",
                options,
                report["arena_bytes"],
                boards,
            )
            rows += peer.on_boards(made)
            if kernels == "portable":
                programs[peer.peer] = peer.here(work)
                outputs[peer.peer] = list(map(float, run([programs[peer.peer]]).split()))
        seconds = times(programs)
        interpreted = self.convert("tflm", work / "model.tflite", given)
        self.versions["tflite-micro"] = interpreted["version"]
        outputs["tflm"], seconds["tflm"] = interpreted["output"], interpreted["seconds"]
        return {
            "model": name,
            "elements": elements,
            "boards": rows,
            "seconds": seconds,
            "tflm_arena_bytes": interpreted["arena_bytes"],
            "differences": {peer: difference(outputs[peer], outputs["dovetail"]) for peer in outputs if peer != "dovetail"},
        }

    def floats(self, name, sample):
        print(name, flush=True)
        work, at = self.fresh(name), SHARED / name
        given = at / sample / "in_input.npy"
        ours = export(self.dovetail, at / "model.onnx", work / "dovetail", ("--input", f"input={given}"))
        inputs = self.convert("elements", given, work / "sample.inc")
        outputs = values_of((work / "dovetail" / "test_net.c").read_text(), "expected_")
        report = self.convert("emlearn", at / "model.onnx", work / "peer.h")
        self.versions["emlearn"] = report["version"]
        options = (
            "-std=c99",
            "-ffp-contract=off",
            f"-I{work}",
            f"-I{report['include']}",
            f"-DINPUTS={inputs}",
            f"-DOUTPUTS={len(outputs)}",
            f'-DSAMPLE="{(work / "sample.inc").resolve()}"',
        )
        peer = Candidate("emlearn", [HERE / "emlearn.c"], HERE / "emlearn_main.c", "emlearn_run", options, 0)
        (work / "emlearn").mkdir()
        programs = {"dovetail": ours.here(work), "emlearn": peer.here(work)}
        return {
            "model": name,
            "elements": inputs,
            "boards": ours.on_boards(work / "dovetail") + peer.on_boards(work / "emlearn"),
            "seconds": times(programs),
            "differences": {"emlearn": difference(list(map(float, run([programs["emlearn"]]).split())), outputs)},
        }

    def others(self):
        """[(tool, the message of what fails)]"""
        rows = []
        for tool, words in OTHERS:
            words = [word.format(folder=self.fresh(tool), model=SOURCE / "examples/digits/digits_float.onnx") for word in words]
            try:
                output = run([self.python, *words])
            except Failure as failure:
                output = str(failure)
            errors = [line.strip() for line in output.splitlines() if re.match(r"\s*(ERROR|\w*Error)", line)]
            rows.append(
                {
                    "tool": tool,
                    "command": " ".join(["python", *words]).replace(str(self.folder / tool), "FOLDER").replace(f"{SOURCE}/", ""),
                    "message": errors[-1] if errors else f"no error, but peers.py does not run it: {output.strip()}",
                }
            )
        return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dovetail", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--python", required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("-o", type=pathlib.Path, dest="output")
    arguments = parser.parse_args()
    for board in CHOSEN:
        if parts := board.missing():
            print(
                f"peers.py: {board.name} needs {', '.join(f'{part} (Debian package {package})' for part, package in parts)}",
                file=sys.stderr,
            )
            return 2
    session = Session(arguments)
    rows = [session.int8(*row) for row in INT8 if not arguments.only or row[0] in arguments.only]
    if not arguments.only or FLOAT[0] in arguments.only:
        rows.append(session.floats(*FLOAT))
    document = {
        "date": datetime.date.today().isoformat(),
        "versions": session.versions,
        "compilers": {
            tool: run([tool, "--version"]).splitlines()[0] for tool in ("gcc", *sorted({board.compiler for board in CHOSEN}))
        },
        "rows": rows,
        "others": session.others(),
    }
    if arguments.output:
        arguments.output.write_text(json.dumps(document, indent=1) + "\n")
    else:
        print(json.dumps(document, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
