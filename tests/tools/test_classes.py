#!/usr/bin/env python3
"""tests/classes/run.py and tools/lower_classes.py: which tests are judged on which class of processors."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", ".")).resolve()
sys.path.insert(0, str(SOURCE / "tools"))
from lower_classes import lower_classes  # noqa: E402

spec = importlib.util.spec_from_file_location("classes_run", SOURCE / "tests/classes/run.py")
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)

LISTING = "one, and two\t@/x/tests/unit/compiler/target/cpu/a.cpp:3\nthree\t@/x/tests/unit/compiler/target/cpu.cpp:4\n"


class Classes(unittest.TestCase):
    def test_paths_are_files_and_folders(self):
        self.assertEqual(run.tests_in(LISTING, "tests/unit/compiler/target/cpu"), ["one, and two"])
        self.assertEqual(run.tests_in(LISTING, "tests/unit/compiler/target/cpu.cpp"), ["three"])
        self.assertEqual(run.tests_in(LISTING, "tests/unit/compiler/target"), ["one, and two", "three"])
        self.assertEqual(run.program_of("tests/unit/compiler/target/cpu"), "test_unit_compiler")

    def test_names_with_commas_and_quotes_are_one_name(self):
        self.assertEqual(run.as_catch_reads_it('a, "b" \\ [c]'), '"a\\, \\"b\\" \\\\ [c]"')

    def test_every_path_of_the_list_is_there(self):
        rows = run.dependent((SOURCE / "tests/classes/dependent.txt").read_text())
        for path, shares in rows:
            sources = [SOURCE / path] if path.endswith(".cpp") else (SOURCE / path).rglob("*.cpp")
            self.assertTrue(any("TEST_CASE(" in source.read_text() for source in sources), path)
            self.assertGreater(shares, 0)
        self.assertEqual(len(rows), len({path for path, _ in rows}))

    def test_the_sample_is_another_share_on_each_class(self):
        names = list("abcdefg")
        with mock.patch.dict(os.environ, {"DOVETAIL_TESTS": "sample"}):
            self.assertEqual(sorted(sum((run.chosen(names, 3, offset) for offset in (3, 1, 2)), [])), names)
        with mock.patch.dict(os.environ, {"DOVETAIL_TESTS": ""}):
            self.assertEqual(run.chosen(names, 3, 1), names)

    def test_lower_classes(self):
        report = {"processor": {"class": "avx512", "cap": None, "runs": ["baseline", "avx2", "avx512"]}}
        self.assertEqual(lower_classes(report), ["baseline", "avx2"])
        report["processor"].update(cap="avx2", runs=["baseline", "avx2"])
        self.assertEqual(lower_classes(report), [])

    def test_the_programs_get_the_class_and_their_failure_is_one(self):
        with tempfile.TemporaryDirectory() as folder:
            programs = pathlib.Path(folder) / "bin"
            programs.mkdir()
            report = {"processor": {"class": "avx512", "cap": None, "runs": ["baseline", "avx2", "avx512"]}}
            rows = run.dependent((SOURCE / "tests/classes/dependent.txt").read_text())
            listing = "".join(f"test of {path}\t@/x/{path}{'' if path.endswith('.cpp') else '/a.cpp'}:1\n" for path, _ in rows)
            (programs / "listing").write_text(listing)
            for name in {run.program_of(path) for path, _ in rows}:
                (programs / name).write_text(
                    f'#!/bin/sh\nif [ "$1" = --list-test-names-only ]; then cat {programs}/listing; exit 3; fi\n'
                    f'cat "$2" >> {programs}/asked; echo "$DOVETAIL_PROCESSOR"; cat {programs}/says; [ "$(cat {programs}/fails)" != {name} ]\n')
            (programs / "dovetail").write_text(f"#!/bin/sh\necho '{json.dumps(report)}'\n")
            for file in programs.iterdir():
                file.chmod(0o755)

            def main(name, fails="", says=""):
                (programs / "fails").write_text(fails)
                (programs / "says").write_text(says)
                text = io.StringIO()
                with contextlib.redirect_stdout(text), mock.patch.object(sys, "argv", ["run.py", "--build", folder, name]), \
                        mock.patch.dict(os.environ, {"DOVETAIL_TESTS": "", "DOVETAIL_PROCESSOR": ""}):
                    return run.main(), text.getvalue()

            self.assertEqual(main("avx512")[0], 77)
            self.assertEqual(main("avx512-amx")[0], 77)
            status, text = main("avx2")
            self.assertEqual(status, 0, text)
            self.assertIn(f"class avx2: {len(rows)} tests passed", text)
            self.assertIn('"test of tests/unit/runtime"', (programs / "asked").read_text().splitlines())
            status, text = main("baseline", "test_unit_runtime")
            self.assertEqual(status, 1)
            self.assertIn("class baseline: failed: test_unit_runtime", text)
            self.assertIn("\nbaseline\n", text)
            self.assertEqual(main("baseline", says="No test cases matched 'x'\n")[0], 1)


if __name__ == "__main__":
    unittest.main()
