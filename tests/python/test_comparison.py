#!/usr/bin/env python3
"""Targets compared, and the stages of the compiler."""
import unittest

from environment import DIGITS, HARDWARE

import numpy as np

import dovetail

MODEL = DIGITS / "digits_int8.onnx"


class Comparisons(unittest.TestCase):
    def test_a_row_for_each_target_and_hardware(self):
        image = {"image": np.load(DIGITS / "test_images.npy")[:1]}
        small = dovetail.hardware(HARDWARE, bus_bytes=8)
        done = dovetail.compare([MODEL, MODEL.read_bytes()], "accel,cpu", [HARDWARE, small], inputs=image, repeat=2)
        self.assertEqual([model["file"] for model in done["models"]], [str(MODEL), "model"])
        for model in done["models"]:
            rows = [(row["target"], row["machine"]) for row in model["rows"]]
            self.assertEqual(rows[:2], [("accel", HARDWARE), ("accel", str(small))])
            self.assertEqual({row["target"] for row in model["rows"]}, {"accel", "cpu"})
        cycles = dovetail.compile(MODEL, "accel,cpu", HARDWARE).session(engine="cycle")
        cycles.run(image)
        self.assertEqual(done["models"][0]["rows"][0]["accelerator"]["cycles"],
                         sum(step.get("cycles", 0) for step in cycles.report["steps"]))
        self.assertIn("as given", done["inputs"][0])
        self.assertTrue(done.page().startswith("<!doctype html>"))
        self.assertIn("<iframe", done._repr_html_())

    def test_mistakes(self):
        for wrong, why in (
            (lambda: dovetail.compare([]), "empty"),
            (lambda: dovetail.compare("nonesuch.onnx"), "nonesuch.onnx"),
            (lambda: dovetail.compare(MODEL, "nonesuch"), "nonesuch"),
            (lambda: dovetail.compare(MODEL, "cpu", ["nonesuch"]), "nonesuch"),
            (lambda: dovetail.compare(MODEL, "cpu", repeat=0), "it is 0"),
            (lambda: dovetail.compare(MODEL, "cpu", inputs={"x": np.zeros(3, np.float32)}), "image"),
            (lambda: dovetail.compare(MODEL, "cpu", level="best"), "'best' is unknown"),
        ):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                wrong()


class Stages(unittest.TestCase):
    def test_stages_are_texts(self):
        (stream,) = dovetail.compile_stages(MODEL, "accel", HARDWARE, ["stream"])
        self.assertEqual(stream.name, "stream")
        self.assertIn("gemm", stream.text)
        names = [each.name for each in dovetail.compile_stages(MODEL, "accel", HARDWARE, stop_after="graph")]
        self.assertEqual(names[0], "import")
        self.assertNotIn("stream", names)
        passes = dovetail.compile_stages(MODEL, "cpu", stages=["passes"], stop_after="graph")
        self.assertIn("lower_qdq: before", [each.name for each in passes])
        for options in ({"stages": ["nonesuch"]}, {"stop_after": "nonesuch"}):
            with self.assertRaisesRegex(dovetail.InputError, "nonesuch"):
                dovetail.compile_stages(MODEL, "accel", HARDWARE, **options)


if __name__ == "__main__":
    unittest.main()
