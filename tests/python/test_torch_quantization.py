#!/usr/bin/env python3
"""Every way in which PyTorch writes quantization arrives as QuantizeLinear and DequantizeLinear, to the bit."""

import copy
import unittest

import torch_environment  # noqa: F401, I001  (sets the path)

import onnx
import torch
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401  (declares the operators)

import dovetail
import dovetail.torch

OPS = torch.ops.quantized_decomposed


class Function(nn.Module):
    """A function, and constants as its attributes."""

    def __init__(self, function, **constants):
        super().__init__()
        self.function = function
        for name, value in constants.items():
            self.register_buffer(name, value)

    def forward(self, *args):
        return self.function(self, *args)


def values(scale, zero_point, low, high):
    """Floats around every step and every tie, and far beyond the range."""
    steps = torch.arange(2 * (low - 3), 2 * (high + 4), dtype=torch.float64) / 2 - zero_point
    exact = (steps * scale).to(torch.float32)
    near = [torch.nextafter(exact, torch.full_like(exact, side)) for side in (-1e30, 1e30)]
    return torch.cat([exact, *near, torch.randn(5000) * scale * high, torch.tensor([0.0, -0.0, 1e30, -1e30])])


def operators(model):
    return [node.op_type for node in onnx.load_from_string(model).graph.node]


class Operators(unittest.TestCase):
    def assert_equal(self, module, *args, expect=None):
        compiled = dovetail.torch.compile(module, args)
        torch.testing.assert_close(compiled(*args), module(*args), rtol=0, atol=0)
        return compiled

    def test_one_scale(self):
        for scale, zero, low, high, dtype in (
            (0.0173, 0, -128, 127, torch.int8),
            (0.0173, -5, -127, 127, torch.int8),
            (0.25, 3, -128, 127, torch.int8),
            (1 / 255, 0, 0, 255, torch.uint8),
            (0.041, 64, 0, 127, torch.uint8),
            (3e-4, 7, -(2**15), 2**15 - 1, torch.int16),
        ):
            with self.subTest(scale=scale, low=low, high=high):
                p = (scale, zero, low, high, dtype)
                module = Function(lambda _, x, p=p: OPS.dequantize_per_tensor(OPS.quantize_per_tensor(x, *p), *p))
                found = operators(self.assert_equal(module, values(scale, zero, low, high)).model)
                self.assertEqual(found[-2:], ["QuantizeLinear", "DequantizeLinear"])
                self.assertEqual("Clip" in found, (low, high) not in ((-128, 127), (0, 255), (-(2**15), 2**15 - 1)))

    def test_a_scale_in_a_tensor(self):
        def quantize(self, x):
            q = OPS.quantize_per_tensor.tensor(x, self.scale, self.zero, -128, 127, torch.int8)
            return OPS.dequantize_per_tensor.tensor(q, self.scale, self.zero, -128, 127, torch.int8)

        module = Function(quantize, scale=torch.tensor([0.031], dtype=torch.float64), zero=torch.tensor([4]))
        self.assert_equal(module, values(0.031, 4, -128, 127))

    def test_a_scale_per_channel(self):
        scale, zero = torch.tensor([0.01, 0.25, 0.7]), torch.tensor([0, -3, 12])

        def quantize(self, x):
            p = (self.scale, self.zero, 1, -100, 100, torch.int8)
            return OPS.dequantize_per_channel(OPS.quantize_per_channel(x, *p), *p)

        self.assert_equal(Function(quantize, scale=scale, zero=zero), torch.randn(50, 3, 4))

    def test_fake_quantization(self):
        scale, zero = torch.tensor([0.02, 0.3]), torch.tensor([0, 0], dtype=torch.int32)
        one, five = torch.tensor([0.02]), torch.tensor([5], dtype=torch.int32)
        x = values(0.02, 5, 0, 127)
        self.assert_equal(Function(lambda _, x: torch.fake_quantize_per_tensor_affine(x, 0.02, 5, 0, 127)), x)
        self.assert_equal(
            Function(
                lambda self, x: torch.fake_quantize_per_tensor_affine(x, self.one, self.five, -128, 127),
                one=one,
                five=five,
            ),
            x,
        )
        self.assert_equal(
            Function(
                lambda self, x: torch.fake_quantize_per_channel_affine(
                    torch.abs(x), self.scale, self.zero, 0, -127, 127
                ),
                scale=scale,
                zero=zero,
            ),
            torch.randn(2, 40),
        )
        self.assert_equal(
            Function(lambda _, x: torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(x, 0.02, 5, 0, 255)[0]), x
        )

    def test_a_weight_becomes_int8_in_the_bundle_s_model(self):
        weight = torch.randn(8, 16)
        scale, zero = weight.abs().amax(1) / 127, torch.zeros(8, dtype=torch.int64)

        def layer(self, x):
            p = (self.scale, self.zero, 0, -127, 127, torch.int8)
            w = OPS.dequantize_per_channel(OPS.quantize_per_channel(self.weight, *p), *p)
            return nn.functional.linear(x, w)

        module = Function(layer, weight=weight, scale=scale, zero=zero)
        compiled = dovetail.torch.compile(module, (torch.randn(1, 16),))
        model = onnx.load_from_string(compiled.model)
        types = {each.name: each.data_type for each in model.graph.initializer}
        [dequantize] = [node for node in model.graph.node if node.op_type == "DequantizeLinear"]
        self.assertEqual(types[dequantize.input[0]], onnx.TensorProto.INT8)
        self.assertNotIn("QuantizeLinear", operators(compiled.model))

    def test_biases_of_int32(self):
        scale, zero = torch.rand(4) / 100, torch.tensor([0, 5, 0, -7])
        steps = torch.randint(-(2**20), 2**20, (4,), dtype=torch.int32)

        def bias(self, x):
            limits = torch.iinfo(torch.int32)
            p = (self.scale, self.zero, 0, limits.min, limits.max, torch.int32)
            return (
                x
                + OPS.dequantize_per_channel(self.steps, *p)
                + OPS.dequantize_per_tensor(self.steps, 0.01, 9, limits.min, limits.max, torch.int32)
            )

        self.assert_equal(Function(bias, scale=scale, zero=zero, steps=steps), torch.randn(3, 4))

    def test_torchao(self):
        torch_environment.require("torchao")
        import torchao  # noqa: F401  (declares the operators)

        ops, scale, zero = torch.ops.torchao, torch.tensor([[0.02]]), torch.tensor([[5]])
        weight = torch.randint(-8, 8, (6, 16), dtype=torch.int8)
        rows, groups = torch.rand(6, 1) / 10, torch.rand(6, 4) / 10

        def linear(self, x):
            size = list(x.shape)
            q = ops.quantize_affine(x, size, self.scale, self.zero, torch.int8, -128, 127)
            x = ops.dequantize_affine(q, size, self.scale, self.zero, torch.int8, -128, 127)
            by_row = ops.dequantize_affine(self.weight, [1, 16], self.rows, None, torch.int8, -8, 7)
            by_group = ops.dequantize_affine(self.weight, [1, 4], self.groups, None, torch.int8, -8, 7)
            return x, nn.functional.linear(x, by_row), by_group + 0 * x[:, :1]

        module = Function(linear, scale=scale, zero=zero, weight=weight, rows=rows, groups=groups)
        x = torch.randn(6, 16)
        compiled = dovetail.torch.compile(module, (x,))
        for one, other, tolerance in zip(compiled(x), module(x), (0, 1e-5, 0)):
            torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)
        self.assertEqual(operators(compiled.model).count("DequantizeLinear"), 2)  # blocks have no integer form

    def test_weights_that_torchao_quantizes_alone(self):
        torch_environment.require("torchao")
        from torchao.quantization import Int8WeightOnlyConfig, quantize_

        module = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
        quantize_(module, Int8WeightOnlyConfig())
        x = torch.randn(2, 32)
        torch.testing.assert_close(dovetail.torch.compile(module, (x,))(x), module(x), rtol=1e-4, atol=1e-5)


class Refusals(unittest.TestCase):
    def refused(self, function, *args, **constants):
        with self.assertRaises(dovetail.InputError) as caught:
            dovetail.torch.compile(Function(function, **constants), args)
        [found] = caught.exception.diagnostics
        self.assertEqual(found.what, "cannot translate a quantization operator")
        self.assertIn("test_torch_quantization.py:", found.where)
        return found

    def test_scales_that_are_chosen_at_run_time(self):
        def dynamic(_, x):
            scale, zero = OPS.choose_qparams(x, -128, 127, 1e-6, torch.int8)
            return OPS.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)

        with self.assertRaises(dovetail.InputError) as caught:
            dovetail.torch.compile(Function(dynamic), (torch.randn(4),))
        first, second = caught.exception.diagnostics
        self.assertEqual(
            first.why,
            "quantized_decomposed::choose_qparams: it chooses scales at run time; the "
            "accelerator needs them as constants",
        )
        self.assertEqual(first.hint, "quantize statically: prepare_pt2e, calibrate, convert_pt2e")
        self.assertIn("its scale is not a constant", second.why)

    def test_scales_that_a_weight_determines_are_constants(self):
        def static(self, x):
            scale, zero = OPS.choose_qparams(self.weight, -128, 127, 1e-6, torch.int8)
            p = (scale, zero, -128, 127, torch.int8)
            q = OPS.quantize_per_tensor.tensor(self.weight, *p)
            return x + OPS.dequantize_per_tensor.tensor(q, *p)

        module, x = Function(static, weight=torch.randn(5)), torch.randn(5)
        torch.testing.assert_close(dovetail.torch.compile(module, (x,))(x), module(x), rtol=0, atol=0)

    def test_a_scale_that_is_an_argument(self):
        found = self.refused(
            lambda _, x, s, z: OPS.quantize_per_tensor.tensor(x, s, z, -128, 127, torch.int8),
            torch.randn(4),
            torch.tensor(0.1),
            torch.tensor(0),
        )
        self.assertIn("its scale is not a constant: args_1 is computed at run time", found.why)

    def test_parameters_without_a_form(self):
        x = torch.randn(4)
        found = self.refused(lambda _, x: OPS.quantize_per_tensor(x, 0.1, 0, -(2**31), 2**31 - 1, torch.int32), x)
        self.assertIn("int32 at run time, and QuantizeLinear has at most 16 bits", found.why)
        found = self.refused(lambda _, x: OPS.quantize_per_tensor(x, -0.1, 0, -128, 127, torch.int8), x)
        self.assertIn("its scale is -0.1, and must be > 0 and finite", found.why)
        found = self.refused(
            lambda self, x: torch.fake_quantize_per_channel_affine(x, self.s, self.z, 0, 0, 255),
            x,
            s=torch.ones(4),
            z=torch.full((4,), 0.5),
        )
        self.assertIn("its zero points are not integers", found.why)


class EagerQat(unittest.TestCase):
    """torch.ao's eager mode: fake quantizers in modules, and layers fused with their normalization."""

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
            self.conv, self.bn, self.relu = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()
            self.sum = torch.ao.nn.quantized.FloatFunctional()
            self.conv2, self.linear = nn.Conv2d(8, 8, 1), nn.Linear(8 * 64, 4)

        def forward(self, x):
            y = self.relu(self.bn(self.conv(self.quant(x))))
            y = self.sum.add(y, self.conv2(y))
            return self.dequant(self.linear(y.flatten(1)))

    def trained(self, backend):
        network = self.Network()
        network.qconfig = torch.ao.quantization.get_default_qat_qconfig(backend)
        network.eval()
        network = torch.ao.quantization.fuse_modules_qat(network.train(), [["conv", "bn", "relu"]])
        torch.ao.quantization.prepare_qat(network, inplace=True)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
        for _ in range(5):
            loss = network(torch.randn(8, 3, 8, 8)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return network.eval()

    def test_a_trained_network(self):
        for backend in ("fbgemm", "qnnpack", "x86"):
            with self.subTest(backend):
                network = self.trained(backend)
                before = copy.deepcopy(network.state_dict())
                x = torch.randn(1, 3, 8, 8)
                compiled = dovetail.torch.compile(
                    network, (x,), targets="accel,cpu", hardware="1x16x16-ext", offload="always"
                )
                for name, value in network.state_dict().items():
                    torch.testing.assert_close(value, before[name], rtol=0, atol=0)  # a copy was frozen
                share, _ = torch_environment.accelerated(compiled)
                self.assertEqual(share, 1)
                network.apply(torch.ao.quantization.disable_observer)
                with torch.no_grad():
                    expected = network(x)
                step = network.linear.activation_post_process.scale.item()
                self.assertLessEqual(((compiled(x) - expected).abs().max() / step).item(), 1.001)

    def test_an_untrained_quantizer_is_named(self):
        network = self.trained("fbgemm")
        network.conv2.weight_fake_quant.scale.zero_()
        with self.assertRaises(dovetail.InputError) as caught:
            dovetail.torch.compile(network, (torch.randn(1, 3, 8, 8),))
        self.assertEqual(caught.exception.where, "conv2.weight_fake_quant")
        self.assertEqual(caught.exception.why, "its scale is 0, and must be > 0")


if __name__ == "__main__":
    unittest.main(warnings="ignore")
