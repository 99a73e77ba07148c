#!/usr/bin/env python3
"""ONNX Runtime's second opinion on the graphs of tests/property/compiler/passes/absent_operands.cpp: with every optional
operand and attribute absent, at its default and odd, it computes what the reference computes."""

import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnxruntime
except ImportError as missing:
    print(f"{missing.name} is not installed (pip install {missing.name})")
    sys.exit(77)

TOLERANCE = 1e-4  # of a tensor's largest value

writer = pathlib.Path(os.environ["DOVETAIL_BINARY_DIR"]) / "bin/test_property_compiler"
onnxruntime.set_default_logger_severity(4)


def difference(model, inputs, expected):
    """Where the results part; "" where they do not."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    for name, actual in zip(names, session.run(names, dict(inputs))):
        wanted = expected[name]
        if actual.shape != wanted.shape or actual.dtype != wanted.dtype:
            return f"{name} is {actual.dtype}{actual.shape}, the reference's is {wanted.dtype}{wanted.shape}"
        finite = np.abs(wanted[np.isfinite(wanted)])
        largest = max(1.0, float(finite.max())) if finite.size else 1.0
        apart = ~np.isclose(actual, wanted, rtol=0, atol=TOLERANCE * largest, equal_nan=True)
        if apart.any():
            at = tuple(int(axis[0]) for axis in np.nonzero(apart))
            return f"{name}{list(at)} is {actual[at]}, the reference's is {wanted[at]}"
    return ""


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([writer, "write what passes match for ONNX Runtime"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "DOVETAIL_TEST_MODELS": folder})
    models = sorted(pathlib.Path(folder).glob("*.onnx"), key=lambda path: int(path.stem))
    assert models, "no graphs were written"
    differing, refused = [], []
    for model in models:
        inputs, expected = np.load(model.with_suffix(".in.npz")), np.load(model.with_suffix(".out.npz"))
        try:
            text = difference(str(model), inputs, expected)
        except Exception as error:  # its exceptions have no common class of their own
            refused.append(f"graph {model.stem}: ONNX Runtime refuses it: {str(error).splitlines()[0]}")
            continue
        if text:
            differing.append(f"graph {model.stem}: {text}")
    print("\n".join(differing + refused))
    print(f"{len(models)} graphs: {len(models) - len(differing) - len(refused)} agree, {len(differing)} differ, "
          f"{len(refused)} refused by ONNX Runtime {onnxruntime.__version__}")
    sys.exit(1 if differing or 10 * len(refused) > len(models) else 0)
