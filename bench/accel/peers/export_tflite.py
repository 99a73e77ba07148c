#!/usr/bin/env python3
"""Writes an int8 network of `dovetail zoo NAME --int8` as a TFLite file, and its layers as JSON.

usage: export_tflite.py MODEL.onnx OUT.tflite

Needs the Python packages onnx, numpy, tflite and flatbuffers. The QDQ form becomes TFLite's int8 operators: weights and biases
keep their integers, every tensor its scale and zero point. Two differences do not change shapes or products: TFLite's SAME pads
more at the end than the network may, and tensors that a Concat joins get the scale of its result, as TFLite requires.
The JSON on stdout has a row for each layer with products, with the image as far as the windows reach, its extent and pads in the
model, and the number of elements that the windows of all poolings read.
"""

import json
import math
import sys

import flatbuffers
import numpy
import onnx
import tflite
from onnx import numpy_helper, shape_inference

# TFLite's first version of each operator that takes int8 with these options.
VERSIONS = {"CONV_2D": 3, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 4, "ADD": 2, "MAX_POOL_2D": 2, "MEAN": 2, "CONCATENATION": 2,
            "RESHAPE": 1}


class Network:
    """The ONNX graph by names."""

    def __init__(self, path):
        self.graph = shape_inference.infer_shapes(onnx.load(path)).graph
        self.constants = {one.name: numpy_helper.to_array(one) for one in self.graph.initializer}
        self.maker = {name: node for node in self.graph.node for name in node.output}
        self.reader = {name: node for node in self.graph.node for name in node.input}
        values = [*self.graph.value_info, *self.graph.input, *self.graph.output]
        self.shape = {one.name: [extent.dim_value for extent in one.type.tensor_type.shape.dim] for one in values}

    def steps(self, name):
        """The int8 tensor that the float tensor `name` dequantizes."""
        return self.maker[name].input[0]

    def result(self, node):
        """The int8 tensor that a computing node's result is quantized to, after its activation, and that activation."""
        name, activation = node.output[0], "NONE"
        while self.reader[name].op_type in ("Relu", "Clip"):
            activation = "RELU" if self.reader[name].op_type == "Relu" else "RELU6"
            name = self.reader[name].output[0]
        assert self.reader[name].op_type == "QuantizeLinear", name
        return self.reader[name].output[0], activation

    def quantization(self, steps):
        """Scales and zero points of an int8 or int32 tensor: those of the node that dequantizes it."""
        node = self.reader[steps]
        scale = numpy.atleast_1d(self.constants[node.input[1]])
        zero = self.constants[node.input[2]] if len(node.input) > 2 else numpy.zeros(scale.shape)
        return scale, numpy.atleast_1d(zero).astype(numpy.int64)


class Writer:
    """A TFLite model; tensors are added as operators name them."""

    def __init__(self):
        self.builder = flatbuffers.Builder(1 << 20)
        self.buffers, self.tensors, self.index, self.operators, self.codes = [self.table("Buffer")], [], {}, [], []

    def table(self, name, **fields):
        getattr(tflite, name + "Start")(self.builder)
        for field, value in fields.items():
            getattr(tflite, name + "Add" + field)(self.builder, value)
        return getattr(tflite, name + "End")(self.builder)

    def offsets(self, items):
        self.builder.StartVector(4, len(items), 4)
        for item in reversed(items):
            self.builder.PrependUOffsetTRelative(item)
        return self.builder.EndVector()

    def numbers(self, values, dtype=numpy.int32):
        return self.builder.CreateNumpyVector(numpy.asarray(values, dtype))

    def tensor(self, name, shape, quantization=None, data=None, axis=0):
        if name in self.index:
            return self.index[name]
        buffer = 0
        if data is not None:
            self.buffers.append(self.table("Buffer", Data=self.numbers(numpy.frombuffer(data.tobytes(), numpy.uint8), numpy.uint8)))
            buffer = len(self.buffers) - 1
        fields = {"Shape": self.numbers(shape), "Name": self.builder.CreateString(name), "Buffer": buffer,
                  "Type": tflite.TensorType.INT32 if data is not None and data.dtype == numpy.int32 else tflite.TensorType.INT8}
        if quantization:
            scale, zero = quantization
            fields["Quantization"] = self.table("QuantizationParameters", Scale=self.numbers(scale, numpy.float32),
                                                ZeroPoint=self.numbers(zero, numpy.int64), QuantizedDimension=axis)
        self.tensors.append(self.table("Tensor", **fields))
        self.index[name] = len(self.tensors) - 1
        return self.index[name]

    def operator(self, code, inputs, output, options=None, **fields):
        if code not in self.codes:
            self.codes.append(code)
        chosen = {}
        if options:
            chosen = {"BuiltinOptionsType": getattr(tflite.BuiltinOptions, options), "BuiltinOptions": self.table(options, **fields)}
        self.operators.append(self.table("Operator", OpcodeIndex=self.codes.index(code), Inputs=self.numbers(inputs),
                                         Outputs=self.numbers([output]), **chosen))

    def finish(self, inputs, outputs):
        subgraph = self.table("SubGraph", Tensors=self.offsets(self.tensors), Inputs=self.numbers(inputs), Outputs=self.numbers(outputs),
                              Operators=self.offsets(self.operators), Name=self.builder.CreateString("main"))
        codes = [self.table("OperatorCode", DeprecatedBuiltinCode=getattr(tflite.BuiltinOperator, code), Version=VERSIONS[code],
                            BuiltinCode=getattr(tflite.BuiltinOperator, code)) for code in self.codes]
        model = self.table("Model", Version=3, OperatorCodes=self.offsets(codes), Subgraphs=self.offsets([subgraph]),
                           Description=self.builder.CreateString("int8"), Buffers=self.offsets(self.buffers))
        self.builder.Finish(model, b"TFL3")
        return bytes(self.builder.Output())


def channels_last(shape):
    return [shape[0], *shape[2:], shape[1]] if len(shape) == 4 else shape


def padding_of(image, kernel, stride, result):
    """TFLite's padding that gives the result's extents."""
    if all((i - k) // s + 1 == o for i, k, s, o in zip(image, kernel, stride, result)):
        return tflite.Padding.VALID
    assert all(-(-i // s) == o for i, s, o in zip(image, stride, result)), (image, kernel, stride, result)
    return tflite.Padding.SAME


def export(path):
    """The TFLite file's bytes, and the document of its layers."""
    network, writer, layers, pooled = Network(path), Writer(), [], 0
    joined = {network.steps(name): network.result(node)[0]
              for node in network.graph.node if node.op_type == "Concat" for name in node.input}

    def activation(steps):
        return writer.tensor(steps, channels_last(network.shape[steps]), network.quantization(joined.get(steps, steps)))

    for node in network.graph.node:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear", "Relu", "Clip"):
            continue
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        result, function = network.result(node)
        function = getattr(tflite.ActivationFunctionType, function)
        sources = [network.steps(name) for name in node.input]
        shape, output = network.shape[sources[0]], network.shape[result]
        if node.op_type in ("Conv", "Gemm"):
            weight, bias = network.constants[sources[1]], network.constants[sources[2]]
            group = attributes.get("group", 1)
            assert group in (1, shape[1]) and (node.op_type == "Conv" or attributes.get("transB"))
            turned = weight if weight.ndim == 2 else weight.transpose(1, 2, 3, 0) if group > 1 else weight.transpose(0, 2, 3, 1)
            inputs = [activation(sources[0]),
                      writer.tensor(sources[1], turned.shape, network.quantization(sources[1]), numpy.ascontiguousarray(turned),
                                    3 if group > 1 else 0),
                      writer.tensor(sources[2], bias.shape, network.quantization(sources[2]), bias)]
            if node.op_type == "Gemm":
                writer.operator("FULLY_CONNECTED", inputs, activation(result), "FullyConnectedOptions", FusedActivationFunction=function)
                kernel, stride, pixels, extent, pads = [1, 1], [1, 1], [1, 1], [1, 1], [0] * 4
            else:
                kernel, stride, pixels = attributes["kernel_shape"], attributes["strides"], output[2:]
                extent, pads = shape[2:], attributes.get("pads", [0] * 4)
                code, options = ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions") if group > 1 else ("CONV_2D", "Conv2DOptions")
                more = {"DepthMultiplier": 1} if group > 1 else {}
                writer.operator(code, inputs, activation(result), options, Padding=padding_of(shape[2:], kernel, stride, pixels),
                                StrideH=stride[0], StrideW=stride[1], FusedActivationFunction=function, DilationHFactor=1,
                                DilationWFactor=1, **more)
            layers.append({"name": node.name, "image": [(p - 1) * s + k for p, s, k in zip(pixels, stride, kernel)], "kernel": kernel,
                           "extent": extent, "pads": pads, "stride": stride, "channels": shape[1], "filters": output[1],
                           "depthwise": group > 1, "macs": int(pixels[0] * pixels[1] * weight.size)})
        elif node.op_type == "Add":
            writer.operator("ADD", [activation(one) for one in sources], activation(result), "AddOptions", FusedActivationFunction=function)
        elif node.op_type == "Concat":
            writer.operator("CONCATENATION", [activation(one) for one in sources], activation(result), "ConcatenationOptions", Axis=3)
        elif node.op_type == "MaxPool":
            kernel, stride = attributes["kernel_shape"], attributes["strides"]
            writer.operator("MAX_POOL_2D", [activation(sources[0])], activation(result), "Pool2DOptions",
                            Padding=padding_of(shape[2:], kernel, stride, output[2:]), StrideH=stride[0], StrideW=stride[1],
                            FilterHeight=kernel[0], FilterWidth=kernel[1])
            pooled += math.prod(output) * math.prod(kernel)
        elif node.op_type == "GlobalAveragePool":
            axes = writer.tensor("axes", [2], data=numpy.array([1, 2], numpy.int32))
            writer.operator("MEAN", [activation(sources[0]), axes], activation(result), "ReducerOptions", KeepDims=True)
            pooled += math.prod(shape)
        elif node.op_type == "Flatten":
            extents = writer.tensor("extents", [2], data=numpy.array(output, numpy.int32))
            writer.operator("RESHAPE", [activation(sources[0]), extents], activation(result))
        else:
            sys.exit(f"{path}: {node.name} is a {node.op_type}, which has no TFLite form here")
    first = network.reader[network.graph.input[0].name].output[0]
    last = network.maker[network.graph.output[0].name].input[0]
    return writer.finish([activation(first)], [activation(last)]), {"layers": layers, "pooled": pooled}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    written, document = export(sys.argv[1])
    with open(sys.argv[2], "wb") as file:
        file.write(written)
    json.dump(document, sys.stdout)
