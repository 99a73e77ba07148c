#!/usr/bin/env python3
"""bench/accel/peers.py: a peer that is not installed ends it with a remedy, and layers become the shapes of the command line."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", ".")).resolve()
sys.path.insert(0, str(SOURCE / "bench/accel"))
import peers  # noqa: E402

CONV = {"name": "conv2", "image": [57, 57], "kernel": [3, 3], "extent": [56, 56], "pads": [1, 1, 1, 1], "stride": [2, 2], "channels": 64,
        "filters": 128, "depthwise": False, "macs": 57802752}


class Missing(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        (self.root / "kit").touch()

    def python(self, name, *modules):
        """A Python that has these modules, empty, and no others but the library's."""
        for module in modules:
            folder = self.root / name / "modules" / pathlib.Path(*module.split("."))
            folder.mkdir(parents=True, exist_ok=True)
            for package in (folder, *folder.parents):
                if package.name == "modules":
                    break
                (package / "__init__.py").touch()
        program = self.root / name / "python"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nPYTHONPATH={self.root / name}/modules exec {sys.executable} -S "$@"\n')
        program.chmod(0o755)
        return program

    def complaint(self, *options, kit="kit"):
        done = subprocess.run([sys.executable, SOURCE / "bench/accel/peers.py", self.root / kit, self.root / "out", *options],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertFalse((self.root / "out").exists(), "nothing runs before all peers are found")
        return done.stderr

    EXPORT = ("onnx", "numpy", "tflite", "flatbuffers")

    def test_a_package(self):
        bare = self.python("bare", *self.EXPORT)
        self.assertEqual(self.complaint("--python", bare, "--skip", "vela"),
                         f"peers.py: scalesim: {bare} cannot import scalesim.scale_sim (ModuleNotFoundError: No module named 'scalesim'); "
                         f"run {bare} -m pip install scalesim==3.0.0 \"numpy<2.3\", or leave it out with --skip scalesim\n")
        self.assertIn("cannot import ethosu.vela", self.complaint("--python", bare))
        self.assertIn("cannot import stream.api", self.complaint("--python", bare, "--layers", "--skip", "scalesim", "--stream", bare))

    def test_a_package_without_which_there_are_no_layers(self):
        found = self.complaint("--python", self.python("none"), "--layers", "--skip", "scalesim", "stream")
        self.assertIn("peers.py: export: ", found)
        self.assertNotIn("--skip", found)

    def test_a_python(self):
        full = self.python("full", *self.EXPORT, "scalesim.scale_sim")
        self.assertEqual(self.complaint("--python", full, "--layers"),
                         "peers.py: stream: --stream is not given; give a Python with `pip install stream-dse==2.1.1 six`, or leave it out with "
                         "--skip stream\n")
        self.assertIn("--stream /nowhere/python does not run, No such file", self.complaint("--python", full, "--layers", "--stream", "/nowhere/python"))

    def test_the_kit(self):
        self.assertIn("there is no such program; build it", self.complaint("--python", self.python("bare"), kit="gone"))


class Layers(unittest.TestCase):
    def test_shapes(self):
        self.assertEqual(peers.shape_of(CONV), "conv 64x56x56 -> 128 k3 s2 p1")
        self.assertEqual(peers.shape_of({**CONV, "kernel": [1, 7], "pads": [0, 3, 0, 3], "stride": [1, 1]}), "conv 64x56x56 -> 128 k1x7 s1 p0x3x0x3")
        self.assertEqual(peers.shape_of({**CONV, "extent": [1, 1]}), "gemm 1x64 -> 128")

    def test_bytes(self):
        # 64 channels of 56 x 56; 128 filters of 3 x 3 x 64; 128 channels of 28 x 28
        self.assertEqual(peers.bytes_of(CONV), {"input_bytes": 200704, "weight_bytes": 73728, "result_bytes": 100352})

    def test_equal_shapes_are_one_layer(self):
        found = peers.distinct([CONV, {**CONV, "name": "conv3"}, {**CONV, "name": "conv4", "stride": [1, 1]}])
        self.assertEqual([(layer["name"], layer["count"]) for layer in found], [("conv2", 2), ("conv4", 1)])


if __name__ == "__main__":
    unittest.main()
