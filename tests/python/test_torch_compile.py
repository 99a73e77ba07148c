#!/usr/bin/env python3
"""dovetail.torch.compile: arguments and results of every structure, without copies; diagnostics that name the line."""

import inspect
import pathlib
import unittest

import torch_environment  # noqa: F401, I001  (sets the path)

import torch
from torch import nn

import dovetail
import dovetail.torch

FILE = str(pathlib.Path(__file__).resolve())


def line_of(function, text):
    """The line "FILE:NUMBER: CODE" of a function that holds the text."""
    lines, start = inspect.getsourcelines(function)
    for number, line in enumerate(lines, start):
        if text in line:
            return f"{FILE}:{number}: {line.strip()}"
    raise AssertionError(text)


class Structured(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x, pair, *, scale=None, twice=True):
        y = self.linear(x + pair["a"]) * (1.0 if scale is None else scale)
        return {"y": y, "same": y, "rest": (pair["b"] * 2, None, 7, x), "twice": y * 2 if twice else y}


class Odd(nn.Module):
    def forward(self, x):
        y = torch.special.bessel_j0(x)
        return y + torch.special.airy_ai(x)


class Random(nn.Module):
    def forward(self, x):
        noise = torch.rand_like(x)
        return x + noise


class Branching(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return x * self.calls


class Compile(unittest.TestCase):
    def test_arguments_and_results_keep_their_structure(self):
        module = Structured().eval()
        x, a, b = torch.randn(2, 4), torch.randn(4), torch.arange(3)
        compiled = dovetail.torch.compile(module, (x, {"a": a, "b": b}), {"scale": torch.tensor(0.5)})
        x = torch.randn(2, 4)
        found = compiled(x, {"a": a, "b": b}, scale=torch.tensor(2.0))
        expected = module(x, {"a": a, "b": b}, scale=torch.tensor(2.0))
        torch.testing.assert_close(found["y"], expected["y"])
        torch.testing.assert_close(found["same"], expected["same"])
        torch.testing.assert_close(found["twice"], expected["twice"])
        self.assertEqual(found["rest"][0].tolist(), [0, 2, 4])
        self.assertEqual(found["rest"][1:3], (None, 7))
        self.assertIs(found["rest"][3], x)
        with self.assertRaisesRegex(dovetail.InputError, "pass arguments like those of the export"):
            compiled(x, a, b)

    def test_a_number_is_a_constant(self):
        class Scaled(nn.Module):
            def forward(self, x, unused, scale):
                return x * scale, 5

        x = torch.randn(3)
        compiled = dovetail.torch.compile(Scaled(), (x, torch.randn(2), 2.0))
        torch.testing.assert_close(compiled(x, torch.randn(2), 2.0)[0], x * 2)
        with self.assertRaisesRegex(dovetail.InputError, "3.0 is given where the export had 2.0"):
            compiled(x, torch.randn(2), 3.0)

    def test_tensors_are_passed_without_a_copy(self):
        compiled = dovetail.torch.compile(nn.ReLU().eval(), (torch.randn(1, 64),))
        x = torch.randn(1, 64, requires_grad=True)
        self.assertEqual(compiled.named_inputs(x)["input"].data_ptr(), x.data_ptr())
        y = compiled(x)
        del compiled  # results outlive the session
        self.assertFalse(y.requires_grad)
        torch.testing.assert_close(y, torch.relu(x.detach()))
        y.add_(1)  # and own their memory

    def test_what_would_need_a_copy_is_refused(self):
        compiled = dovetail.torch.compile(nn.ReLU().eval(), (torch.randn(4, 8),))
        for wrong, why in (
            (torch.randn(8, 4).t(), r"call .contiguous\(\)"),
            (torch.randn(4, 8).double(), r"call .to\(torch.float32\)"),
            (torch.randn(4, 9), "shape|9"),
            (torch.randn(4, 8, device="meta"), "device meta"),
        ):
            with self.assertRaisesRegex(dovetail.InputError, why):
                compiled(wrong)

    def test_what_is_not_a_module_or_its_arguments(self):
        x = torch.randn(1, 8)
        for module, args, why in (
            (nn.ReLU(), x, r"args must be a tuple of arguments, not Tensor: write \(x,\)"),
            (nn.ReLU(), None, "args must be a tuple"),
            (lambda x: x + 1, (x,), "module must be an nn.Module"),
        ):
            with self.subTest(why), self.assertRaisesRegex(TypeError, why):
                dovetail.torch.compile(module, args)

    def test_types_other_than_float32(self):
        class Mixed(nn.Module):
            def forward(self, i, h, f):
                return i[:, :2] + 1, (h * 2).to(torch.bfloat16), f > 0

        args = (torch.arange(8).reshape(2, 4), torch.randn(3).to(torch.bfloat16), torch.randn(5))
        found = dovetail.torch.compile(Mixed(), args)(*args)
        for one, other in zip(found, Mixed()(*args)):
            self.assertEqual(one.dtype, other.dtype)
            torch.testing.assert_close(one, other)

    def test_model_bundle_and_session(self):
        compiled = dovetail.torch.compile(nn.Linear(4, 2).eval(), (torch.randn(1, 4),))
        import onnx

        onnx.checker.check_model(onnx.load_from_string(compiled.model))
        self.assertIs(compiled.session.bundle, compiled.bundle)
        x = torch.randn(1, 4)
        report = compiled.session.check(compiled.named_inputs(x))
        self.assertEqual(report["different"], 0)

    def test_an_exported_program_and_a_batch_of_several_sizes(self):
        module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
        program = torch.export.export(module, (torch.randn(3, 4),))
        x = torch.randn(3, 4)
        torch.testing.assert_close(dovetail.torch.compile(program)(x), module(x))
        for batch in ("batch", torch.export.Dim("batch", min=1, max=64)):
            compiled = dovetail.torch.compile(module, (x,), dynamic_shapes=({0: batch},), shapes={"batch": [1, 8]})
            for rows in (1, 8):
                x = torch.randn(rows, 4)
                torch.testing.assert_close(compiled(x), module(x))
            x = torch.randn(3, 4)
        compiled = dovetail.torch.compile(module, (x,), dynamic_shapes=({0: "batch"},))  # of the shape of the example
        torch.testing.assert_close(compiled(x), module(x))

    def test_constant_results_of_a_module_with_several_shapes(self):
        class Doubling(nn.Module):
            def forward(self, x):
                return x * 2, 5

        compiled = dovetail.torch.compile(
            Doubling(), (torch.randn(2, 3),), dynamic_shapes={"x": {0: "rows"}}, shapes={"rows": [1, 4]}
        )
        for rows in (1, 4):
            x = torch.randn(rows, 3)
            doubled, five = compiled(x)
            torch.testing.assert_close(doubled, x * 2)
            self.assertEqual(five, 5)

    def test_calibration_quantizes(self):
        network = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4)).eval()
        samples = [torch.rand(1, 3, 8, 8) for _ in range(8)]
        compiled = dovetail.torch.compile(
            network,
            (samples[0],),
            targets="accel,cpu",
            hardware="1x16x16-ext",
            offload="always",
            calibration=iter(samples),
        )
        share, _ = torch_environment.accelerated(compiled)
        self.assertEqual(share, 1)
        error = (compiled(samples[1]) - network(samples[1])).abs().max()
        self.assertLess(error, 0.05)
        self.assertGreater(error, 0)


class Diagnostics(unittest.TestCase):
    def problems(self, module, *args):
        with self.assertRaises(dovetail.InputError) as caught:
            dovetail.torch.compile(module, args)
        return caught.exception.diagnostics

    def test_every_operator_without_a_translation_is_named_with_its_line(self):
        found = self.problems(Odd(), torch.randn(3))
        self.assertEqual(
            [(each.where, each.why) for each in found],
            [
                (line_of(Odd, "bessel_j0"), "prims.bessel_j0 has no translation to ONNX"),
                (line_of(Odd, "airy_ai"), "aten.special_airy_ai has no translation to ONNX"),
            ],
        )

    def test_what_the_kit_refuses_has_the_line_too(self):
        [found] = self.problems(Random(), torch.randn(3))
        self.assertIn("RandomUniformLike is not supported", found.why)
        self.assertEqual(found.where, f"model; {line_of(Random, 'noise = ')}")

    def test_control_flow_on_data(self):
        [found] = self.problems(Branching(), torch.randn(3))
        self.assertEqual((found.what, found.where), ("cannot export the module", line_of(Branching, "if x.sum()")))
        self.assertIn("data-dependent", found.why)

    def test_an_error_of_the_module_itself(self):
        [found] = self.problems(Structured(), torch.randn(2, 5), {"a": torch.randn(5), "b": torch.randn(1)})
        self.assertEqual(found.where, line_of(Structured, "y = self.linear"))
        self.assertIn("[2, 5] X [4, 3]", found.why)

    def test_training_mode(self):
        found = self.problems(
            nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.Dropout()), torch.randn(2, 3, 4, 4)
        )
        whys = [each.why for each in found if "training mode" in each.why]
        self.assertEqual(whys, ["aten::batch_norm is in training mode", "aten::dropout is in training mode"])
        self.assertEqual(found[0].hint, "call module.eval() first")

    def test_a_module_that_changes_itself(self):
        [found] = self.problems(Counting(), torch.randn(3))
        self.assertEqual((found.where, found.why), ("calls", "the module changes it when it runs"))

    def test_nothing_to_compute(self):
        [found] = self.problems(nn.Identity(), torch.randn(3))
        self.assertEqual(found.why, "it computes no tensor from its arguments")


if __name__ == "__main__":
    unittest.main(warnings="ignore")
