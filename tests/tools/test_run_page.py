#!/usr/bin/env python3
"""tools/run_page.py: the commands that it runs, the comparison of outputs, and refused omissions."""

import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", "."))
sys.path.insert(0, str(ROOT / "tools"))
import run_page  # noqa: E402

FENCE = "```"


class RunPage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        program = self.folder / "dovetail"
        program.write_text('#!/bin/sh\necho "this is $1"\n')
        program.chmod(0o755)

    def run_page(self, *blocks, head="<!-- run: page -->\n", update=False):
        self.page = self.folder / "page.md"
        self.page.write_text(head + "\n" + "\n\n".join(blocks) + "\n", encoding="utf-8")
        return run_page.run_page(self.page, self.folder / "dovetail", update)

    def block(self, text, mark=""):
        return (f"<!-- run: {mark} -->\n" if mark else "") + f"{FENCE}\n{text}\n{FENCE}"

    def problems(self, *blocks, **more):
        return self.run_page(*blocks, **more)[0]

    def test_equal_output_passes(self):
        self.assertEqual(self.run_page(self.block("$ echo one; echo two >&2\none\ntwo\n$ echo a \\\n  b\na b\n$ true")), ([], 3))

    def test_sessions_share_a_folder_and_have_the_program_and_the_examples(self):
        blocks = [self.block("$ echo here > f"), self.block("$ cat f\nhere\n$ dovetail x\nthis is x\n$ ls -d examples/digits\nexamples/digits")]
        self.assertEqual(self.problems(*blocks), [])

    def test_a_session_stays_in_its_folder(self):
        self.assertEqual(self.problems(self.block("$ mkdir a && cd a && echo x > f\n$ cat f\nx"), self.block("$ cat a/f\nx")), [])

    def test_a_difference_names_line_and_both_texts(self):
        (problem,) = self.problems(self.block("$ printf 'a\\nb\\n'\na\nc"))
        self.assertIn("page.md:4: `printf", problem)
        self.assertIn("from " + str(self.page) + ":6 on", problem)
        self.assertIn("the page: c\n", problem)
        self.assertIn("printed:  b", problem)

    def test_lines_too_many_and_too_few(self):
        self.assertEqual(len(self.problems(self.block("$ echo a\na\nb"))), 1)
        self.assertEqual(len(self.problems(self.block("$ printf 'a\\nb\\n'\na"))), 1)
        self.assertEqual(len(self.problems(self.block("$ echo a"))), 1)

    def test_gaps(self):
        lines = "$ seq 9\n"
        for shown in ("...\n5\n...", "1\n...\n9", "...", "1\n2\n...", "...\n8\n9", "1\n...\n4\n5\n...\n9"):
            self.assertEqual(self.problems(self.block(lines + shown)), [], shown)
        for shown in ("...\n5", "2\n...", "...\n5\n4\n...", "...\n10\n...", "1\n...\n8", "1\n...\n9\n9"):
            self.assertEqual(len(self.problems(self.block(lines + shown))), 1, shown)
        self.assertEqual(self.problems(self.block("$ echo one two three\none two ...")), [])
        self.assertEqual(len(self.problems(self.block("$ echo one two three\none tree ..."))), 1)

    def test_blanks_and_rules_of_tables(self):
        self.assertEqual(self.problems(self.block("$ printf '  a    b\\n ---  -----\\n'\n a b\n ----- --")), [])
        self.assertEqual(len(self.problems(self.block("$ echo ab\na b"))), 1)

    def test_status(self):
        self.assertEqual(self.problems(self.block("$ exit 1", "exit 1")), [])
        self.assertIn("ends with 1, not 0", self.problems(self.block("$ exit 1"))[0])
        self.assertIn("ends with 0, not 1", self.problems(self.block("$ true", "exit 1"))[0])
        self.assertEqual(len(self.problems(self.block("$ false\n$ false", "exit 1"))), 1)  # only the last one may fail

    def test_varying_parts(self):
        took = "<!-- run: page -->\n<!-- varies: took (\\S+) ms -->\n"
        self.assertEqual(self.problems(self.block("$ echo took 12.5 ms, 7 cycles\ntook 3 ms, 7 cycles"), head=took), [])
        self.assertEqual(len(self.problems(self.block("$ echo took 12.5 ms, 8 cycles\ntook 3 ms, 7 cycles"), head=took)), 1)
        unused = self.problems(self.block("$ echo a\na"), head=took)
        self.assertIn("nothing matches `varies: took", unused[0])

    def test_exact_output_cannot_vary(self):
        for pattern in ("time (.*)", "(.* cycles)", "time +(\\d+) cycles"):
            with self.assertRaisesRegex(run_page.PageError, "which is exact"):
                self.problems(self.block("$ echo time 12 cycles\ntime 12 cycles"), head=f"<!-- run: page -->\n<!-- varies: {pattern} -->\n")

    def test_near_numbers(self):
        near = "<!-- run: page -->\n<!-- near: (\\S+) dB within 0.2 -->\n"
        self.assertEqual(self.problems(self.block("$ echo 30.1 dB, 7\n30.3 dB, 7"), head=near), [])
        self.assertEqual(len(self.problems(self.block("$ echo 30.1 dB\n30.4 dB"), head=near)), 1)

    def test_bad_marks(self):
        for mark in ("varies: took", "varies: (", "near: (x) within y", "near: (x)"):
            with self.assertRaises(run_page.PageError, msg=mark):
                self.problems(self.block("$ true"), head=f"<!-- run: page -->\n<!-- {mark} -->\n")
        with self.assertRaisesRegex(run_page.PageError, "a block without its end"):
            self.problems("```\n$ true")

    def test_files_and_blocks_that_are_not_run(self):
        blocks = [self.block("content", "file f.txt"), self.block("$ exit 3", "no, it fails"), self.block("$ cat f.txt\ncontent")]
        self.assertEqual(self.run_page(*blocks), ([], 1))

    def test_a_page_that_opts_in_by_block(self):
        blocks = [self.block("$ exit 1"), "<!-- run -->\n" + self.block("$ echo a\na"), self.block("int x;")]
        self.assertEqual(self.run_page(*blocks, head=""), ([], 1))
        self.assertIn("no session to run", self.problems(self.block("$ true"), head="")[0])

    def updated(self, text, **more):
        self.run_page(self.block(text), update=True, **more)
        return self.page.read_text(encoding="utf-8").split(FENCE + "\n")[1].rstrip("\n")

    def test_update(self):
        self.assertEqual(self.updated("$ echo a\nb"), "$ echo a\na")
        self.assertEqual(self.updated("$ seq 3"), "$ seq 3\n1\n2\n3")
        text = "$ printf 'x\\ntop 7 of 9\\ny\\nend 4\\n'\n...\ntop 5 of 9\n...\nend 3"
        self.assertEqual(self.updated(text), text.replace("5", "7").replace("end 3", "end 4"))
        self.assertEqual(self.updated("$ echo a\n...\nz"), "$ echo a\nz\n...")  # there is no similar line
        self.assertIn("no longer prints a line like `z`", self.run_page(self.block("$ echo a\n...\nz"), update=True)[0][0])
        took = "<!-- run: page -->\n<!-- varies: took (\\S+) -->\n"  # lines that only vary are kept
        self.assertEqual(self.updated("$ printf 'took 5\\nb\\n'\ntook 4\na", head=took), "$ printf 'took 5\\nb\\n'\ntook 4\nb")
        self.assertEqual(run_page.run_page(self.page, self.folder / "dovetail")[0], [])


if __name__ == "__main__":
    unittest.main()
