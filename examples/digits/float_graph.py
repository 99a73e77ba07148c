"""Runs an ONNX graph with the operators of this example in numpy, in float, including QuantizeLinear and DequantizeLinear.

It computes the models as defined by ONNX; calibration and the checks use it.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from onnx import helper, numpy_helper


def attributes_of(node):
    """The node's attributes as {name: value}."""
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def per_channel(parameter, axis, rank):
    """Shapes a scale or zero point so that it broadcasts along `axis` of a tensor of `rank`; a scalar stays one."""
    return parameter if parameter.ndim == 0 else parameter.reshape([-1 if i == axis else 1 for i in range(rank)])


def conv(attributes, x, weight, bias):
    """x [n, c, h, w], weight [oc, c, kh, kw], bias [oc] -> [n, oc, h', w']; no strides, groups or dilations."""
    assert attributes.keys() == {"kernel_shape", "pads"}, attributes
    top, left, bottom, right = attributes["pads"]
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = sliding_window_view(padded, weight.shape[2:], axis=(2, 3))  # [n, c, h', w', kh, kw]
    return np.tensordot(windows, weight, axes=((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2) + bias[:, None, None]


def max_pool(attributes, x):
    """x [n, c, h, w] -> [n, c, h', w']; no pads."""
    assert attributes.keys() == {"kernel_shape", "strides"}, attributes
    stride_y, stride_x = attributes["strides"]
    windows = sliding_window_view(x, attributes["kernel_shape"], axis=(2, 3))
    return windows[:, :, ::stride_y, ::stride_x].max(axis=(4, 5))


def gemm(attributes, x, weight, bias):
    """x [n, k], weight [m, k], bias [m] -> [n, m]; transB = 1."""
    assert attributes == {"transB": 1}, attributes
    return x @ weight.T + bias


def quantize_linear(attributes, x, scale, zero_point):
    axis = attributes.get("axis", 1)
    limits = np.iinfo(zero_point.dtype)
    steps = np.rint(x / per_channel(scale, axis, x.ndim)) + per_channel(zero_point, axis, x.ndim).astype(np.float32)
    return np.clip(steps, limits.min, limits.max).astype(zero_point.dtype)


def dequantize_linear(attributes, q, scale, zero_point):
    axis = attributes.get("axis", 1)
    steps = q.astype(np.int32) - per_channel(zero_point, axis, q.ndim).astype(np.int32)
    return steps.astype(np.float32) * per_channel(scale, axis, q.ndim)


OPERATORS = {
    "Conv": conv,
    "Relu": lambda _, x: np.maximum(x, 0),
    "Add": lambda _, a, b: a + b,
    "MaxPool": max_pool,
    "Flatten": lambda _, x: x.reshape(len(x), -1),
    "Gemm": gemm,
    "QuantizeLinear": quantize_linear,
    "DequantizeLinear": dequantize_linear,
}


def run(model, images):
    """Returns the value of every tensor by name; images [n, ...] may be a larger batch than the model declares."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    values[model.graph.input[0].name] = images
    for node in model.graph.node:
        operands = [values[name] for name in node.input]
        values[node.output[0]] = OPERATORS[node.op_type](attributes_of(node), *operands)
    return values
