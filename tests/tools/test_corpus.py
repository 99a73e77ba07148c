#!/usr/bin/env python3
"""tools/corpus.py: packed files are unpacked unchanged; equal folders give equal archives; the limit holds; no name leads out of the folder."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

TOOL = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2])) / "tools" / "corpus.py"


def run(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, TOOL, *map(str, arguments)], capture_output=True, text=True, check=False)


class Corpus(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "in").mkdir()
        for i in range(40):
            (self.folder / "in" / f"m{i}").write_bytes(os.urandom(100 + 10 * i))

    def test_round_trip(self) -> None:
        self.assertEqual(run("pack", self.folder / "in", self.folder / "a.zip").returncode, 0)
        self.assertEqual(run("unpack", self.folder / "a.zip", self.folder / "out").returncode, 0)
        for path in (self.folder / "in").iterdir():
            self.assertEqual((self.folder / "out" / path.name).read_bytes(), path.read_bytes())

    def test_equal_folders_give_equal_archives(self) -> None:
        run("pack", self.folder / "in", self.folder / "a.zip")
        os.utime(self.folder / "in" / "m3", (0, 0))
        run("pack", self.folder / "in", self.folder / "b.zip")
        self.assertEqual((self.folder / "a.zip").read_bytes(), (self.folder / "b.zip").read_bytes())

    def test_the_largest_go_where_there_is_no_room(self) -> None:
        packed = run("pack", self.folder / "in", self.folder / "a.zip", 6000)
        self.assertIn("larger ones left out", packed.stdout)
        self.assertLessEqual((self.folder / "a.zip").stat().st_size, 6000)
        with zipfile.ZipFile(self.folder / "a.zip") as file:
            self.assertIn("m0", file.namelist())
            self.assertNotIn("m39", file.namelist())

    def test_names_stay_in_the_folder(self) -> None:
        with zipfile.ZipFile(self.folder / "a.zip", "w") as file:
            file.writestr("../evil", b"x")
        run("unpack", self.folder / "a.zip", self.folder / "out")
        self.assertFalse((self.folder / "evil").exists())
        self.assertTrue((self.folder / "out" / "evil").exists())

    def test_usage(self) -> None:
        self.assertEqual(run().returncode, 2)


if __name__ == "__main__":
    unittest.main()
