#!/usr/bin/env python3
"""Loop programs from Python: written, scheduled, interpreted, and compiled for the accelerator and the CPU."""
import inspect
import unittest

import environment  # noqa: F401  (sets the path)

import numpy as np

import dovetail
from dovetail import InputError, WorkError, loops


def product(rows=16, columns=32, depth=32):
    x, w = loops.input("x", "int8", (rows, depth)), loops.input("w", np.int8, (columns, depth))
    k = loops.axis("k", depth)
    factor = lambda operand, *at: operand[at].astype("int32")
    y = loops.compute("y", (rows, columns), lambda i, j: loops.sum(factor(x, i, k) * factor(w, j, k), k))
    return loops.program("product", y, hardware="1x16x16-ext")


def data(program):
    random = np.random.default_rng(3)
    return {each.name: random.integers(-100, 100, each.shape, each.dtype) for each in program.inputs}


class Write(unittest.TestCase):
    def test_expressions_mean_what_numpy_computes(self):
        a, b = loops.input("a", "int32", (3, 4)), loops.input("b", "float32", (4,))
        r = loops.axis("r", 4)
        buffers = [
            loops.compute("numbers", (3, 4), lambda i, j: (a[i, j] * 3 - 7) // 4 % 5 + (2 - a[i, j]) + (1 << 3)),
            loops.compute("bits", (3, 4), lambda i, j: (a[i, j] & 12) ^ (a[i, j] | 3) ^ ~a[i, j] ^ (a[i, j] << 2) ^
                          (a[i, j] >> 1) ^ -a[i, j]),
            loops.compute("floats", (4,), lambda i: 1 / b[i] + b[i] / 2 - 0.5 * loops.apply("exp", b[i])),
            loops.compute("chosen", (4,), lambda i: loops.select((i >= 1) & ~(i == 3) | (i < 0), b[i - 1 + 1], -1.5)),
            loops.compute("shifted", (4,), lambda i: loops.select(i >= 1, b[i - 1], 0)),
            loops.compute("clamped", (4,), lambda i: loops.clamp(b[i], -1, 1)),
            loops.compute("total", (3,), lambda i: loops.sum(a[i, r], r)),
            loops.compute("most", (3,), lambda i: loops.max_over(a[i, r], r)),
            loops.compute("least", (4,), lambda i: loops.min_over(b[r], r)),
            loops.compute("least_unsigned", (1,), lambda i: loops.min_over(a[0, r].astype("uint64"), r)),
            loops.compute("large", (1,), lambda i: a[0, 0].astype("uint64") + (1 << 63)),
            loops.compute("size", (4,), lambda i: abs(b[i])),
            loops.compute("seven", (2,), lambda i: 7, dtype="uint8"),
            loops.compute("half", (4,), lambda i: b[i].astype("float16")),
            loops.compute("same", (4,), lambda i: loops.bitcast("int32", b[i])),
            loops.compute("where", (4,), lambda i: i * 10 + i),
        ]
        program = loops.program("all", buffers)
        values = {"a": np.arange(-5, 7, dtype=np.int32).reshape(3, 4),
                  "b": np.array([0.5, -2, 3, -0.25], np.float32)}
        got, (x, y) = program.run(values), values.values()
        one = np.float32(1)
        expected = {
            "numbers": (x * 3 - 7) // 4 % 5 + (2 - x) + 8,
            "bits": (x & 12) ^ (x | 3) ^ ~x ^ (x << 2) ^ (x >> 1) ^ -x,
            "floats": one / y + y / 2 - np.float32(0.5) * np.exp(y),
            "chosen": np.array([-1.5, y[1], y[2], -1.5], np.float32), "shifted": np.append(np.float32(0), y[:3]),
            "clamped": np.clip(y, -1, 1), "total": x.sum(1), "most": x.max(1), "least": np.full(4, y.min()),
            "seven": np.full(2, 7, np.uint8), "half": y.astype(np.float16), "same": y.view(np.int32),
            "where": np.arange(4) * 11, "least_unsigned": np.array([(1 << 64) - 5], np.uint64),
            "size": np.abs(y), "large": np.array([(1 << 63) - 5], np.uint64),
        }
        self.assertEqual(set(got), set(expected))
        for name, array in expected.items():
            with self.subTest(name):
                (np.testing.assert_allclose if name == "floats" else np.testing.assert_array_equal)(got[name], array)
                self.assertEqual(got[name].dtype, next(each.dtype for each in program.outputs if each.name == name))
        compiled = program.compile("cpu").session().run(values)
        for name in expected:
            np.testing.assert_allclose(compiled[name], got[name], rtol=1e-6, err_msg=name)

    def test_mistakes_are_found_where_they_are_made(self):
        a, h = loops.input("a", "float32", (4, 5)), loops.input("h", "float16", (4,))
        for wrong, why in (
            (lambda: a[0], "2 dimensions, and 1 indices"),
            (lambda: a[0, 1] + h[0], "float32 and float16"),
            (lambda: h[0] & 1, "float16"),
            (lambda: loops.select(a[0, 0], 1, 2), "condition"),
            (lambda: loops.sum(a[0, 0]), "needs axes"),
            (lambda: loops.compute("b", (3,), lambda i, j: a[i, j]), "2 parameters for 1 dimensions"),
            (lambda: loops.compute("b", (3,), lambda i: 1), "give dtype"),
            (lambda: loops.input("1x", "int8", (1,)), "not a name"),
            (lambda: loops.input("x", "int9", (1,)), "not a type"),
            (lambda: loops.program("p", loops.compute("b", (9,), lambda i: a[i, 0])), "range is 0 to 8, the extent is 4"),
            (lambda: loops.apply("exp(", a[0, 0]), "not the name of a function"),
            (lambda: loops.Loops.parse("program p {", name="mine"), "mine:1"),
            (lambda: loops.Loops.parse("program p { }\0"), "zero byte"),
        ):
            with self.subTest(why), self.assertRaisesRegex(InputError, why):
                wrong() if why != "float16" else loops.program("p", loops.compute("b", (4,), lambda i: h[i] & 1))
        with self.assertRaisesRegex(TypeError, "loops.select"):
            bool(a[0, 0])

    def test_text_is_the_program(self):
        program = product()
        again = loops.Loops.parse(program.text, hardware="1x16x16-ext")
        self.assertEqual(again.text, program.text)
        self.assertEqual(str(again), program.text)
        self.assertEqual(program.blocks, ("y",))
        self.assertEqual(program.loops, ("y.i", "y.j", "y.k"))
        self.assertEqual(repr(program), "<dovetail.loops.Loops product: x: int8[16, 32], w: int8[32, 32] -> "
                                        "y: int32[16, 32]; 0 steps>")


    def test_sizes_are_those_of_the_text_or_given(self):
        text = "program p { size n = 4, m input x: int32[n, m] output y: int32[n] y[i in n] = sum[j in m] x[i, j] }"
        program = loops.Loops.parse(text, sizes={"m": 3})
        self.assertEqual([each.shape for each in (*program.inputs, *program.outputs)], [(4, 3), (4,)])
        self.assertEqual(program.on("tiny").inputs[0].shape, (4, 3))
        for sizes, why in (({"m": 3, "k": 1}, "declares no size k"), ({"m": -1}, "not NAME=NUMBER"), ({}, "m has no value")):
            with self.assertRaisesRegex(InputError, why):
                loops.Loops.parse(text, sizes=sizes)


class Schedule(unittest.TestCase):
    def test_every_primitive_is_a_method_with_its_form(self):
        forms = loops.primitives()
        self.assertGreater(len(forms), 25)
        for name, form in forms.items():
            method = getattr(loops.Loops, name)
            self.assertIn(f"`{form}`", inspect.getdoc(method).replace("\n", " "))

    def test_steps_make_other_programs(self):
        program = product()
        split = program.split("y.i", 4)
        self.assertEqual((program.trace, split.trace), ("", "split y.i 4 -> y.i_0 y.i_1\n"))
        self.assertEqual(split.results, ("y.i_0", "y.i_1"))
        tiled = split.split("y.j", "8", "jo", "ji").reorder("y.i_0", "jo", "y.k", "y.i_1", "ji")
        self.assertEqual(tiled.loops, ("y.i_0", "jo", "y.k", "y.i_1", "ji"))
        self.assertEqual(program.apply(tiled.trace).text, tiled.text)
        decided = program.sample("tile", "among", "4,8,16", 8).split("y.i", "$tile")
        self.assertEqual(decided.describe()["decisions"], {"tile": "8"})
        values = data(program)
        for each in tiled.vectorize("ji").parallel("y.i_0"), decided:
            np.testing.assert_array_equal(each.run(values)["y"], program.run(values)["y"])
            np.testing.assert_array_equal(each.compile("cpu").session().run(values)["y"], program.run(values)["y"])

    def test_a_refused_step_is_named_with_its_loop(self):
        program = product()
        for wrong, why in (
            (lambda: program.split("nowhere", 4), r"`split nowhere 4`\): program product has no loop of this name"),
            (lambda: program.vectorize("y.k"), r"cannot vectorize y.k .*reduce iterator k"),
            (lambda: program.split("y.i", 4, "a"), "1 of 2 results are named"),
            (lambda: program.split("y i", 4), "not a word"),
            (lambda: program.tensorize("y.i", "accel.gemm"), "accel.gemm"),
            (lambda: program.apply("split y.i 4\nhalve y.j"), "steps:2"),
        ):
            with self.subTest(why), self.assertRaisesRegex(InputError, why):
                wrong()


class Search(unittest.TestCase):
    def test_suggestions_are_steps_that_apply(self):
        program = product()
        suggestions = program.suggest("y.i")
        self.assertIn("parallel y.i", [each["step"] for each in suggestions])
        for each in suggestions:
            program.apply(each["step"])
        self.assertNotIn("parallel y.k", [each["step"] for each in program.suggest("y.k")])
        with self.assertRaisesRegex(InputError, "no loop, block or buffer"):
            program.suggest("nowhere")

    def test_samples_are_tuned(self):
        program = product().apply("sample rows among 2,4 = 2\nsplit y.i $rows")
        inputs = data(program)
        best, search = program.tune(inputs, trials=4)
        self.assertEqual(search["unit"], "ns")
        self.assertIn(search["best_decisions"]["rows"], ("2", "4"))
        self.assertEqual(best.describe()["decisions"], search["best_decisions"])
        np.testing.assert_array_equal(best.run(inputs)["y"], program.run(inputs)["y"])
        with self.assertRaisesRegex(InputError, "no sample step"):
            product().split("y.i", 4).tune(inputs)
        with self.assertRaisesRegex(InputError, "sample steps"):
            product().tune(inputs, "accel")


class Run(unittest.TestCase):
    def test_values_decide_at_run_time(self):
        a, n = loops.input("a", "int32", (4,)), loops.input("n", "int64", (4,))
        program = loops.program("p", loops.compute("y", (4,), lambda i: a[n[i]] // a[i]))
        values = {"a": np.array([5, 2, 7, 1], np.int32), "n": np.array([3, 2, 0, 1])}
        np.testing.assert_array_equal(program.run(values)["y"], [0, 3, 0, 2])
        with self.assertRaisesRegex(WorkError, "index 9"):
            program.run({**values, "n": np.array([0, 0, 9, 0])})
        with self.assertRaisesRegex(WorkError, "division by 0"):
            program.run({**values, "a": np.zeros(4, np.int32)})
        with self.assertRaisesRegex(InputError, "missing"):
            program.run({"a": values["a"]})
        with self.assertRaisesRegex(InputError, "float64"):
            program.run({**values, "a": np.zeros(4)})
        with self.assertRaisesRegex(InputError, r"int32\[5\]"):
            program.run({**values, "a": np.zeros(5, np.int32)})


class Accelerator(unittest.TestCase):
    def test_a_block_that_is_no_instruction_is_refused_by_name(self):
        program = product().cache_read("y", "x", "accel.inp", "xc")
        with self.assertRaisesRegex(InputError, r"buffer xc\): its shape is \[16, 32\], and must end in \[1, 16\]"):
            program.compile()
        with self.assertRaisesRegex(InputError, r"block xc\): xc.1 % 16 is not affine"):
            program.transform_layout("xc", "i0,i1/16,i0%1,i1%16").compile()

    def test_a_program_moves_to_other_hardware(self):
        program = product()
        other = program.split("y.i", 4).on("1x8x8", "baseline")
        self.assertEqual(other.describe()["hardware"]["name"], "1x8x8")
        self.assertEqual(other.trace, "split y.i 4 -> y.i_0 y.i_1\n")
        self.assertEqual(other.describe()["cpu"], "baseline")
        with self.assertRaisesRegex(InputError, "nonesuch"):
            program.on("nonesuch")

    def test_a_program_of_the_alu_runs_on_engines(self):
        x = loops.input("x", "int8", (24, 32))
        wide = loops.compute("wide", (24, 32), lambda i, j: x[i, j].astype("int32"))
        more = loops.compute("more", (24, 32), lambda i, j: wide[i, j] + 3)
        positive = loops.compute("positive", (24, 32), lambda i, j: loops.maximum(more[i, j], 0))
        y = loops.compute("y", (24, 32), lambda i, j: positive[i, j].astype("int8"))
        program = loops.program("relu", y, hardware=dovetail.hardware("1x16x16-ext"))
        values = {"x": np.random.default_rng(1).integers(-128, 124, (24, 32), np.int8)}
        expected = np.maximum(values["x"].astype(np.int32) + 3, 0).astype(np.int8)
        for buffer in "x", "wide", "more", "positive", "y":
            if buffer not in "xy":
                program = program.set_scope(buffer, "accel.acc")
            program = program.transform_layout(buffer, "i0,i1/16,i0%1,i1%16")
        for block in "wide", "more", "positive", "y":
            program = program.split(f"{block}.j", 16, f"{block}.b", f"{block}.e")
        program = program.tensorize("more.e", "accel.add_imm").tensorize("positive.e", "accel.max_imm")
        np.testing.assert_array_equal(program.run(values)["y"], expected)
        bundle = program.compile()
        self.assertEqual(bundle.compile_report["target"], "accel")
        self.assertIn("alu.add", bundle.compile_report["dumps"]["stream"])
        self.assertIn("in place of wide", bundle.compile_report["dumps"]["places"])
        self.assertEqual(bundle.verify()["problems"], [])
        for engine in "functional", "cycle":
            np.testing.assert_array_equal(bundle.session(engine=engine).run(values)["y"], expected)
        again = dovetail.Bundle.load(bundle.to_bytes(), trust="always")
        np.testing.assert_array_equal(again.session().run(values)["y"], expected)
        self.assertGreater(program.cycles(), 24 * 2 * 2)


if __name__ == "__main__":
    unittest.main()
