#!/usr/bin/env python3
"""Writes every int8 and uint8 tensor that ONNX Runtime computes, for tests/e2e/models/int8_nodes.cpp.

usage: onnxruntime_values.py MODELS_FOLDER OUT_FOLDER [MODEL...]

For each model of MODELS_FOLDER/<model>/model.onnx and each of its samples: OUT_FOLDER/<model>/<sample>/<tensor>.npy. Needs the
packages onnx, onnxruntime and numpy. Graph optimizations are off: each node computes by itself, in float between
DequantizeLinear and QuantizeLinear.
"""
import pathlib
import re
import sys

import numpy
import onnx
import onnxruntime

MODELS = ['resnet8_int8', 'kws_dscnn_int8', 'kws_dscnn_int8_qoperator', 'ad_autoencoder_int8', 'vww96_int8',
          'vww96_int8_qoperator', 'mobilenetv2_035_160_int8']


def file_name(name):
    return re.sub(r'[^A-Za-z0-9_.-]', '_', name)


def quantized_tensors(model):
    """Results of QuantizeLinear and of the QLinear operators, and of nodes that move these results."""
    inferred = onnx.shape_inference.infer_shapes(model)
    bytes_types = (onnx.TensorProto.INT8, onnx.TensorProto.UINT8)
    produced = {output for node in model.graph.node for output in node.output}
    return [value.name for value in inferred.graph.value_info
            if value.name in produced and value.type.tensor_type.elem_type in bytes_types]


def write_values(folder, out):
    model = onnx.load(folder / 'model.onnx')
    known = {output.name for output in model.graph.output}
    names = [name for name in quantized_tensors(model) if name not in known]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=['CPUExecutionProvider'])
    for sample in sorted(path for path in folder.iterdir() if path.is_dir()):
        feeds = {each.name: numpy.load(sample / f'in_{file_name(each.name)}.npy') for each in session.get_inputs()}
        target = out / folder.name / sample.name
        target.mkdir(parents=True, exist_ok=True)
        for name, value in zip([each.name for each in session.get_outputs()], session.run(None, feeds)):
            numpy.save(target / f'{file_name(name)}.npy', value)
        print(f'{folder.name}/{sample.name}: {len(names)} tensors')


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    models, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for name in sys.argv[3:] or MODELS:
        write_values(models / name, out)


if __name__ == '__main__':
    main()
