#!/usr/bin/env python3
"""Programs of the accelerator from Python: assembled, checked, simulated, and their traces."""
import json
import pickle
import unittest

from environment import DIGITS, HARDWARE, SOURCE  # noqa: I001  (sets the path)

import numpy as np

import dovetail
from dovetail import InputError, Program, WorkError

TEXT = (SOURCE / "examples" / "assembly" / "matmul.s").read_text()


def sums(x):
    w = np.resize(np.array([5, 4, -3, 2, 1, -6], np.int32), (3, 16, 16))
    return np.einsum("rbk,bok->ro", x.astype(np.int32), w) + np.resize([100, -100], 16)


def expected(x):
    return np.clip(sums(x) >> 4, -128, 127).astype(np.int8)


class Programs(unittest.TestCase):
    def setUp(self):
        self.program = Program(TEXT, name="matmul.s")
        self.x = np.random.default_rng(1).integers(-128, 128, (4, 3, 16), np.int8)

    def test_a_program_runs_on_given_data(self):
        for engine in "functional", "cycle":
            run = self.program.simulate({"x": self.x}, ["y", "bias:int32[16]", "sram:acc"], engine=engine)
            np.testing.assert_array_equal(run.outputs["y"], expected(self.x))
            np.testing.assert_array_equal(run.outputs["bias:int32[16]"], np.resize([100, -100], 16))
            self.assertEqual(run.outputs["sram:acc"].shape[1:], (1, 16))
            self.assertEqual(run.counters["macs"], 4 * 3 * 256)
            self.assertEqual(run.cycles is None, engine == "functional")
        self.assertEqual(repr(self.program), "<dovetail.Program matmul.s: 16 instructions for 1x16x16>")
        self.assertRegex(repr(run), r"^<dovetail.Simulation of matmul.s, engine cycle, \d+ cycles>$")
        self.assertEqual(self.program.hardware, dovetail.hardware("1x16x16"))

    def test_it_stops_before_a_place(self):
        for engine in "functional", "cycle":
            run = self.program.simulate({"x": self.x}, ["sram:acc"], until="#11", engine=engine)
            self.assertEqual(run.report["until"]["instruction"], 11)
            np.testing.assert_array_equal(run.outputs["sram:acc"][:4, 0], sums(self.x))
        with self.assertRaisesRegex(InputError, "no clock"):
            self.program.simulate(until="@40")
        run = self.program.simulate({"x": self.x}, ["sram:acc"], until="@40", engine="cycle")
        self.assertEqual(run.report["until"]["cycle"], 40)
        self.assertIsNone(run.cycles)
        with self.assertRaisesRegex(InputError, "#1000"):
            self.program.simulate(until="#1000", engine="cycle")
        with self.assertRaisesRegex(WorkError, "without reaching"):
            self.program.simulate(until="dram 0x1:1")

    def test_bytes_and_text_are_one_program(self):
        made = self.program
        self.assertEqual((made.instructions.shape, made.instructions.dtype), ((16, 16), np.uint8))
        self.assertEqual(made.map["image"]["bytes"], len(made.image))
        raw = Program(made.instructions.tobytes(), hardware="1x16x16", name="raw")
        np.testing.assert_array_equal(Program(raw.text).instructions, made.instructions)
        np.testing.assert_array_equal(raw.instructions, made.instructions)
        base, symbols = made.map["image"]["base"], {each["name"]: each for each in made.map["symbols"]}
        y = f"{symbols['y']['value']:#x}:int8[4,16]"
        run = raw.simulate({hex(base): made.image}, [y])
        np.testing.assert_array_equal(run.outputs[y], expected(np.resize(np.array([1, -2, 3], np.int8), (4, 3, 16))))
        named = Program(made.instructions, map=made.map, image=made.image)
        np.testing.assert_array_equal(named.simulate({"x": self.x}, ["y"]).outputs["y"], expected(self.x))
        self.assertEqual((named.map, named.hardware), (made.map, made.hardware))
        copied = pickle.loads(pickle.dumps(made))
        np.testing.assert_array_equal(copied.simulate({"x": self.x}, ["y"]).outputs["y"], expected(self.x))
        self.assertEqual((copied.name, copied.text), (made.name, made.text))
        np.testing.assert_array_equal(copied.uops, made.uops)
        two = Program(TEXT, launches=["0:2", "2:14"])
        self.assertEqual(two.map["launches"], [{"begin": 0, "count": 2}, {"begin": 2, "count": 14}])
        self.assertEqual(len(two.simulate().report["launches"]), 2)

    def test_the_proof_finds_races_and_deadlocks(self):
        self.assertEqual(self.program.check({"x": self.x})["findings"], [])
        race = Program(TEXT.replace(" pop_prev\n.endm", "\n.endm").replace("size=1x1 push_next", "size=1x1"))
        found = race.check()
        self.assertFalse(found["clean"])
        self.assertIn("race", {each["kind"] for each in found["findings"]})
        self.assertIn("race", found._repr_html_())
        stuck = Program(".space y int8[16]\n  gemm uop=0:1 iter=1,1 dst=0,1 src=0,1 pop_prev\n")
        self.assertIn("deadlock", {each["kind"] for each in stuck.check()["findings"]})
        with self.assertRaisesRegex(WorkError, "deadlock"):
            stuck.simulate(outputs=["y"])

    def test_the_programs_of_a_bundle_run_alone(self):
        bundle = dovetail.compile(DIGITS / "digits_int8.onnx", "accel,cpu", HARDWARE)
        image = np.load(DIGITS / "test_images.npy")[:1]
        session = bundle.session(engine="cycle")
        logits = session.run({"image": image})["logits"]
        (program,) = bundle.programs()
        self.assertIn("conv1", program.text)
        self.assertTrue(program.check()["clean"])
        (source,), (result,) = program.map["inputs"], program.map["outputs"]
        run = program.simulate({}, [result], engine="cycle")
        steps = session.report["steps"]
        self.assertEqual(run.cycles, sum(step.get("cycles", 0) for step in steps))
        self.assertEqual(run.outputs[result].size >= logits.size, True)
        other = program.simulate({source: np.ones_like(program.simulate({}, [source]).outputs[source])}, [result])
        self.assertFalse((other.outputs[result] == run.outputs[result]).all())
        self.assertEqual(dovetail.compile(DIGITS / "digits_int8.onnx", "cpu").programs(), [])

    def test_a_trace_is_that_of_sessions(self):
        run = self.program.simulate({"x": self.x}, ["y"], engine="cycle", trace=True, what_if=True)
        trace = run.trace
        self.assertIsInstance(trace, dovetail.Trace)
        self.assertEqual((trace.cycles, len(trace.events)), (run.cycles, 16))
        self.assertTrue(trace.instructions[0].startswith("load.uop"))
        self.assertGreater(len(run.report["timing"]["what_if"]), 0)
        self.assertEqual(trace.report["programs"][0]["timing"], run.report["timing"])
        summary = trace.summary()
        self.assertEqual((summary["cycles"], summary["instructions"]), (run.cycles, 16))
        for unit in "load", "compute", "store":
            self.assertEqual(sum(summary["units"][unit].values()), run.cycles)
        self.assertEqual(summary["counters"], run.counters)
        self.assertTrue(trace.diff(trace)["equal"])
        slow = self.program.simulate({"x": self.x}, engine="cycle", trace=True, memory="ideal:latency=200").trace
        found = trace.diff(slow)
        self.assertFalse(found["equal"])
        self.assertIsNone(found["instructions"])
        self.assertIn("cycle", json.dumps(found))
        file = json.loads(trace.text)
        del file["programs"]
        self.assertFalse(trace.diff(dovetail.Trace(json.dumps(file)))["instructions_compared"])

    def test_mistakes(self):
        for wrong, why in (
            (lambda: Program(".config 1x16x16\n  gem uop=0\n", name="mine"), "mine:2"),
            (lambda: Program("# nothing\n").simulate(), "no instruction"),
            (lambda: Program(b"123", hardware="tiny"), "bytes"),
            (lambda: Program(b"", hardware="tiny"), "no instruction"),
            (lambda: Program(b"\0" * 16), "hardware"),
            (lambda: Program(TEXT, hardware="tiny"), "tiny"),
            (lambda: Program(TEXT, map=self.program.map), "its own names"),
            (lambda: Program(self.program.instructions, map={}), "map"),
            (lambda: Program(self.program.instructions[1:], map=self.program.map), "16 instructions"),
            (lambda: Program(self.program.instructions, hardware="1x16x16", image=b"abc"), "map"),
            (lambda: self.program.simulate({"nonesuch": self.x}), "nonesuch"),
            (lambda: self.program.simulate({"y": self.x}), "reserve more bytes"),
            (lambda: self.program.simulate(outputs=["sram:nonesuch"]), "nonesuch"),
            (lambda: self.program.simulate(outputs=["sram:acc"], engine="systemc"), "on-chip"),
            (lambda: self.program.simulate(trace=True), "no clock"),
            (lambda: self.program.simulate(trace=True, until="@3", engine="cycle"), "until"),
            (lambda: self.program.simulate(engine="nonesuch"), "nonesuch"),
            (lambda: self.program.simulate(accelerators=2, until="#3", engine="cycle"), "accelerators"),
            (lambda: Program("  finish\n").simulate(), "no data in DRAM"),
            (lambda: Program(TEXT, launches=["0:99"]), "99"),
        ):
            with self.subTest(why), self.assertRaisesRegex(InputError, why):
                wrong()


if __name__ == "__main__":
    unittest.main()
