"""What the tests of dovetail.torch share. TORCH_PYTHON may name an interpreter that has PyTorch."""

import logging
import os
import sys
import warnings

if "TORCH_PYTHON" in os.environ:
    named = os.environ.pop("TORCH_PYTHON")
    os.execv(named, [named, *sys.argv])

from environment import require

require("torch", "onnx", "onnxscript")
import torch

# What PyTorch says about its own deprecations and steps.
warnings.filterwarnings("ignore")
logging.getLogger("torch").setLevel(logging.ERROR)
torch.set_num_threads(1)
torch.manual_seed(1)


def accelerated(compiled):
    """The share of multiply-accumulates on the accelerator, and the operators of the graph that run elsewhere."""
    report = compiled.bundle.compile_report
    macs = report["summary"]["macs"]
    elsewhere = [row["op"] for row in report["placement"] if row["target"] not in ("accel", "folded")]
    return macs.get("accel", 0) / sum(macs.values()), elsewhere


def settled(network, *inputs, runs=4):
    """The network in evaluation mode, its normalizations having seen random inputs, so that values keep their size."""
    network.train()
    with torch.no_grad():
        for _ in range(runs):
            network(*(torch.randn_like(each) for each in inputs))
    return network.eval()
