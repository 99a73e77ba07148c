#!/usr/bin/env python3
"""Synthesizes the design points for the fit of the area models, and those to measure their error (hw/syn/sweep.FLOW.json).

usage: sweep_areas.py --cli DOVETAIL [--flow generic|xc7|xcup] [--jobs N] [--from FOLDER]

The points vary a small base configuration in one parameter at a time, and in some together, to show the parameters on which the area of a block depends. A
parameter that FACTORS does not name is tried at a quarter and at four times its default. The held-back points are larger, and the model is not fitted to them:
random ones for flow generic; for the FPGAs, whose runs take longer, the named configurations, whose results are kept, except the smallest and the largest,
which the fit includes. All points of a flow take half an hour to two hours. --from FOLDER keeps each result in it, and uses those that are there already.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
# Blocks that have their own models (explore/area/area_model.cpp).
BLOCKS = ("", "u_compute", "u_compute/u_gemm", "u_compute/u_alu", "u_load", "u_store", "u_fetch")

BASE = {"block_in": 4, "block_out": 4, "uop_buffer_bytes": 8192, "inp_buffer_bytes": 8192, "wgt_buffer_bytes": 32768, "acc_buffer_bytes": 32768}
# For every flow.
FACTORS = [
    {}, {"batch": 2}, {"batch": 4}, {"block_in": 8}, {"block_in": 16}, {"block_out": 8}, {"block_out": 16}, {"block_in": 8, "block_out": 8},
    {"requant": True}, {"saturate": True}, {"overwrite": True}, {"requant": True, "saturate": True, "overwrite": True, "block_out": 8},
    {"bus_bytes": 32}, {"burst_beats": 64}, {"outstanding_beats": 512}, {"address_bits": 44}, {"command_queue_depth": 512}, {"token_queue_depth": 512},
    {"uop_buffer_bytes": 65536, "inp_buffer_bytes": 65536, "wgt_buffer_bytes": 262144, "acc_buffer_bytes": 262144},
    {"table": True}, {"table": True, "bus_bytes": 16, "block_out": 8}, {"block_in": 16, "block_out": 16, "bus_bytes": 16},
    {"window": True, "block_in": 8, "block_out": 8}, {"requant": True, "norm": True, "block_out": 8},
    {"requant": True, "epilogue": True, "block_in": 16}, {"requant": True, "epilogue": True, "block_in": 16, "block_out": 8},
    {"requant": True, "saturate": True, "epilogue": True, "norm": True, "block_in": 16},
]
# For flow generic, too: runs for FPGAs take several times as long.
MORE_FACTORS = [
    {"bus_bytes": 4}, {"bus_bytes": 16}, {"burst_beats": 4}, {"outstanding_beats": 32}, {"address_bits": 24}, {"command_queue_depth": 8},
    {"acc_buffer_bytes": 524288}, {"wgt_buffer_bytes": 1048576, "inp_buffer_bytes": 131072}, {"batch": 2, "requant": True},
    {"bus_bytes": 16, "outstanding_beats": 32, "burst_beats": 16}, {"window": True}, {"requant": True, "norm": True},
    {"requant": True, "norm": True, "batch": 2}, {"requant": True, "epilogue": True, "block_in": 16, "table": True},
]
EXTREMES = ("tiny", "1x32x32")  # named configurations
HELD_BACK = 13
ALL_EXTENSIONS = {"block_in": 16, "block_out": 16, "requant": True, "saturate": True, "overwrite": True, "window": True, "table": True,
                  "epilogue": True, "norm": True}  # held back, too
# Larger values take many minutes each.
MOST_MULTIPLIERS, MOST_SCALERS = 256, 16


def other_factors(parameters):
    """Factors of the parameters (docs/schema/gen/hardware.json) that FACTORS does not name."""
    named = set().union(*FACTORS, *MORE_FACTORS)
    for key, row in parameters.items():
        if key not in named and "default" in row:
            for value in (row["default"] // 4, 4 * row["default"]):
                yield {key: min(max(value, row["minimum"]), row["maximum"])}
        elif key not in named and row["type"] == "boolean":
            yield {key: True}


def held_back(parameters):
    draw = random.Random(21)
    points = []
    while len(points) < HELD_BACK:
        point = {"batch": draw.choice([1, 1, 1, 2, 4]), "block_in": draw.choice([4, 8, 8, 16, 16, 32]), "block_out": draw.choice([4, 8, 8, 16, 16, 32]),
                 "uop_buffer_bytes": draw.choice([4096, 16384, 32768]), "inp_buffer_bytes": draw.choice([8192, 16384, 32768, 65536]),
                 "wgt_buffer_bytes": draw.choice([32768, 65536, 131072, 262144, 524288]), "acc_buffer_bytes": draw.choice([32768, 65536, 131072, 262144]),
                 "command_queue_depth": draw.choice([16, 64, 128, 256]), "token_queue_depth": draw.choice([16, 64, 128]),
                 "address_bits": draw.choice([32, 36, 40]), "bus_bytes": draw.choice([8, 16, 32]), "burst_beats": draw.choice([8, 16, 32]),
                 "outstanding_beats": draw.choice([64, 128, 256]), "requant": draw.random() < .5, "saturate": draw.random() < .5,
                 "overwrite": draw.random() < .5}
        point |= {key: draw.choice([row["default"], min(2 * row["default"], row["maximum"])]) for key, row in parameters.items()
                  if key not in point and "default" in row}
        if point["batch"] * point["block_in"] * point["block_out"] > MOST_MULTIPLIERS:
            continue
        if point["requant"] and point["batch"] * point["block_out"] > MOST_SCALERS:
            continue
        points.append(point)
    return points


# What a flow counts in each block, and in the whole design.
BLOCK_COUNTS = {"generic": ("gates", "ff"), "xc7": ("lut", "ff"), "xcup": ("lut", "ff")}
WHOLE_COUNTS = {"generic": ("memory_bits",), "xc7": ("dsp", "ramb18", "ramb36"), "xcup": ("dsp", "ramb18", "ramb36")}


def run_of(area, parameters, is_held_back, flow):
    blocks = {block["path"]: block for block in area["blocks"]}
    return {"parameters": parameters, "held_back": is_held_back, "inputs": area["inputs"], "logic_levels": area["logic_levels"],
            **{key: blocks[""][key] for key in WHOLE_COUNTS[flow]},
            "blocks": {path: [blocks[path][key] for key in BLOCK_COUNTS[flow]] for path in BLOCKS}}


def named(flow):
    """The named configurations and their kept results."""
    for file in sorted((SOURCE / "hw/syn/results").glob(f"*.{flow}.json")):
        parameters = json.loads((SOURCE / "isa/configs" / f"{file.name.split('.')[0]}.json").read_text())
        yield {key: value for key, value in parameters.items() if key not in ("name", "system")}, json.loads(file.read_text())


def synthesize(cli, parameters, flow, kept):
    if kept and kept.exists():
        area = json.loads(kept.read_text())
        if area["parameters"] == parameters:
            return area
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "point.json"
        config.write_text(json.dumps({"name": "point", **parameters}))
        made = subprocess.run([cli, "hw", "area", config, "--flow", flow, "--run", "--json"], capture_output=True, text=True, check=False,
                              env={**os.environ, "DOVETAIL_HW": str(SOURCE / "hw")})
    if made.returncode != 0:
        raise RuntimeError(made.stderr)
    area = {**json.loads(made.stdout), "parameters": parameters}
    if kept:
        kept.write_text(json.dumps(area))
    return area


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", required=True)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--flow", choices=BLOCK_COUNTS, default="generic")
    parser.add_argument("--from", dest="folder", type=pathlib.Path)
    arguments = parser.parse_args()
    flow = arguments.flow
    parameters = json.loads((SOURCE / "docs/schema/gen/hardware.json").read_text())["properties"]
    points = [({**BASE, **factors}, False) for factors in (*FACTORS, *other_factors(parameters))]
    if flow == "generic":
        points += [({**BASE, **factors}, False) for factors in MORE_FACTORS]
        points += [(point, True) for point in (*held_back(parameters), ALL_EXTENSIONS)]
    if arguments.folder:
        arguments.folder.mkdir(exist_ok=True)
    runs = []

    def area_of(number):
        return synthesize(arguments.cli, points[number][0], flow, arguments.folder and arguments.folder / f"{flow}-{number}.json")

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (point, is_held_back), area in zip(points, pool.map(area_of, range(len(points)))):
            runs.append(run_of(area, point, is_held_back, flow))
            print(f"{len(runs)} of {len(points)}: {point}", flush=True)
    if flow != "generic":
        runs += [run_of(area, point, area["config"] not in EXTREMES, flow) for point, area in named(flow)]
    lines = ",\n".join("  " + json.dumps(run) for run in runs)
    (SOURCE / f"hw/syn/sweep.{flow}.json").write_text(f'{{"flow": "{flow}", "tool": "Yosys", "runs": [\n{lines}\n]}}\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
