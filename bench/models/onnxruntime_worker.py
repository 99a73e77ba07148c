"""ONNX Runtime's side of run.py, in a Python with ONNX Runtime: loads a model and times runs of it on demand, like runner.cpp.

usage: onnxruntime_worker.py MODEL.onnx --threads N [--input NAME=FILE.npy]... [--provider NAME]
       onnxruntime_worker.py MODEL.onnx --quantize OUT.onnx          only quantizes the model, with ONNX Runtime's tool
       onnxruntime_worker.py MODEL.onnx --quantize-dynamic OUT.onnx [--weights int8|uint8]    the same with dynamic quantization
       onnxruntime_worker.py MODEL.onnx --write-inputs DIR           only writes random inputs as DIR/NAME.npy
       onnxruntime_worker.py OURS --compare DIR                      prints the difference of the arrays in two folders
"""

import argparse
import json
import pathlib
import re
import sys
import time

import numpy
import onnxruntime


def plain(name):
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def status_kib(key):
    with open("/proc/self/status", encoding="ascii") as status:
        return int(next(line for line in status if line.startswith(key)).split()[1])


def random_array(tensor, random):
    shape = [extent if isinstance(extent, int) else 1 for extent in tensor.shape]
    if "float" in tensor.type:
        return random.uniform(-1, 1, shape).astype(numpy.float32)
    return random.integers(-128 if "(int" in tensor.type else 0, 127, shape).astype(re.search(r"\((\w+)\)", tensor.type)[1])


def inputs_of(session, assignments):
    files = dict(assignment.split("=", 1) for assignment in assignments)
    random = numpy.random.default_rng(1)
    return {tensor.name: numpy.load(files[plain(tensor.name)]) if plain(tensor.name) in files else random_array(tensor, random)
            for tensor in session.get_inputs()}


def write_arrays(folder, arrays):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        numpy.save(pathlib.Path(folder) / f"{plain(name)}.npy", array)


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
            self.left = [inputs_of(make_session(model, 1), []) for _ in range(1)]

        def get_next(self):
            return self.left.pop() if self.left else None

    quantization.quantize_static(model, output, Samples(), quant_format=quantization.QuantFormat.QDQ, per_channel=True)


def quantize_dynamically(model, output, weights):
    from onnxruntime import quantization

    types = {"int8": quantization.QuantType.QInt8, "uint8": quantization.QuantType.QUInt8}
    quantization.quantize_dynamic(model, output, weight_type=types[weights])


def say(line):
    print(json.dumps(line), flush=True)


def serve(model, threads, provider, assignments):
    before = status_kib("VmRSS")
    start = time.perf_counter()
    session = make_session(model, threads, provider)
    binding = session.io_binding()
    for name, array in inputs_of(session, assignments).items():
        binding.bind_cpu_input(name, array)
    for tensor in session.get_outputs():
        binding.bind_output(tensor.name)
    session.run_with_iobinding(binding)
    say({"ready": True, "load_seconds": time.perf_counter() - start, "version": onnxruntime.__version__})
    for line in sys.stdin:
        if not line.strip().isdigit():
            session.run_with_iobinding(binding)
            write_arrays(line.strip(), {tensor.name: value for tensor, value in zip(session.get_outputs(), binding.copy_outputs_to_cpu())})
            say({"written": line.strip()})
            continue
        runs = int(line)
        session.run_with_iobinding(binding)
        wall, processor = time.perf_counter(), time.process_time()
        for _ in range(runs):
            session.run_with_iobinding(binding)
        say({"wall": (time.perf_counter() - wall) / runs, "processor": (time.process_time() - processor) / runs,
             "memory_kib": status_kib("VmHWM") - before})


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
        say({"apart": compare(options.model, options.compare)})
    elif options.write_inputs:
        write_arrays(options.write_inputs, inputs_of(make_session(options.model, 1), []))
    else:
        serve(options.model, options.threads, options.provider, options.input)


if __name__ == "__main__":
    main()
