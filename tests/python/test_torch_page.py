#!/usr/bin/env python3
"""The blocks of docs/howto/pytorch.md, run in their order, print what the page shows."""
import unittest

from environment import SOURCE
from torch_environment import require

require("torchao")
from page_blocks import DIGITS_FILES, check_blocks


class Page(unittest.TestCase):
    def test_blocks(self):
        self.assertGreater(check_blocks(self, SOURCE / "docs" / "howto" / "pytorch.md", DIGITS_FILES), 4)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
