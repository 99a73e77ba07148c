#!/usr/bin/env python3
"""The board (hw/board), Verilated: hw/board/host.py loads a compiled network over the UART, runs it, and its results are those of the simulators."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
HW = SOURCE / "hw"
HOST = HW / "board/host.py"
DIGITS = SOURCE / "examples/digits/digits_int8.onnx"


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


def verilate(folder, hw):
    """The simulation of the board with this configuration. Warnings of the board's own modules are errors."""
    package = folder / "dovetail_isa_pkg.sv"
    package.write_text(run(CLI, "isa", "--format", "sv", "--hw", hw).stdout)
    sources = [package, *sorted((HW / "rtl").glob("*.sv")), HW / "soc/dovetail_soc_ram.sv", HW / "soc/dovetail_soc_uart.sv",
               *(HW / f"board/dovetail_board{name}.sv" for name in ("", "_bridge", "_port"))]
    made = run("verilator", "--cc", "--exe", "--build", "-O3", "--x-assign", "fast", "--x-initial", "unique", "-Wno-WIDTHCONCAT", "--top-module", "dovetail_board",
               "-GUartDivider=16'd7", "--Mdir", folder / "v", "-CFLAGS", "-O1 -std=c++20", *sources, HW / "board/sim/uart_bench.cpp")
    return made, folder / "v/Vdovetail_board"


class Board(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()  # noqa: SIM115
        cls.folder = pathlib.Path(cls.kept.name)
        made, cls.program = verilate(cls.folder, "tiny")
        assert made.returncode == 0, made.stdout + made.stderr
        emitted = run(CLI, "compile", DIGITS, "--target", "accel,cpu", "--hw", "tiny", "-o", cls.folder / "d.dvt", "--emit", cls.folder / "emitted")
        assert emitted.returncode == 0, emitted.stderr
        cls.region = next((cls.folder / "emitted").iterdir())

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def host(self, *words):
        return run(sys.executable, HOST, "--exec", self.program, *words)

    def test_identity(self):
        found = self.host("info")
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        self.assertRegex(found.stdout, r"^Dovetail accelerator, registers 1\.\d+, 1x4x4, CONFIG 0x00000220$")

    def test_a_network(self):
        """Its outputs are those of the simulators, which `compile --emit` has written next to the program."""
        found = self.host("run", self.region)
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        self.assertRegex(found.stdout, r"\d+ instructions, \d+ cycles\n\w+: 12 bytes, equal\n$")

    def test_a_wrong_result_is_found(self):
        copy = self.folder / "changed"
        shutil.copytree(self.region, copy)
        expected = next(copy.glob("expected_*.npy"))
        data = bytearray(expected.read_bytes())
        data[-1] ^= 1
        expected.write_bytes(data)
        found = self.host("run", copy)
        self.assertEqual(found.returncode, 1)
        self.assertIn("DIFFERENT", found.stdout)

    def test_memory(self):
        """Bytes at any address and of any number come back; what surrounds them stays."""
        whole, part = self.folder / "whole.bin", self.folder / "part.bin"
        whole.write_bytes(bytes(range(256)) * 20)
        part.write_bytes(b"dovetail")
        commands = f"""
import sys
sys.path.insert(0, {str(HOST.parent)!r})
import host, pathlib, subprocess
process = subprocess.Popen([{str(self.program)!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
board = host.Board((process.stdout.fileno(), process.stdin.fileno()))
board.synchronize()
whole, part = pathlib.Path({str(whole)!r}).read_bytes(), pathlib.Path({str(part)!r}).read_bytes()
board.write(0x1000, whole)
board.write(0x1235, part)
place = 0x1235 - 0x1000
assert board.read(0x1000, len(whole)) == whole[:place] + part + whole[place + len(part):]
assert board.read(0x1236, 3) == b"ove"
# A command that is cut off is ended by synchronize(), and the next one is whole.
board.send(b"W" + bytes([0, 0x20, 0, 0, 2, 0, 7]))
board.synchronize()
assert board.read(0x1235, 8) == part
try:
    board.read(0x20000, 4)
except host.BoardError as error:
    assert "outside the RAM" in str(error), error
else:
    raise AssertionError("beyond the RAM")
try:
    board.access(b"r", 0x800, 1)
except host.BoardError as error:
    assert "outside the registers" in str(error), error
else:
    raise AssertionError("beyond the registers")
try:
    board.launch(0x1E000, 0, 1)
    raise AssertionError("an illegal instruction")
except host.BoardError as error:
    assert "stopped at instruction 0" in str(error) or "ended" in str(error), error
process.stdin.close()
assert process.wait() == 0
"""
        found = run(sys.executable, "-c", commands)
        self.assertEqual((found.returncode, found.stderr), (0, ""))

    def test_no_board(self):
        found = run(sys.executable, HOST, "--exec", "cat", "--timeout", "1", "info")
        self.assertEqual(found.returncode, 2)
        found = run(sys.executable, HOST, "--port", self.folder / "none", "info")
        self.assertEqual(found.returncode, 2)
        self.assertIn("No such file", found.stderr)

    def test_lint(self):
        """The modules of the board, for ECP5 too, without a warning."""
        cells = self.folder / "EHXPLLL.sv"
        cells.write_text("""/* verilator lint_off UNUSEDPARAM */ /* verilator lint_off UNUSEDSIGNAL */ /* verilator lint_off DECLFILENAME */
module EHXPLLL #(parameter PLLRST_ENA = "", parameter INTFB_WAKE = "", parameter STDBY_ENABLE = "", parameter DPHASE_SOURCE = "",
  parameter OUTDIVIDER_MUXA = "", parameter OUTDIVIDER_MUXB = "", parameter OUTDIVIDER_MUXC = "", parameter OUTDIVIDER_MUXD = "",
  parameter int CLKI_DIV = 1, parameter CLKOP_ENABLE = "", parameter int CLKOP_DIV = 1, parameter int CLKOP_CPHASE = 0, parameter int CLKOP_FPHASE = 0,
  parameter FEEDBK_PATH = "", parameter int CLKFB_DIV = 1) (input RST, STDBY, CLKI, output CLKOP, input CLKFB, output CLKINTFB, input PHASESEL0, PHASESEL1,
  PHASEDIR, PHASESTEP, PHASELOADREG, PLLWAKESYNC, ENCLKOP, output LOCK);
  assign CLKOP = CLKI; assign CLKINTFB = 1'b0; assign LOCK = !RST;
endmodule
""")
        found = run("verilator", "--lint-only", "-Wall", "-Wno-PINCONNECTEMPTY", "--top-module", "dovetail_board_ecp5", HW / "lint/waivers.vlt", self.folder / "dovetail_isa_pkg.sv",
                    *sorted((HW / "rtl").glob("*.sv")), HW / "soc/dovetail_soc_ram.sv", HW / "soc/dovetail_soc_uart.sv", *sorted((HW / "board").glob("*.sv")), cells)
        wrong = [line for line in found.stderr.splitlines() if "/board/" in line]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    if not os.access(CLI, os.X_OK):
        print(f"there is no {CLI}")
        sys.exit(77)
    if not shutil.which("verilator"):
        print("verilator is not on the PATH")
        sys.exit(77)
    sys.exit(unittest.main(verbosity=2))
