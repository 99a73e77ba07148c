#!/usr/bin/env python3
"""Cycles of int8 networks: the kit's accelerator, Ethos-U by vela's estimate, and SCALE-Sim v3, with 256 multipliers each.

usage: peers.py DOVETAIL FOLDER --python PYTHON [--only NETWORK...] [--skip dovetail|vela|scalesim...] [-o OUT.json]
       peers.py DOVETAIL FOLDER --python PYTHON --layers [LAYER...] --stream PYTHON [--only NETWORK...] [-o OUT.json]
                [--skip dovetail|scalesim|stream...] [--dataflow weight-stationary|output-stationary...]

The networks come from `dovetail zoo NAME --int8`; they, their TFLite forms and the tools' settings are in FOLDER. PYTHON is that
of an environment with `pip install ethos-u-vela scalesim onnx tflite flatbuffers "numpy<2.3"`: SCALE-Sim 3.0.0 fails with newer
NumPy. Ours is compared with the reference at every tensor. Seconds are those of a whole command, from the network to the answer;
SCALE-Sim takes up to half an hour for a network and a dataflow. A file OUT.json that exists keeps its rows of other networks
and tools.

--layers compares the distinct layers of a network (default resnet18, without depthwise layers) or those named, one by one, each
from memory to memory: cycles, bytes that the memory reads and writes, and seconds, by the kit, SCALE-Sim and Stream. The PYTHON
of --stream, 3.12 or newer, has `pip install stream-dse six`. The kit's seconds are those of a whole command, the peers' begin
after Python's imports; both are also given as processor time, which other work on the machine hardly changes.
A peer that is not installed ends the program with exit code 2, before anything runs; --skip leaves a peer out.
"""

import argparse
import json
import math
import pathlib
import resource
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
# Ours, layer by layer: peer, hardware and memory. SCALE-Sim and Stream have no latency, so one row is almost without it.
LAYER_HARDWARE = [*((name, hardware, MEMORY) for name, hardware in HARDWARE.items()),
                  ("1x16x16-g2, latency 1", "1x16x16-g2", "ideal:latency=1")]
# What a step needs: the option with its Python, the modules, and what to install.
NEEDS = {"export": ("python", "onnx, numpy, tflite, flatbuffers", 'onnx tflite flatbuffers "numpy<2.3"'),
         "vela": ("python", "ethosu.vela", "ethos-u-vela"),
         "scalesim": ("python", "scalesim.scale_sim", 'scalesim==3.0.0 "numpy<2.3"'),
         "stream": ("stream", "stream.api", "stream-dse==2.1.1 six")}
# Whose versions are in the results.
PACKAGES = {"vela": ("ethos-u-vela",), "scalesim": ("scalesim",), "stream": ("stream-dse", "zigzag-dse", "ortools")}


def missing(what, why, remedy):
    """Leaves: a program that a step needs is not there."""
    print(f"peers.py: {what}: {why}; {remedy}", file=sys.stderr)
    sys.exit(2)


def require(options, steps):
    """Checks before anything runs that all programs and modules of the steps are there."""
    if not options.dovetail.is_file():
        missing(options.dovetail, "there is no such program", "build it with ./dev build, and give build/release/bin/dovetail")
    for step in steps:
        if step not in NEEDS:
            continue
        option, modules, packages = NEEDS[step]
        python, instead = getattr(options, option), "" if step == "export" else f", or leave it out with --skip {step}"
        if python is None:
            missing(step, f"--{option} is not given", f"give a Python with `pip install {packages}`{instead}")
        try:
            ended = subprocess.run([python, "-c", f"import {modules}"], capture_output=True, text=True, check=False)
        except OSError as error:
            missing(step, f"--{option} {python} does not run, {error.strerror}", f"give the path of a Python{instead}")
        if ended.returncode != 0:
            reason = (ended.stderr.strip().splitlines() or ["no reason given"])[-1]
            missing(step, f"{python} cannot import {modules} ({reason})", f"run {python} -m pip install {packages}{instead}")


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
    for name, dataflow in ((name, DATAFLOWS[name]) for name in options.dataflow):
        (options.folder / f"{dataflow}.cfg").write_text(SCALESIM.format(dataflow=dataflow), encoding="utf-8")
        found, seconds = call(options.python, "-W", "ignore", HERE / "run_scalesim.py", f"{network}.json", f"{dataflow}.cfg",
                              f"scalesim-{network}-{dataflow}", folder=options.folder)
        yield {"peer": name, **json.loads(found), "seconds": seconds}


TOOLS = {"dovetail": with_dovetail, "vela": with_vela, "scalesim": with_scalesim}


def extents(letter, values):
    """k3, or k1x7: values that are equal are written once."""
    return letter + "x".join(map(str, values[:1] if len(set(values)) == 1 else values))


def shape_of(layer):
    """The layer as text for --layer."""
    rows, columns = layer["extent"]
    if (rows, columns) == (1, 1):
        return f"gemm 1x{layer['channels']} -> {layer['filters']}"
    settings = " ".join(extents(letter, layer[name]) for letter, name in (("k", "kernel"), ("s", "stride"), ("p", "pads")))
    return f"conv {layer['channels']}x{rows}x{columns} -> {layer['filters']} {settings}"


def processor_seconds():
    """Of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def layer_with_dovetail(options, layer):
    report = options.folder / "report.json"
    for name, hardware, memory in LAYER_HARDWARE:
        words = [options.dovetail, "run", "--layer", shape_of(layer), "--target", "accel", "--hw", hardware, "--engine", "cycle",
                 "--memory", memory]
        call(*words, "--check", folder=options.folder)
        before = processor_seconds()
        _, seconds = call(*words, "--report", report.name, folder=options.folder)
        busy = round(processor_seconds() - before, 2)
        (step,) = (step for step in json.loads(report.read_text(encoding="utf-8"))["steps"] if step["target"] == "accel")
        program = step["timing"]["program"]
        loaded = step["counters"]["bytes_loaded"]
        yield {"peer": name, "cycles": step["timing"]["cycles"], "read_bytes": program["bytes_read"],
               "input_bytes": loaded["inp"], "weight_bytes": loaded["wgt"], "written_bytes": program["bytes_written"],
               "macs": program["useful_macs"], "seconds": seconds, "processor_seconds": busy}


def layer_with_scalesim(options, layer):
    topology = options.folder / "topology.csv"
    row = ["layer", *layer["image"], *layer["kernel"], layer["channels"], layer["filters"], layer["stride"][0]]
    topology.write_text("Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
                        + ", ".join(map(str, row)) + ",\n", encoding="utf-8")
    for name, dataflow in ((name, DATAFLOWS[name]) for name in options.dataflow):
        (options.folder / f"{dataflow}.cfg").write_text(SCALESIM.format(dataflow=dataflow), encoding="utf-8")
        text, _ = call(options.python, "-W", "ignore", HERE / "run_topology.py", topology.name, f"{dataflow}.cfg",
                       f"scalesim-layer-{dataflow}", folder=options.folder)
        (found,) = json.loads(text)
        yield {"peer": name, **{key: value for key, value in found.items() if key != "name"}}


def layer_with_stream(options, layer):
    path = options.folder / "layer.json"
    path.write_text(json.dumps(layer), encoding="utf-8")
    text, _ = call(options.stream, HERE / "run_stream.py", path.name, "stream-layer", folder=options.folder)
    yield {"peer": "Stream", **json.loads(text)}


LAYER_TOOLS = {"dovetail": layer_with_dovetail, "scalesim": layer_with_scalesim, "stream": layer_with_stream}


def tools_of(options):
    return TOOLS if options.layers is None else LAYER_TOOLS


def versions(python, names):
    program = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {names}}}))"
    return json.loads(call(python, "-c", program)[0])


def all_versions(options, old):
    """Of the kit and of the tools that run; those of the others stay."""
    found = {**old["versions"], "dovetail": call(options.dovetail, "--version")[0].split()[-1],
             **versions(options.python, ("numpy", "onnx", "tflite", "flatbuffers"))}
    for tool in tools_of(options):
        if tool in PACKAGES and tool not in options.skip:
            found |= versions(getattr(options, NEEDS[tool][0]), PACKAGES[tool])
    return found


def exported(options, network):
    """What export_tflite.py says of the network's layers; the network and its TFLite form are then in the folder."""
    model = options.folder / f"{network}.onnx"
    if not model.exists():
        call(options.dovetail, "zoo", network, "--int8", "-o", model)
    text, _ = call(options.python, HERE / "export_tflite.py", model.name, f"{network}.tflite", folder=options.folder)
    (options.folder / f"{network}.json").write_text(text, encoding="utf-8")
    return json.loads(text)


def old_document(options):
    if options.out and options.out.exists():
        return json.loads(options.out.read_text(encoding="utf-8"))
    return {"rows": [], "versions": {}}


def write(options, document):
    if options.out:
        options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def compare_networks(options):
    old = old_document(options)
    rows = {(row["network"], row["tool"], row["peer"]): row for row in old["rows"]}
    found = all_versions(options, old)
    for network in options.only or NETWORKS:
        shapes = exported(options, network)
        macs = sum(layer["macs"] for layer in shapes["layers"])
        for tool, run in TOOLS.items():
            for row in run(options, network) if tool not in options.skip else ():
                counted = row.get("macs", macs) + row.get("depthwise_macs", 0) - (shapes["pooled"] if tool == "vela" else 0)
                if counted != macs:
                    sys.exit(f"{network}: {tool} counts {counted} multiplications, but the layers have {macs}")
                key = {"network": network, "tool": tool}
                rows[network, tool, row["peer"]] = {**key, **row, "macs": macs, "pooled": shapes["pooled"]}
                print(network, tool, row, flush=True)
        order = {key: index for index, key in enumerate((n, t) for n in NETWORKS for t in TOOLS)}
        write(options, {"kind": "peers", "multipliers": MULTIPLIERS, "versions": found, "hardware": HARDWARE, "memory": MEMORY,
                        "vela": {name: dict(zip(("accelerator", "config", "system", "memory"), words))
                                 for name, words in VELA.items()},
                        "vela_equal.ini": EQUAL.splitlines(), "scalesim.cfg": SCALESIM.splitlines(),
                        "rows": sorted(rows.values(), key=lambda row: order[row["network"], row["tool"]])})


def distinct(layers):
    """Of each shape the first layer, with the number of layers that have it."""
    found = {}
    for layer in layers:
        shape = json.dumps({name: value for name, value in layer.items() if name != "name"})
        first = found.setdefault(shape, {**layer, "count": 0})
        first["count"] += 1
    return list(found.values())


def bytes_of(layer):
    """Of a layer's int8 inputs, weights and results, each once."""
    taps = layer["channels"] * math.prod(layer["kernel"])
    return {"input_bytes": layer["channels"] * math.prod(layer["extent"]), "weight_bytes": layer["filters"] * taps,
            "result_bytes": layer["macs"] // taps}


def compare_layers(options):
    old = old_document(options)
    layers = {(layer["network"], layer["name"]): layer for layer in old.get("layers", ())}
    rows = {(row["network"], row["layer"], row["tool"], row["peer"]): row for row in old["rows"]}
    found = all_versions(options, old)
    for network in options.only or ("resnet18",):
        chosen = distinct(exported(options, network)["layers"])
        if any(layer["depthwise"] for layer in chosen):
            missing(network, "it has depthwise layers, which are not compared one by one", "name another network with --only")
        if unknown := set(options.layers) - {layer["name"] for layer in chosen}:
            missing(network, f"none of its distinct layers is named {', '.join(sorted(unknown))}",
                    f"name some of {', '.join(layer['name'] for layer in chosen)}")
        for layer in chosen:
            name = layer["name"]
            layers[network, name] = {"network": network, "name": name, "shape": shape_of(layer), "count": layer["count"],
                                     "macs": layer["macs"], **bytes_of(layer)}
        order = {key: index for index, key in enumerate(layers)}
        for layer in (layer for layer in chosen if not options.layers or layer["name"] in options.layers):
            name = layer["name"]
            for tool, run in LAYER_TOOLS.items():
                for row in run(options, layer) if tool not in options.skip else ():
                    if row.get("macs", layer["macs"]) != layer["macs"]:
                        sys.exit(f"{name}: {tool} counts {row['macs']} multiplications, but the layer has {layer['macs']}")
                    rows[network, name, tool, row["peer"]] = {"network": network, "layer": name, "tool": tool, **row}
                    print(name, tool, row, flush=True)
                    write(options, {"kind": "peers of layers", "multipliers": MULTIPLIERS, "versions": found,
                                    "hardware": [dict(zip(("peer", "hardware", "memory"), words)) for words in LAYER_HARDWARE],
                                    "scalesim.cfg": SCALESIM.splitlines(),
                                    "stream": {path.name: path.read_text(encoding="utf-8").splitlines()
                                               for path in sorted(HERE.glob("stream/*.yaml"))},
                                    "layers": list(layers.values()),
                                    "rows": sorted(rows.values(), key=lambda row: order[row["network"], row["layer"]])})


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dovetail", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--python", required=True, type=pathlib.Path)
    parser.add_argument("--layers", nargs="*", metavar="LAYER")
    parser.add_argument("--stream", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", choices=NETWORKS)
    parser.add_argument("--skip", nargs="+", default=(), choices={**TOOLS, **LAYER_TOOLS})
    parser.add_argument("--dataflow", nargs="+", default=tuple(DATAFLOWS), choices=DATAFLOWS)
    parser.add_argument("-o", dest="out", type=pathlib.Path)
    options = parser.parse_args()
    # Absolute, since commands run in the folder; not resolved, since an environment's python is a link.
    options.dovetail, options.python = options.dovetail.absolute(), options.python.absolute()
    options.stream = options.stream and options.stream.absolute()
    require(options, ["export", *(tool for tool in tools_of(options) if tool not in options.skip)])
    options.folder.mkdir(parents=True, exist_ok=True)
    (compare_networks if options.layers is None else compare_layers)(options)


if __name__ == "__main__":
    main()
