#!/usr/bin/env python3
"""./dev: the package list under DOVETAIL_NO_INSTALL=1, the tiers of the tests, generated files, formatting, and two ./dev at once in one tree."""

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
        shutil.copytree(SOURCE / "tools/dev", self.root / "tools/dev")

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
    def test_a_missing_test_package_is_reported_and_not_an_error(self):
        status, text = self.deps("build bash bash shell", "test no-such-x no-such-x x")
        self.assertEqual(status, 0)
        self.assertIn("packages missing: no-such-x", text)
        self.assertIn("apt-get install --no-install-recommends no-such-x", text)

    @unittest.skipUnless(shutil.which("dpkg-query"), "not a Debian system")
    def test_a_missing_build_package_stops(self):
        status, text = self.deps("build no-such-y no-such-y y", "test no-such-x no-such-x x")
        self.assertEqual(status, 2)
        self.assertIn("cannot continue without: no-such-y", text)

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

    def programs(self, **texts):
        """Replacements of the machine's programs, each a shell script; and the environment in which ./dev finds them."""
        (self.root / "packages.txt").write_text("build bash bash shell\n")
        (self.root / "bin").mkdir()
        for name, text in texts.items():
            (self.root / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.root / "bin" / name).chmod(0o755)
        return {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "DOVETAIL_BUILD_LOCK": "", "DOVETAIL_PROCESSOR": "", "DOVETAIL_TESTS": ""}

    def write_long_tests(self):
        (self.root / "tests").mkdir()
        (self.root / "tests/long.txt").write_text("# of sizes\n\ne2e/cli/2^31 (or more)\ninstall/package\n")

    def test_what_is_built_and_run_for_each_tier(self):
        environment = self.programs(**dict.fromkeys(("cmake", "ctest"), 'echo "[$DOVETAIL_TESTS] $*" >> commands.log'))
        self.write_long_tests()

        def commands(*arguments, **more):
            self.run_dev(*arguments, **environment, **more)
            lines = (self.root / "commands.log").read_text().splitlines()
            (self.root / "commands.log").unlink()
            return lines

        everything, tests = "[] --build build/release --target all dovetail_bench", "[] --build build/release --target all"
        self.assertEqual(commands("build"), ["[] --preset release -DDOVETAIL_PCH=ON -DDOVETAIL_UNITY=ON", everything])
        sample = commands("test")
        self.assertEqual(sample[1], tests)
        self.assertRegex(sample[2], r"^\[sample\] .* -E \^\(e2e/cli/2\\\^31 \\\(or more\\\)\|install/package\)\$ ")
        named = commands("test", "cli")
        self.assertEqual(named[1], tests)
        self.assertRegex(named[2], r"^\[\] .* -R cli ")
        whole = commands("test", "--all")
        self.assertEqual(whole[1], everything)
        self.assertRegex(whole[2], r"^\[\] ")
        self.assertNotIn("-E", whole[2])

    def test_all_runs_the_tests_on_each_lower_class_and_on_busy_cores(self):
        (self.root / "build/release/bin").mkdir(parents=True)
        for name in ("summarize_tests.py", "lower_classes.py"):
            shutil.copy(SOURCE / "tools" / name, self.root / "tools")
        report = {"processor": {"class": "avx512", "cap": None, "runs": ["baseline", "avx2", "avx512"]}}
        environment = self.programs(
            cmake="exit 0",
            # Notes what other work this run of ./dev has begun, and writes the result of one test.
            ctest='echo "[$DOVETAIL_PROCESSOR] [$(ps --ppid $PPID -o stat= | grep -c R)] $*" >> ctest.log\n'
                         'while [ "$1" != --output-junit ]; do shift; done\n'
                         'echo "<testsuite><testcase name=\'t\' status=\'${STATUS:-run}\' time=\'1\'/></testsuite>" > "$2"')
        cli = self.root / "build/release/bin/dovetail"
        cli.write_text(f"#!/bin/sh\necho '{json.dumps(report)}'\n")
        cli.chmod(0o755)

        def runs(*arguments, **more):
            (self.root / "ctest.log").unlink(missing_ok=True)
            status, text = self.run_dev("test", *arguments, **environment, **more)
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
        # A failure in one class is a failure of the run, and the other classes run.
        status, text, classes, _ = runs("--all", STATUS="fail")
        self.assertEqual((status, len(classes)), (1, 4))
        # Without --all once, with the sample of the lower classes.
        status, text, classes, lines = runs("some")
        self.assertEqual((status, classes), (0, [""]))
        self.assertNotIn("-LE", lines[0])

    @unittest.skipUnless(shutil.which("flock"), "no flock")
    def test_a_second_one_in_a_tree_waits_for_the_first(self):
        # The first build ends when the second command waits, and within the first it runs ./dev itself.
        environment = self.programs(cmake=
            'case "$*" in *--build*) ;; *) exit 0 ;; esac\n'
            'echo "begin $WHO" >> order.log\n'
            'if [ "$WHO" = first ]; then WHO=nested ./dev build >> nested.log 2>&1; until [ -e go ]; do sleep 0.05; done; fi\n'
            'echo "end $WHO" >> order.log')
        first = self.start(environment, "first", "build")
        log = self.root / "order.log"
        while not log.exists() or "end nested" not in log.read_text():
            self.assertIsNone(first.poll())
        self.waits_for(environment, first, "build")
        self.assertEqual(log.read_text().split("\n")[:-1],
                         ["begin first", "begin nested", "end nested", "end first", "begin second", "end second"])
        # A lock without a holder does not block.
        self.assertTrue((self.root / "build/release.lock").exists())
        self.assertEqual(self.run_dev("build", **environment, WHO="third")[0], 0)

    def start(self, environment, who, *arguments):
        return subprocess.Popen([self.root / "dev", *arguments], env={**os.environ, "DOVETAIL_NO_INSTALL": "1", **environment, "WHO": who},
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def waits_for(self, environment, first, *arguments):
        """A second command says that it waits for the first, which then ends (the file go); both succeed."""
        second = self.start(environment, "second", *arguments)
        self.assertEqual(second.stderr.readline(),
                         "dev: another ./dev works in build/release; waiting for it to end (its lock: build/release.lock)\n")
        (self.root / "go").touch()
        first.communicate()
        second.communicate()
        self.assertEqual((first.returncode, second.returncode), (0, 0))

    @unittest.skipUnless(shutil.which("flock"), "no flock")
    def test_a_second_one_configures_nothing_while_the_first_works(self):
        note = 'echo "$WHO {} $1" >> order.log'
        hold = 'if [ "$WHO$1" = first--preset ]; then until [ -e go ]; do sleep 0.05; done; fi'
        targets = 'case "$*" in *"--target help") echo digits_demo: ;; esac'
        environment = self.programs(cmake="\n".join([note.format("begins"), hold, targets, note.format("ends")]))
        demo = self.root / "build/release/bin/digits_demo"
        demo.parent.mkdir(parents=True)
        demo.write_text("#!/bin/sh\n" + note.format("runs") + "\n")
        demo.chmod(0o755)
        first = self.start(environment, "first", "demo")
        while not (self.root / "order.log").exists():
            self.assertIsNone(first.poll())
        self.waits_for(environment, first, "demo")
        # All of the first before anything of the second: configured, asked for its targets, built, run, built.
        lines = (self.root / "order.log").read_text().splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["first"] * (len(lines) // 2) + ["second"] * (len(lines) // 2))
        self.assertIn("first runs build/demo", lines)
        self.assertIn("second runs build/demo", lines)

    def test_help_and_unknown_commands(self):
        self.assertIn("usage: ./dev COMMAND", self.run_dev("help")[1])
        self.assertRegex(self.run_dev("help")[1], r"(?m)^  package +make the packages for Debian")
        self.assertEqual(self.run_dev("tset")[0], 2)
        self.assertEqual(self.run_dev("package", "rpm"), (2, "dev: package: unknown argument rpm\n"))
        self.assertEqual(self.run_dev("bench", "--agianst", "HEAD")[0], 2)
        self.assertEqual(self.run_dev("bench", "--against"), (2, "dev: bench: --against needs a value\n"))


if __name__ == "__main__":
    unittest.main()
