#!/usr/bin/env python3
"""torch.compile(backend="dovetail"): the results of eager, and eager itself where a graph is not for the kit."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch_environment  # noqa: F401, I001  (sets the path)

import torch
from environment import PACKAGES
from torch import nn
from torch_networks import Block, residual

from dovetail.torch import backend


def small():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()).eval()


PROGRAM = """
import torch
assert "dovetail" in torch.compiler.list_backends()
network = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).eval()
x = torch.randn(2, 4)
with torch.no_grad():
    found = torch.compile(network, backend="dovetail")(x)
    torch.testing.assert_close(found, network(x))
print("compiled")
"""


class Backend(unittest.TestCase):
    def setUp(self):
        torch.compiler.reset()

    def compiled(self, function, **options):
        return torch.compile(function, backend=backend, options=options or None)

    def assert_runs(self, function, *args):
        """Runs and logs nothing."""
        with self.assertNoLogs("dovetail.torch"):
            return function(*args)

    def assert_eager(self, why, function, *args):
        with self.assertLogs("dovetail.torch") as logs:
            found = function(*args)
        self.assertIn("runs eagerly: ", logs.output[0])
        self.assertRegex(logs.output[0], why)
        return found

    @torch.no_grad()
    def test_networks_are_equal_to_eager(self):
        for network, x in ((residual().eval(), torch.randn(1, 3, 32, 32)), (Block().eval(), torch.randn(2, 8, 32))):
            found = self.assert_runs(self.compiled(network), x)
            torch.testing.assert_close(found, network(x), rtol=1e-4, atol=1e-5)

    @torch.inference_mode()
    def test_each_shape_is_compiled_once(self):
        network = small()
        graphs = []

        def watched(*args, **named):
            graphs.append(backend(*args, **named))
            return graphs[-1]

        fast = torch.compile(network, backend=watched)
        counts = []
        for _ in range(2):
            for size in (8, 9, 12, 8):
                x = torch.randn(1, 3, size, size)
                torch.testing.assert_close(self.assert_runs(fast, x), network(x), rtol=1e-4, atol=1e-5)
            counts.append([len(graph._compiled) for graph in graphs])
        # The graph of the first shape, and the graph of all shapes, which PyTorch then prefers.
        self.assertEqual(counts, [[1, 3], [1, 3]])

    @torch.no_grad()
    def test_a_changed_parameter_is_seen(self):
        network = small()
        fast, x = self.compiled(network), torch.randn(1, 3, 8, 8)
        fast(x)
        network[0].weight.mul_(2)
        torch.testing.assert_close(self.assert_runs(fast, x), network(x), rtol=1e-4, atol=1e-5)
        network.load_state_dict({name: value + 1 for name, value in network.state_dict().items()})
        torch.testing.assert_close(self.assert_runs(fast, x), network(x), rtol=1e-4, atol=1e-5)

    @torch.no_grad()
    def test_targets_and_layouts(self):
        network = small()
        fast = self.compiled(network, targets="accel,cpu", hardware="1x16x16-ext")
        x = torch.randn(1, 8, 8, 3).permute(0, 3, 1, 2)
        torch.testing.assert_close(self.assert_runs(fast, x), network(x), rtol=1e-4, atol=1e-5)

    def test_training_is_eager(self):
        network = small()
        fast, x = self.compiled(network), torch.randn(1, 3, 8, 8)
        loss = self.assert_eager("gradients are recorded; call the module under torch.no_grad", fast, x).sum()
        loss.backward()
        self.assertIsNotNone(network[0].weight.grad)
        network.train()
        before = network[1].running_mean.clone()
        with torch.no_grad():
            self.assert_eager("batch_norm is in training mode", fast, x)
        self.assertFalse(torch.equal(network[1].running_mean, before))

    @torch.no_grad()
    def test_graphs_without_a_translation_are_eager(self):
        x = torch.rand(4, 4)

        def odd(x):
            return torch.special.bessel_j0(x) + 1

        self.assert_eager("prims.bessel_j0 has no translation", self.compiled(odd), x)

        def changing(x):
            x.add_(1)
            return x * 2

        fast, other = self.compiled(changing), x.clone()
        expected = changing(other)
        torch.testing.assert_close(self.assert_eager("changes it when it runs", fast, x), expected)
        torch.testing.assert_close(x, other)

        def viewing(x):
            return x.t(), x + 1

        view, _ = self.assert_eager("a result is a view", self.compiled(viewing), x)
        self.assertEqual(view.data_ptr(), x.data_ptr())

    def test_pytorch_finds_it_by_its_name(self):
        """In a process whose packages have the entry point of the wheel."""
        with tempfile.TemporaryDirectory() as folder:
            metadata = pathlib.Path(folder, "dovetail_kit-0.dist-info")
            metadata.mkdir()
            (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: dovetail-kit\nVersion: 0\n")
            (metadata / "entry_points.txt").write_text("[torch_dynamo_backends]\ndovetail = dovetail.torch:backend\n")
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, str(PACKAGES)])}
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False
            )
        self.assertEqual((done.returncode, done.stdout), (0, "compiled\n"), done.stderr)
        self.assertNotIn("runs eagerly", done.stderr)

    @torch.no_grad()
    def test_wrong_options_are_eager(self):
        network, x = small(), torch.randn(1, 3, 8, 8)
        fast = self.compiled(network, targets="cpu,abacus")
        torch.testing.assert_close(self.assert_eager("abacus", fast, x), network(x))
        with self.assertNoLogs("dovetail.torch"):  # the reason is given once
            fast(x)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
