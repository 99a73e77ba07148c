#!/usr/bin/env python3
"""The two tiers of the tests (tools/tier.py, tests/long.txt), and a check that the sample of ./dev test does not include: every fault can be planted."""

import configparser
import fnmatch
import os
import pathlib
import re
import shlex
import sys
import unittest
from unittest import mock

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", ".")).resolve()
sys.path[:0] = [str(SOURCE / folder) for folder in ("tools", "tests/mutants", "hw/formal", "tests/torture")]
import faults as torture  # noqa: E402
import prove  # noqa: E402
import run as mutants  # noqa: E402
import tier  # noqa: E402

CASE = re.compile(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')


def test_cases(folder):
    """The names of the test cases in the C++ files below a folder."""
    for path in folder.rglob("*.cpp"):
        for literals in CASE.findall(path.read_text()):
            yield "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"').replace("\\\\", "\\")


class Tiers(unittest.TestCase):
    def test_a_sample_is_fixed_and_of_what_there_is(self):
        with mock.patch.dict(os.environ, {"DOVETAIL_TESTS": "sample"}):
            self.assertEqual(tier.judged("abcd", "ca"), (["a", "c"], "the sample, 2 of 4 (./dev test --all runs all)"))
        with mock.patch.dict(os.environ, {"DOVETAIL_TESTS": ""}):
            self.assertEqual(tier.judged("abcd", "ca"), (list("abcd"), "all 4"))
            self.assertRaisesRegex(SystemExit, "the sample has unknown names: z", tier.judged, "abcd", "az")

    def test_every_long_test_is_there(self):
        lists = "".join(path.read_text() for path in (SOURCE / "tests").rglob("CMakeLists.txt"))
        for name in (SOURCE / "tests/long.txt").read_text().splitlines():
            if name and not name.startswith("#"):
                kind, rest = name.split("/", 1)
                layer, _, case = rest.partition("/")
                here = name in lists or rest in lists or (SOURCE / f"tests/{kind}/test_{rest}.py").exists()
                self.assertTrue(here or case in set(test_cases(SOURCE / "tests" / kind / layer)), name)

    def test_every_mutant_can_be_planted(self):
        listed = configparser.ConfigParser(interpolation=None, delimiters=(":",))
        listed.read_string(mutants.LIST.read_text())
        cases = {}
        for name in listed.sections():
            with self.subTest(name):
                row = listed[name]
                mutants.replaced_once(SOURCE / row["file"], row["from"], row["to"])
                for unit in shlex.split(row.get("units", "")):
                    self.assertTrue((SOURCE / unit).exists(), unit)
                _, kind, layer = row["test"].split("_", 2)
                folder = SOURCE / "tests" / kind / layer
                cases.setdefault(folder, set(test_cases(folder)))
                for pattern in re.split(r"(?<!\\),", shlex.split(row["arguments"])[0]):
                    pattern = re.sub(r"\\(.)", r"\1", pattern).replace("[", "[[]")
                    self.assertTrue(fnmatch.filter(cases[folder], pattern), pattern)

    def test_every_fault_of_the_design_can_be_planted(self):
        rows = [(name, file, before) for listed in ("tests/torture/faults.txt", "hw/sva/faults.txt") for name, file, before, *_ in torture.faults(listed)]
        rows += [(name, file, before) for name, _, file, before, _ in prove.table("faults.txt", 5)]
        self.assertGreater(len(rows), 100)
        for name, file, before in rows:
            with self.subTest(name):
                self.assertEqual((SOURCE / "hw" / ("" if "/" in file else "rtl") / file).read_text().count(before), 1)


if __name__ == "__main__":
    unittest.main()
