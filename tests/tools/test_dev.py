#!/usr/bin/env python3
"""./dev: the package list under DOVETAIL_NO_INSTALL=1, the comparison of generated files, and the formatting of the tree."""

import json
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

    def run_dev(self, *arguments, **environment):
        done = subprocess.run([self.root / "dev", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "DOVETAIL_NO_INSTALL": "1", **environment})
        return done.returncode, done.stdout + done.stderr

    def deps(self, *rows):
        (self.root / "packages.txt").write_text("# group debian ubuntu purpose\n" + "".join(row + "\n" for row in rows))
        return self.run_dev("deps")

    @unittest.skipUnless(shutil.which("dpkg-query"), "not a Debian system")
    def test_nothing_missing_is_silent(self):
        self.assertEqual(self.deps("build bash bash shell", "test dpkg - packages", "fuzz no-such-x no-such-x x"), (0, ""))

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

    @unittest.skipUnless(shutil.which("clang-format-14"), "no clang-format-14")
    def test_fmt_formats_the_tree_and_keeps_tables(self):
        table = "// clang-format off\nint  table;\n// clang-format on\n"
        (self.root / "packages.txt").write_text("build bash bash shell\n")
        shutil.copy(SOURCE / ".clang-format", self.root)
        (self.root / "a.h").write_text(table + "int b;\n")
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        self.assertEqual(self.run_dev("fmt", "--check"), (0, ""))
        (self.root / "a.h").write_text(table + "int  b;\n")
        self.assertEqual(self.run_dev("fmt", "--check"), (1, "not as ./dev fmt leaves it: a.h:4\n"))
        self.assertEqual(self.run_dev("fmt"), (0, ""))
        self.assertEqual((self.root / "a.h").read_text(), table + "int b;\n")
        self.assertEqual(self.run_dev("fmt", "--all")[0], 2)

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_another_clang_format_only_reports(self):
        (self.root / "bin").mkdir()
        other = self.root / "bin" / "clang-format-14"
        other.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "clang-format version 99.1.0" && exit\necho "a.h:1:4: error: code should be clang-formatted" >&2\n')
        other.chmod(0o755)
        (self.root / "packages.txt").write_text("build bash bash shell\n")
        (self.root / "a.h").write_text("int  b;\n")
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        path = {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}"}
        status, text = self.run_dev("fmt", "--check", **path)
        self.assertEqual(status, 77)
        self.assertIn("a.h:1", text)
        self.assertEqual(self.run_dev("fmt", **path)[0], 2)
        self.assertEqual((self.root / "a.h").read_text(), "int  b;\n")

    def fake_cli(self, text):
        cli = self.root / "cli"
        cli.write_text(f"#!/bin/sh\necho '{text}' \"$@\"\n")
        cli.chmod(0o755)
        for _, arguments in self.generated():
            if arguments.startswith("tools/"):  # prints its arguments, too
                tool = self.root / arguments.split()[0]
                tool.parent.mkdir(exist_ok=True)
                tool.write_text(f"import sys\nprint('{text}', *sys.argv)\n")
        return cli

    def generated(self):
        """(path, arguments of the program or of a tool)"""
        return [row.replace("PROGRAM", str(self.root / "cli")).split(maxsplit=1) for row in self.run_dev("gen", "--list")[1].splitlines()]

    def write_generated(self, word):
        for path, arguments in self.generated():
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

    def test_every_tenth_turn_of_a_fresh_clone_compiles_every_source_alone(self):
        (self.root / "packages.txt").write_text("build bash bash shell\n")
        (self.root / "bin").mkdir()
        (self.root / "bin/cmake").write_text('#!/bin/sh\necho "$*" >> cmake.log\n')
        (self.root / "bin/cmake").chmod(0o755)

        def configured(**environment):
            self.run_dev("build", PATH=f"{self.root}/bin:{os.environ['PATH']}", **environment)
            log = self.root / "cmake.log"
            lines = log.read_text().splitlines()
            log.unlink()
            return lines[0]

        joint, alone = "--preset release -DDOVETAIL_PCH=ON -DDOVETAIL_UNITY=ON", "--preset release"
        self.assertEqual(configured(DOVETAIL_TEST_TURN=""), joint)
        self.assertEqual(configured(DOVETAIL_TEST_TURN="11"), joint)
        self.assertEqual(configured(DOVETAIL_TEST_TURN="20"), alone)

    def test_benchmarks_are_built_in_every_third_turn_and_on_request(self):
        (self.root / "packages.txt").write_text("build bash bash shell\n")
        (self.root / "bin").mkdir()
        for name in ("cmake", "ctest"):
            (self.root / "bin" / name).write_text('#!/bin/sh\necho "$*" >> commands.log\n')
            (self.root / "bin" / name).chmod(0o755)

        def built(*arguments, **environment):
            self.run_dev(*arguments, PATH=f"{self.root}/bin:{os.environ['PATH']}", **environment)
            log = self.root / "commands.log"
            lines = log.read_text().splitlines()
            log.unlink()
            return next(line for line in lines if "--build" in line)

        everything, tests = "--build build/release --target all dovetail_bench", "--build build/release --target all"
        self.assertEqual(built("build"), everything)
        self.assertEqual(built("test", DOVETAIL_TEST_TURN="12"), everything)
        self.assertEqual(built("test", DOVETAIL_TEST_TURN="13"), tests)
        self.assertEqual(built("test", "--all", DOVETAIL_TEST_TURN=""), everything)
        self.assertEqual(built("test", "cli", DOVETAIL_TEST_TURN=""), tests)

    def test_all_runs_the_tests_on_each_lower_class_and_on_busy_cores(self):
        (self.root / "packages.txt").write_text("build bash bash shell\n")
        for folder in ("bin", "tools", "build/release/bin"):
            (self.root / folder).mkdir(parents=True)
        for name in ("summarize_tests.py", "lower_classes.py"):
            shutil.copy(SOURCE / "tools" / name, self.root / "tools")
        report = {"processor": {"class": "avx512", "cap": None, "runs": ["baseline", "avx2", "avx512"]}}
        programs = {
            "bin/cmake": "exit 0",
            # Notes what other work this run of ./dev has begun, and writes the result of one test.
            "bin/ctest": 'echo "[$DOVETAIL_PROCESSOR] [$(ps --ppid $PPID -o stat= | grep -c R)] $*" >> ctest.log\n'
                         'while [ "$1" != --output-junit ]; do shift; done\n'
                         'echo "<testsuite><testcase name=\'t\' status=\'${STATUS:-run}\' time=\'1\'/></testsuite>" > "$2"',
            "build/release/bin/dovetail": f"echo '{json.dumps(report)}'",
        }
        for name, text in programs.items():
            (self.root / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.root / name).chmod(0o755)

        def runs(*arguments, **environment):
            (self.root / "ctest.log").unlink(missing_ok=True)
            status, text = self.run_dev("test", *arguments, PATH=f"{self.root}/bin:{os.environ['PATH']}", DOVETAIL_PROCESSOR="", **environment)
            lines = (self.root / "ctest.log").read_text().splitlines()
            return status, text, [line.split()[0].strip("[]") for line in lines], lines

        status, text, classes, lines = runs("--all")
        self.assertEqual((status, classes), (0, ["", "baseline", "avx2", ""]), text)
        self.assertTrue(all("-LE ^classes$" in line for line in lines), lines)
        others = [int(line.split()[1].strip("[]")) for line in lines]
        self.assertEqual(others[:3], [0] * 3)
        self.assertGreaterEqual(others[3], 1)
        self.assertEqual(text.count("1 passed, 0 failed, 0 skipped"), 4)
        self.assertIn("as on a machine of class avx2", text)
        self.assertEqual([path.name for path in sorted((self.root / "build/release").glob("*.xml"))],
                         ["tests-avx2.xml", "tests-baseline.xml", "tests-busy.xml", "tests.xml"])
        # A failure in one of them is one of the whole, and the others run.
        status, text, classes, _ = runs("--all", STATUS="fail")
        self.assertEqual((status, len(classes)), (1, 4))
        # Without --all once, with what samples the lower classes.
        status, text, classes, lines = runs("some")
        self.assertEqual((status, classes), (0, [""]))
        self.assertNotIn("-LE", lines[0])

    @unittest.skipUnless(shutil.which("flock"), "no flock")
    def test_a_second_one_in_a_tree_waits_for_the_first(self):
        (self.root / "packages.txt").write_text("build bash bash shell\n")
        (self.root / "bin").mkdir()
        # The first build ends when the second one waits, and within the first another ./dev of its own runs.
        (self.root / "bin/cmake").write_text(
            '#!/bin/sh\ncase "$*" in *--build*) ;; *) exit 0 ;; esac\n'
            'echo "begin $WHO" >> order.log\n'
            'if [ "$WHO" = first ]; then WHO=nested ./dev build >> nested.log 2>&1; until [ -e go ]; do sleep 0.05; done; fi\n'
            'echo "end $WHO" >> order.log\n')
        (self.root / "bin/cmake").chmod(0o755)
        environment = {**os.environ, "DOVETAIL_NO_INSTALL": "1", "DOVETAIL_BUILD_LOCK": "", "PATH": f"{self.root}/bin:{os.environ['PATH']}"}

        def start(who):
            return subprocess.Popen([self.root / "dev", "build"], env={**environment, "WHO": who}, stderr=subprocess.PIPE, text=True)

        log = self.root / "order.log"
        first = start("first")
        while not log.exists() or "end nested" not in log.read_text():
            self.assertIsNone(first.poll())
        second = start("second")
        self.assertEqual(second.stderr.readline(),
                         "dev: another ./dev works in build/release; waiting for it to end (its lock: build/release.lock)\n")
        (self.root / "go").touch()
        first.communicate()
        second.communicate()
        self.assertEqual((first.returncode, second.returncode), (0, 0))
        self.assertEqual(log.read_text().split("\n")[:-1],
                         ["begin first", "begin nested", "end nested", "end first", "begin second", "end second"])
        # A lock that nobody holds any more is in nobody's way.
        self.assertTrue((self.root / "build/release.lock").exists())
        self.assertEqual(self.run_dev("build", PATH=environment["PATH"], WHO="third")[0], 0)

    def test_help_and_unknown_commands(self):
        self.assertIn("usage: ./dev COMMAND", self.run_dev("help")[1])
        self.assertRegex(self.run_dev("help")[1], r"(?m)^  package +make two packages for Debian")
        self.assertEqual(self.run_dev("tset")[0], 2)
        self.assertEqual(self.run_dev("package", "rpm"), (2, "dev: package: unknown argument rpm\n"))
        self.assertEqual(self.run_dev("bench", "--agianst", "HEAD")[0], 2)
        self.assertEqual(self.run_dev("bench", "--against"), (2, "dev: bench: --against needs a value\n"))


if __name__ == "__main__":
    unittest.main()
