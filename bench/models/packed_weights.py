#!/usr/bin/env python3
"""Products of floats and weights of 4 bits, compared with ONNX Runtime's MatMulNBits, on the CPU.

usage: packed_weights.py DOVETAIL FOLDER [--size N] [--rounds N] [-o OUT.json]

4096 x 4096 weights in blocks of 32 and 128, one row and 128, one thread and two. Each round measures both in turn, each on
its own process or session; the figures are the least of the rounds, in milliseconds, since other work on the machine only
adds time. ONNX Runtime runs with accuracy_level 0, which multiplies floats as ours does; with level 4 it quantizes the
activations to int8, so its values differ. Needs a Python with numpy, onnx and onnxruntime.
"""

import argparse
import json
import os
import pathlib
import subprocess
import time

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def n_bits_model(path, rows, depth, columns, block, bits=4, zero_points=None, bias=False, seed=0, accuracy=0):
    """Writes a MatMulNBits of random weights; zero_points: None, "packed" or "float". Returns random activations."""
    random, blocks = numpy.random.default_rng(seed), -(-depth // block)
    scales = random.random((columns, blocks), dtype=numpy.float32) * 0.02 + 0.001
    constants = {"B": random.integers(0, 256, (columns, blocks, block * bits // 8), dtype=numpy.uint8), "scales": scales}
    if zero_points == "packed":
        constants["zero_points"] = random.integers(0, 256, (columns, (blocks * bits + 7) // 8), dtype=numpy.uint8)
    elif zero_points == "float":
        constants["zero_points"] = random.random((columns, blocks), dtype=numpy.float32) * (2**bits - 1)
    operands = ["A", *constants]
    if bias:
        operands += [""] * (5 - len(operands)) + ["bias"]
        constants["bias"] = random.random(columns, dtype=numpy.float32)
    node = helper.make_node("MatMulNBits", operands, ["Y"], domain="com.microsoft", K=depth, N=columns, bits=bits, block_size=block,
                            accuracy_level=accuracy)
    save(path, [node], constants, [rows, depth], [rows, columns])
    return random.standard_normal((rows, depth), dtype=numpy.float32)


def save(path, nodes, constants, activations, results):
    """Writes a model of input A and output Y; `constants` by name, arrays or tensors."""
    tensors = [value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "packed", [helper.make_tensor_value_info("A", TensorProto.FLOAT, activations)],
                              [helper.make_tensor_value_info("Y", TensorProto.FLOAT, results)], tensors)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def ours_ms(dovetail, bundle, threads, repeat):
    command = [dovetail, "profile", bundle, "--threads", str(threads), "--repeat", str(repeat), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["latency"]["ms"]


def session_of(path, threads):
    import onnxruntime  # not needed to write models

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def theirs_ms(session, values, repeat):
    least = float("inf")
    for _ in range(repeat + 1):
        begin = time.perf_counter()
        session.run(None, {"A": values})
        least = min(least, time.perf_counter() - begin)
    return least * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dovetail")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("-o", dest="output")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    figures, size = [], arguments.size
    for rows, repeat in ((1, 50), (128, 5)):
        for block in (32, 128):
            model = arguments.folder / f"n_bits_{rows}_{block}.onnx"
            values = n_bits_model(model, rows, size, size, block)
            bundle = model.with_suffix(".dvt")
            subprocess.run([arguments.dovetail, "compile", model, "--target", "cpu", "-o", bundle], capture_output=True, check=True)
            for threads in range(1, min(2, os.cpu_count() or 1) + 1):
                session = session_of(model, threads)
                ours = theirs = float("inf")
                for _ in range(arguments.rounds):
                    ours = min(ours, ours_ms(arguments.dovetail, bundle, threads, repeat))
                    theirs = min(theirs, theirs_ms(session, values, repeat))
                figures.append({"rows": rows, "block": block, "threads": threads, "ours_ms": ours, "onnxruntime_ms": theirs,
                                "ratio": theirs / ours})
                print(f"rows {rows}, blocks of {block}, {threads} threads: {ours:.3f} ms, ONNX Runtime {theirs:.3f} ms, "
                      f"ratio {theirs / ours:.2f}", flush=True)
    if arguments.output:
        import onnxruntime

        document = {"bench": "packed_weights", "onnxruntime": onnxruntime.__version__, "size": size, "figures": figures}
        pathlib.Path(arguments.output).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
