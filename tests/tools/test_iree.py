#!/usr/bin/env python3
"""Models exported as MLIR run by IREE as they run here: integers bit for bit, floats within a tolerance."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"])
CLI = os.environ["DOVETAIL_CLI"]
PYTHON = os.environ.get("IREE_PYTHON", sys.executable)

if "IREE_PYTHON" not in os.environ and not importlib.util.find_spec("iree"):
    print("skipped: IREE is not installed (IREE_PYTHON may name an interpreter that has iree-base-compiler, iree-base-runtime and NumPy)")
    sys.exit(77)

# Runs in IREE's interpreter: module, outputs' folder, inputs as .npy.
RUN = """
import sys
import numpy
from iree import runtime
from iree.compiler import compile_file

module, folder, *inputs = sys.argv[1:]
binary = compile_file(module, input_type="none", target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=generic"])
config = runtime.Config("local-task")
context = runtime.SystemContext(config=config)
context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, binary))
results = context.modules.module.main(*[numpy.load(each) for each in inputs])
results = results if isinstance(results, tuple) else (results,)
for number, result in enumerate(results):
    numpy.save(f"{folder}/{number}.npy", result.to_host())
"""

COMPARE = """
import sys
import numpy

expected, got, tolerance = numpy.load(sys.argv[1]), numpy.load(sys.argv[2]), float(sys.argv[3])
got = got.view(expected.dtype) if got.dtype.itemsize == expected.dtype.itemsize else got
if tolerance == 0:
    sys.exit(0 if numpy.array_equal(expected, got) else f"values differ: {expected} {got}")
limit = tolerance * numpy.abs(expected).max()
sys.exit(0 if numpy.abs(expected - got).max() <= limit else f"values differ by more than {limit}: {expected} {got}")
"""

INPUTS = """
import sys
import numpy

shape = [int(extent) for extent in sys.argv[2].split(",")]
numpy.save(sys.argv[1], numpy.random.default_rng(1).random(shape, dtype=numpy.float32))
"""


def run(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{words} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def compare(model, name, shape, tolerance, folder):
    """The model's first output, here and by IREE."""
    folder.mkdir()
    run(PYTHON, "-c", INPUTS, folder / "x.npy", ",".join(map(str, shape)))
    run(CLI, "export", model, "--format", "mlir", "-o", folder / "out", "--name", "net")
    run(CLI, "run", model, "--target", "cpu", "--cpu", "interpreter", "--input", f"{name}={folder / 'x.npy'}", "--output-dir",
        folder / "here")
    run(PYTHON, "-c", RUN, folder / "out/net.mlir", folder, folder / "x.npy")
    expected = sorted((folder / "here").glob("*.npy"))
    if len(expected) != 1:
        sys.exit(f"{model} has {len(expected)} outputs")
    run(PYTHON, "-c", COMPARE, expected[0], folder / "0.npy", tolerance)


with tempfile.TemporaryDirectory() as temporary:
    base = pathlib.Path(temporary)
    digits = ROOT / "examples/digits"
    compare(digits / "digits_int8.onnx", "image", [1, 1, 8, 8], 0, base / "digits_int8")
    compare(digits / "digits_float.onnx", "image", [1, 1, 8, 8], 1e-4, base / "digits_float")
    run(CLI, "zoo", "ds_cnn", "--int8", "-o", base / "ds_cnn.onnx")
    compare(base / "ds_cnn.onnx", "mfcc", [1, 1, 49, 10], 0, base / "ds_cnn")
    run(CLI, "zoo", "gpt_block", "--sequence", "4", "-o", base / "gpt_block.onnx")
    compare(base / "gpt_block.onnx", "hidden", [1, 4, 256], 1e-4, base / "gpt_block")
print("four models agree")
