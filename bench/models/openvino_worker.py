"""OpenVINO's side of run.py, in a Python with OpenVINO: loads a model and times runs of it on demand, like runner.cpp.

usage: openvino_worker.py MODEL.onnx --threads N [--input NAME=FILE.npy]...

float32 is computed in float32 (the plugin may choose bfloat16 on its own). The first line lists the instructions that the
plugin's kernels name, "avx2" for example.
"""

import argparse
import re
import time
import types

import openvino

from serving import answer, inputs_of, print_line, status_kib


def numpy_like(port):
    """The port as the tensor that serving.inputs_of expects."""
    shape = [extent.get_length() if extent.is_static else None for extent in port.get_partial_shape()]
    return types.SimpleNamespace(name=port.get_any_name(), shape=shape, type=f"tensor({port.get_element_type().to_dtype()})")


def instructions(compiled):
    kernels = {operation.get_rt_info()["primitiveType"].value for operation in compiled.get_runtime_model().get_ordered_ops()}
    return sorted({match[0] for kernel in kernels for match in [re.search(r"avx[0-9a-z]*|sse[0-9]*|amx", kernel)] if match})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--input", action="append", default=[])
    options = parser.parse_args()
    before = status_kib("VmRSS")
    start = time.perf_counter()
    core = openvino.Core()
    model = core.read_model(options.model)
    arrays = inputs_of([numpy_like(port) for port in model.inputs], options.input)
    if model.is_dynamic():
        model.reshape({name: array.shape for name, array in arrays.items()})
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": options.threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0})
    request = compiled.create_infer_request()
    for name, array in arrays.items():
        request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
    request.infer()
    print_line({"ready": True, "load_seconds": time.perf_counter() - start, "version": openvino.__version__, "instructions": instructions(compiled)})
    answer(request.infer, lambda: {port.get_any_name(): request.get_tensor(port).data.copy() for port in compiled.outputs}, before)


if __name__ == "__main__":
    main()
