#!/usr/bin/env python3
"""A target of the caller's as a Python class: compiled, run, saved, refused, and with functions that raise."""
import gc
import json
import tempfile
import threading
import unittest

from environment import package

import numpy as np

import dovetail


class Doubler(dovetail.Target):
    """Adds, and multiplies by a constant."""

    name = "doubler"
    patterns = ["Add(_, _)", "Mul~(_, #)"]

    def __init__(self):
        self.seen, self.regions, self.kernels = [], [], 0

    def generate(self, region):
        self.seen.append(region)
        self.regions.append((repr(region), [region.value(each) for each in region.inputs + region.outputs]))
        constants = {each: region.constant(each) for node in region.nodes for each in node.inputs}
        constants = {each: array.tolist() for each, array in constants.items() if array is not None}
        nodes = [(node.operator, node.inputs, node.outputs) for node in region.nodes]
        return json.dumps([region.inputs, region.outputs, constants, nodes]).encode()

    def load(self, code):
        self.kernels += 1
        return json.loads(code)

    def run(self, kernel, arguments, results):
        inputs, outputs, constants, nodes = kernel
        values = {int(each): np.float32(array) for each, array in constants.items()}
        values.update(zip(inputs, arguments))
        for operator, (left, right), (output,) in nodes:
            values[output] = {"Add": np.add, "Mul": np.multiply}[operator](values[left], values[right])
        for output, result in zip(outputs, results):
            result[...] = values[output]

    def unload(self, kernel):
        self.kernels -= 1


class OwnTargets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        onnx, numpy_helper = package("onnx"), package("onnx.numpy_helper")
        h, kind = onnx.helper, onnx.TensorProto.FLOAT
        cls.factor = np.float32([1, 2, 3, 4])
        graph = h.make_graph(
            [h.make_node("Add", ["a", "b"], ["sum"], name="add"), h.make_node("Mul", ["sum", "f"], ["y"], name="mul"),
             h.make_node("Exp", ["y"], ["z"], name="exp")], "small",
            [h.make_tensor_value_info(name, kind, [2, 4]) for name in "ab"],
            [h.make_tensor_value_info(name, kind, [2, 4]) for name in "yz"],
            [numpy_helper.from_array(cls.factor, "f")])
        cls.model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
        cls.inputs = {"a": np.float32([[1, 2, 3, 4], [0, 0, 0, 1]]), "b": np.float32([[1, 1, 1, 1], [2, 0, -2, 0]])}

    def check(self, session):
        outputs = session.run(self.inputs)
        np.testing.assert_array_equal(outputs["y"], (self.inputs["a"] + self.inputs["b"]) * self.factor)

    def test_compile_run_save_load(self):
        own = Doubler()
        bundle = dovetail.compile(self.model, [own, "cpu"])
        self.assertEqual(bundle.describe()["targets"], {"cpu": 1, "doubler": 1})
        (said, values), = own.regions
        self.assertEqual(said, "<dovetail.Region region0: Add, Mul>")
        self.assertEqual(values, [dovetail.TensorInfo(name, "float32", (2, 4)) for name in "aby"])
        session = bundle.session()
        self.assertEqual(own.kernels, 1)
        self.check(session)
        thread = threading.Thread(target=self.check, args=[session])
        thread.start()
        thread.join()
        binding = session.bind(self.inputs)
        np.testing.assert_array_equal(binding.run()["y"], session.run(self.inputs)["y"])
        self.assertEqual(session.check(self.inputs)["different"], 0)
        del session, binding
        gc.collect()
        self.assertEqual(own.kernels, 0)
        with tempfile.TemporaryDirectory() as folder:
            bundle.save(f"{folder}/own.dvt")
            loaded = dovetail.Bundle.load(f"{folder}/own.dvt")
            self.check(loaded.session(own_targets=[own]))
            with self.assertRaisesRegex(dovetail.InputError, "doubler"):
                loaded.session()

    def test_refuse_and_seconds(self):
        class Picky(Doubler):
            def refuse(self, region):
                return "it is not an Add" if region.nodes[0].operator != "Add" else None

            def seconds(self, region):
                return 1e-9

        bundle = dovetail.compile(self.model, [Picky(), "cpu"])
        self.assertEqual(bundle.describe()["targets"], {"cpu": 2, "doubler": 1})
        self.assertIn("it is not an Add", str(bundle.compile_report["placement"]))
        self.check(bundle.session())

    def test_seconds_that_are_none(self):
        for wrong in (None, "1", -1, float("nan"), float("inf")):
            own = type("Wrong", (Doubler,), {"seconds": lambda self, region: wrong})()
            with self.subTest(wrong), self.assertRaisesRegex(dovetail.InputError, "return seconds, 0 or more"):
                dovetail.compile(self.model, [own, "cpu"], offload="cost")

    def test_code_that_is_not_bytes(self):
        own = type("Wrong", (Doubler,), {"generate": lambda self, region: None})()
        with self.assertRaisesRegex(dovetail.Error, "it returned NoneType"):
            dovetail.compile(self.model, [own, "cpu"])

    def test_arguments_are_read_only(self):
        class Writes(Doubler):
            def run(self, kernel, arguments, results):
                arguments[0][...] = 0

        with self.assertRaisesRegex(dovetail.WorkError, "read-only"):
            dovetail.compile(self.model, [Writes(), "cpu"]).session().run(self.inputs)

    def test_functions_that_raise(self):
        class Fails(Doubler):
            def __init__(self, where, error):
                super().__init__()
                self.where, self.error = where, error

            def step(self, where):
                if where == self.where:
                    raise self.error

            def refuse(self, region):
                self.step("refuse")

            def seconds(self, region):
                self.step("seconds")
                return 1e-9

            def generate(self, region):
                self.step("generate")
                return super().generate(region)

            def load(self, code):
                self.step("load")
                return super().load(code)

            def run(self, kernel, arguments, results):
                self.step("run")
                super().run(kernel, arguments, results)

        for where in ("refuse", "seconds", "generate", "load", "run"):
            error = RuntimeError(f"no luck in {where}")
            own = Fails(where, error)
            with self.subTest(where), self.assertRaises(Exception) as caught:
                self.check(dovetail.compile(self.model, [own, "cpu"]).session())
            raised = caught.exception
            self.assertTrue(raised is error or raised.__cause__ is error, (raised, raised.__cause__))
            if where in ("generate", "load", "run"):
                self.assertIn(f"RuntimeError: no luck in {where}", str(raised))
            own.where = None
            self.check(dovetail.compile(self.model, [own, "cpu"]).session())
        with self.assertRaises(KeyboardInterrupt):
            dovetail.compile(self.model, [Fails("run", KeyboardInterrupt()), "cpu"]).session().run(self.inputs)
        own = Fails("run", ValueError("once"))
        session = dovetail.compile(self.model, [own, "cpu"]).session()
        with self.assertRaisesRegex(dovetail.WorkError, "once"):
            session.run(self.inputs)
        own.where = None
        self.check(session)

    def test_constants_are_copies(self):
        onnx = package("onnx")
        helper = onnx.helper

        class Keeps(Doubler):
            patterns, kept = ["Add(_, #)"], []

            def refuse(self, region):
                number = region.nodes[0].inputs[1]
                self.kept.extend(region.constant(number) for _ in range(2))
                return "seen"

        for kind, dtype in ((onnx.TensorProto.FLOAT, "float32"), (onnx.TensorProto.BFLOAT16, "bfloat16")):
            x, y = (helper.make_tensor_value_info(name, kind, [1, 3]) for name in "xy")
            constant = helper.make_tensor("c", kind, [1, 3], [1.0, 2.0, 3.0])
            graph = helper.make_graph([helper.make_node("Add", ["x", "c"], ["y"])], "sum", [x], [y], [constant])
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
            Keeps.kept.clear()
            dovetail.compile(model, [Keeps(), "cpu"])
            first, second = Keeps.kept[:2]
            self.assertEqual(str(first.dtype), dtype)
            addresses = {(each.bits() if dtype == "bfloat16" else each).ctypes.data for each in (first, second)}
            self.assertEqual(len(addresses), 2)
            values = first.numpy() if dtype == "bfloat16" else first
            np.testing.assert_array_equal(values, [[1, 2, 3]])

    def test_what_does_not_fit(self):
        class Asks(Doubler):
            def refuse(self, region):
                assert region.constant(10**6) is None
                region.value(10**6)

        with self.assertRaisesRegex(dovetail.InputError, "1000000"):
            dovetail.compile(self.model, [Asks(), "cpu"])
        for wrong in (Doubler, "doubler"):
            with self.assertRaisesRegex(TypeError, "derived from dovetail.Target"):
                dovetail.compile(self.model, [Doubler(), "cpu"]).session(own_targets=[wrong])
        own = Doubler()
        self.check(dovetail.compile(self.model, [own, "cpu"]).session())
        with self.assertRaisesRegex(dovetail.InputError, "used after the call"):
            own.seen[0].nodes
        for name, patterns, why in (("", ["Add(_, _)"], "it is empty"), ("cpu", ["Add(_, _)"], "another target cpu"),
                                    ("a b", ["Add(_, _)"], "not a name"), ("mine", ["Add("], "pattern")):
            own = Doubler()
            own.name, own.patterns = name, patterns
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                dovetail.compile(self.model, [own, "cpu"])
        self.assertEqual(repr(Doubler()), "<dovetail.Target doubler>")


if __name__ == "__main__":
    unittest.main()
