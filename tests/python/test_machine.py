#!/usr/bin/env python3
"""A simulated machine as a driver sees it."""
import unittest

from environment import HARDWARE

import numpy as np

import dovetail


def register(name):
    return {row["name"]: row["offset"] for row in dovetail.isa()["registers"]}[name]


class Machine(unittest.TestCase):
    def test_a_launch(self):
        program = dovetail.Program(
            f".config {HARDWARE}\nload.acc8 sram=0 dram=0x12000/acc8.bytes size=1,1 push_next\n"
            "store.out sram=0 dram=0x12100/out.bytes size=1,1 pop_prev\n")
        for engine in (None, "cycle"):
            machine = dovetail.Machine(HARDWARE, base=0x10000, size=0x3000, engine=engine)
            self.assertEqual((machine.accelerators, machine.memory.size), (1, 0x3000))
            code = np.frombuffer(program.instructions.tobytes(), np.uint8)
            machine.memory[0x1000 : 0x1000 + code.size] = code
            machine.memory[0x2000:0x2010] = np.arange(16)
            machine.write(register("PROGRAM_BASE_LO"), 0x11000)
            machine.write(register("INSTRUCTION_COUNT"), 2)
            machine.write(register("CONTROL"), 1)
            self.assertEqual(machine.read(register("STATUS")), 2)
            self.assertEqual(machine.memory[0x2100:0x2110].tolist(), list(range(16)))
            self.assertEqual(machine.read(register("CYCLES_LO")) > 0, engine == "cycle")
            machine.write(register("PROGRAM_BASE_LO"), 0x40000)
            with self.assertRaisesRegex(dovetail.InputError, "not within the memory"):
                machine.write(register("CONTROL"), 1)
            self.assertEqual(machine.read(register("STATUS")) & 4, 4)

    def test_the_memory_outlives_the_object(self):
        memory = dovetail.Machine(HARDWARE, base=0, size=4096).memory
        memory[:] = 7
        self.assertEqual(int(memory.sum()), 7 * 4096)

    def test_several_accelerators_and_what_does_not_fit(self):
        machine = dovetail.Machine("1x16x16,accelerators=2", base=0, size=0)
        self.assertEqual(machine.accelerators, 2)
        self.assertEqual(machine.read(register("ID"), accelerator=1), 0x4C545644)
        for call, why in (
            (lambda: machine.read(register("ID"), accelerator=2), "numbered from 0"),
            (lambda: machine.read(0x800), "no register there"),
            (lambda: machine.read(-1), "outside 0 to"),
            (lambda: machine.write(0, 1 << 32), "outside 0 to"),
            (lambda: dovetail.Machine("nonesuch", base=0, size=1), "nonesuch"),
            (lambda: dovetail.Machine(HARDWARE, base=1 << 32, size=1), "32 bits"),
            (lambda: dovetail.Machine(HARDWARE, base=0, size=1, engine="systemc"), "functional, cycle or rtl"),
        ):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                call()


if __name__ == "__main__":
    unittest.main()
