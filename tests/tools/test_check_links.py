#!/usr/bin/env python3
"""tools/check_links.py finds links that lead nowhere, and leaves code and the web alone."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ.get("DOVETAIL_SOURCE_DIR", "."), "tools"))
import check_links  # noqa: E402


class CheckLinks(unittest.TestCase):
    def problems(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "docs/there.md").write_text("here")
            (root / "docs/page.md").write_text(text)
            return check_links.check(root)

    def test_good_links(self):
        self.assertEqual(self.problems("[a](there.md) [b](there.md#part) [c](../docs) [d](https://x.org/y) [e](#part)"), [])

    def test_a_link_that_leads_nowhere(self):
        self.assertEqual(self.problems("see [a](gone.md)"), ["docs/page.md: the link gone.md leads nowhere"])

    def test_code_is_no_link(self):
        self.assertEqual(self.problems("`acc[d](x)`\n```\na[i](b)\n```\n"), [])


if __name__ == "__main__":
    unittest.main()
