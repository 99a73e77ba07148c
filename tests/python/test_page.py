#!/usr/bin/env python3
"""The blocks of docs/howto/python.md, run in their order, print what the page shows."""
import contextlib
import io
import os
import re
import tempfile
import unittest

from environment import DIGITS, SOURCE

PAGE = SOURCE / "docs" / "howto" / "python.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```\n(.*?)```\n)?", re.DOTALL)


class Page(unittest.TestCase):
    def test_blocks(self):
        blocks = BLOCK.findall(PAGE.read_text())
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
                    exec(compile(code, str(PAGE), "exec"), names)
                self.assertEqual(printed.getvalue(), expected, code)
            os.chdir(before)


if __name__ == "__main__":
    unittest.main()
