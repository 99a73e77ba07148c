#!/usr/bin/env python3
"""The blocks of docs/howto/pytorch.md, run in their order, print what the page shows."""
import unittest

from environment import SOURCE
from torch_environment import require

require("torchao")
from page_blocks import run_blocks


class Page(unittest.TestCase):
    def test_blocks(self):
        self.assertGreater(run_blocks(self, SOURCE / "docs" / "howto" / "pytorch.md"), 4)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
