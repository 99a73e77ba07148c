"""Runs the blocks of a page."""

import contextlib
import io
import os
import re
import tempfile

from environment import DIGITS

BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```\n(.*?)```\n)?", re.DOTALL)


def run_blocks(test, page):
    """Runs the page's blocks of Python in their order, in a folder with the digits. Each must print what the block after
    it shows. Returns their number."""
    blocks = BLOCK.findall(page.read_text())
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("digits_int8.onnx", "digits_float.onnx", "test_images.npy", "test_labels.npy"):
            os.symlink(DIGITS / name, f"{folder}/{name}")
        os.chdir(folder)
        test.addCleanup(os.chdir, before)
        names = {"__name__": "page"}
        for code, expected in blocks:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, str(page), "exec"), names)
            test.assertEqual(printed.getvalue(), expected, code)
        os.chdir(before)
    return len(blocks)
