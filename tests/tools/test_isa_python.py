#!/usr/bin/env python3
"""The Python module of `dovetail isa --format python`: its encodings are equal to the assembler's."""
import importlib.util
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

CLI = os.environ["DOVETAIL_CLI"]


def run(*words):
    return subprocess.run([CLI, *words], check=True, capture_output=True, text=True).stdout


class IsaPython(unittest.TestCase):
    def module(self, hardware):
        path = pathlib.Path(self.folder) / "isa_module.py"
        run("isa", "--format", "python", "--hw", hardware, "-o", str(path))
        spec = importlib.util.spec_from_file_location("isa_module", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def assembled(self, hardware, text):
        source, binary, uops = (os.path.join(self.folder, name) for name in ("p.s", "p.bin", "u.bin"))
        pathlib.Path(source).write_text(text)
        run("asm", source, "-o", binary, "--uops", uops, "--hw", hardware)
        return pathlib.Path(binary).read_bytes(), pathlib.Path(uops).read_bytes()

    def test_encodes_as_the_assembler(self):
        for hardware in ("1x16x16", "1x16x16-ext", "4x8x8", "tiny", "1x16x16-wide"):
            isa, rng = self.module(hardware), random.Random(5)
            text, program, uops = "", b"", b""
            for _ in range(50):
                y, x, sram, dram = (rng.randrange(1, 16) for _ in range(4))
                text += f"load.inp sram={sram} dram={dram} size={y}x{x} stride={x + 1} pad=1,2,3,4 push_next\n"
                program += isa.load(memory=isa.INP, sram_base=sram, dram_base=dram, y_size=y, x_size=x,
                                    x_stride=x + 1, y_pad_0=1, y_pad_1=2, x_pad_0=3, x_pad_1=4, push_next=1)
                text += f"gemm uop={y}:{y + x} iter={x}x{y} dst={x},1 src=2,{y} wgt=3,1 pop_prev reset\n"
                program += isa.gemm(uop_begin=y, uop_end=y + x, iter_out=x, iter_in=y, dst_factor_out=x,
                                    dst_factor_in=1, src_factor_out=2, src_factor_in=y, wgt_factor_out=3,
                                    wgt_factor_in=1, pop_prev=1, reset=1)
                text += f"alu.shr uop=0:1 iter=1x{x} imm={-y} push_next\n.uop {y}, {x}, 0\n"
                program += isa.alu(uop_begin=0, uop_end=1, iter_out=1, iter_in=x, use_imm=1, imm=-y, alu_opcode=isa.ALU_SHR,
                                   push_next=1)
                uops += isa.uop(dst=y, src=x)
                text += f"store.out sram={sram} dram={dram} size={y}x{x} pop_prev\nfinish\n"
                program += isa.store(memory=isa.OUT, sram_base=sram, dram_base=dram, y_size=y, x_size=x, x_stride=x,
                                     pop_prev=1) + isa.finish()
            self.assertEqual(self.assembled(hardware, text), (program, uops), hardware)

    def test_refuses_what_does_not_fit(self):
        isa = self.module("1x16x16")
        with self.assertRaisesRegex(ValueError, "y_size = 65536, not from 0 to 65535"):
            isa.load(y_size=65536)
        with self.assertRaisesRegex(ValueError, "imm = -32769, not from -32768 to 32767"):
            isa.alu(imm=-32769)
        with self.assertRaises(TypeError):
            isa.gemm(sram_base=1)
        with self.assertRaises(TypeError):  # a disabled extension has no field
            isa.gemm(overwrite=1)
        self.assertEqual(len(self.module("1x16x16-wide").finish()), 32)


if __name__ == "__main__":
    unittest.main()
