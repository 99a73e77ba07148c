#!/usr/bin/env python3
"""DovetailQuantizer: whole networks on the accelerator, whose integers equal PyTorch's own evaluation."""

import importlib.util
import unittest

from environment import SOURCE, package
from torch_environment import accelerated, require, settled  # noqa: I001

require("torchao")
import torch
from torch import nn
from torch_networks import Block, networks
from torchao.quantization.pt2e import allow_exported_model_train_eval, move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

import dovetail
import dovetail.torch

HARDWARE = "1x16x16-ext"
CONVOLUTIONAL = ("residual", "excited", "dense", "shuffled", "unet", "inception")


def converted(network, inputs, quantizer=None, samples=4):
    """The network, quantized after training on random samples, with biases as integers."""
    prepared = prepare_pt2e(
        torch.export.export(network, inputs).module(), quantizer or dovetail.torch.DovetailQuantizer()
    )
    with torch.no_grad():
        for _ in range(samples):
            prepared(*(torch.randn_like(each) for each in inputs))
        return dovetail.torch.quantize_biases(convert_pt2e(prepared))


def on_accelerator(module, inputs):
    return dovetail.torch.compile(module, inputs, targets="accel,cpu", hardware=HARDWARE, offload="always")


class PostTraining(unittest.TestCase):
    def differing(self, module, compiled, inputs, runs=3):
        """The number of values that differ from PyTorch's, of all, and the largest difference in steps."""
        count = total = 0
        largest = 0.0
        step = [node for node in module.graph.nodes if "quantize_per_tensor" in str(node.target)][-1].args[1]
        for _ in range(runs):
            inputs = tuple(torch.randn_like(each) for each in inputs)
            with torch.no_grad():
                expected = module(*inputs)
            found = compiled(*inputs)
            self.assertGreater(expected.unique().numel(), 4)  # the comparison means something
            count += int((found != expected).sum())
            total += expected.numel()
            largest = max(largest, float((found - expected).abs().max() / step))
        return count, total, largest

    def test_whole_networks_on_the_accelerator_give_pytorch_s_integers(self):
        # A function that is not two lines has a table, which the accelerator lacks. The host has gates and their parts.
        hosts = {"excited": {"Add"}, "inception": {"Sigmoid"}, "shuffled": {"ReduceMax"}}
        for name, network, inputs in networks():
            if name not in CONVOLUTIONAL:
                continue
            with self.subTest(name):
                network = settled(network, *inputs)
                module = converted(network, inputs, dovetail.torch.DovetailQuantizer(powers_of_two=True))
                compiled = on_accelerator(module, inputs)
                count, total, _ = self.differing(module, compiled, inputs)
                self.assertEqual(count, 0, f"of {total}")
                share, elsewhere = accelerated(compiled)
                self.assertEqual(share, 1)
                self.assertLessEqual(
                    set(elsewhere) - {"Mul", "QuantizeLinear", "DequantizeLinear"}, hosts.get(name, set())
                )
                compiled = dovetail.torch.compile(module, inputs)
                self.assertEqual(self.differing(module, compiled, inputs)[0], 0)
                with torch.no_grad():
                    expected, found = network(*inputs), compiled(*inputs)
                self.assertLess((found - expected).norm() / expected.norm(), 0.4)

    def test_other_scales_differ_at_ties_alone(self):
        """A layer with a scale for each channel: a float sum next to a tie may round to the other step."""
        torch.manual_seed(3)
        layer = nn.Sequential(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU()).eval()
        inputs = (torch.randn(1, 32, 32, 32),)
        module = converted(layer, inputs)
        for target in ("accel,cpu", "cpu"):
            compiled = dovetail.torch.compile(module, inputs, targets=target, hardware=HARDWARE, offload="always")
            count, total, largest = self.differing(module, compiled, inputs)
            self.assertLessEqual(count, total // 10000)
            self.assertLessEqual(largest, 1.001)

    def test_default_annotations_leave_more_to_the_host(self):
        """Of XNNPACK's quantizer: pooling by maximum, moves and functions stay float between their neighbors."""
        for name, network, inputs in networks():
            if name not in ("inception", "unet"):
                continue
            with self.subTest(name):
                network = settled(network, *inputs)
                other = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
                elsewhere = [
                    len(accelerated(on_accelerator(converted(network, inputs, quantizer), inputs))[1])
                    for quantizer in (dovetail.torch.DovetailQuantizer(), other)
                ]
                self.assertLess(*elsewhere)

    def test_attention_has_integer_products(self):
        inputs = (torch.randn(1, 16, 64),)
        for is_causal in (False, True):
            block = Block(width=64, heads=4, is_causal=is_causal).eval()
            compiled = on_accelerator(converted(block, inputs), inputs)
            _, elsewhere = accelerated(compiled)
            self.assertEqual(elsewhere.count("MatMul"), 0)
            self.assertEqual(elsewhere.count("Softmax"), 1)
            with torch.no_grad():
                expected = block(*inputs)
            self.assertLess((compiled(*inputs) - expected).norm() / expected.norm(), 0.05)

    def test_options(self):
        network, inputs = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3)).eval(), (
            torch.randn(1, 3, 8, 8),
        )
        Quantizer = dovetail.torch.DovetailQuantizer
        symmetric = converted(network, inputs, Quantizer(symmetric=True, per_tensor=True, calibration="histogram"))
        zeros = [node.args[2] for node in symmetric.graph.nodes if "quantize_per_tensor.default" in str(node.target)]
        self.assertEqual(set(zeros), {0})
        self.assertEqual(accelerated(on_accelerator(symmetric, inputs))[0], 1)
        kept = on_accelerator(converted(network, inputs, Quantizer(keep_float=["2"])), inputs)
        self.assertLess(accelerated(kept)[0], 1)
        with self.assertRaisesRegex(dovetail.InputError, "(?s)no operator is in module 'nine'.*name one of: 0, 1, 2"):
            converted(network, inputs, Quantizer(keep_float=["nine"]))
        with self.assertRaisesRegex(dovetail.InputError, "calibration.*'best' is unknown"):
            Quantizer(calibration="best")
        with self.assertRaisesRegex(dovetail.InputError, "moving averages"):
            Quantizer(qat=True, calibration="histogram")

    def test_networks_of_torchvision(self):
        models = package("torchvision.models")
        for make in (models.resnet18, models.mobilenet_v2):
            with self.subTest(make.__name__):
                inputs = (torch.randn(1, 3, 64, 64),)
                network = settled(make(num_classes=10), torch.randn(8, 3, 64, 64))
                module = converted(network, inputs, dovetail.torch.DovetailQuantizer(powers_of_two=True))
                compiled = on_accelerator(module, inputs)
                self.assertEqual(accelerated(compiled)[0], 1)
                self.assertEqual(self.differing(module, compiled, inputs)[0], 0)


class AwareTraining(unittest.TestCase):
    """The network of the first week, trained with quantization."""

    @classmethod
    def setUpClass(cls):
        specification = importlib.util.spec_from_file_location("train", SOURCE / "examples/first_week/train.py")
        cls.example = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(cls.example)
        images, labels, cls.test_images, cls.test_labels = map(torch.as_tensor, cls.example.load_digits())
        cls.rows = list(zip(images[:1408].split(32), labels[:1408].split(32)))
        torch.manual_seed(1)
        cls.network = cls.example.Network()
        cls.train(cls.network, epochs=3, rate=0.02)

    @classmethod
    def train(cls, network, epochs, rate):
        optimizer = torch.optim.SGD(network.parameters(), lr=rate, momentum=0.9)
        for _ in range(epochs):
            for images, labels in cls.rows:
                loss = nn.functional.cross_entropy(network(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    def trained(self, **options):
        """The network after training with quantization, and PyTorch's logits of the test images."""
        program = torch.export.export(
            self.network.train(), (self.rows[0][0],), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)
        )
        prepared = prepare_qat_pt2e(program.module(), dovetail.torch.DovetailQuantizer(qat=True, **options))
        allow_exported_model_train_eval(prepared)
        prepared.train()
        self.train(prepared, epochs=1, rate=0.005)
        move_exported_model_to_eval(prepared)
        module = dovetail.torch.quantize_biases(convert_pt2e(prepared))
        with torch.no_grad():
            logits = module(self.test_images)
        self.assertGreater((logits.argmax(1) == self.test_labels).float().mean(), 0.95)
        return module, logits

    def test_every_logit_is_equal_where_scales_are_powers_of_two(self):
        module, expected = self.trained(powers_of_two=True)
        for target in ("accel,cpu", "cpu"):
            compiled = dovetail.torch.compile(module, (self.test_images[:1],), targets=target, hardware=HARDWARE)
            found = torch.cat([compiled(image[None]) for image in self.test_images])
            torch.testing.assert_close(found, expected, rtol=0, atol=0)
            if target != "cpu":
                self.assertEqual(accelerated(compiled), (1, ["QuantizeLinear", "DequantizeLinear"]))

    def test_nearly_every_logit_is_equal_where_they_are_not(self):
        module, expected = self.trained()
        compiled = dovetail.torch.compile(module, (self.test_images[:1],), targets="accel,cpu", hardware=HARDWARE)
        found = torch.cat([compiled(image[None]) for image in self.test_images])
        self.assertGreater((found == expected).float().mean(), 0.98)
        self.assertEqual((found.argmax(1) != expected.argmax(1)).sum(), 0)
        self.assertEqual(accelerated(compiled)[0], 1)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
