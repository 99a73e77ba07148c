"""Evaluates an int8 QDQ model in integers only: Dovetail's integer form, which every executor reproduces bit for bit.

Written from the definition, without code of the compiler, so that its results can serve as goldens:

    acc = sum((x - zx) * w) + b                                           Conv, Gemm; b is the model's int32 bias
    y   = clamp(round(acc * s) + zy),  s = binary32(binary64(sx) * sw / sy)
    t   = sum(round_half_even((a_i - z_i) * binary32(s_i / sy * 2^16)))   Add
    y   = clamp(round(t * 2^-16) + zy)

`round` is half to even. A machine with only shifts adds half a step and rounds down, which is half up; selected by
`rounding`. A Relu between an operator and its QuantizeLinear raises y to at least zy.
"""

from dataclasses import dataclass

import numpy as np
from onnx import numpy_helper

from float_graph import attributes_of

ADD_FRACTION_BITS = 16


@dataclass
class Quantized:
    """An integer tensor: real value = (steps - zero_point) * scale; both parameters are scalar, or [out] on axis 0."""

    steps: np.ndarray  # int64
    scale: np.ndarray  # float32
    zero_point: np.ndarray  # int64

    def centered(self):
        """steps - zero_point; only activations are centered, so the zero point is a scalar."""
        assert self.zero_point.ndim == 0
        return self.steps - self.zero_point


def round_product(value, factor, rounding):
    """round(value * factor) of the exact product; value int64 below 2^31, factor binary32 > 0; they broadcast."""
    fraction, exponent = np.frexp(factor)
    mantissa = np.ldexp(fraction, 24).astype(np.int64)  # factor = mantissa * 2^(exponent - 24)
    assert np.all(np.abs(value) < 2**31) and np.all(factor > 0)
    product = value * mantissa  # below 2^55
    shift = np.minimum(24 - exponent.astype(np.int64), 62)  # for 56 and more, the result is already 0
    assert np.all(shift > 0), "a factor of 2^24 or more"
    floor = product >> shift
    rest = product - (floor << shift)
    half = np.int64(1) << (shift - 1)
    if rounding == "half_even":
        return floor + ((rest > half) | ((rest == half) & (floor & 1 == 1)))
    assert rounding == "half_up", rounding
    return floor + (rest >= half)


def accumulate(op, attributes, x, weight, bias):
    """The int64 accumulators of a Conv (stride 1) [n, oc, h, w] or a Gemm (transB) [n, m]; checked to fit in int32."""
    centered = x.centered()
    assert not weight.zero_point.any() and not bias.zero_point.any()
    if op == "Gemm":
        acc = centered @ weight.steps.T + bias.steps
    else:
        top, left, bottom, right = attributes["pads"]
        kernel_h, kernel_w = weight.steps.shape[2:]
        h, w = centered.shape[2] + top + bottom - kernel_h + 1, centered.shape[3] + left + right - kernel_w + 1
        padded = np.pad(centered, ((0, 0), (0, 0), (top, bottom), (left, right)))  # a padded x is zx: 0 once centered
        acc = np.zeros((len(centered), len(weight.steps), h, w), np.int64) + bias.steps[:, None, None]
        for i in range(kernel_h):
            for j in range(kernel_w):
                acc += np.einsum("nchw,oc->nohw", padded[:, :, i : i + h, j : j + w], weight.steps[:, :, i, j])
    assert np.abs(acc).max() < 2**31
    return acc


def multiply_accumulate(op, attributes, x, weight, bias, scale, rounding):
    acc = accumulate(op, attributes, x, weight, bias)
    factor = (x.scale.astype(np.float64) * weight.scale / np.float64(scale)).astype(np.float32)
    return round_product(acc, factor.reshape(-1, *(1,) * (acc.ndim - 2)), rounding)


def add(a, b, scale, rounding):
    total = 0
    for operand in (a, b):
        factor = np.float32(operand.scale.astype(np.float64) / np.float64(scale) * 2**ADD_FRACTION_BITS)
        total = total + round_product(operand.centered(), factor, "half_even")
    return round_product(total, np.float32(2.0**-ADD_FRACTION_BITS), rounding)


def max_pool(attributes, x):
    """[n, c, h, w] -> [n, c, h', w']; windows do not overlap."""
    assert attributes["kernel_shape"] == attributes["strides"]
    (kernel_h, kernel_w), (n, c, h, w) = attributes["kernel_shape"], x.shape
    return x.reshape(n, c, h // kernel_h, kernel_h, w // kernel_w, kernel_w).max(axis=(3, 5))


def run(model, images, rounding="half_even"):
    """Returns {quantized activation: Quantized} for images float32 [n, 1, 8, 8]."""
    graph = model.graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    producer = {node.output[0]: node for node in graph.node}
    activations = {}

    def source_of(dequantized):
        """The integer tensor that a DequantizeLinear's output represents."""
        node = producer[dequantized]
        assert node.op_type == "DequantizeLinear", node.op_type
        q, scale, zero_point = node.input
        if q in activations:
            return activations[q]
        return Quantized(constants[q].astype(np.int64), constants[scale], constants[zero_point].astype(np.int64))

    for quantize in graph.node:
        if quantize.op_type != "QuantizeLinear":
            continue
        tensor, scale, zero_point = quantize.input[0], *(constants[name] for name in quantize.input[1:])
        zero_point, floor = zero_point.astype(np.int64), -128
        if tensor == graph.input[0].name:
            steps = np.rint(images / scale).astype(np.int64) + zero_point
        else:
            node = producer[tensor]
            if node.op_type == "Relu":
                node, floor = producer[node.input[0]], zero_point
            op, attributes, operands = node.op_type, attributes_of(node), [source_of(name) for name in node.input]
            if op in ("Conv", "Gemm"):
                steps = multiply_accumulate(op, attributes, *operands, scale, rounding) + zero_point
            elif op == "Add":
                steps = add(*operands, scale, rounding) + zero_point
            else:
                (x,) = operands
                assert x.scale == scale and x.zero_point == zero_point, f"{node.name}: must keep scale and zero point"
                steps = max_pool(attributes, x.steps) if op == "MaxPool" else x.steps.reshape(len(x.steps), -1)
        activations[quantize.output[0]] = Quantized(np.clip(steps, floor, 127), scale, zero_point)
    return activations
