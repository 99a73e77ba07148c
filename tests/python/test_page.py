#!/usr/bin/env python3
"""The blocks of the pages about Python, run in their order, print what the page shows. `test_page.py --update` writes
what they print into the pages."""

import sys
import unittest

from environment import SOURCE
from page_blocks import DIGITS_FILES, check_blocks, run

# The pages, and what is in the folder in which they run.
PAGES = {
    "howto/python.md": {},
    "howto/schedule-by-hand.md": DIGITS_FILES,
    "guide/first-week-python.md": {},
}


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
                self.assertGreater(check_blocks(self, SOURCE / "docs" / name, files), 4)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        unittest.main()
