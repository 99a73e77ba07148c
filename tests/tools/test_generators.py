#!/usr/bin/env python3
"""Programs that write programs, in C++ and in Python (examples/generator): both write the bytes that the assembler gives for the text."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CLI = os.environ["DOVETAIL_CLI"]
ROOT = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"])
GENERATOR = pathlib.Path(os.environ["DOVETAIL_BINARY_DIR"]) / "bin" / "generate_matmul"


class Generators(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_in(CLI, "isa", "--format", "python", "--hw", "1x16x16", "-o", "isa.py")

    def run_in(self, *words):
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(list(map(str, words)), cwd=self.folder, check=True, capture_output=True, text=True, env=environment).stdout

    def bytes_of(self, *names):
        return [(self.folder / name).read_bytes() for name in names]

    def test_each_writes_what_the_assembler_writes(self):
        text = (ROOT / "examples/assembly/matmul.s").read_text()
        for rows, blocks in ((4, 3), (1, 3), (7, 6), (64, 12)):
            sized = re.sub(r"\.equ blocks .*", f".equ blocks {blocks}", re.sub(r"\.equ rows .*", f".equ rows {rows}", text))
            (self.folder / "m.s").write_text(sized)
            self.run_in(CLI, "asm", "m.s", "-o", "s.bin", "--image", "s_image.bin", "--uops", "s_uops.bin")
            says = self.run_in(GENERATOR, rows, blocks, "cpp.bin", "cpp_uops.bin")
            also = self.run_in(sys.executable, ROOT / "examples/generator/matmul.py", rows, blocks, "py.bin", "py_uops.bin")
            self.assertEqual(says, also)
            expected = self.bytes_of("s.bin", "s_uops.bin")
            self.assertEqual(self.bytes_of("cpp.bin", "cpp_uops.bin"), expected, (rows, blocks))
            self.assertEqual(self.bytes_of("py.bin", "py_uops.bin"), expected, (rows, blocks))

    def test_a_value_that_does_not_fit(self):
        for words in ([GENERATOR], [sys.executable, ROOT / "examples/generator/matmul.py"]):
            run = subprocess.run([*map(str, words), "70000", "1", "p.bin", "u.bin"], cwd=self.folder, capture_output=True, text=True,
                                 check=False)
            self.assertEqual(run.returncode, 1, words)
            self.assertRegex(run.stderr, "70000", words)
            self.assertFalse((self.folder / "p.bin").exists())


if __name__ == "__main__":
    unittest.main()
