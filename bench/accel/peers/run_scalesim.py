#!/usr/bin/env python3
"""Runs SCALE-Sim v3 on the layers that export_tflite.py printed.  usage: run_scalesim.py LAYERS.json CONFIG.cfg FOLDER

Needs the Python package scalesim. Layers of equal shape are simulated once. SCALE-Sim computes a depthwise layer channel by
channel, so one channel is simulated and counts as often as there are channels. Prints the sums as JSON: cycles with the first
prefetch, cycles from the first product on, stalls among them, and products.
"""

import contextlib
import json
import os
import pathlib
import sys

from scalesim.scale_sim import scalesim


def simulated(shape, config, folder):
    """The figures of one layer; shape: rows, columns, kernel rows, columns, channels, filters, strides."""
    topology, layout = folder / "layer.csv", folder / "layout.csv"
    topology.write_text("name,rows,columns,kernel rows,kernel columns,channels,filters,stride rows,stride columns,\n"
                        + ",".join(["layer", *map(str, shape)]) + ",\n")
    layout.write_text("name,\nlayer," + "1," * 20 + "\n")
    with open(os.devnull, "w", encoding="utf-8") as nothing, contextlib.redirect_stdout(nothing):
        run = scalesim(save_disk_space=True, verbose=False, config=str(config), topology=str(topology), layout=str(layout))
        run.run_scale(top_path=str(folder))
        layer = run.runner.single_layer_sim_object_list[0]
        total, cycles, stalls = (int(value) for value in layer.get_compute_report_items()[:3])
    return {"cycles": total, "cycles_after_prefetch": cycles, "stalls": stalls, "macs": int(layer.num_compute)}


def main():
    layers = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))["layers"]
    config, folder = sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    known, sums = {}, {}
    for layer in layers:
        channels, filters, times = (1, 1, layer["channels"]) if layer["depthwise"] else (layer["channels"], layer["filters"], 1)
        shape = (*layer["image"], *layer["kernel"], channels, filters, layer["stride"][0])
        known[shape] = known.get(shape) or simulated(shape, config, folder)
        for name, value in known[shape].items():
            kind = f"depthwise_{name}" if layer["depthwise"] else name
            sums[kind] = sums.get(kind, 0) + value * times
    json.dump(sums, sys.stdout)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main()
