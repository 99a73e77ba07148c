#!/usr/bin/env python3
"""What peers.py needs of Python packages, as JSON on stdout.

usage: convert.py tflite IN.tflite OUT.tflite      static shapes, and without a Softmax at the end, which BakeNN does not have
       convert.py bakenn IN.tflite FOLDER KERNELS  BakeNN's C; KERNELS: portable or cmsis-nn
       convert.py tflm IN.tflite SAMPLE.npy        TFLite Micro's interpreter for this machine: memory, seconds of a run, output
       convert.py emlearn MODEL.onnx OUT.h         a float perceptron with ReLU as emlearn's C
       convert.py channels-first IN.npy OUT.npy    a sample in the layout of ONNX
       convert.py elements IN.npy OUT.inc          a sample as elements of an array in C; prints their number

Packages: bakenn, tflite, tflite-micro, emlearn, setuptools, onnx, numpy.
"""

import json
import sys
import time

import numpy

LEAST_SECONDS = 0.5  # of a timed loop


def static_tflite(source, target):
    import flatbuffers
    from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

    with open(source, "rb") as file:
        model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(file.read(), 0))
    (graph,) = model.subgraphs
    model.signatureDefs = None
    for tensor in graph.tensors:
        tensor.shapeSignature = None

    def code(operator):
        one = model.operatorCodes[operator.opcodeIndex]
        return max(one.builtinCode, one.deprecatedBuiltinCode)

    if code(graph.operators[-1]) == schema.BuiltinOperator.SOFTMAX:
        graph.outputs = [graph.operators.pop().inputs[0]]
    for operator in graph.operators:
        if code(operator) == schema.BuiltinOperator.RESHAPE and operator.builtinOptions is None:
            operator.builtinOptionsType = schema.BuiltinOptions.ReshapeOptions
            operator.builtinOptions = schema.ReshapeOptionsT()
            operator.builtinOptions.newShape = list(graph.tensors[operator.outputs[0]].shape)
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(model.Pack(builder), b"TFL3")
    with open(target, "wb") as file:
        file.write(builder.Output())


def bakenn_sources(source, folder, kernels):
    import bakenn

    options = None
    if kernels == "cmsis-nn":
        options = bakenn.CBackendOptions(
            kernel_policy=bakenn.KernelPolicy.STATIC_PRIORITY, enable_cmsis_nn=True, target=bakenn.CORTEX_M4
        )
    with open(source, "rb") as file:
        compiled = bakenn.compile_tflite(file.read(), folder, name="peer", backend_options=options)
    return {
        "version": bakenn.__version__,
        "arena_bytes": json.loads(compiled.memory_report.to_json())["compile_time"]["arena_bytes"],
    }


def tflm(source, sample):
    from importlib import metadata
    from tflite_micro.python.tflite_micro import runtime

    with open(source, "rb") as file:
        model = file.read()
    size = 1 << 20
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=size)
    given = numpy.load(sample)
    interpreter.set_input(given, 0)
    interpreter.invoke()
    output = interpreter.get_output(0)
    runs = 1
    while True:
        begin = time.perf_counter()
        for _ in range(runs):
            interpreter.invoke()
        seconds = time.perf_counter() - begin
        if seconds >= LEAST_SECONDS:
            break
        runs *= 2
    low, high = 0, size  # the least arena with which it starts
    while high - low > 16:
        middle = (low + high) // 2
        try:
            runtime.Interpreter.from_bytes(model, arena_size=middle)
            high = middle
        except RuntimeError:
            low = middle
    return {
        "version": metadata.version("tflite-micro"),
        "seconds": seconds / runs,
        "arena_bytes": high,
        "output": output.ravel().tolist(),
    }


def emlearn_header(source, target):
    import emlearn
    import emlearn.net
    import onnx
    from importlib import metadata
    from onnx import numpy_helper

    graph = onnx.load(source).graph
    constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    layers = [node for node in graph.node if node.op_type == "Gemm"]
    assert len(graph.node) == 2 * len(layers) - 1 and all(node.op_type in ("Gemm", "Relu") for node in graph.node)
    activations = ["relu"] * (len(layers) - 1) + ["identity"]
    weights = [constants[node.input[1]].T for node in layers]
    wrapper = emlearn.net.Wrapper.__new__(emlearn.net.Wrapper)  # without compiling a Python module
    wrapper.activations, wrapper.weights, wrapper.biases = activations, weights, [constants[node.input[2]] for node in layers]
    wrapper.use_fixedpoint = False
    wrapper.save(name="peer", file=target, inference=["loadable"])
    return {"version": metadata.version("emlearn"), "include": emlearn.includedir}


def channels_first(source, target):
    values = numpy.load(source)
    numpy.save(target, numpy.ascontiguousarray(values.transpose(0, 3, 1, 2)) if values.ndim == 4 else values)


def elements(source, target):
    values = numpy.load(source).ravel()
    with open(target, "w") as file:
        file.write(
            ",\n".join(
                str(one) if values.dtype.kind == "i" else f"{one!s}f" if "." in str(one) or "e" in str(one) else f"{one}.0f"
                for one in values.tolist()
            )
            + "\n"
        )
    return len(values)


COMMANDS = {
    "elements": elements,
    "tflite": static_tflite,
    "bakenn": bakenn_sources,
    "tflm": tflm,
    "emlearn": emlearn_header,
    "channels-first": channels_first,
}

if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
