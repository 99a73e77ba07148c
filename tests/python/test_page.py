#!/usr/bin/env python3
"""The blocks of the pages on Python, run in their order, print what the page shows."""
import contextlib
import io
import os
import re
import tempfile
import unittest

from environment import DIGITS, SOURCE

PAGES = SOURCE / "docs" / "howto"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```\n(.*?)```\n)?", re.DOTALL)


class Page(unittest.TestCase):
    def test_python(self):
        self.run_blocks(PAGES / "python.md")

    def test_schedule_by_hand(self):
        self.run_blocks(PAGES / "schedule-by-hand.md")

    def run_blocks(self, page):
        blocks = BLOCK.findall(page.read_text())
        self.assertGreater(len(blocks), 4)
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            for name in ("digits_int8.onnx", "digits_float.onnx", "test_images.npy", "test_labels.npy"):
                os.symlink(DIGITS / name, f"{folder}/{name}")
            os.chdir(folder)
            self.addCleanup(os.chdir, before)
            names = {"__name__": "page"}
            for code, expected in blocks:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(code, str(page), "exec"), names)
                self.assertEqual(printed.getvalue(), expected, code)
            os.chdir(before)


if __name__ == "__main__":
    unittest.main()
