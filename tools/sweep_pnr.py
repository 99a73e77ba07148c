#!/usr/bin/env python3
"""Places the design points for the fit of the clock model, and those to measure its error (hw/syn/sweep.pnr.ecp5.json).

usage: sweep_pnr.py --cli DOVETAIL [--from FOLDER] [--lock FILE]

The points vary a small base configuration in what the clock depends on: sizes of blocks and buffers, the port, extensions. The held-back points are not used
for the fit. A point takes three to fifteen minutes on one core, all of them two hours; one is placed at a time, with one seed. --from FOLDER keeps each result
in it, and uses those that are there already; --lock FILE waits for a lock before each point. Points that are done are written after each one.
"""

import argparse
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]
OUT = SOURCE / "hw/syn/sweep.pnr.ecp5.json"
BASE = {"block_in": 4, "block_out": 4, "uop_buffer_bytes": 2048, "inp_buffer_bytes": 2048, "wgt_buffer_bytes": 4096, "acc_buffer_bytes": 4096,
        "command_queue_depth": 16, "outstanding_beats": 32, "burst_beats": 16}
SMALL = {"uop_buffer_bytes": 64, "inp_buffer_bytes": 64, "wgt_buffer_bytes": 128, "acc_buffer_bytes": 256, "command_queue_depth": 4,
         "address_bits": 20, "outstanding_beats": 8, "burst_beats": 4}  # of `tiny`
LARGE = {"uop_buffer_bytes": 16384, "inp_buffer_bytes": 16384, "wgt_buffer_bytes": 65536, "acc_buffer_bytes": 65536}
OF_1X8X8 = {**LARGE, "block_in": 8, "block_out": 8, "uop_buffer_bytes": 32768, "command_queue_depth": 128, "outstanding_beats": 128, "burst_beats": 32}
ALL = {"requant": True, "saturate": True, "overwrite": True}
# (what differs from BASE, whether the point is held back)
POINTS = [
    (SMALL, False), ({"block_in": 2, "block_out": 2}, False), ({}, False), ({"block_in": 8, "block_out": 4, "bus_bytes": 16}, True),
    ({"bus_bytes": 4}, False), ({"block_in": 8, "block_out": 8}, False), ({"requant": True}, False),
    ({**SMALL, "block_in": 8, "block_out": 8, "wgt_buffer_bytes": 256}, False), ({"bus_bytes": 16}, False), (LARGE, False), ({"outstanding_beats": 128}, False),
    ({"requant": True, "bus_bytes": 4, "block_out": 2}, True), (ALL, False), ({"batch": 2}, False), ({"block_out": 8}, False),
    ({**ALL, "outstanding_beats": 64}, True), (OF_1X8X8, True), ({**SMALL, "block_in": 8}, True), ({**SMALL, "block_in": 2, "block_out": 2}, True),
]


def place(cli, parameters, kept, lock):
    if kept and kept.exists():
        result = json.loads(kept.read_text())
        if result["parameters"] == parameters:
            return result
    with tempfile.TemporaryDirectory() as folder, open(lock or os.devnull, "a+b") as waited:
        if lock:
            fcntl.flock(waited, fcntl.LOCK_EX)
        config = pathlib.Path(folder) / "point.json"
        config.write_text(json.dumps({"name": "point", **parameters}))
        begin = time.monotonic()
        made = subprocess.run([cli, "hw", "pnr", config, "--core", "--run", "--json"], capture_output=True, text=True, check=False,
                              env={**os.environ, "DOVETAIL_HW": os.environ.get("DOVETAIL_HW", str(SOURCE / "hw"))})
    if made.returncode != 0:
        raise RuntimeError(made.stderr)
    result = {**json.loads(made.stdout), "parameters": parameters, "seconds": round(time.monotonic() - begin)}
    if kept:
        kept.write_text(json.dumps(result))
    return result


def run_of(result, is_held_back):
    whole, path = result["area"]["blocks"][0], result["runs"][0]["critical_path"]
    return {"parameters": result["parameters"], "held_back": is_held_back, "inputs": result["inputs"], "seconds": result["seconds"],
            "clock_mhz": result["clock_mhz"], "critical_path": {key: path[key] for key in ("from", "to", "logic_ns", "routing_ns")},
            "logic_levels": result["area"]["logic_levels"],
            **{key: whole[key] for key in ("lut", "lut_ram", "ff", "dsp", "bram")},
            "used": {use["cell"]: use["used"] for use in result["used"]}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", required=True)
    parser.add_argument("--from", dest="folder", type=pathlib.Path)
    parser.add_argument("--lock", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.folder:
        arguments.folder.mkdir(exist_ok=True)
    runs, about = [], {}
    for number, (factors, is_held_back) in enumerate(POINTS):
        result = place(arguments.cli, {**BASE, **factors}, arguments.folder and arguments.folder / f"{number}.json", arguments.lock)
        runs.append(run_of(result, is_held_back))
        about = {"flow": result["flow"], "device": result["device"], "tool": result["area"]["tool"], "placer": result["placer"], "date": result["date"]}
        print(f"{number + 1} of {len(POINTS)}: {factors}: {runs[-1]['clock_mhz']:.1f} MHz, {runs[-1]['seconds']} s", flush=True)
        lines = ",\n".join("  " + json.dumps(run) for run in runs)
        OUT.write_text(json.dumps(about)[:-1] + f', "runs": [\n{lines}\n]}}\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
