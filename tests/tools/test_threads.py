#!/usr/bin/env python3
"""tests/threads/run.py: rows, failures and missing results; and a model that has run is not run again."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", ".")).resolve()
BUILD = pathlib.Path(os.environ.get("DOVETAIL_BINARY_DIR", SOURCE / "build/release"))
PROGRAM = BUILD / "bin/dovetail_threads"


class Threads(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        (self.root / "models/digits_again").mkdir(parents=True)
        shutil.copy(SOURCE / "examples/digits/digits_int8.onnx", self.root / "models/digits_again/model.onnx")
        (self.root / "no-cli").write_text("#!/bin/sh\necho 'error: none of these' >&2\nexit 1\n")
        (self.root / "no-cli").chmod(0o755)

    def run_tool(self, *arguments, program=PROGRAM):
        out = self.root / "result.json"
        out.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, SOURCE / "tests/threads/run.py", "--program", program, "--cli", self.root / "no-cli", "--models",
                               self.root / "models", "--work", self.root / "work", "--out", out, *arguments], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr, json.loads(out.read_text()) if out.exists() else None

    def fake(self, text, status=0):
        program = self.root / "fake"
        program.write_text(f"#!/bin/sh\ncat <<'EOF'\n{text}\nEOF\nexit {status}\n")
        program.chmod(0o755)
        return program

    def test_a_model_is_whole_or_by_layer(self):
        status, text, result = self.run_tool("digits_again")
        self.assertEqual(status, 0, text)
        row, = result["rows"]
        self.assertTrue(row["whole"])
        self.assertEqual((result["models"], result["whole"], result["failures"]), (1, 1, []))
        self.assertGreater(row["kernels"], row["groups"])
        status, text, result = self.run_tool("digits_again", "--most-macs", "1000", "--most-steps", "500000")
        self.assertEqual(status, 0, text)
        row, = result["rows"]
        self.assertFalse(row["whole"])
        self.assertGreater(row["smaller"], 0)
        self.assertLess(row["macs_run"], row["macs"])
        self.assertEqual(row["of_other_kinds"], [])

    def test_a_difference_is_named_and_fails(self):
        row = '{"macs": 1, "whole": true, "groups": 1, "kernels": 1, "tensors": 1, "seconds": 0, "failures": ["conv: result 0: other bits"]}'
        status, text, result = self.run_tool("digits_again", program=self.fake(row, 1))
        self.assertEqual(status, 1, text)
        self.assertEqual(result["failures"], ["digits_again: conv: result 0: other bits"])

    def test_a_program_that_gives_no_report_fails(self):
        status, text, result = self.run_tool("digits_again", program=self.fake("", 3))
        self.assertEqual(status, 1, text)
        self.assertIn("status 3", result["failures"][0])

    def test_missing_results_are_not_a_success(self):
        for arguments, missing in ((["no_such_model"], "a model whose name contains no_such_model"), (["zoo_resnet8"], "the zoo's resnet8 in float32: error: none of these")):
            status, text, result = self.run_tool(*arguments)
            self.assertEqual((status, result), (2, None), text)
            self.assertIn(f"threads: missing: {missing}", text)


if __name__ == "__main__":
    unittest.main()
