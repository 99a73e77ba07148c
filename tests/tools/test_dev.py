#!/usr/bin/env python3
"""./dev: the package list under DOVETAIL_NO_INSTALL=1, the comparison of generated files, and the formatting of changed lines."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", ".")).resolve()


class Dev(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        shutil.copy(SOURCE / "dev", self.root)

    def run_dev(self, *arguments):
        done = subprocess.run([self.root / "dev", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "DOVETAIL_NO_INSTALL": "1"})
        return done.returncode, done.stdout + done.stderr

    def deps(self, *rows):
        (self.root / "packages.txt").write_text("# group debian ubuntu purpose\n" + "".join(row + "\n" for row in rows))
        return self.run_dev("deps")

    @unittest.skipUnless(shutil.which("dpkg-query"), "not a Debian system")
    def test_nothing_missing_is_silent(self):
        self.assertEqual(self.deps("build bash bash shell", "test dpkg - packages", "fmt no-such-x no-such-x x"), (0, ""))

    @unittest.skipUnless(shutil.which("dpkg-query"), "not a Debian system")
    def test_a_missing_test_package_is_told_and_no_obstacle(self):
        status, text = self.deps("build bash bash shell", "test no-such-x no-such-x x")
        self.assertEqual(status, 0)
        self.assertIn("packages missing: no-such-x", text)
        self.assertIn("apt-get install --no-install-recommends no-such-x", text)

    @unittest.skipUnless(shutil.which("dpkg-query"), "not a Debian system")
    def test_a_missing_build_package_stops(self):
        status, text = self.deps("build no-such-y no-such-y y", "test no-such-x no-such-x x")
        self.assertEqual(status, 2)
        self.assertIn("cannot go on without: no-such-y", text)

    @unittest.skipUnless(shutil.which("git-clang-format") and shutil.which("dpkg-query"), "no git-clang-format")
    def test_fmt_leaves_lines_alone_that_have_not_changed(self):
        def git(*arguments):
            subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *arguments], cwd=self.root, check=True, capture_output=True)

        (self.root / "packages.txt").write_text("build bash bash shell\n")
        shutil.copy(SOURCE / ".clang-format", self.root)
        (self.root / "a.h").write_text("int  table;\nint b;\nint c;\n")
        git("init", "-q"), git("add", "."), git("commit", "-q", "-m", "first")
        self.assertEqual(self.run_dev("fmt", "--check"), (0, ""))
        (self.root / "a.h").write_text("int  table;\nint b;\nint  c;\n")
        status, text = self.run_dev("fmt", "--check")
        self.assertEqual(status, 1)
        self.assertIn("-int  c;\n+int c;", text)
        self.assertEqual(self.run_dev("fmt"), (0, ""))
        self.assertEqual((self.root / "a.h").read_text(), "int  table;\nint b;\nint c;\n")
        self.assertEqual(self.run_dev("fmt", "--check", "no-such-commit")[0], 2)

    def fake_cli(self, text):
        cli = self.root / "cli"
        cli.write_text(f"#!/bin/sh\necho '{text}' \"$@\"\n")
        cli.chmod(0o755)
        return cli

    def write_generated(self, word):
        for row in self.run_dev("gen", "--list")[1].splitlines():
            path, arguments = row.split(maxsplit=1)
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(f"{word} {arguments}\n")

    def test_fresh_generated_files(self):
        self.write_generated("new")
        self.assertEqual(self.run_dev("gen", "--check", self.fake_cli("new")), (0, ""))

    def test_stale_generated_files_are_shown(self):
        self.write_generated("old")
        status, text = self.run_dev("gen", "--check", self.fake_cli("new"))
        self.assertEqual(status, 1)
        self.assertIn("-old isa --format markdown", text)
        self.assertIn("+new isa --format markdown", text)
        self.assertIn("run ./dev gen", text)

    def test_missing_generated_files_are_shown(self):
        self.assertIn("+new isa --format markdown", self.run_dev("gen", "--check", self.fake_cli("new"))[1])

    def test_generated_files_without_a_cli_are_skipped(self):
        self.assertEqual(self.run_dev("gen", "--check", self.root / "none")[0], 77)

    def test_help_and_unknown_commands(self):
        self.assertIn("usage: ./dev COMMAND", self.run_dev("help")[1])
        self.assertEqual(self.run_dev("tset")[0], 2)


if __name__ == "__main__":
    unittest.main()
