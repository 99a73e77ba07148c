#!/usr/bin/env python3
"""The digits model compiled and run from Python: every logit equal to the command line's, on accelerator and CPU."""
import os
import subprocess
import tempfile
import unittest

from environment import DIGITS, HARDWARE, SOURCE  # noqa: I001  (sets the path)

import numpy as np

import dovetail


class Digits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.images = np.load(DIGITS / "test_images.npy")
        cls.accel = dovetail.compile(DIGITS / "digits_int8.onnx", "accel,cpu", HARDWARE)
        cls.cpu = dovetail.compile(DIGITS / "digits_int8.onnx", "cpu")

    def test_all_logits_are_equal_to_the_command_line_s(self):
        cli = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
        with tempfile.TemporaryDirectory() as folder:
            self.accel.save(f"{folder}/accel.dvt")
            subprocess.run([cli, "run", f"{folder}/accel.dvt", "--input", f"image={DIGITS / 'test_images.npy'}",
                            "--output-dir", f"{folder}/out"], check=True, stdout=subprocess.DEVNULL)
            expected = np.load(f"{folder}/out/logits.npy")
        self.assertEqual(expected.shape, (360, 10))
        for bundle in (self.accel, self.cpu):
            session = bundle.session()
            for row, image in zip(expected, self.images):
                np.testing.assert_array_equal(session.run({"image": image[np.newaxis]})["logits"][0], row)

    def test_a_saved_bundle_runs_and_an_unknown_one_does_not(self):
        image = {"image": self.images[:1]}
        logits = self.cpu.session().run(image)["logits"]
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/cpu.dvt"
            self.cpu.save(path)
            loaded = dovetail.Bundle.load(path)
            np.testing.assert_array_equal(dovetail.Session(path).run(image)["logits"], logits)
        content = self.cpu.to_bytes()
        self.assertEqual(loaded.to_bytes(), content)
        trusted = dovetail.Bundle.load(content, trust="always").session()
        np.testing.assert_array_equal(trusted.run(image)["logits"], logits)
        with self.assertRaisesRegex(dovetail.InputError, "machine code .* may not run"):
            dovetail.Bundle.load(content, trust="never").session()

    def test_metrics(self):
        scores, labels = np.array([[1, 3, 2], [2, 1, 0]], "f4"), np.array([1, 2])
        self.assertEqual(dovetail.measure("accuracy", {"y": scores}, labels), {"top1": 0.5})
        self.assertEqual(dovetail.measure("error", {"x": scores, "y": scores}, scores, output="y")["largest_error"], 0)
        with self.assertRaisesRegex(dovetail.InputError, "the metrics are accuracy"):
            dovetail.measure("fid", {"y": scores}, labels)

    def test_it_says_what_it_is(self):
        self.assertEqual(repr(self.accel), "<dovetail.Bundle digits_int8: image: float32[1, 1, 8, 8] -> "
                                           "logits: float32[1, 10]; steps: accel 1, cpu 4>")
        self.assertEqual(repr(self.accel.session(engine="cycle")), "<dovetail.Session of digits_int8, engine cycle>")
        self.assertEqual(repr(dovetail.Model(DIGITS / "digits_int8.onnx")),
                         "<dovetail.Model digits_int8: image: float32[1, 1, 8, 8] -> logits: float32[1, 10]; 49 nodes>")
        self.assertEqual(self.accel.compile_report["kind"], "compile")
        self.assertEqual(self.accel.verify()["problems"], [])


if __name__ == "__main__":
    unittest.main()
