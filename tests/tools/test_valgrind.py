#!/usr/bin/env python3
"""The host changes no cycle: a program has the same trace and values under valgrind, which emulates another, slower processor, and has no memory errors there."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CLI = os.environ.get("DOVETAIL_CLI", "dovetail")
PROGRAM = """\
load.uop sram=0 dram=0 size=1x2 stride=2
load.wgt sram=0 dram=16 size=1x2 stride=2
load.inp sram=0 dram=300 size=4x6 stride=8 pad=1,1,1,1 push_next
load.acc sram=0 dram=80 size=1x32 stride=32
gemm uop=0:1 iter=8x4 dst=4,1 src=4,1 pop_prev
alu.max uop=0:1 iter=32x1 dst=1,0 src=1,0 imm=-3
alu.shr uop=0:1 iter=32x1 dst=1,0 src=1,0 imm=2 push_next
store.out sram=0 dram=1024 size=4x8 stride=9 pop_prev
finish
"""


class Valgrind(unittest.TestCase):
    def test_the_same_under_valgrind(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "p.s").write_text(PROGRAM)
            # Micro-ops of zero, then bytes without a pattern.
            (folder / "in.bin").write_bytes(bytes(64) + bytes((i * i * 31 + i // 7) % 251 for i in range((1 << 15) - 64)))
            subprocess.run([CLI, "asm", "p.s", "--hw", "1x16x16", "-o", "p.bin"], cwd=folder, check=True, capture_output=True, timeout=60)
            traces, images = [], []
            for prefix in ([], ["valgrind", "--quiet", "--error-exitcode=99"]):
                done = subprocess.run([*prefix, CLI, "simulate", "p.bin", "--hw", "1x16x16", "--dram", "in.bin", "--dram-out", "out.bin", "--engine", "cycle", "--memory",
                                       "bank:ddr4-2400", "--trace", "t.json"], cwd=folder, capture_output=True, text=True, timeout=280)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                traces.append(json.loads((folder / "t.json").read_text())["launches"])
                images.append((folder / "out.bin").read_bytes())
            self.assertEqual(traces[0], traces[1])
            self.assertEqual(images[0], images[1])
            self.assertNotEqual(images[0], (folder / "in.bin").read_bytes())
            self.assertGreater(traces[0][0]["cycles"], 300)


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        print("skipped: there is no valgrind")
        sys.exit(77)
    # A sanitizer and valgrind both need the memory of the process.
    libraries = subprocess.run(["ldd", CLI], capture_output=True, text=True).stdout
    if "asan" in libraries or "tsan" in libraries or "ubsan" in libraries:
        print("skipped: this build has a sanitizer")
        sys.exit(77)
    unittest.main()
