#!/usr/bin/env python3
"""Trains a network of depthwise separable convolutions on the digits data set with PyTorch, and exports it as ONNX.

Writes OUTPUT (default: separable.onnx next to this file) and, with --samples, training images for calibration as a .npy.
Takes about a minute on one core. Needs PyTorch 2 and numpy, and the packages that your PyTorch needs for ONNX export.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "digits"))
from dataset import load_digits  # noqa: E402

SEED = 1
BATCH = 32


def separable(channels_in, channels_out):
    """A depthwise 3x3 convolution and a pointwise one, each followed by a batch normalization."""
    return [
        nn.Conv2d(channels_in, channels_in, 3, padding=1, groups=channels_in, bias=False),
        nn.BatchNorm2d(channels_in),
        nn.ReLU(),
        nn.Conv2d(channels_in, channels_out, 1, bias=False),
        nn.BatchNorm2d(channels_out),
    ]


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.branch = nn.Sequential(*separable(channels, channels))

    def forward(self, x):
        return torch.relu(x + self.branch(x))


class Network(nn.Module):
    """[n, 1, 8, 8] in 0..1 -> logits [n, 10]"""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            *separable(32, 64),
            nn.ReLU(),
            nn.MaxPool2d(2),
            *(Residual(64) for _ in range(5)),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.classifier = nn.Linear(64, 10)

    def forward(self, x):
        return self.classifier(self.features(x))


def train(network, images, labels, epochs):
    optimizer = torch.optim.SGD(network.parameters(), lr=0.3, momentum=0.9, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for epoch in range(epochs):
        losses = []
        for rows in torch.randperm(len(images))[: len(images) // BATCH * BATCH].split(BATCH):
            loss = nn.functional.cross_entropy(network(images[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
        print(f"epoch {epoch + 1:2}/{epochs}  loss {np.mean(losses):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("-o", dest="output", type=Path, default=FOLDER / "separable.onnx", metavar="MODEL.onnx")
    parser.add_argument("--samples", type=Path, metavar="X.npy", help="write 128 training images, for calibration")
    parser.add_argument("--epochs", type=int, default=30)
    arguments = parser.parse_args()

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    train_images, train_labels, test_images, test_labels = load_digits()
    network = Network()
    train(network, torch.from_numpy(train_images), torch.from_numpy(train_labels), arguments.epochs)

    network.eval()
    with torch.no_grad():
        right = (network(torch.from_numpy(test_images)).argmax(dim=1).numpy() == test_labels).sum()
    print(f"test set: {right} of {len(test_labels)}")

    torch.onnx.export(network, torch.zeros(1, 1, 8, 8), str(arguments.output), input_names=["image"], output_names=["logits"])
    if arguments.samples:
        np.save(arguments.samples, train_images[:128])


if __name__ == "__main__":
    main()
