#!/usr/bin/env python3
"""The prompt of `dovetail debug` at a terminal of 80 columns: editing, history, Ctrl-C, Ctrl-D."""

import ctypes
import os
import pathlib
import pty
import re
import select
import signal
import struct
import fcntl
import tempfile
import termios
import time
import unittest

CLI = os.environ["DOVETAIL_CLI"]
EXAMPLE = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"]) / "examples/assembly/matmul.s"
LIMIT_S = 20
PROMPT = "(debug) "
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()=>][0-9A-Za-z]?|\x07")


def has_libedit():
    try:
        return ctypes.CDLL("libedit.so.2") is not None
    except OSError:
        return False


class Terminal:
    """A program at a terminal, and its output since the last expect()."""

    def __init__(self, *words):
        self.child, self.file = pty.fork()
        if self.child == 0:
            environment = {**os.environ, "TERM": "vt100"}
            os.execvpe(words[0], list(map(str, words)), environment)
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.text = ""

    def send(self, text):
        os.write(self.file, text.encode())

    def expect(self, text):
        end = time.monotonic() + LIMIT_S
        while text not in self.text:
            if not select.select([self.file], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"no {text!r} in {self.text!r}")
            try:
                data = os.read(self.file, 65536)
            except OSError:
                data = b""
            if not data:
                raise AssertionError(f"the end, and no {text!r} in {self.text!r}")
            self.text += CONTROL.sub("", data.decode("utf-8", "replace"))
        before, _, self.text = self.text.partition(text)
        if text == PROMPT:
            self.wait_for_editor()
        return before

    def wait_for_editor(self):
        """Waits until the editor controls the terminal, shortly after the prompt; a build without an editor never does."""
        end = time.monotonic() + 1
        while termios.tcgetattr(self.file)[3] & termios.ECHO and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.1)

    def status(self):
        """Exit code, or minus the signal."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            if select.select([self.file], [], [], 0.05)[0]:
                try:
                    os.read(self.file, 65536)
                except OSError:
                    pass
            done, status = os.waitpid(self.child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("it does not end")

    def close(self):
        try:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.file)


class DebugTerminal(unittest.TestCase):
    def debug(self, path=EXAMPLE):
        terminal = Terminal(CLI, "debug", path)
        self.addCleanup(terminal.close)
        terminal.expect("(debug) ")
        return terminal

    def test_commands_and_an_empty_line_that_repeats(self):
        terminal = self.debug()
        terminal.send("step\r")
        self.assertIn("#0 (", terminal.expect("(debug) "))
        terminal.send("\r")
        self.assertIn("#2 (", terminal.expect("(debug) "))
        terminal.send("print acc[99999]\r")
        self.assertIn("not within", terminal.expect("(debug) "))  # an error does not end it
        terminal.send("quit\r")
        self.assertEqual(terminal.status(), 0)

    def test_control_d_quits(self):
        terminal = self.debug()
        terminal.send("\x04")
        self.assertEqual(terminal.status(), 0)

    def has_editor(self):
        terminal = self.debug()
        terminal.send("wherx\x7fe\r")
        return "launch 0 of 1" in terminal.expect("(debug) ") and has_libedit()

    def test_editing_and_history(self):
        if not self.has_editor():
            self.skipTest("no libedit")
        terminal = self.debug()
        terminal.send("tokns\x1b[D\x1b[De\r")  # two to the left
        self.assertIn("load->compute", terminal.expect("store->compute"))
        terminal.expect("(debug) ")
        terminal.send("\x1b[A\r")  # the line before
        self.assertIn("load->compute", terminal.expect("store->compute"))
        terminal.expect("(debug) ")
        terminal.send("nonsense")
        terminal.expect("nonsense")  # the editor has it, and waits for the next key in a moment
        time.sleep(0.3)
        terminal.send("\x03")  # Ctrl-C drops it
        terminal.expect("(debug) ")
        terminal.send("where\r")
        said = terminal.expect("(debug) ")
        self.assertIn("launch 0 of 1", said)
        self.assertNotIn("error", said)

    def endless(self):
        """A program whose launch takes long to step through, but is timed quickly."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "long.s"
        path.write_text(".config 1x16x16\nkernel: .uop 0, 0, 0\nload.uop sram=0 dram=kernel size=1x1\ngemm uop=0:1 reset\n"
                        ".repeat 200000\nalu.add uop=0:1 iter=64x64 imm=1\n.endr\n")
        return path

    def test_control_c_stops_what_runs(self):
        terminal = self.debug(self.endless())
        terminal.send("watch acc[5]\r")  # a check after each instruction
        terminal.expect("(debug) ")
        terminal.send("continue\r")
        time.sleep(0.5)
        terminal.send("\x03")
        said = terminal.expect("(debug) ")
        self.assertIn("interrupted", said)
        self.assertIn("next cycle", said)
        terminal.send("where\r")
        self.assertIn("launch 0 of 1", terminal.expect("(debug) "))
        terminal.send("quit\r")
        self.assertEqual(terminal.status(), 0)

    def test_help_fits_80_columns(self):
        terminal = self.debug()
        terminal.send("help\r")
        lines = terminal.expect("(debug) ").replace("\r", "").split("\n")
        self.assertEqual([line for line in lines if len(line) > 80], [])


if __name__ == "__main__":
    unittest.main()
