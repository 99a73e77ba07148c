#!/usr/bin/env python3
"""The Python package of an installed kit finds its library, and runs."""

import importlib.util
import os
import sys
import unittest

from kit import PREFIX, SOURCE, run

if importlib.util.find_spec("numpy") is None:
    print(f"{sys.executable} has no NumPy")
    sys.exit(77)


SANITIZED = "fsanitize" in os.environ.get("DOVETAIL_CXX_FLAGS", "")


@unittest.skipIf(SANITIZED, "the interpreter cannot load a library with a sanitizer")
class Python(unittest.TestCase):
    def run_python(self, *words):
        path = PREFIX / "lib/python3/dist-packages"
        return run(sys.executable, *words, cwd=PREFIX, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE=1)

    def test_it_compiles_and_runs(self):
        model = SOURCE / "examples/digits/digits_int8.onnx"
        script = ("import dovetail, numpy\n"
                  f"session = dovetail.compile({str(model)!r}, 'accel,cpu', '1x16x16-ext').session()\n"
                  "logits = session.run({'image': numpy.zeros((1, 1, 8, 8), numpy.float32)})['logits']\n"
                  "print(dovetail.library_path, logits.shape)")
        self.assertEqual(self.run_python("-c", script), f"{PREFIX / 'lib/libdovetail.so.1'} (1, 10)\n")

    def test_it_has_the_command_line(self):
        self.assertRegex(self.run_python("-m", "dovetail", "--version"), r"^dovetail \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
