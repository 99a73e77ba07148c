#!/usr/bin/env python3
"""Cycles of int8 networks: the kit's accelerator, Ethos-U by vela's estimate, and SCALE-Sim v3, with 256 multipliers each.

usage: peers.py DOVETAIL FOLDER --python PYTHON [--only NETWORK...] [--skip dovetail|vela|scalesim...] [-o OUT.json]

The networks come from `dovetail zoo NAME --int8`; they, their TFLite forms and the tools' settings are in FOLDER. PYTHON is that
of an environment with `pip install ethos-u-vela scalesim onnx tflite flatbuffers "numpy<2.3"`: SCALE-Sim 3.0.0 fails with newer
NumPy. Ours is compared with the reference at every tensor. Seconds are those of a whole command, from the network to the answer;
SCALE-Sim takes up to half an hour for a network and a dataflow. A file OUT.json that exists keeps its rows of other networks
and tools.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent / "peers"
NETWORKS = ("resnet18", "resnet50", "mobilenet_v1", "mobilenet_v2", "squeezenet1.1", "ds_cnn")
MULTIPLIERS = 256
HARDWARE = {"1x16x16-g2": "1x16x16-g2", "1x16x16": "1x16x16,bus_bytes=16"}
MEMORY = "ideal:latency=64"
# Ethos-U65 whose memories are ours: 16 bytes a cycle, latency 64, and 448 KiB on the chip (INP 32, WGT 256, ACC 128, OUT 32).
EQUAL = """[System_Config.Equal_Port]
core_clock=500e6
axi0_port=Sram
axi1_port=Dram
Sram_clock_scale=1.0
Sram_burst_length=32
Sram_read_latency=32
Sram_write_latency=32
Sram_max_reads=16
Sram_max_writes=16
Dram_clock_scale=1.0
Dram_burst_length=128
Dram_read_latency=64
Dram_write_latency=64
Dram_max_reads=64
Dram_max_writes=32

[Memory_Mode.Equal_Buffers]
const_mem_area=Axi1
arena_mem_area=Axi1
cache_mem_area=Axi0
arena_cache_size=458752
"""
VELA = {"U65-256, our memory": ("ethos-u65-256", "equal.ini", "Equal_Port", "Equal_Buffers"),
        "U65-256, Arm's DRAM": ("ethos-u65-256", "Arm/vela.ini", "Ethos_U65_High_End", "Dedicated_Sram_512KB"),
        "U55-256, SRAM only": ("ethos-u55-256", "Arm/vela.ini", "Ethos_U55_High_End_Embedded", "Sram_Only"),
        "U55-256, flash": ("ethos-u55-256", "Arm/vela.ini", "Ethos_U55_High_End_Embedded", "Shared_Sram")}
# Each of SCALE-Sim's three interfaces (inputs, weights, results) has 16 bytes a cycle; buffers as INP, WGT and ACC.
SCALESIM = """[general]
run_name = run
[architecture_presets]
ArrayHeight = 16
ArrayWidth = 16
IfmapSramSzkB = 32
FilterSramSzkB = 256
OfmapSramSzkB = 128
IfmapOffset = 0
FilterOffset = 100000000
OfmapOffset = 200000000
Bandwidth = 16
Dataflow = {dataflow}
MemoryBanks = 1
ReadRequestBuffer = 512
WriteRequestBuffer = 512
[layout]
IfmapCustomLayout = False
IfmapSRAMBankBandwidth = 16
IfmapSRAMBankNum = 1
IfmapSRAMBankPort = 2
FilterCustomLayout = False
FilterSRAMBankBandwidth = 16
FilterSRAMBankNum = 1
FilterSRAMBankPort = 2
[sparsity]
SparsitySupport = false
SparseRep = ellpack_block
OptimizedMapping = false
BlockSize = 8
RandomNumberGeneratorSeed = 40
[run_presets]
InterfaceBandwidth = USER
UseRamulatorTrace = False
"""
DATAFLOWS = {"weight-stationary": "ws", "output-stationary": "os"}


def call(*words, folder=None):
    """What the command prints, and its seconds."""
    begin = time.monotonic()
    ended = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{ended.stdout[-2000:]}{ended.stderr}")
    return ended.stdout, round(time.monotonic() - begin, 2)


def with_dovetail(options, network):
    report = options.folder / "report.json"
    for name, hardware in HARDWARE.items():
        words = [options.dovetail, "run", f"{network}.onnx", "--target", "accel,cpu", "--hw", hardware, "--engine", "cycle",
                 "--memory", MEMORY]
        call(*words, "--check", folder=options.folder)
        _, seconds = call(*words, "--report", report.name, folder=options.folder)
        steps = [step for step in json.loads(report.read_text(encoding="utf-8"))["steps"] if step["target"] == "accel"]
        if len(steps) != 1:
            sys.exit(f"{network}: {len(steps)} regions on {hardware}, but cycles of several are not comparable")
        yield {"peer": name, "cycles": steps[0]["timing"]["cycles"], "seconds": seconds}


def with_vela(options, network):
    (options.folder / "equal.ini").write_text(EQUAL, encoding="utf-8")
    for name, (accelerator, settings, system, memory) in VELA.items():
        out = options.folder / "vela"
        for old in out.glob(f"{network}_summary_*.csv"):
            old.unlink()
        _, seconds = call(options.python, "-m", "ethosu.vela", f"{network}.tflite", "--output-dir", out.name, "--accelerator-config",
                          accelerator, "--config", settings, "--system-config", system, "--memory-mode", memory, folder=options.folder)
        head, values = next(out.glob(f"{network}_summary_*.csv")).read_text(encoding="utf-8").splitlines()
        found = dict(zip(head.split(","), values.split(",")))
        yield {"peer": name, "cycles": int(found["cycles_total"]), "npu_cycles": int(found["cycles_npu"]), "macs": int(found["nn_macs"]),
               "sram_kib": float(found["sram_memory_used"]), "seconds": seconds}


def with_scalesim(options, network):
    for name, dataflow in DATAFLOWS.items():
        (options.folder / f"{dataflow}.cfg").write_text(SCALESIM.format(dataflow=dataflow), encoding="utf-8")
        found, seconds = call(options.python, "-W", "ignore", HERE / "run_scalesim.py", f"{network}.json", f"{dataflow}.cfg",
                              f"scalesim-{network}-{dataflow}", folder=options.folder)
        yield {"peer": name, **json.loads(found), "seconds": seconds}


TOOLS = {"dovetail": with_dovetail, "vela": with_vela, "scalesim": with_scalesim}


def versions(options):
    names = ("ethos-u-vela", "scalesim", "numpy", "onnx", "tflite", "flatbuffers")
    found, _ = call(options.python, "-c", f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {names}}}))")
    return {"dovetail": call(options.dovetail, "--version")[0].split()[-1], **json.loads(found)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dovetail", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--python", required=True, type=pathlib.Path)
    parser.add_argument("--only", nargs="+", default=NETWORKS, choices=NETWORKS)
    parser.add_argument("--skip", nargs="+", default=(), choices=TOOLS)
    parser.add_argument("-o", dest="out", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    # Absolute, since commands run in the folder; not resolved, since an environment's python is a link.
    options.dovetail, options.python = options.dovetail.absolute(), options.python.absolute()
    old = json.loads(options.out.read_text(encoding="utf-8"))["rows"] if options.out and options.out.exists() else []
    rows = {(row["network"], row["tool"], row["peer"]): row for row in old}
    for network in options.only:
        model, layers = options.folder / f"{network}.onnx", options.folder / f"{network}.json"
        if not model.exists():
            call(options.dovetail, "zoo", network, "--int8", "-o", model)
        text, _ = call(options.python, HERE / "export_tflite.py", model.name, f"{network}.tflite", folder=options.folder)
        layers.write_text(text, encoding="utf-8")
        shapes = json.loads(text)
        macs = sum(layer["macs"] for layer in shapes["layers"])
        for tool, run in TOOLS.items():
            for row in run(options, network) if tool not in options.skip else ():
                counted = row.get("macs", macs) + row.get("depthwise_macs", 0) - (shapes["pooled"] if tool == "vela" else 0)
                if counted != macs:
                    sys.exit(f"{network}: {tool} counts {counted} multiplications, but the layers have {macs}")
                rows[network, tool, row["peer"]] = {"network": network, "tool": tool, **row, "macs": macs, "pooled": shapes["pooled"]}
                print(network, tool, row, flush=True)
        if options.out:
            order = {key: index for index, key in enumerate((n, t) for n in NETWORKS for t in TOOLS)}
            document = {"kind": "peers", "multipliers": MULTIPLIERS, "versions": versions(options), "hardware": HARDWARE, "memory": MEMORY,
                        "vela": {name: dict(zip(("accelerator", "config", "system", "memory"), words)) for name, words in VELA.items()},
                        "vela_equal.ini": EQUAL.splitlines(), "scalesim.cfg": SCALESIM.splitlines(),
                        "rows": sorted(rows.values(), key=lambda row: order[row["network"], row["tool"]])}
            options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
