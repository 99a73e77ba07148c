#!/usr/bin/env python3
"""Checks the three committed models on the test images, and their goldens.

Every model runs in float, as ONNX defines it; the int8 models also in Dovetail's integer form (integer_form.py), whose
int8 logits are kept as expected_*_logits.npy. Fails if an accuracy is below 98 % or a golden differs; --accept writes
the goldens. With --onnxruntime (needs that package), ONNX Runtime also runs the models.
"""

import argparse
import sys

import numpy as np
import onnx

import float_graph
import integer_form
from dataset import FOLDER, load_digits

LEAST_ACCURACY = 0.98

# Golden file -> model, rounding of the integer form.
GOLDENS = {
    "expected_int8_logits.npy": ("digits_int8.onnx", "half_even"),
    "expected_int8_pow2_logits.npy": ("digits_int8_pow2.onnx", "half_even"),
    "expected_int8_pow2_half_up_logits.npy": ("digits_int8_pow2.onnx", "half_up"),
}


class Report:
    """Prints results and remembers failures."""

    def __init__(self, labels):
        self.labels = labels
        self.failed = False

    def fail(self, message):
        self.failed = True
        print(f"FAILED: {message}")

    def accuracy(self, what, logits):
        value = (logits.argmax(axis=1) == self.labels).mean()
        print(f"{what:48} {value:7.2%}")
        if value < LEAST_ACCURACY:
            self.fail(f"{what}: accuracy below {LEAST_ACCURACY:.0%}")

    def difference(self, what, steps, expected):
        """Compares two int8 tensors."""
        apart = np.abs(steps.astype(np.int64) - expected)
        print(f"  {what}: {np.count_nonzero(apart)} of {apart.size} logits differ, by at most {apart.max()}")


def signal_to_noise_db(exact, approximate):
    noise = np.square(exact - approximate, dtype=np.float64).mean()
    return 10 * np.log10(np.square(exact, dtype=np.float64).mean() / noise) if noise > 0 else np.inf


def print_tensors(model, values, float_values):
    """One line per quantized tensor: its scale, zero point, share of clipped values, and signal-to-noise ratio.

    Clipped means beyond the int8 range before the clamp; the ratio is against the float model's tensor.
    """
    constants = {tensor.name for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear":
            name, (source, scale, zero_point) = node.output[0], (values[operand] for operand in node.input)
            steps = np.rint(source / scale) + zero_point.astype(np.float32)
            note = f"{((steps < -128) | (steps > 127)).mean():8.3%} clipped"
        elif node.op_type == "DequantizeLinear" and node.input[0] in constants:
            name, scale, zero_point = node.input[0], values[node.input[1]], np.int8(0)
            note = f"{values[name].dtype} constant"
        else:
            continue
        real = float_graph.dequantize_linear({"axis": 0}, values[name], scale, zero_point)
        ratio = signal_to_noise_db(float_values[name.removesuffix("_q")], real)
        scales = f"{scale:.8g}" if scale.ndim == 0 else f"{scale.min():.4g} .. {scale.max():.4g}"
        print(f"  {name:22} scale {scales:22} zero point {zero_point:4}  SNR {ratio:5.1f} dB  {note}")


def onnxruntime_logits(file, images, optimized):
    """The logits [n, 10] that ONNX Runtime gives for images [n, 1, 8, 8], one inference per image."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(FOLDER / file), options, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, {"image": image[None]})[0] for image in images])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accept", action="store_true", help="write the goldens instead of comparing with them")
    parser.add_argument("--tensors", action="store_true", help="list every quantized tensor")
    parser.add_argument("--onnxruntime", action="store_true", help="also run ONNX Runtime")
    arguments = parser.parse_args()

    _, _, images, labels = load_digits()
    report = Report(labels)
    for file, expected in (("test_images.npy", images), ("test_labels.npy", labels)):
        if not np.array_equal(np.load(FOLDER / file), expected):
            report.fail(f"{file} is not the test part of data/; train.py writes it")

    models = {}
    for file in ("digits_float.onnx", "digits_int8.onnx", "digits_int8_pow2.onnx"):
        models[file] = onnx.load(str(FOLDER / file))
        onnx.checker.check_model(models[file], full_check=True)
    values = {file: float_graph.run(model, images) for file, model in models.items()}

    for file, model in models.items():
        report.accuracy(f"{file}, float", values[file]["logits"])
        if arguments.tensors and file != "digits_float.onnx":
            print_tensors(model, values[file], values["digits_float.onnx"])

    for golden, (file, rounding) in GOLDENS.items():
        logits = integer_form.run(models[file], images, rounding)["logits_q"].steps.astype(np.int8)
        report.accuracy(f"{file}, integers, {rounding}", logits)
        report.difference("against float", values[file]["logits_q"], logits)
        if arguments.accept:
            np.save(FOLDER / golden, logits)
        elif not np.array_equal(np.load(FOLDER / golden), logits):
            report.fail(f"{golden} differs; to accept the new values: check.py --accept")

    if arguments.onnxruntime:
        for file in models:
            for optimized in (False, True):
                logits = onnxruntime_logits(file, images, optimized)
                report.accuracy(f"{file}, ONNX Runtime{', optimized' if optimized else ''}", logits)
                if file == "digits_float.onnx":
                    print(f"  against float: at most {np.abs(logits - values[file]['logits']).max():.2g} apart")
                    continue
                scale, zero_point = (values[file][f"logits_q_{part}"] for part in ("scale", "zero_point"))
                steps = np.rint(logits / scale) + zero_point
                report.difference("against float", steps, values[file]["logits_q"])
                report.difference("against integers", steps, integer_form.run(models[file], images)["logits_q"].steps)
    sys.exit(report.failed)


if __name__ == "__main__":
    main()
