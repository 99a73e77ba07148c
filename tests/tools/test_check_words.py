#!/usr/bin/env python3
"""tools/check_words.py: its scope is clean, it finds planted words, and it leaves code and allowed lines alone."""

import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "tools"))
import check_words  # noqa: E402
from repository_files import repository_files  # noqa: E402

# One sentence for each row of WORDS, which must find it.
PLANTED = {
    "lie": "The buffer lies in SRAM.", "behind": "a Relu behind it", "in front of": "a Pad in front of a pool", "beside": "1.2 beside 1.1",
    "of its own": "a kernel of its own", "wanted": "a folder is wanted", "tells": "it tells which", "goes on": "the sweep goes on",
    "whoever": "for whoever reads", "held against": "held against the reference", "is no": "it is no number", "as well": "Bytes as well.",
    "mend": "mended since", "stands": "where it stands", "by now": "by now it is fast", "alike": "both choose alike", "for lack of": "for lack of a record",
    "letter by letter": "compared letter by letter", "under way": "loads under way", "for nothing": "works for nothing", "owes": "the memory owes one",
    "come about": "how instructions come about", "does not do": "when that does not do", "one beside": "one step beside", ", say": "0.01, say.",
    "whole number": "a whole number", "from N on": "a number from 0 on", "that there is not": "a function that there is not",
    "nobody else": "and nobody else's", "kin": "its kin", "fragment with of": "// Of the chip.", "a part of it": "// A part of it.",
    "review's identifiers": "kFelt = 0.15", "review's phrases": "What the hardware takes",
    "allowed are": "allowed are 1 and 2", "bad value of": "bad value of --x", "honors": "the target honors it", "one a line": "the names, one a line",
    "in silence": "replaced in silence", "heeds": "the kit heeds it", "loader's path": "in the loader's path", "again and again": "it asks again and again",
    "what it gets": "what it gets", "is believed": "its delay is believed", "as it came": "the model as it came", "what became of": "what became of each node",
}


class CheckWords(unittest.TestCase):
    def found(self, text, name="page.md", allowed=()):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
            return [row[1:3] for row in check_words.findings(pathlib.Path(folder), [pathlib.Path(name)], allowed=list(allowed))]

    def test_the_scope_of_this_tree_is_clean(self):
        paths = [path for path in repository_files(ROOT) if check_words.reads(path) and check_words.in_scope(path, check_words.SCOPE)]
        self.assertGreater(len(paths), 40)
        self.assertEqual([f"{path}:{number}: «{what}»; write: {instead}" for path, number, _, what, instead in check_words.findings(ROOT, paths)], [])
        self.assertEqual(list(check_words.unused(ROOT)), [])

    def test_every_word_is_found(self):
        self.assertEqual(set(PLANTED), {name for name, _, _ in check_words.WORDS})
        for name, text in PLANTED.items():
            with self.subTest(word=name):
                self.assertIn((1, name), self.found(f"{text}\n", "a.cpp"))

    def test_a_phrase_over_two_lines(self):
        self.assertEqual(self.found("int i;  // a Pad in\n// front of a pool\n", "a.cpp"), [(1, "in front of")])

    def test_plain_words(self):
        self.assertEqual(self.found("There is no folder. It is no longer there, as well as the file. The two are next to each other.\n"), [])

    def test_code_in_pages_is_not_read(self):
        self.assertEqual(self.found("`behind_barrier` and [a page](behind.md)\n\n```\nbeside\n```\n"), [])

    def test_allowed_lines(self):
        row = ("page.md", "tells", "William", "a name")
        self.assertEqual(self.found("William tells a tale\nit tells\n", allowed=[row]), [(2, "tells")])
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "page.md").write_text("nothing\n", encoding="utf-8")
            self.assertEqual(len(list(check_words.unused(pathlib.Path(folder), [row]))), 1)


if __name__ == "__main__":
    unittest.main()
