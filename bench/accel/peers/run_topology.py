#!/usr/bin/env python3
"""Runs SCALE-Sim v3 on a topology, layer by layer.  usage: run_topology.py TOPOLOGY.csv CONFIG.cfg FOLDER

Needs the Python package scalesim. Prints a JSON list: name, cycles from the first request of the DRAM to the last, cycles of
the array from the first product on, stalls among them, and bytes that the DRAM reads, of inputs and weights, and writes.
"""

import contextlib
import json
import os
import pathlib
import sys
import time

from scalesim.scale_sim import scalesim


def main():
    topology, config, folder = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    rows = [line for line in topology.read_text(encoding="utf-8").splitlines() if line.strip()]
    kind = "gemm" if len(rows[0].strip().rstrip(",").split(",")) < 8 else "conv"
    layers = []
    for row in rows[1:]:
        name = row.split(",")[0].strip()
        one, layout = folder / "layer.csv", folder / "layout.csv"
        one.write_text(rows[0] + "\n" + row + "\n", encoding="utf-8")
        layout.write_text(f"name,\n{name}," + "1," * 20 + "\n", encoding="utf-8")
        begin, busy = time.monotonic(), time.process_time()
        with open(os.devnull, "w", encoding="utf-8") as nothing, contextlib.redirect_stdout(nothing), \
                contextlib.redirect_stderr(nothing):
            run = scalesim(save_disk_space=True, verbose=False, config=config, topology=str(one), layout=str(layout),
                           input_type_gemm=kind == "gemm")
            run.run_scale(top_path=str(folder))
        layer = run.runner.single_layer_sim_object_list[0]
        total, cycles, stalls = (int(value) for value in layer.get_compute_report_items()[:3])
        detail = layer.get_detail_report_items()
        layers.append({"name": name, "cycles": total, "cycles_after_prefetch": cycles, "stalls": stalls,
                       "read_bytes": int(detail[11]) + int(detail[14]), "input_bytes": int(detail[11]),
                       "weight_bytes": int(detail[14]), "written_bytes": int(detail[17]),
                       "macs": int(layer.num_compute), "seconds": round(time.monotonic() - begin, 2),
                       "processor_seconds": round(time.process_time() - busy, 2)})
    json.dump(layers, sys.stdout)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main()
