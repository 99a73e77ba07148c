#!/usr/bin/env python3
"""Computes random graphs of all operators at every level, and by ONNX Runtime if it is installed.

usage: fuzz_graphs.py [--first SEED] [--count N] [--seconds S] [--batch N] [--keep FOLDER] [--require-onnxruntime] WRITER

WRITER is the program test_fuzz_compiler: it generates random graphs, compares them with the reference and writes them to files (tests/fuzz/compiler/graphs).
Its findings, a process that dies or hangs, and every difference to ONNX Runtime that no rule below explains are printed as findings, and --keep keeps
their files. Exit code: 0 none, 1 findings, 77 ONNX Runtime is required and not installed.
"""
import argparse
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    import onnxruntime
except ImportError as missing:
    onnxruntime, MISSING = None, missing.name

from fuzz_graphs_rules import ancestors, differs, explain, read_initializers, read_nodes

HANG_S = 120  # seconds for one graph at all levels; the largest graphs take two


def write_batch(writer, folder, first, count):
    """Runs the writer; the findings of the process itself, and the first seed that was not done."""
    environment = {**os.environ, "DOVETAIL_FUZZ_FOLDER": str(folder), "DOVETAIL_FUZZ_FIRST": str(first), "DOVETAIL_FUZZ_COUNT": str(count)}
    process = subprocess.Popen([writer, "hold random graphs and write them"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    current, since = None, time.monotonic()
    while process.poll() is None:
        time.sleep(0.05)
        now = read(folder / "current")
        if now != current:
            current, since = now, time.monotonic()
        elif time.monotonic() - since > HANG_S:
            process.kill()
            process.wait()
            return [f"seed {current}: hangs"], int(current) + 1
    if process.returncode == 0:
        return [], first + count
    current = int(read(folder / "current") or first)
    output = process.stdout.read().decode(errors="replace")
    return [f"seed {current}: the process died ({process.returncode}): {output[-2000:]}"], current + 1


def read(path):
    return path.read_text() if path.exists() else ""


def run_onnxruntime(model, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))


def group(arrays, name):
    return {key[len(name) + 1:]: arrays[key] for key in arrays.files if key.startswith(name + "/")}


def judge(folder, seed, tally):
    """Compares one graph's runs with ONNX Runtime; the findings."""
    arrays = np.load(folder / f"{seed}.npz")
    inputs, reference, sure = group(arrays, "input"), group(arrays, "reference"), group(arrays, "sure")
    model, theirs = folder / f"{seed}.onnx", None
    try:
        theirs = run_onnxruntime(model, inputs)
        tally["computed by ONNX Runtime, in the forms of the drawn operator set"] += 1
    except Exception as first:  # its exceptions have no common base class
        try:
            model = folder / f"{seed}.newest.onnx"
            theirs = run_onnxruntime(model, inputs)
            tally["computed by ONNX Runtime, in the newest forms"] += 1
        except Exception as second:
            tally["refused: " + reason_of(second)] += 1
            return []
    nodes, values = read_nodes(model), {**read_initializers(model), **inputs}
    levels = sorted({key.split("/")[0] for key in arrays.files} - {"input", "reference", "sure", "step"})
    findings, explained = [], set()
    for who in ["reference", *levels]:
        ours = reference if who == "reference" else group(arrays, who)
        for name, value in ours.items():
            found = differs(value, theirs[name], sure[name], float(arrays["step"]))
            if found is None:
                continue
            why = explain(nodes, name, found, value, values)
            if why is None:
                operators = " ".join(node.op for node in reversed(ancestors(nodes, name)))
                findings.append(f"seed {seed}, {who}: {name}{found.at} is {found.ours}, ONNX Runtime has {found.theirs} ({operators})")
            else:
                explained.add(why)
    tally["differ, unexplained" if findings else "differ, explained" if explained else "agree at every level"] += 1
    for why in explained:
        tally[f"explained: {why}"] += 1
    return findings


def reason_of(error):
    text = str(error).splitlines()[0]
    for sign, name in [("NOT_IMPLEMENTED", "no kernel for the operator and type"), ("Type Error", "type not allowed in that operator set"),
                       ("INVALID_GRAPH", "the graph is invalid for it"), ("ShapeInference", "shape inference"), ("RuntimeException", "error in the run"),
                       ("INVALID_ARGUMENT", "invalid argument"), ("FAIL", "fail"), ("Unexpected input data type", "types that numpy lacks")]:
        if sign in text:
            return name
    return text[:100]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1_000_000_000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--require-onnxruntime", action="store_true")
    parser.add_argument("writer")
    asked = parser.parse_args(arguments)
    if onnxruntime is None:
        print(f"{MISSING} is not installed (pip install {MISSING}): graphs are compared with the reference alone")
        if asked.require_onnxruntime:
            return 77
    else:
        onnxruntime.set_default_logger_severity(4)
    tally, findings, seed, begin = collections.Counter(), [], asked.first, time.monotonic()
    while seed < asked.first + asked.count and time.monotonic() - begin < asked.seconds:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            count = min(asked.batch, asked.first + asked.count - seed)
            found, following = write_batch(asked.writer, folder, seed, count)
            tally["graphs"] += following - seed
            for number in range(seed, following):
                mine = []
                if (folder / f"{number}.broken").exists():
                    mine.append(read(folder / f"{number}.broken"))
                    tally["broken promises"] += 1
                if (folder / f"{number}.refused").exists():
                    tally["values that the reference refuses"] += 1
                elif onnxruntime is not None and (folder / f"{number}.npz").exists():
                    mine += judge(folder, number, tally)
                if mine and asked.keep:
                    asked.keep.mkdir(parents=True, exist_ok=True)
                    for path in folder.glob(f"{number}.*"):
                        shutil.copy(path, asked.keep)
                found += mine
            for text in found:
                print(text, flush=True)
            findings += found
            seed = following
    for name, times in sorted(tally.items()):
        print(f"{times:8} {name}")
    print(f"{tally['graphs']} graphs in {time.monotonic() - begin:.0f} s, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
