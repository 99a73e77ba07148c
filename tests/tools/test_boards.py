#!/usr/bin/env python3
"""tests/boards/run.py where tools are missing or a test does not see a fault; the list of boards, and their packages."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", ".")).resolve()
sys.path.insert(0, str(SOURCE / "tests/boards"))
import boards  # noqa: E402
import run  # noqa: E402


LISTS = ("boards ", r"boards_c \$\{boards\}", r"boards_object \$\{boards\}")


class Boards(unittest.TestCase):
    def without_tools(self, *arguments):
        done = subprocess.run(
            [sys.executable, SOURCE / "tests/boards/run.py", "no-dovetail", *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": "/nonesuch"},
            check=False,
        )
        return done.returncode, done.stdout

    def test_missing_tools_are_named_with_their_packages(self):
        expected = (
            "boards: riscv32 needs riscv64-unknown-elf-gcc (Debian package gcc-riscv64-unknown-elf), picolibc.specs (Debian "
            "package picolibc-riscv64-unknown-elf), qemu-system-riscv32 (Debian package qemu-system-misc); run apt-get install "
            "--no-install-recommends gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc\n"
        )
        self.assertEqual(self.without_tools("--board", "riscv32"), (2, expected))
        self.assertEqual(self.without_tools("--test", "riscv32"), (77, expected))

    def test_a_compiler_without_its_library_is_not_enough(self):
        board = next(board for board in boards.BOARDS if board.name == "aarch64")
        with mock.patch("shutil.which", return_value="/bin/true"), mock.patch("boards.run", return_value="libc.a\n"):
            self.assertEqual(board.missing(), [("libc.a", "libc6-dev-arm64-cross")])

    def test_a_test_that_never_fails_is_found(self):
        with tempfile.TemporaryDirectory() as temporary:
            project = pathlib.Path(temporary) / "model"
            project.mkdir()
            (project / "net.c").write_text("static const int8_t w[2] = {\n  1, 2\n};\n")
            (project / "test_net.c").write_text("")
            board = boards.BOARDS[0]
            with mock.patch.object(run.Program, "whole", lambda self, sources, test: self.work), mock.patch(
                "boards.run", return_value=""
            ) as ran:
                self.assertRaisesRegex(
                    boards.Failure, "with a changed value, the test on riscv32 printed", run.check_finds_fault, board, project
                )
                self.assertEqual(ran.call_args.args[1], 1)
                self.assertIn("1, 99\n", (project.parent / "model.faulty" / "net.c").read_text())

    def test_every_board_is_a_test_and_its_packages_are_listed(self):
        text = (SOURCE / "tests/CMakeLists.txt").read_text()
        both, as_c, as_object = (re.search(rf"set\({name}(.*)\)", text)[1].split() for name in LISTS)
        self.assertEqual(both + as_c, [board.name for board in boards.BOARDS if not board.objects_only])
        self.assertEqual(both + as_object, [board.name for board in boards.BOARDS if board.processor])
        rows = [line.split() for line in (SOURCE / "packages.txt").read_text().splitlines()]
        packages = {row[1] for row in rows if row[:1] in (["boards"], ["test"])}
        for board in boards.BOARDS:
            self.assertLessEqual({board.compiler_package, board.library_package, board.emulator_package}, packages)


if __name__ == "__main__":
    unittest.main()
