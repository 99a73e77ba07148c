#!/usr/bin/env python3
"""Quantizes a float ONNX model to int8 in QDQ form, with scales calibrated on sample images.

Supports Conv, Relu, Add, MaxPool, Flatten and Gemm (transB = 1). The result has the form that ONNX Runtime's quantizer
writes: QuantizeLinear after the input and after every operator (after the Relu where one follows), DequantizeLinear
before every operator; MaxPool and Flatten keep their input's scale. Weights are int8, symmetric, one scale per output
channel; activations int8, one scale and zero point per tensor; biases int32 with scale (input scale x weight scale).

    quantize.py                                              digits_float.onnx -> digits_int8.onnx
    quantize.py --power-of-two -o digits_int8_pow2.onnx      for hardware that can only shift
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import float_graph
from dataset import FOLDER, load_digits

KEEPS_SCALE = ("MaxPool", "Flatten")
HAS_WEIGHTS = ("Conv", "Gemm")
SUPPORTED = ("Relu", "Add", *KEEPS_SCALE, *HAS_WEIGHTS)


def up_to_power_of_two(scale):
    """The smallest power of two >= `scale`."""
    return np.exp2(np.ceil(np.log2(scale)))


def value_range(values, method, percentile):
    """The (lowest, highest) value to represent; always including zero, so that padding and ReLU are exact."""
    if method == "minmax":
        low, high = values.min(), values.max()
    else:
        low, high = np.percentile(values, (100 - percentile, percentile))
    return min(float(low), 0.0), max(float(high), 0.0)


def activation_parameters(low, high, power_of_two):
    """(scale, zero point) of an int8 tensor with values in low..high.

    Without `power_of_two` the 255 steps cover exactly low..high; with it zero stays at 0 (symmetric).
    """
    if power_of_two:
        scale, zero_point = up_to_power_of_two(max(-low, high) / 127), 0
    else:
        scale = (high - low) / 255
        zero_point = int(np.clip(np.rint(-128 - low / scale), -128, 127))
    return np.float32(scale), np.int8(zero_point)


def quantize_weight(weight, power_of_two):
    """weight float32 [out, ...] -> (int8 [out, ...] in -127..127, scales float32 [out])."""
    largest = np.abs(weight.reshape(len(weight), -1)).max(axis=1)
    scales = np.where(largest > 0, largest, 1.0) / 127
    scales = (up_to_power_of_two(scales) if power_of_two else scales).astype(np.float32)
    steps = np.rint(weight / float_graph.per_channel(scales, 0, weight.ndim))
    return np.clip(steps, -127, 127).astype(np.int8), scales


class Quantizer:
    """Rewrites one float model. `values` are its tensors on the calibration images (see float_graph.run)."""

    def __init__(self, model, values, method, percentile, power_of_two):
        self.model = model
        self.values = values
        self.method = method
        self.percentile = percentile
        self.power_of_two = power_of_two
        self.weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        self.nodes = []
        self.initializers = []
        self.scales = {}  # quantized tensor -> (scale, zero point), numpy scalars
        self.quantized = {}  # float tensor -> its quantized tensor
        self.dequantized = {}  # float tensor -> the output of its DequantizeLinear

    def constant(self, name, value):
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def quantize(self, tensor, output, scale, zero_point):
        """Appends QuantizeLinear, tensor -> `output`_q."""
        q = f"{output}_q"
        self.scales[q] = (scale, zero_point)
        names = [self.constant(f"{q}_scale", scale), self.constant(f"{q}_zero_point", zero_point)]
        self.nodes.append(helper.make_node("QuantizeLinear", [tensor, *names], [q], name=f"{output}_quantize"))
        self.quantized[output] = q

    def dequantize(self, tensor, output=None):
        """The float value of a quantized activation: one DequantizeLinear per tensor, shared by its consumers."""
        if tensor not in self.dequantized:
            q = self.quantized[tensor]
            name = output or f"{tensor}_dq"
            inputs = [q, f"{q}_scale", f"{q}_zero_point"]
            self.nodes.append(helper.make_node("DequantizeLinear", inputs, [name], name=f"{tensor}_dequantize"))
            self.dequantized[tensor] = name
        return self.dequantized[tensor]

    def dequantize_constant(self, name, q, scales):
        """Stores q [out, ...] as `name`_q and appends its DequantizeLinear along axis 0."""
        inputs = [
            self.constant(f"{name}_q", q),
            self.constant(f"{name}_q_scale", scales),
            self.constant(f"{name}_q_zero_point", np.zeros(len(scales), q.dtype)),
        ]
        output = f"{name}_dq"
        self.nodes.append(helper.make_node("DequantizeLinear", inputs, [output], name=f"{name}_dequantize", axis=0))
        return output

    def operands(self, node):
        """The node's inputs, dequantized."""
        inputs = [self.dequantize(name) for name in node.input if name not in self.weights]
        if node.op_type in HAS_WEIGHTS:
            x, weight, bias = node.input
            weight_q, weight_scales = quantize_weight(self.weights[weight], self.power_of_two)
            bias_scales = self.scales[self.quantized[x]][0] * weight_scales
            bias_q = np.rint(self.weights[bias] / bias_scales.astype(np.float64)).astype(np.int32)
            inputs.append(self.dequantize_constant(weight, weight_q, weight_scales))
            inputs.append(self.dequantize_constant(bias, bias_q, bias_scales))
        return inputs

    def run(self):
        """Returns the quantized model."""
        graph = self.model.graph
        unsupported = sorted({node.op_type for node in graph.node} - set(SUPPORTED))
        if unsupported:
            raise SystemExit(f"quantize: {', '.join(unsupported)} not supported; supported are {', '.join(SUPPORTED)}")
        consumers = {}
        for node in graph.node:
            for name in node.input:
                consumers.setdefault(name, []).append(node)

        def calibrate(tensor):
            low, high = value_range(self.values[tensor], self.method, self.percentile)
            return activation_parameters(low, high, self.power_of_two)

        source, result = graph.input[0].name, graph.output[0].name
        self.quantize(source, source, *calibrate(source))
        for node in graph.node:
            output = node.output[0]
            if node.op_type == "Relu" and node.input[0] not in self.quantized:
                inputs = list(node.input)  # directly after its producer
            else:
                inputs = self.operands(node)
            # Only the graph's result keeps its name, and its name belongs to the last DequantizeLinear.
            written = f"{output}_float" if output == result else output
            attributes = float_graph.attributes_of(node)
            self.nodes.append(helper.make_node(node.op_type, inputs, [written], name=node.name, **attributes))
            followers = consumers.get(output, [])
            if len(followers) == 1 and followers[0].op_type == "Relu" and node.op_type not in KEEPS_SCALE:
                continue
            if node.op_type in KEEPS_SCALE:
                self.quantize(written, output, *self.scales[self.quantized[node.input[0]]])
            else:
                self.quantize(written, output, *calibrate(output))
        self.dequantize(result, output=result)

        quantized = helper.make_graph(
            self.nodes,
            f"{graph.name}_int8",
            [helper.make_tensor_value_info(source, TensorProto.FLOAT, shape_of(graph.input[0]))],
            [helper.make_tensor_value_info(result, TensorProto.FLOAT, shape_of(graph.output[0]))],
            self.initializers,
        )
        opset = [helper.make_opsetid("", 13)]
        model = helper.make_model(quantized, producer_name="dovetail-examples", opset_imports=opset)
        model.ir_version = 7
        onnx.checker.check_model(model, full_check=True)
        return model


def shape_of(value_info):
    return [dimension.dim_value for dimension in value_info.type.tensor_type.shape.dim]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path, default=FOLDER / "digits_float.onnx", help="float model")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER / "digits_int8.onnx")
    parser.add_argument("--images", type=Path, help="calibration images, .npy (default: the digits' training images)")
    parser.add_argument("--method", choices=("minmax", "percentile"), default="minmax")
    parser.add_argument("--percentile", type=float, default=99.99, help="for that method; cut on both sides")
    parser.add_argument("--power-of-two", action="store_true", help="power-of-two scales, zero points 0")
    arguments = parser.parse_args()

    model = onnx.load(str(arguments.model))
    images = np.load(arguments.images) if arguments.images else load_digits()[0]
    quantizer = Quantizer(
        model, float_graph.run(model, images), arguments.method, arguments.percentile, arguments.power_of_two
    )
    onnx.save(quantizer.run(), str(arguments.output))
    for tensor, (scale, zero_point) in quantizer.scales.items():
        print(f"{tensor:18} scale {scale:<12.8g} zero point {zero_point}")


if __name__ == "__main__":
    main()
