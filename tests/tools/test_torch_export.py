#!/usr/bin/env python3
"""The model that examples/first_week/train.py exports with PyTorch is quantized, and runs entirely on the accelerator."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"])
CLI = os.environ["DOVETAIL_CLI"]
PYTHON = os.environ.get("TORCH_PYTHON", sys.executable)

if "TORCH_PYTHON" not in os.environ and not importlib.util.find_spec("torch"):
    print("skipped: PyTorch is not installed (TORCH_PYTHON may name an interpreter that has it)")
    sys.exit(77)


def run(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{words} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    model, samples, quantized = folder / "m.onnx", folder / "x.npy", folder / "q.onnx"
    run(PYTHON, ROOT / "examples/first_week/train.py", "-o", model, "--samples", samples, "--epochs", "1")
    run(CLI, "quantize", model, "-o", quantized, "--samples", samples)
    text = run(CLI, "run", quantized, "--target", "accel,cpu", "--check")
    for said in ("all equal", "100.00 % accel"):
        if said not in text:
            sys.exit(f"`{said}` is missing in:\n{text}")
    if (folder / "m.onnx.data").exists():
        print("with external data")
print("exported, quantized and run")
