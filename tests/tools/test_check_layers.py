#!/usr/bin/env python3
"""tools/check_layers.py finds each kind of mistake, and nothing in a clean tree."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ.get("DOVETAIL_SOURCE_DIR", "."), "tools"))
import check_layers  # noqa: E402

CLEAN = {
    "layers.txt": "# comment\nlow:\nhigh: low high/inner\nhigh/inner: low\ntop: high/\nside: high high/inner/leaf.h\n",
    "low/array.h": "#pragma once\n",
    "low/array.cpp": '// why\n#include "low/array.h"\n\n#include <vector>\n',
    "high/tree.h": '#pragma once\n#include "low/array.h"\n#include "high/inner/leaf.h"\n',
    "high/inner/leaf.h": '#pragma once\n#include "low/array.h"\n',
    "high/inner/twig.h": "#pragma once\n",
    "top/all.h": '#pragma once\n#include "high/tree.h"\n#include "high/inner/leaf.h"\n',
    "side/one.h": '#pragma once\n#include "high/tree.h"\n#include "high/inner/leaf.h"\n',
}


class CheckLayers(unittest.TestCase):
    def problems(self, **changes):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, content in {**CLEAN, **changes.pop("files", {})}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content)
            return check_layers.check(root)

    def assert_problem(self, expected, files):
        self.assertEqual(self.problems(files=files), [expected])

    def test_a_clean_tree_has_no_problems(self):
        self.assertEqual(self.problems(), [])

    def test_an_upward_include(self):
        self.assert_problem('low/bad.h:2: low may not include "high/tree.h"; layers.txt allows: nothing',
                            {"low/bad.h": '#pragma once\n#include "high/tree.h"\n'})

    def test_the_longest_line_counts(self):
        self.assert_problem('high/inner/bad.h:2: high/inner may not include "high/tree.h"; layers.txt allows: low',
                            {"high/inner/bad.h": '#pragma once\n#include "high/tree.h"\n'})

    def test_an_entry_covers_neither_longer_lines_nor_other_headers(self):
        self.assert_problem('side/bad.h:2: side may not include "high/inner/twig.h"; layers.txt allows: high, high/inner/leaf.h',
                            {"side/bad.h": '#pragma once\n#include "high/inner/twig.h"\n'})

    def test_an_include_that_is_not_from_the_root(self):
        self.assert_problem('low/bad.h:2: "array.h" is not a file of the tree; includes are written from the root of the repository',
                            {"low/bad.h": '#pragma once\n#include "array.h"\n'})

    def test_files_that_are_copied_together_include_each_other_by_name(self):
        folder = "examples/driver"
        self.assertEqual(self.problems(files={f"{folder}/one.h": '#pragma once\n#include "two.h"\n', f"{folder}/two.h": "#pragma once\n"}), [])
        self.assert_problem('examples/driver/one.h:2: "two.h" is not a file of the tree; includes are written from the root of the repository',
                            {"examples/driver/one.h": '#pragma once\n#include "two.h"\n'})

    def test_a_folder_without_a_line(self):
        self.assert_problem("new/a.h:2: its folder has no line in layers.txt",
                            {"new/a.h": '#pragma once\n#include "low/array.h"\n'})

    def test_a_header_without_pragma_once(self):
        self.assert_problem("low/bad.h: a header without #pragma once", {"low/bad.h": "int x;\n"})

    def test_a_source_that_does_not_include_its_header_first(self):
        self.assert_problem('low/array.cpp: its first include must be "low/array.h", to prove that the header compiles alone',
                            {"low/array.cpp": '#include <vector>\n#include "low/array.h"\n'})

    def test_names(self):
        self.assert_problem("low/BadName.h: the name is not in snake_case", {"low/BadName.h": "#pragma once\n"})
        self.assert_problem("low/utils.h: a catch-all name; name the concept", {"low/utils.h": "#pragma once\n"})
        self.assert_problem("low/_own.h: the name is not in snake_case", {"low/_own.h": "#pragma once\n"})
        self.assertEqual(self.problems(files={"low/_own.py": "", "low/__init__.py": ""}), [])

    def test_machine_paths(self):
        path = "/" + "work/main"
        self.assert_problem(f"notes.md:2: an absolute path of a particular machine: {path[:7]}...", {"notes.md": f"one\nsee {path}\n"})
        self.assertEqual(self.problems(files={"run.sh": f"mktemp -d\ncd {path}\n", "a.md": f"https://x.org{path} net{path}\n"}), [])


if __name__ == "__main__":
    unittest.main()
