#!/usr/bin/env python3
"""tools/check_links.py finds links and paths that lead nowhere, and leaves code and the web alone."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ.get("DOVETAIL_SOURCE_DIR", "."), "tools"))
import check_links  # noqa: E402


class CheckLinks(unittest.TestCase):
    def problems(self, text, name="docs/page.md"):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "docs/there.md").write_text("here")
            (root / "docs/made.h.in").write_text("here")
            (root / name).write_text(text)
            return check_links.check(root)

    def test_good_links(self):
        self.assertEqual(self.problems("[a](there.md) [b](there.md#part) [c](../docs) [d](https://x.org/y) [e](#part)"), [])

    def test_a_link_that_leads_nowhere(self):
        self.assertEqual(self.problems("see [a](gone.md)"), ["docs/page.md: the target of the link gone.md does not exist"])

    def test_code_is_not_a_link(self):
        self.assertEqual(self.problems("`acc[d](x)`\n```\na[i](b)\n```\n"), [])

    def test_a_path_that_is_not_a_file(self):
        self.assertEqual(self.problems("see `docs/there.md`, not\n`docs/gone.md`"), ["docs/page.md:2: docs/gone.md is not a file of the tree"])
        self.assertEqual(self.problems("int i;  // (docs/gone.h)\n", "docs/a.cpp"), ["docs/a.cpp:1: docs/gone.h is not a file of the tree"])

    def test_paths_outside_the_tree_are_ignored(self):
        self.assertEqual(self.problems("docs/*.md, docs/{a,b}.md, docs/<name>.md, docs/NAME.md, other/gone.md, /docs/gone.md"), [])
        self.assertEqual(self.problems('open("docs/gone.h");  // docs/there.md\n', "docs/a.cpp"), [])

    def test_files_that_the_build_makes(self):
        self.assertEqual(self.problems("docs/made.h"), [])


if __name__ == "__main__":
    unittest.main()
