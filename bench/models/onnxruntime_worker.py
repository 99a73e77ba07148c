"""ONNX Runtime's side of run.py, in a Python with ONNX Runtime: loads a model and times runs of it on demand, like runner.cpp.

usage: onnxruntime_worker.py MODEL.onnx --threads N [--input NAME=FILE.npy]... [--provider NAME]
       onnxruntime_worker.py MODEL.onnx --quantize OUT.onnx          only quantizes the model, with ONNX Runtime's tool
       onnxruntime_worker.py MODEL.onnx --quantize-dynamic OUT.onnx [--weights int8|uint8]    the same with dynamic quantization
       onnxruntime_worker.py MODEL.onnx --write-inputs DIR           only writes random inputs as DIR/NAME.npy
       onnxruntime_worker.py OURS --compare DIR                      prints the difference of the arrays in two folders
"""

import argparse
import pathlib
import time

import numpy
import onnxruntime

from serving import answer, inputs_of, print_line, status_kib, write_arrays


def compare(ours, theirs):
    """The difference of floats relative to the largest element, of integers in steps."""
    largest = 0.0
    for file in sorted(pathlib.Path(theirs).glob("*.npy")):
        expected, actual = numpy.load(file), numpy.load(pathlib.Path(ours) / file.name)
        if expected.shape != actual.shape:
            raise SystemExit(f"output {file.stem}: shape {actual.shape}, in ONNX Runtime {expected.shape}")
        if expected.size == 0:
            continue
        apart = float(numpy.max(numpy.abs(expected.astype(numpy.float64) - actual.astype(numpy.float64))))
        scale = float(numpy.max(numpy.abs(expected))) if expected.dtype.kind == "f" else 1.0
        largest = max(largest, apart / max(scale, 1e-30))
    return largest


def make_session(model, threads, provider="CPUExecutionProvider"):
    """With all of ONNX Runtime's optimizations; with fewer if its passes break the model."""
    if provider not in onnxruntime.get_available_providers():
        raise SystemExit(f"ONNX Runtime {onnxruntime.__version__} has no {provider}")
    levels = onnxruntime.GraphOptimizationLevel
    for level in (levels.ORT_ENABLE_ALL, levels.ORT_ENABLE_BASIC, levels.ORT_DISABLE_ALL):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.graph_optimization_level = level
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(model, options, providers=[provider])
            if session.get_providers()[0] != provider:  # it falls back to the processor if a library is missing
                raise SystemExit(f"ONNX Runtime {onnxruntime.__version__} cannot start {provider}")
            return session
        except Exception as failure:  # onnxruntime does not export the exception classes
            last = failure
    raise last


def quantize(model, output):
    from onnxruntime import quantization

    class Samples(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = [inputs_of(make_session(model, 1).get_inputs(), []) for _ in range(1)]

        def get_next(self):
            return self.left.pop() if self.left else None

    quantization.quantize_static(model, output, Samples(), quant_format=quantization.QuantFormat.QDQ, per_channel=True)


def quantize_dynamically(model, output, weights):
    from onnxruntime import quantization

    types = {"int8": quantization.QuantType.QInt8, "uint8": quantization.QuantType.QUInt8}
    quantization.quantize_dynamic(model, output, weight_type=types[weights])


def serve(model, threads, provider, assignments):
    before = status_kib("VmRSS")
    start = time.perf_counter()
    session = make_session(model, threads, provider)
    inputs, names = inputs_of(session.get_inputs(), assignments), [tensor.name for tensor in session.get_outputs()]
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    for name in names:
        binding.bind_output(name)
    run, outputs = lambda: session.run_with_iobinding(binding), binding.copy_outputs_to_cpu
    try:
        run()
        run()
    except RuntimeError:  # it reuses the first run's outputs, and refuses those whose rank is not the declared one
        run = outputs = lambda: session.run(names, inputs)
        run()
    print_line({"ready": True, "load_seconds": time.perf_counter() - start, "version": onnxruntime.__version__})
    answer(run, lambda: dict(zip(names, outputs())), before)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--input", action="append", default=[])
    parser.add_argument("--provider", default="CPUExecutionProvider", help="ONNX Runtime's execution provider")
    parser.add_argument("--quantize", metavar="OUT")
    parser.add_argument("--quantize-dynamic", metavar="OUT")
    parser.add_argument("--weights", choices=("int8", "uint8"), default="int8")
    parser.add_argument("--write-inputs", metavar="DIR")
    parser.add_argument("--compare", metavar="DIR")
    options = parser.parse_args()
    if options.quantize:
        quantize(options.model, options.quantize)
    elif options.quantize_dynamic:
        quantize_dynamically(options.model, options.quantize_dynamic, options.weights)
    elif options.compare:
        print_line({"apart": compare(options.model, options.compare)})
    elif options.write_inputs:
        write_arrays(options.write_inputs, inputs_of(make_session(options.model, 1).get_inputs(), []))
    else:
        serve(options.model, options.threads, options.provider, options.input)


if __name__ == "__main__":
    main()
