#!/usr/bin/env python3
"""Behavior that all commands share (docs/reference/command-line.md): help, suggestions, colors, widths, pipes, `-`, folders, and children that end."""
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
DIGITS = str(SOURCE / "examples/digits/digits_int8.onnx")
MATMUL = str(SOURCE / "examples/assembly/matmul.s")
COLUMNS = 100


def run(*arguments: object, stdin: bytes = b"", cwd: str | None = None, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run([CLI, *map(str, arguments)], input=stdin, capture_output=True, check=False, cwd=cwd,
                          env={**os.environ, "NO_COLOR": "", **variables})


def text(finished: subprocess.CompletedProcess) -> str:
    return finished.stdout.decode()


def errors(finished: subprocess.CompletedProcess) -> str:
    return finished.stderr.decode()


def on_terminal(arguments: list, columns: int = COLUMNS, seconds: float = 120, **variables: str) -> tuple[int, str]:
    """The exit status, and stdout and stderr on a terminal of that width."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update({"TERM": "xterm", "NO_COLOR": "", **variables})
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        os.execv(CLI, [CLI, *map(str, arguments)])
    output, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            part = os.read(terminal, 65536)
        except OSError:  # closed
            break
        if not part:
            break
        output += part
    else:
        os.kill(process, signal.SIGKILL)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), output.decode(errors="replace").replace("\r\n", "\n")


def without_escapes(shown: str) -> str:
    return re.sub("\x1b\\[[0-9;]*[A-Za-z]", "", shown)


def commands() -> list[str]:
    listed = text(run("help")).split("\nCommands:\n")[1].split("\n\n")[0]
    return re.findall("^  ([a-z-]+) ", listed, re.MULTILINE)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name: str) -> str:
        return os.path.join(self.folder, name)


class Help(Case):
    def test_help_of_a_command(self) -> None:
        self.assertGreater(len(commands()), 20)
        for command in commands():
            self.assertEqual(run("help", command).stdout, run(command, "--help").stdout, command)
            self.assertIn(f"Example: dovetail {command}", text(run("help", command)))

    def test_help_fits_100_columns(self) -> None:
        for arguments in [["help"], *(["help", command] for command in commands())]:
            for line in text(run(*arguments)).splitlines():
                self.assertLessEqual(len(line), COLUMNS, f"{arguments}: {line}")

    def test_help_fits_a_narrow_terminal(self) -> None:
        status, shown = on_terminal(["help", "run"], columns=60)
        self.assertEqual(status, 0)
        for line in shown.splitlines():
            self.assertTrue(len(line) <= 60 or " " not in line.strip(), line)

    def test_a_broken_example_can_be_copied(self) -> None:
        example = text(run("help", "evaluate")).split("Example: ")[1]
        self.assertIn(" \\\n", example)
        words = subprocess.run(["bash", "-c", "dovetail() { printf '%s\\n' \"$@\"; }; " + example], capture_output=True, check=True)
        self.assertIn(b"--labels\nexamples/digits/test_labels.npy\n", words.stdout)

    def test_did_you_mean(self) -> None:
        for given, meant in [(["compil"], "compile"), (["simulte"], "simulate"), (["help", "profle"], "profile"),
                             (["run", DIGITS, "--traget", "accel"], "--target"), (["check", "p.s", "--jsn"], "--json"),
                             (["--versoin"], "--version"), (["simulate", MATMUL, "--enigne", "cycle"], "--engine")]:
            refused = run(*given)
            self.assertEqual(refused.returncode, 2, given)
            self.assertIn(f"did you mean `{meant}`?", errors(refused))
            self.assertEqual(errors(refused).count("\n"), 1)
        self.assertNotIn("did you mean", errors(run("run", DIGITS, "--completely-other")))


class Colors(Case):
    def test_only_where_they_are_requested(self) -> None:
        missing = ["inspect", self.file("missing")]
        for arguments in (missing, ["hw", "list"]):
            self.assertNotIn("\x1b", text(run(*arguments)) + errors(run(*arguments)))
            always = run(*arguments, "--color", "always", NO_COLOR="1")
            self.assertIn("\x1b[", always.stdout.decode() + always.stderr.decode())
            self.assertIn("\x1b[", on_terminal(arguments)[1])
            for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
                self.assertNotIn("\x1b[", on_terminal(arguments, **variables)[1])
            self.assertNotIn("\x1b[", on_terminal([*arguments, "--color=never"])[1])
        plain, colored = run(*missing), run(*missing, "--color", "always")
        self.assertEqual(errors(plain), without_escapes(errors(colored)))
        self.assertEqual(run(*missing, "--color", "often").returncode, 2)

    def test_results_for_programs_have_none(self) -> None:
        self.assertNotIn("\x1b", text(run("hw", "list", "--json", "--color", "always")))
        self.assertNotIn("\x1b", text(run("isa", "--format", "c", "--color", "always")))


class Widths(Case):
    def test_reports_fit_a_terminal_of_100_columns(self) -> None:
        bundle, trace = self.file("d.dvt"), self.file("t.json")
        accel = ["--target", "accel,cpu", "--hw", "1x16x16-ext"]
        reports = [["compile", DIGITS, *accel, "-o", bundle], ["run", DIGITS, *accel, "--engine", "cycle", "--trace", trace, "--check"],
                   ["profile", DIGITS, "--target", "accel,cpu", "--repeat", "1"], ["compare", DIGITS, "--target", "accel,cpu", "--repeat", "5"],
                   ["trace", trace], ["trace", "diff", trace, trace], ["inspect", bundle], ["inspect", DIGITS], ["doctor"], ["hw", "list"],
                   ["hw", "show", "1x16x16"], ["hw", "area", "1x16x16"], ["zoo", "list"], ["check", MATMUL], ["rtl", "--help"],
                   ["evaluate", DIGITS, *accel, "--inputs", SOURCE / "examples/digits/test_images.npy", "--labels",
                    SOURCE / "examples/digits/test_labels.npy"],
                   ["tune", DIGITS, "--target", "accel", "--list"],
                   ["run", DIGITS, "--target", "accel", "--output-dir", self.file("no/such/folder/of/that/name/in/this/temporary/place")]]
        for arguments in reports:
            status, shown = on_terminal([*arguments, "--color", "never"])
            self.assertIn(status, (0, 2), shown)
            for line in shown.split("\r\x1b[K")[-1].splitlines():
                if "\r" in line:
                    continue  # progress, which is written over
                self.assertTrue(len(line) <= COLUMNS or " " not in line.strip(), f"{arguments}: {line}")

    def test_a_pipe_gets_whole_lines(self) -> None:
        listed = text(run("zoo", "list"))
        self.assertGreater(max(map(len, listed.splitlines())), COLUMNS)
        narrow = on_terminal(["zoo", "list", "--color=never"])[1]
        self.assertEqual(sorted(listed.replace("-", "").split()), sorted(narrow.replace("-", "").split()))  # nothing is lost


class Pipes(Case):
    def shell(self, line: str) -> subprocess.CompletedProcess:
        return subprocess.run(["bash", "-c", f'dovetail() {{ "{CLI}" "$@"; }}; {line}'], capture_output=True, check=False, cwd=self.folder)

    def test_a_reader_that_leaves(self) -> None:
        finished = self.shell("dovetail operators --json | head -1; echo ${PIPESTATUS[0]}")
        self.assertEqual((finished.stderr, finished.stdout.splitlines()[-1]), (b"", b"141"))
        # The outputs are written even if no process reads the report.
        finished = self.shell(f"dovetail compile {DIGITS} --target accel --dump all -o d.dvt | head -1")
        self.assertEqual(finished.stderr, b"")
        self.assertEqual(run("run", self.file("d.dvt")).returncode, 0)

    def test_model_program_and_arrays_from_and_to_streams(self) -> None:
        finished = self.shell("set -o pipefail; dovetail zoo resnet8 -o - | dovetail compile - --target accel,cpu -o - |"
                              " dovetail run - --trust --output-dir out && ls out")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertTrue(finished.stdout.endswith(b".npy\n"))
        self.assertIn(b"stdin", finished.stdout + finished.stderr)
        self.assertNotIn(b"dovetail-stdin", finished.stdout + finished.stderr)
        finished = self.shell(f"set -o pipefail; dovetail asm {MATMUL} -o - --image m.img | cmp - <(dovetail asm {MATMUL} -o p.bin --image n.img >&2; cat p.bin)"
                              " && dovetail disasm p.bin | dovetail check - --dram m.img --dram-base 0x1000")
        self.assertIn(b"clean", finished.stdout, finished.stderr)
        finished = self.shell(f"dovetail hw show tiny --json | dovetail hw show - --json | dovetail inspect -")
        self.assertIn(b"hardware      tiny", finished.stdout, finished.stderr)
        finished = self.shell(f"dovetail inspect - < {DIGITS}")
        self.assertIn(b"ONNX model", finished.stdout, finished.stderr)
        finished = self.shell(f"dovetail run {DIGITS} --target accel --report - | python3 -c 'import json, sys; print(json.load(sys.stdin)[\"kind\"])'")
        self.assertEqual(finished.stdout, b"run\n", finished.stderr)

    def test_streams_that_cannot_be(self) -> None:
        for line, why in [("compile - --target accel -o - --report -", "--report already uses stdout"),
                          ("compile - --target accel --json -o -", "--json already uses stdout"),
                          ("evaluate - --target accel --inputs -", "MODEL.onnx|OUT.dvt already uses stdin"),
                          ("compile m.onnx --target accel --emit -", "the option needs a folder, not stdout"),
                          ("tune m.onnx --target accel --records -", "the option needs a file name, not a stream")]:
            finished = self.shell(f"dovetail {line} < /dev/null")
            self.assertEqual(finished.returncode, 2, line)
            self.assertIn(why, finished.stderr.decode())

    def test_no_binary_on_a_terminal(self) -> None:
        status, shown = on_terminal(["zoo", "resnet8", "-o", "-", "--color=never"])
        self.assertEqual(status, 2)
        self.assertIn("the output is binary, and stdout is a terminal", " ".join(shown.split()))
        status, shown = on_terminal(["compile", "-", "--target", "accel", "--color=never"])
        self.assertEqual(status, 2)
        self.assertIn("stdin is a terminal", " ".join(shown.split()))


class Files(Case):
    def test_no_folder_is_made_for_a_mistyped_path(self) -> None:
        there = self.file("p.bin")
        lines = [["compile", DIGITS, "--target", "accel", "-o"], ["compile", DIGITS, "--target", "accel", "--report"],
                 ["compile", DIGITS, "--target", "accel", "--emit"], ["run", DIGITS, "--target", "accel", "--output-dir"],
                 ["run", DIGITS, "--target", "accel", "--dump-tensors"], ["run", DIGITS, "--target", "accel", "--engine", "cycle", "--trace"],
                 ["run", DIGITS, "--target", "accel", "--engine", "cycle", "--html"], ["zoo", "resnet8", "-o"], ["asm", MATMUL, "-o"],
                 ["asm", MATMUL, "-o", there, "--image"], ["isa", "--format", "c", "-o"], ["records", "merge"], ["completion", "bash", "-o"],
                 ["completion", "all", "-o"], ["explore", DIGITS, SOURCE / "examples/explore/space.json", "-o"], ["rtl", "build", "--into"],
                 ["tune", DIGITS, "--target", "accel", "--records"],
                 ["quantize", SOURCE / "examples/digits/digits_float.onnx", "--samples", SOURCE / "examples/digits/test_images.npy", "-o"]]
        for line in lines:
            path = self.file("no/such/x.dvt")
            more = [self.file("p.db")] if line[0] == "records" else []
            if more:
                self.assertEqual(run("records", "import", more[0], os.devnull).returncode, 2)
                continue
            refused = run(*line, path)
            self.assertEqual(refused.returncode, 2, line)
            self.assertIn(f"there is no folder {self.file('no/such')}", errors(refused))
            self.assertIn(f"mkdir -p {self.file('no/such')}", errors(refused))
            self.assertFalse(os.path.exists(self.file("no")), line)

    def test_documented_folders_are_made(self) -> None:
        self.assertEqual(run("run", DIGITS, "--target", "accel", "--output-dir", self.file("out") + "/").returncode, 0)
        self.assertEqual(os.listdir(self.file("out")), ["logits.npy"])

    def test_nothing_is_half_written(self) -> None:
        for line in (["zoo", "resnet8", "-o"], ["compile", DIGITS, "--target", "accel", "--report"], ["isa", "--format", "json", "-o"]):
            path = self.file("old")
            pathlib.Path(path).write_text("what was there")
            words = " ".join(f"'{word}'" for word in [CLI, *line, path])
            failed = subprocess.run(["bash", "-c", f"ulimit -f 1; {words}"], capture_output=True, check=False)
            self.assertEqual(failed.returncode, 1, failed.stderr)
            self.assertEqual(pathlib.Path(path).read_text(), "what was there")
            self.assertEqual(os.listdir(self.folder), ["old"])


class Heap(Case):
    def test_all_or_no_forms_of_new_and_delete_are_replaced(self) -> None:
        # With a part of them, an allocator in LD_PRELOAD provides the others, and a block of one is given back to the other.
        symbols = subprocess.run(["nm", "-D", "--defined-only", CLI], capture_output=True, check=True).stdout.decode()
        replaced = re.findall(r" T (_Z(?:nw|na|dl|da)\S+)", symbols)
        self.assertIn(len(replaced), (0, 20), replaced)


class Progress(Case):
    def test_time_left_on_a_terminal_alone(self) -> None:
        model = self.file("vgg.onnx")
        self.assertEqual(run("zoo", "resnet18", "-o", model).returncode, 0)
        # Interpreted layer by layer, it takes long enough that the time left is shown.
        line = ["run", model, "--target", "host", "--limit", "6s", "--color=never"]
        _, shown = on_terminal(line)
        self.assertRegex(shown, r"\r\[#* *\] \d+ % of .*, about .* to go")
        for part in shown.split("\r"):
            self.assertLessEqual(len(without_escapes(part.split("\n")[0])), COLUMNS)
        self.assertNotIn("\r", errors(run(*line)))


def processes_of(marker: str) -> list[int]:
    """The running processes that have this word in their environment."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if marker.encode() in (folder / "environ").read_bytes() and (folder / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                found.append(int(folder.name))
        except OSError:
            pass
    return found


def described(process: int) -> list[str]:
    """What /proc says of a process: its command and its signals."""
    try:
        folder = pathlib.Path("/proc") / str(process)
        return [(folder / name).read_text(errors="replace").replace("\0", " ") for name in ("cmdline", "status", "stat")]
    except OSError:
        return []


class Children(Case):
    def check_ends_with_its_parent(self, arguments: list, begins: int, **variables: str) -> None:
        marker = f"DOVETAIL_TEST_MARKER={os.getpid()}-{time.monotonic_ns()}"
        name, value = marker.split("=")
        with subprocess.Popen([CLI, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**os.environ, name: value, **variables}) as process:
            try:
                # Counted once: during an exec a process has no environment that identifies it.
                begun, end = 0, time.monotonic() + 60
                while begun < begins and time.monotonic() < end:
                    self.assertIsNone(process.poll(), "it has ended before it had children")
                    time.sleep(0.01)
                    begun = len(processes_of(marker))
                self.assertGreaterEqual(begun, begins)
            finally:
                process.kill()
        end = time.monotonic() + 10
        while processes_of(marker) and time.monotonic() < end:
            time.sleep(0.02)
        left = processes_of(marker)
        self.assertEqual(left, [], [text for each in left for text in described(each)])

    def fake(self, program: str) -> str:
        """A PATH with a program of that name that never ends."""
        path = pathlib.Path(self.file("bin")) / program
        path.parent.mkdir(exist_ok=True)
        path.write_text('#!/bin/sh\n[ "$1" = --version ] && { echo "Verilator 5.006"; exit; }\nsleep 1000 & sleep 1000\n')
        path.chmod(0o755)
        return f"{path.parent}:{os.environ['PATH']}"

    def test_verilator(self) -> None:
        self.check_ends_with_its_parent(["rtl", "build", "--hw", "tiny", "--into", self.file("models")], 4, PATH=self.fake("verilator"))

    def test_yosys(self) -> None:
        self.check_ends_with_its_parent(["hw", "area", "tiny", "--run"], 4, PATH=self.fake("yosys"))

    def test_nextpnr(self) -> None:
        path = self.fake("nextpnr-ecp5")
        yosys = pathlib.Path(path.split(":", maxsplit=1)[0]) / "yosys"
        yosys.write_text("""#!/bin/sh
printf 'module \\\\dovetail_top\\nend\\n' > tree.txt
printf '=== dovetail_top ===\\n   Number of cells: 1\\n     LUT4 1\\n' > cells.txt
printf 'dovetail_top/a_LUT4_Z\\n' > LUT4.txt
printf '(length=3):\\n 0: a\\n 3: b\\n' > depth.txt
""")
        yosys.chmod(0o755)
        self.check_ends_with_its_parent(["hw", "pnr", "tiny", "--core", "--run"], 4, PATH=path)

    def test_measurements_of_the_tuner(self) -> None:
        line = ["tune", SOURCE / "examples/digits/digits_float.onnx", "--target", "cpu", "--records", self.file("r.db")]
        self.check_ends_with_its_parent(line, 2)

    def test_onnx_tests(self) -> None:
        test = pathlib.Path(self.file("test_slow"))
        (test / "test_data_set_0").mkdir(parents=True)
        model = test / "model.onnx"
        self.assertEqual(run("zoo", "resnet18", "-o", model).returncode, 0)
        self.check_ends_with_its_parent(["onnx-test", test, "--target", "host", "--timeout", "600"], 2)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
