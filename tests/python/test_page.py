#!/usr/bin/env python3
"""The blocks of the pages about Python, run in their order, print what the page shows. `test_page.py --update` writes
what they print into the pages."""

import contextlib
import io
import os
import re
import sys
import tempfile
import unittest

from environment import DIGITS, SOURCE

BLOCK = re.compile(r"```python\n(.*?)```\n(\n```\n(.*?)```\n)?", re.DOTALL)
# The pages, and what is in the folder in which they run.
PAGES = {
    "howto/python.md": {
        name: DIGITS / name for name in ("digits_int8.onnx", "digits_float.onnx", "test_images.npy", "test_labels.npy")
    },
    "guide/first-week-python.md": {"examples": SOURCE / "examples"},
}


def run(page, files):
    """Yields (match of the block, what it prints)."""
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


def update():
    for name, files in PAGES.items():
        page = SOURCE / "docs" / name
        text = page.read_text()
        for block, printed in reversed(list(run(page, files))):
            shown = f"\n```\n{printed}```\n" if printed else ""
            text = text[: block.end(1)] + "```\n" + shown + text[block.end() :]
        page.write_text(text)


class Pages(unittest.TestCase):
    def test_blocks(self):
        for name, files in PAGES.items():
            with self.subTest(name):
                count = 0
                for block, printed in run(SOURCE / "docs" / name, files):
                    self.assertEqual(printed, block[3] or "", block[1])
                    count += 1
                self.assertGreater(count, 4)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        unittest.main()
