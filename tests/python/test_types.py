#!/usr/bin/env python3
"""The package is typed: mypy --strict finds nothing."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

from environment import PACKAGES, require

require("mypy")


class Types(unittest.TestCase):
    def test_strict(self):
        self.assertTrue((pathlib.Path(PACKAGES) / "dovetail" / "py.typed").exists())
        with tempfile.TemporaryDirectory() as cache:
            command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "dovetail"]
            if importlib.util.find_spec("torch") is None:  # its types are the base of dovetail.torch's
                command += ["--exclude", "dovetail/torch/"]
            done = subprocess.run(command, cwd=PACKAGES, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
