#!/usr/bin/env python3
"""Measures the gain of tuning over the default schedules: `dovetail tune` on several models and both targets.

usage: tune_gains.py DOVETAIL FOLDER [--trials N] [--search NAME] [--seed N] [--only TEXT]

Models are made by `dovetail zoo` and taken from examples; records, reports and pages go to FOLDER; the search learns from records
of earlier runs there. Prints a row for each model and target, and the geometric mean over all tasks of a target.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# the model's name, and the command that generates it; None: a file of the repository
MODELS = [
    ("digits_int8", None), ("digits_float", None),
    ("resnet8_int8", ["resnet8", "--int8"]), ("resnet8_float", ["resnet8"]),
    ("ds_cnn_int8", ["ds_cnn", "--int8"]), ("ds_cnn_float", ["ds_cnn"]),
    ("resnet18_int8", ["resnet18", "--int8", "--samples", "1"]), ("resnet18_float", ["resnet18"]),
]


def model_file(dovetail, folder, name, zoo):
    if zoo is None:
        return ROOT / "examples" / "digits" / f"{name}.onnx"
    path = folder / f"{name}.onnx"
    if not path.exists():
        subprocess.run([dovetail, "zoo", *zoo, "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dovetail", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--search", default="guided")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="part of MODEL.TARGET")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    gains = {}
    print("| model | target | tasks | trials | geometric mean | all kernels together | least | most |")
    print("|---|---|---|---|---|---|---|---|")
    for name, zoo in MODELS:
        for target in ("accel", "cpu"):
            run = f"{name}.{target}"
            if options.only not in run or (target == "accel" and not name.endswith("int8")):
                continue
            report = options.folder / f"{run}.json"
            command = [options.dovetail, "tune", model_file(options.dovetail, options.folder, name, zoo), "--target", target,
                       "--hw", "1x16x16-ext", "--trials", options.trials, "--search", options.search, "--seed", options.seed,
                       "--records", options.folder / f"{run}.db", "--report", report, "--html", options.folder / f"{run}.html"]
            ended = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if ended.returncode != 0:
                print(f"{run}: {ended.stderr.strip()}", file=sys.stderr)
                return 1
            tasks = json.loads(report.read_text())["tasks"]
            each = [task["default_cost"] / task["best_cost"] for task in tasks]
            gains.setdefault(target, []).extend(each)
            before = sum(task["uses"] * task["default_cost"] for task in tasks)
            after = sum(task["uses"] * task["best_cost"] for task in tasks)
            mean = math.exp(sum(map(math.log, each)) / len(each))
            trials = sum(len(task["trials"]) for task in tasks)
            print(f"| {name} | {target} | {len(each)} | {trials} | {mean:.3f}x | {before / after:.3f}x | {min(each):.3f}x | "
                  f"{max(each):.3f}x |", flush=True)
    for target, each in gains.items():
        mean = math.exp(sum(map(math.log, each)) / len(each))
        print(f"{target}: {mean:.3f}x over {len(each)} tasks, never worse: {min(each) >= 1}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
