#!/usr/bin/env python3
"""Weights of 2, 4 and 8 bits in blocks: MatMulNBits, and DequantizeLinear with block_size before MatMul or Gemm, on the CPU against
NumPy, and against ONNX Runtime where it is installed."""

import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from onnx import TensorProto, helper
except ImportError as missing:
    print(f"{missing.name} is not installed (packages python3-numpy, python3-onnx)")
    sys.exit(77)
try:
    import onnxruntime
except ImportError:
    onnxruntime = None

cli, source = os.environ["DOVETAIL_CLI"], pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"])
sys.path.insert(0, str(source / "bench/models"))
from packed_weights import save  # noqa: E402

random = np.random.default_rng(int(os.environ.get("DOVETAIL_SEED", "1")))
ROUNDS = 4 * int(os.environ.get("DOVETAIL_TEST_SCALE", "1"))
NARROW = {"int": "INT4", "uint": "UINT4"}


def drawn(low, high):
    return int(random.integers(low, high + 1))


def packed(steps, bits):
    """Elements of the last axis, packed into bytes, the first one in the lowest bits."""
    each = 8 // bits
    padded = np.zeros((*steps.shape[:-1], -(-steps.shape[-1] // each) * each), np.uint8)
    padded[..., :steps.shape[-1]] = steps & (2**bits - 1)
    return sum(padded[..., i::each] << (bits * i) for i in range(each)).astype(np.uint8)


def n_bits():
    bits, block, rows = 2 ** drawn(1, 3), 2 ** drawn(4, 7), drawn(1, 20)
    depth, columns = drawn(1, 300), drawn(1, 90)
    blocks = -(-depth // block)
    steps = random.integers(0, 2**bits, (columns, blocks * block)).astype(np.uint8)
    scales = random.uniform(0.01, 1, (columns, blocks)).astype(np.float32)
    zeros = np.full((columns, blocks), 2 ** (bits - 1), np.float32)
    constants = {"B": packed(steps.reshape(columns, blocks, block), bits), "scales": scales}
    form = drawn(0, 2)
    if form == 1:
        zeros = random.integers(0, 2**bits, (columns, blocks)).astype(np.float32)
        constants["zero_points"] = packed(zeros.astype(np.uint8), bits)
    elif form == 2 and bits == 4:
        zeros = random.uniform(0, 2**bits - 1, (columns, blocks)).astype(np.float32)
        constants["zero_points"] = zeros
    operands, bias = ["A", *constants], 0
    if drawn(0, 1):
        bias = random.uniform(-1, 1, columns).astype(np.float32)
        constants["bias"], operands = bias, operands + [""] * (5 - len(operands)) + ["bias"]
    node = helper.make_node("MatMulNBits", operands, ["Y"], domain="com.microsoft", K=depth, N=columns, bits=bits, block_size=block)
    real = (steps - np.repeat(zeros, block, axis=1)) * np.repeat(scales, block, axis=1)
    return [node], constants, rows, real[:, :depth].T, bias


def dequantized():
    """DequantizeLinear of int4 or uint4, then MatMul, MatMul of the transposed matrix, or Gemm."""
    kind, bits, block, rows = ("int", "uint")[drawn(0, 1)], 4, 2 ** drawn(3, 6), drawn(1, 20)
    depth, columns = drawn(1, 200), drawn(1, 90)
    blocks, form = -(-depth // block), drawn(0, 2)
    low = -(2 ** (bits - 1)) if kind == "int" else 0
    steps = random.integers(low, low + 2**bits, (depth, columns))
    zeros = random.integers(low, low + 2**bits, (blocks, columns)) if drawn(0, 1) else np.zeros((blocks, columns), int)
    scales = random.uniform(0.01, 1, (blocks, columns)).astype(np.float32)
    real = (steps - np.repeat(zeros, block, axis=0)[:depth]) * np.repeat(scales, block, axis=0)[:depth]
    turn = (lambda a: a.T) if form > 0 else (lambda a: a)

    def narrow(name, values):
        values = np.ascontiguousarray(values)
        return helper.make_tensor(name, getattr(TensorProto, NARROW[kind]), values.shape, packed(values.reshape(-1), bits).tobytes(), raw=True)

    constants = {"W": narrow("W", turn(steps)), "scales": np.ascontiguousarray(turn(scales))}
    operands = ["W", "scales"]
    if zeros.any():
        constants["zeros"] = narrow("zeros", turn(zeros))
        operands.append("zeros")
    nodes = [helper.make_node("DequantizeLinear", operands, ["real"], axis=1 if form > 0 else 0, block_size=block)]
    if form == 1:
        nodes += [helper.make_node("Transpose", ["real"], ["turned"], perm=[1, 0]), helper.make_node("MatMul", ["A", "turned"], ["Y"])]
    elif form == 2:
        nodes.append(helper.make_node("Gemm", ["A", "real"], ["Y"], transB=1))
    else:
        nodes.append(helper.make_node("MatMul", ["A", "real"], ["Y"]))
    return nodes, constants, rows, real, 0


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def require_close(what, actual, expected):
    apart, largest = np.abs(actual - expected).max(), max(1e-3, np.abs(expected).max())
    assert actual.shape == expected.shape and apart <= 2e-5 * largest, f"{what}: {apart} of {largest}"


def check(form, folder):
    nodes, constants, rows, real, bias = form()
    depth, columns = real.shape
    x = random.uniform(-1, 1, (rows, depth)).astype(np.float32)
    model, case = folder / "m.onnx", f"{form.__name__}: {rows} x {depth} x {columns}, {nodes}"
    save(model, nodes, constants, [rows, depth], [rows, columns])
    np.save(folder / "x.npy", x)
    expected = x.astype(np.float64) @ real + bias
    for target in (["cpu"], ["cpu", "--cpu", "portable"], ["host"]):
        run(cli, "run", model, "--target", *target, "--input", f"A={folder / 'x.npy'}", "--output-dir", folder / "out")
        require_close(f"{case} on {target}", np.load(folder / "out" / "Y.npy"), expected)
    report = run(cli, "compile", model, "--target", "cpu", "--dump", "graph", "-o", folder / "m.dvt")
    assert "dovetail.packed_gemm" in report, f"{case}: the weight is not packed\n{report}"
    assert " of int32, " in run(cli, "inspect", folder / "m.dvt"), case
    if onnxruntime is None:
        return
    try:
        options = onnxruntime.SessionOptions()  # optimized, products of dequantized weights would quantize the activations too
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as refused:  # a form that ONNX Runtime lacks; onnxruntime does not export the exception classes
        print(f"ONNX Runtime refuses {case}: {refused}")
        return
    require_close(f"{case}, ONNX Runtime", session.run(None, {"A": x})[0], expected)


forms = [n_bits]
if hasattr(TensorProto, "INT4"):
    forms.append(dequantized)
else:
    print("only MatMulNBits: this release of onnx has no int4")
for form in forms:
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as place:
            check(form, pathlib.Path(place))
if onnxruntime is None:
    print("compared with NumPy only: onnxruntime is not installed")
