"""Runs the blocks of a page."""

import contextlib
import io
import os
import re
import tempfile

from environment import DIGITS

BLOCK = re.compile(r"```python\n(.*?)```\n(\n```\n(.*?)```\n)?", re.DOTALL)
DIGITS_FILES = {
    name: DIGITS / name for name in ("digits_int8.onnx", "digits_float.onnx", "test_images.npy", "test_labels.npy")
}


def run(page, files):
    """Runs the page's blocks of Python in their order, in a folder with links to the files. Yields (match of the block,
    what it prints)."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, target in files.items():
            os.symlink(target, f"{folder}/{name}")
        os.chdir(folder)
        try:
            names = {"__name__": "page"}
            for block in BLOCK.finditer(page.read_text()):
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(block[1], str(page), "exec"), names)
                yield block, printed.getvalue()
        finally:
            os.chdir(before)


def check_blocks(test, page, files):
    """Each block must print what the block after it shows. Returns their number."""
    count = 0
    for block, printed in run(page, files):
        test.assertEqual(printed, block[3] or "", block[1])
        count += 1
    return count
