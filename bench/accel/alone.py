#!/usr/bin/env python3
"""Cycles of single layers on the accelerator, including first loads and last stores, compared with their bounds (docs/explanation/accelerator-bound.md).

usage: alone.py DOVETAIL FOLDER [--only TEXT] [--least MACS] [--check]

Each layer of ResNet-18 and MobileNetV2 with at least MACS multiplications (10 million), one of each shape: the network is
compiled with every other node placed on the processor, and the rest runs on the cycle simulator with a memory latency of
64. Models come from `dovetail zoo --int8` and are kept in FOLDER.
"""

import argparse
import dataclasses
import json
import pathlib
import sys

import bound
import run

NETWORKS = ("resnet18", "mobilenet_v2")


def computing_nodes(dovetail, model, folder):
    """Excludes operators that are fused into the previous node: formats, ReLU and clips."""
    report = folder / "partition.json"
    run.call([dovetail, "compile", model, "--target", "accel,cpu", "--stop-after", "partition", "--report", report])
    parts = ("QuantizeLinear", "DequantizeLinear", "Relu", "Clip")
    return [node["node"] for node in json.loads(report.read_text())["placement"] if node["op"] not in parts]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dovetail", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="", help="part of NETWORK, MACHINE")
    parser.add_argument("--least", type=int, default=10_000_000, help="multiplications of a layer, at least")
    parser.add_argument("--check", action="store_true", help="compare every tensor with the reference")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| network | machine | layer | cycles | bound | of it |\n|---|---|---|---|---|---|")
    for network in NETWORKS:
        model = options.folder / f"{network}.onnx"
        for machine_name in run.MACHINES:
            if options.only not in f"{network}, {machine_name}":
                continue
            if not model.exists():
                run.call([options.dovetail, "zoo", network, "--int8", "-o", model])
            machine = run.machine_of(options.dovetail, machine_name)
            nodes = computing_nodes(options.dovetail, model, options.folder)
            shapes = set()
            for layer in run.NETWORKS[network]():
                layer = dataclasses.replace(layer, pool=None)
                shape = dataclasses.replace(layer, name="")
                if layer.macs < options.least or shape in shapes:
                    continue
                shapes.add(shape)
                others = [word for node in nodes if node != layer.name for word in ("--place", f"{node}=cpu")]
                extra = ["--offload", "always"] + (["--check"] if options.check else [])
                _, steps = run.measure(options.dovetail, model, machine_name, ("ideal:latency=64",), others + extra,
                                       options.folder / "report.json")
                if len(steps) != 1:
                    sys.exit(f"{network}: {layer.name} alone is {len(steps)} regions on {machine_name}")
                cycles = steps[0]["timing"]["cycles"]
                limit = bound.bound(layer, machine).cycles(machine, None)
                print(f"| {network} | {machine_name} | {layer.name} | {cycles:,} | {round(limit):,} | {limit / cycles:.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
