#!/usr/bin/env python3
"""The nodes of int8 networks that are left to the host (docs/explanation/accelerator-bound.md).

usage: left.py DOVETAIL FOLDER [--models FOLDER] [--model FILE]... [--hw NAME]... [--only TEXT]

Compiles the int8 models of --models (folders that contain a model.onnx, except extra_*), those of --model, and the networks
of the zoo, for accel,cpu, and prints for each: regions, share of the multiplications on the accelerator, and every node left
to the host with the reason. Models of the zoo are kept in FOLDER.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

NETWORKS = ("resnet18", "resnet50", "mobilenet_v1", "mobilenet_v2", "vgg16", "squeezenet1.1", "ds_cnn", "resnet8", "gpt_block",
            "bert_base")


def call(words):
    ended = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{ended.stdout[-2000:]}{ended.stderr}")


def models(options):
    found = []
    if options.models:
        for folder in sorted(options.models.iterdir()):
            name = folder.name
            if "int8" in name and not name.startswith("extra_") and (folder / "model.onnx").exists() and options.only in name:
                found.append((name, folder / "model.onnx"))
    for network in NETWORKS:
        path = options.folder / f"{network}.onnx"
        if options.only not in network:
            continue
        if not path.exists():
            call([options.dovetail, "zoo", network, "--int8", "-o", path])
        found.append((f"zoo {network}", path))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dovetail", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--model", action="append", type=pathlib.Path, default=[], help="another model; may be repeated")
    parser.add_argument("--hw", action="append", help="a configuration; may be repeated (1x16x16-ext and 1x16x16)")
    parser.add_argument("--only", default="", help="part of a model's name")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| model | machine | accelerator regions | MACs there | left to the host | bytes | estimate |\n|---|---|---|---|---|---|---|")
    reasons = []
    for name, path in models(options) + [(path.stem, path) for path in options.model]:
        for machine in options.hw or ("1x16x16-ext", "1x16x16"):
            report = options.folder / "report.json"
            call([options.dovetail, "compile", path, "--target", "accel,cpu", "--hw", machine, "--stop-after", "partition", "--report", report])
            compiled = json.loads(report.read_text())
            summary = compiled["summary"]
            macs = summary["macs"]
            left = [node for node in compiled["placement"] if node["target"] not in ("accel", "folded")]
            counts = collections.Counter(node["op"] for node in left)
            cost = [node["cost"] for node in left if node.get("cost")]
            print(f"| {name} | {machine} | {sum(region['target'] == 'accel' for region in summary['regions'])} | "
                  f"{100 * macs.get('accel', 0) / max(1, sum(macs.values())):.2f} % | "
                  f"{', '.join(f'{count} {op}' if count > 1 else op for op, count in counts.most_common())} | "
                  f"{sum(row['bytes'] for row in cost):,} | {sum(row['seconds'] for row in cost) * 1e6:.0f} us |", flush=True)
            reasons += [(name, machine, node["node"], node["op"], "; ".join(refusal["why"] for refusal in node.get("refused", []))) for node in left]
    print("\n| model | machine | node | operator | why |\n|---|---|---|---|---|")
    for row in reasons:
        print("| " + " | ".join(row) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
