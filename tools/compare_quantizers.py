#!/usr/bin/env python3
"""Quantizes float models with `dovetail quantize` and with ONNX Runtime's quantizer, on the same samples, and compares the accuracy.

usage: compare_quantizers.py [--variants N] DOVETAIL MODELS [NAME...]

MODELS is a folder of models in the form of ../shared/models: NAME/model.onnx, NAME/<sample>/in_<input>.npy. Both quantizers calibrate on all samples of a model and
make int8 QDQ models with one weight scale per channel; ONNX Runtime then runs the float model and both quantized ones, so that arithmetic is the same. Printed for
each: signal-to-noise ratio of the outputs (the worst output), and the number of samples in which the largest element of the first output has the same position. With --variants,
N changed forms of each sample are evaluated too (pictures moved, mirrored, brighter, darker or mixed with another sample; other inputs scaled and mixed). They are
seeded and not used for calibration. They help because with few samples a single near tie is a large share. Needs onnx and onnxruntime; models are brought to opset 13 for ONNX Runtime where they are
older.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import version_converter
from onnxruntime import quantization as q

METHODS = {"min-max": q.CalibrationMethod.MinMax, "percentile": q.CalibrationMethod.Percentile, "entropy": q.CalibrationMethod.Entropy}
DEFAULT = ["mnist_cnn", "cifar10_cnn", "resnet8_f32", "vww96_f32", "ad_autoencoder_f32", "squeezenet1.1", "superres_x3", "ultraface_slim_320_simplified"]


def plain(name):
    return "".join(c if c.isalnum() or c in "_.-" else "_" for c in name)


def session(model):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


class Reader(q.CalibrationDataReader):
    def __init__(self, samples):
        self.rest = iter(samples)

    def get_next(self):
        return next(self.rest, None)


def read_samples(folder, inputs):
    samples = []
    for sample in sorted(path for path in folder.iterdir() if path.is_dir()):
        arrays = {name: sample / f"in_{plain(name)}.npy" for name in inputs}
        if all(path.exists() for path in arrays.values()):
            samples.append({name: np.load(path) for name, path in arrays.items()})
    return samples


def variant(samples, index, random):
    """One changed form of samples[index]: the same change to each of its inputs."""
    other, share = samples[random.integers(len(samples))], random.uniform(0, 0.3)
    gain, mirrored, moved = random.uniform(0.7, 1.3), random.random() < 0.5, tuple(int(by) for by in random.integers(-3, 4, 2))
    changed = {}
    for name, array in samples[index].items():
        result = (1 - share) * gain * array.astype(np.float64) + share * other[name]
        if array.ndim == 4:  # NCHW
            result = np.roll(result[..., ::-1] if mirrored else result, moved, axis=(2, 3))
        low, high = min(sample[name].min() for sample in samples), max(sample[name].max() for sample in samples)
        changed[name] = np.clip(result, low, high).astype(array.dtype)
    return changed


def with_opset(model, folder):
    loaded = onnx.load(model)
    initializers = {tensor.name for tensor in loaded.graph.initializer}
    kept = [value for value in loaded.graph.input if value.name not in initializers]  # older files list both, inputs and constants
    del loaded.graph.input[:]
    loaded.graph.input.extend(kept)
    if max(each.version for each in loaded.opset_import if each.domain in ("", "ai.onnx")) < 13:
        loaded.ir_version = max(loaded.ir_version, 7)
        loaded = version_converter.convert_version(loaded, 13)
    onnx.save(loaded, folder / "opset13.onnx")
    return folder / "opset13.onnx"


def compare(reference, model, samples):
    exact, other = session(reference), session(model)
    signal, noise, same = {}, {}, 0
    for sample in samples:
        expected, got = exact.run(None, sample), other.run(None, sample)
        same += int(np.argmax(expected[0]) == np.argmax(got[0]))
        for i, (a, b) in enumerate(zip(expected, got)):
            signal[i] = signal.get(i, 0) + float(np.sum(a.astype(np.float64) ** 2))
            noise[i] = noise.get(i, 0) + float(np.sum((b.astype(np.float64) - a) ** 2))
    return min(10 * np.log10(signal[i] / noise[i]) if noise[i] else 200.0 for i in signal), same


def one(dovetail, folder, method, variants, work):
    model = folder / "model.onnx"
    inputs = [value.name for value in session(model).get_inputs()]
    samples = read_samples(folder, inputs)
    np.savez(work / "samples.npz", **{name: np.concatenate([sample[name] for sample in samples]) for name in inputs})
    random = np.random.default_rng(1)
    judged = samples + [variant(samples, index, random) for index in range(len(samples)) for _ in range(variants)]
    results = {}
    done = subprocess.run([dovetail, "quantize", model, "-o", work / "ours.onnx", "--samples", work / "samples.npz", "--calibration", method,
                           "--measure-layers", "0"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    results["dovetail"] = compare(model, work / "ours.onnx", judged)
    q.quantize_static(with_opset(model, work), work / "theirs.onnx", Reader(samples), quant_format=q.QuantFormat.QDQ, per_channel=True,
                      activation_type=q.QuantType.QInt8, weight_type=q.QuantType.QInt8, calibrate_method=METHODS[method])
    results["onnxruntime"] = compare(model, work / "theirs.onnx", judged)
    return len(judged), results


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--variants", type=int, default=0)
    parser.add_argument("dovetail")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=DEFAULT)
    arguments = parser.parse_args()
    print(f"onnxruntime {ort.__version__}, onnx {onnx.__version__}")
    print(f"{'model':32} {'method':11} {'samples':>7} {'dovetail':>10} {'same':>5} {'onnxruntime':>12} {'same':>5}")
    worse, same = 0, [0, 0]
    for name in arguments.names:
        for method in METHODS:
            with tempfile.TemporaryDirectory() as work:
                try:
                    count, results = one(arguments.dovetail, arguments.models / name, method, arguments.variants, pathlib.Path(work))
                except Exception as failed:  # noqa: BLE001 - a model that one quantizer does not support gets a row, and does not end the program
                    print(f"{name:32} {method:11} {'':7} {str(failed).splitlines()[0][:90]}")
                    continue
            ours, theirs = results["dovetail"], results["onnxruntime"]
            worse += ours[1] < theirs[1]
            same = [same[0] + ours[1], same[1] + theirs[1]]
            print(f"{name:32} {method:11} {count:7} {ours[0]:7.1f} dB {ours[1]:5} {theirs[0]:9.1f} dB {theirs[1]:5}", flush=True)
    print(f"{worse} rows in which dovetail agrees with the float model on fewer samples; in total {same[0]} compared with {same[1]}")


if __name__ == "__main__":
    main()
