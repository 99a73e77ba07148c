#!/usr/bin/env python3
"""The package is typed: mypy --strict finds nothing."""
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
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "dovetail"],
                                  cwd=PACKAGES, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
