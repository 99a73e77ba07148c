#!/usr/bin/env python3
"""Networks of PyTorch give the same results compiled as eagerly, through both of its exporters."""

import io
import unittest

from torch_environment import settled  # noqa: I001  (sets the path)

import torch
from torch.utils._pytree import tree_leaves
from torch_networks import networks

import dovetail
import dovetail.torch


class Networks(unittest.TestCase):
    def assert_close(self, found, expected):
        found, expected = tree_leaves(found), tree_leaves(expected)
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertGreater(other.abs().max(), 1e-3)  # the comparison means something
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)

    def test_every_network_is_equal_to_eager(self):
        for name, network, inputs in networks():
            with self.subTest(name), torch.no_grad():
                floats = inputs if inputs[0].is_floating_point() else ()
                network = settled(network, *floats) if floats else network.eval()
                compiled = dovetail.torch.compile(network, inputs)
                for _ in range(2):
                    self.assert_close(compiled(*inputs), network(*inputs))
                    inputs = tuple(torch.randn_like(each) for each in inputs) if floats else inputs

    def test_every_network_is_equal_to_eager_through_the_older_exporter(self):
        for name, network, inputs in networks():
            with self.subTest(name), torch.no_grad():
                network = settled(network, *inputs) if inputs[0].is_floating_point() else network.eval()
                content = io.BytesIO()
                torch.onnx.export(network, inputs, content, dynamo=False, opset_version=17)
                session = dovetail.compile(content.getvalue(), "cpu").session()
                names = [info.name for info in session.bundle.inputs]
                found = session.run(dict(zip(names, inputs)))
                outputs = [torch.from_dlpack(found[info.name]) for info in session.bundle.outputs]
                self.assert_close(outputs, network(*inputs))


if __name__ == "__main__":
    unittest.main(warnings="ignore")
