#!/usr/bin/env python3
"""`dovetail quantize` keeps an open batch open, if all that is inside follows it: the quantized model runs with each batch, and its samples give the
same results in a batch and alone. Otherwise a note states what depends on the batch."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CLI = os.environ.get("DOVETAIL_CLI", "dovetail")

if not importlib.util.find_spec("onnx") or not importlib.util.find_spec("numpy"):
    print("skipped: onnx and numpy are not installed")
    sys.exit(77)

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EDGE, CHANNELS, CLASSES = 8, 8, 10
FLAT = CHANNELS * (EDGE - 2) ** 2


def run(*words):
    return subprocess.run([CLI, *map(str, words)], capture_output=True, text=True, check=False)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name=output, **attributes)


def model(head, tail=(), output="y", symbol="N"):
    """A convolution, `head` from its result r to f, a product with the result y, and `tail` from y to the output."""
    random = np.random.default_rng(1)
    constants = {
        "w": random.normal(size=(CHANNELS, 1, 3, 3)).astype(np.float32), "m": random.normal(size=(FLAT, CLASSES)).astype(np.float32),
        "zero": np.int64(0), "axes": np.array([0]), "rest": np.array([FLAT]), "both": np.array([-1, FLAT]), "one": np.array([1, FLAT]),
    }
    nodes = [node("Conv", ["x", "w"], "c", kernel_shape=[3, 3]), node("Relu", ["c"], "r"), *head, node("MatMul", ["f", "m"], "y"), *tail]
    used = {name for each in nodes for name in each.input}
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [symbol, 1, EDGE, EDGE])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, [symbol, CLASSES])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items() if name in used])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 8
    return made


BATCH = [node("Shape", ["x"], "s"), node("Gather", ["s", "zero"], "n", axis=0)]
RESHAPE = [*BATCH, node("Unsqueeze", ["n", "axes"], "n1"), node("Concat", ["n1", "rest"], "shape", axis=0), node("Reshape", ["r", "shape"], "f")]
FLATTEN = [node("Flatten", ["r"], "f")]


class OpenBatch(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.samples = np.random.default_rng(2).normal(size=(6, 1, EDGE, EDGE)).astype(np.float32)
        np.save(self.folder / "samples.npy", self.samples)

    def tearDown(self):
        self.temporary.cleanup()

    def quantized(self, float_model, *more):
        onnx.save(float_model, str(self.folder / "m.onnx"))
        done = run("quantize", self.folder / "m.onnx", "-o", self.folder / "q.onnx", "--samples", self.folder / "samples.npy", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def extents(self, border):
        made = onnx.load(str(self.folder / "q.onnx")).graph
        return [each.dim_param or each.dim_value for each in getattr(made, border)[0].type.tensor_type.shape.dim]

    def outputs(self, samples, batch):
        np.save(self.folder / "in.npy", samples)
        done = run("run", self.folder / "q.onnx", "--target", "cpu", "--shape", f"N={batch}", "--input", f"x={self.folder}/in.npy",
                   "--output-dir", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(next((self.folder / "out").glob("*.npy")))

    def test_open(self):
        for name, head in (("Flatten", FLATTEN), ("Reshape to -1", [node("Reshape", ["r", "both"], "f")]), ("Reshape to the batch", RESHAPE)):
            with self.subTest(name):
                said = self.quantized(model(head))
                self.assertNotIn("is fixed", said)
                self.assertEqual(self.extents("input"), ["N", 1, EDGE, EDGE])
                self.assertEqual(self.extents("output"), ["N", CLASSES])
                compared = run("compare", self.folder / "q.onnx", "--batch", "1,2", "--target", "cpu,accel", "--repeat", "1", "--json")
                self.assertEqual(compared.returncode, 0, compared.stderr)
                alone = [self.outputs(self.samples[i:i + 1], 1) for i in range(3)]
                np.testing.assert_array_equal(self.outputs(self.samples[:3], 3), np.concatenate(alone))

    def test_fixed(self):
        scaled = [node("Cast", ["n"], "real", to=1), node("Div", ["y", "real"], "z")]
        for name, float_model, why in (
            ("a number that depends on the batch", model(RESHAPE, scaled, "z"), "is fixed"),
            ("a shape that does not follow it", model([node("Reshape", ["r", "one"], "f")], symbol="N"), None),
        ):
            with self.subTest(name):
                said = self.quantized(float_model)
                if why:
                    self.assertIn(why, said)
                self.assertEqual(self.extents("input"), [1, 1, EDGE, EDGE])
        self.quantized(model(FLATTEN), "--shape", "N=2")
        self.assertEqual(self.extents("input"), [2, 1, EDGE, EDGE])


if __name__ == "__main__":
    unittest.main(verbosity=2)
