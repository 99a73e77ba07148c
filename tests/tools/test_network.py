#!/usr/bin/env python3
"""A sample of tests/network/run.py: `./dev network` runs all of it."""

import os
import pathlib
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", ".")).resolve()
CLI = os.environ.get("DOVETAIL_CLI", "build/release/bin/dovetail")
CASES = ("slow_networks", "cut_connections", "stalls", "interrupted_uploads", "foreign_peers", "wrong_messages", "roles")


class Network(unittest.TestCase):
    def test_commands_over_bad_networks(self):
        words = [word for case in CASES for word in ("--case", case)]
        ran = subprocess.run([sys.executable, SOURCE / "tests/network/run.py", "--cli", CLI, "--rounds", "2", *words], capture_output=True, text=True,
                             check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual(ran.stdout.count(": as expected"), len(CASES))


if __name__ == "__main__":
    unittest.main()
