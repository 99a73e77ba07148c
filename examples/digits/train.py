#!/usr/bin/env python3
"""Trains a small residual CNN on the digits data set, in plain numpy, and writes it as ONNX.

Writes digits_float.onnx, and the test set as test_images.npy and test_labels.npy. Takes about a minute on one core;
the result is the same on every run with the same numpy and BLAS.

Activations are stored as [n, h, w, channels] here, so that a convolution is one matrix product over its patches; weights
are stored in ONNX's layouts.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper

from dataset import FOLDER, load_digits

EPOCHS = 30
BATCH = 32
LEARNING_RATE = 2e-3
WEIGHT_DECAY = 1e-4
SEED = 1

# Layer name -> weight shape: [out, in, kh, kw] for a convolution, [out, in] for a dense layer.
SHAPES = {
    "conv1": (16, 1, 3, 3),
    "conv2": (32, 16, 3, 3),
    "res1_conv1": (32, 32, 3, 3),
    "res1_conv2": (32, 32, 3, 3),
    "dense1": (64, 128),
    "dense2": (10, 64),
}


def initial_parameters(rng):
    """He-scaled weights and zero biases: {"conv1.weight": ..., "conv1.bias": ..., ...}."""
    parameters = {}
    for name, shape in SHAPES.items():
        deviation = np.sqrt(2.0 / np.prod(shape[1:]))
        parameters[f"{name}.weight"] = rng.normal(0.0, deviation, shape).astype(np.float32)
        parameters[f"{name}.bias"] = np.zeros(shape[0], np.float32)
    return parameters


def patches(x):
    """[n, h, w, c] -> [n*h*w, c*9]: the zero-padded 3x3 neighborhood of every pixel, in the order of the weights."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return sliding_window_view(padded, (3, 3), axis=(1, 2)).reshape(-1, x.shape[3] * 9)


def convolve(x_patches, weight, shape):
    """Patches [n*h*w, c*9] times weight [oc, c, 3, 3] -> [n, h, w, oc], where (n, h, w) = shape[:3]."""
    return (x_patches @ weight.reshape(len(weight), -1).T).reshape(*shape[:3], len(weight))


class Network:
    """The network's forward and backward pass; `gradients` has the keys of `parameters`."""

    def __init__(self, parameters):
        self.parameters = parameters
        self.gradients = {}
        self.undo = []  # one function per layer: gradient of its output -> gradient of its input

    def conv(self, name, x):
        weight, bias = self.parameters[f"{name}.weight"], self.parameters[f"{name}.bias"]
        x_patches = patches(x)

        def backward(dy):
            rows = dy.reshape(-1, len(weight))
            self.gradients[f"{name}.weight"] = (rows.T @ x_patches).reshape(weight.shape)
            self.gradients[f"{name}.bias"] = rows.sum(axis=0)
            # The input's gradient is a convolution with the kernel rotated by 180 degrees and its channels exchanged.
            return convolve(patches(dy), weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3), dy.shape)

        self.undo.append(backward)
        return convolve(x_patches, weight, x.shape) + bias

    def dense(self, name, x):
        weight, bias = self.parameters[f"{name}.weight"], self.parameters[f"{name}.bias"]

        def backward(dy):
            self.gradients[f"{name}.weight"] = dy.T @ x
            self.gradients[f"{name}.bias"] = dy.sum(axis=0)
            return dy @ weight

        self.undo.append(backward)
        return x @ weight.T + bias

    def relu(self, x):
        self.undo.append(lambda dy: dy * (x > 0))
        return np.maximum(x, 0)

    def max_pool(self, x):
        n, h, w, c = x.shape
        windows = x.reshape(n, h // 2, 2, w // 2, 2, c)
        y = windows.max(axis=(2, 4), keepdims=True)

        def backward(dy):
            winners = windows == y
            share = dy[:, :, None, :, None] / winners.sum(axis=(2, 4), keepdims=True)
            return (winners * share).reshape(x.shape).astype(np.float32)

        self.undo.append(backward)
        return y[:, :, 0, :, 0]

    def flatten(self, x):
        """[n, h, w, c] -> [n, c*h*w], the order of ONNX's Flatten on [n, c, h, w]."""
        n, h, w, c = x.shape
        self.undo.append(lambda dy: dy.reshape(n, c, h, w).transpose(0, 2, 3, 1))
        return x.transpose(0, 3, 1, 2).reshape(n, -1)

    def residual(self, name, x):
        """relu(x + conv2(relu(conv1(x))))."""
        outer, self.undo = self.undo, []
        y = self.conv(f"{name}_conv2", self.relu(self.conv(f"{name}_conv1", x)))
        branch, self.undo = self.undo, outer

        def backward(dy):
            along_branch = dy
            for step in reversed(branch):
                along_branch = step(along_branch)
            return dy + along_branch

        self.undo.append(backward)
        return self.relu(x + y)

    def forward(self, images):
        """Images [n, 1, 8, 8] -> logits [n, 10]."""
        self.undo = []
        x = images.transpose(0, 2, 3, 1)
        x = self.relu(self.conv("conv1", x))
        x = self.max_pool(self.relu(self.conv("conv2", x)))
        x = self.max_pool(self.residual("res1", x))
        x = self.relu(self.dense("dense1", self.flatten(x)))
        return self.dense("dense2", x)

    def backward(self, d_logits):
        """Fills `gradients` from the gradient of the logits [n, 10]."""
        for step in reversed(self.undo):
            d_logits = step(d_logits)


class Adam:
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019); biases do not decay."""

    def __init__(self, parameters):
        self.first = {name: np.zeros_like(value) for name, value in parameters.items()}
        self.second = {name: np.zeros_like(value) for name, value in parameters.items()}
        self.step = 0

    def update(self, parameters, gradients, rate):
        self.step += 1
        for name, gradient in gradients.items():
            self.first[name] += 0.1 * (gradient - self.first[name])
            self.second[name] += 0.001 * (gradient * gradient - self.second[name])
            mean = self.first[name] / (1 - 0.9**self.step)
            spread = np.sqrt(self.second[name] / (1 - 0.999**self.step)) + 1e-8
            decay = WEIGHT_DECAY * parameters[name] if name.endswith(".weight") else 0
            parameters[name] -= (rate * (mean / spread + decay)).astype(np.float32)


def loss_and_gradient(logits, labels):
    """Mean cross-entropy of softmax(logits) [n, 10] against labels [n], and its gradient [n, 10]."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    probability = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(probability[rows, labels] + 1e-12).mean()
    probability[rows, labels] -= 1
    return loss, probability / np.float32(len(labels))


def accuracy(parameters, images, labels):
    return (Network(parameters).forward(images).argmax(axis=1) == labels).mean()


def train(images, labels):
    """Returns the trained parameters."""
    rng = np.random.default_rng(SEED)
    parameters = initial_parameters(rng)
    network, adam = Network(parameters), Adam(parameters)
    batches = len(images) // BATCH
    start = time.perf_counter()
    for epoch in range(EPOCHS):
        order, losses = rng.permutation(len(images)), []
        for batch in range(batches):
            progress = (epoch * batches + batch) / (EPOCHS * batches)
            rate = LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * progress))
            chosen = order[batch * BATCH : (batch + 1) * BATCH]
            loss, d_logits = loss_and_gradient(network.forward(images[chosen]), labels[chosen])
            network.backward(d_logits)
            adam.update(parameters, network.gradients, rate)
            losses.append(loss)
        seconds = time.perf_counter() - start
        print(f"epoch {epoch + 1:2}/{EPOCHS}  loss {np.mean(losses):.4f}  {seconds:5.1f} s", flush=True)
    return parameters


def to_onnx(parameters):
    """The network as ONNX: `image` float32 [1, 1, 8, 8] -> `logits` float32 [1, 10]."""
    nodes = []

    def add(op, name, *inputs, output=None, **attributes):
        nodes.append(helper.make_node(op, inputs, [output or f"{name}_out"], name=name, **attributes))
        return nodes[-1].output[0]

    def conv(name, x):
        return add("Conv", name, x, f"{name}.weight", f"{name}.bias", kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    def max_pool(name, x):
        return add("MaxPool", name, x, kernel_shape=[2, 2], strides=[2, 2])

    def dense(name, x, output=None):
        return add("Gemm", name, x, f"{name}.weight", f"{name}.bias", output=output, transB=1)

    x = add("Relu", "relu1", conv("conv1", "image"))
    x = add("Relu", "relu2", conv("conv2", x))
    block = max_pool("pool1", x)
    x = add("Relu", "res1_relu1", conv("res1_conv1", block))
    x = add("Add", "res1_add", block, conv("res1_conv2", x))
    x = add("Relu", "res1_relu2", x)
    x = add("Flatten", "flatten", max_pool("pool2", x))
    x = add("Relu", "relu3", dense("dense1", x))
    dense("dense2", x, output="logits")

    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(value, name) for name, value in parameters.items()],
    )
    model = helper.make_model(graph, producer_name="dovetail-examples", opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 7
    onnx.checker.check_model(model, full_check=True)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--output-dir", type=Path, default=FOLDER, help="where to write (default: this folder)")
    folder = parser.parse_args().output_dir
    folder.mkdir(parents=True, exist_ok=True)

    train_images, train_labels, test_images, test_labels = load_digits()
    parameters = train(train_images, train_labels)
    print(f"accuracy: training {accuracy(parameters, train_images, train_labels):.2%}, "
          f"test {accuracy(parameters, test_images, test_labels):.2%}")

    onnx.save(to_onnx(parameters), str(folder / "digits_float.onnx"))
    np.save(folder / "test_images.npy", test_images)
    np.save(folder / "test_labels.npy", test_labels)


if __name__ == "__main__":
    main()
