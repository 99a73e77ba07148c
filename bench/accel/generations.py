#!/usr/bin/env python3
"""What each extension buys: cycles, energy and area of networks over examples/explore/generations.json.

usage: generations.py DOVETAIL FOLDER [--only NAME...] [--area] [-o OUT.json]

The int8 networks come from `dovetail zoo`; they and the sweeps, which a second run continues, are in FOLDER. --area also
synthesizes the steps of the 16x16 array with Yosys, for Xilinx 7 series, in some minutes each. The document has a row for each
network and measured point, and one for each machine that decodes a token; cycles are those of the accelerator alone.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SPACE = ROOT / "examples/explore/generations.json"
NETWORKS = ("resnet18", "resnet50", "mobilenet_v1", "mobilenet_v2", "squeezenet1.1", "ds_cnn", "bert_base", "gpt_block", "vit_tiny")
STEPS = ("window", "table", "epilogue", "norm")
SYNTHESIZED = "1x16x16-ext,bus_bytes=16"


def call(*words):
    ended = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{ended.stdout[-2000:]}{ended.stderr}")
    return ended.stdout


def sweep(dovetail, folder, name):
    """The rows of a network."""
    model = folder / f"{name}.onnx"
    if not model.exists():
        call(dovetail, "zoo", name, "--int8", "-o", model)
    report = json.loads(call(dovetail, "explore", model, SPACE, "-o", folder / name, "--no-prune", "--no-check", "--json"))
    for point in report["points"]:
        if point["state"] != "measured":
            continue
        chosen, measured = point["chosen"], point["models"][0]
        yield {"network": name, "block": chosen["block_in"], "bus_bytes": chosen["bus_bytes"],
               "extensions": [step for step in STEPS if chosen[step]], "cycles": measured["cycles"], "regions": measured["regions"],
               "energy_mj": measured["energy_mj"], "macs": measured["macs"], "area_mm2": point["values"]["area_mm2"]}


# One token of a decoder, whose keys and values are states: hardware and bits of the weights.
DECODER, POSITIONS = "stories15m_decode", 256
DECODERS = (("1x16x16-g2", 8), ("1x16x16-g2,offset=true", 8), ("1x16x16-g3", 4), ("1x16x16-g3,block_in=32,block_out=32,bus_bytes=32", 4))


def decoded(dovetail, folder):
    for hardware, bits in DECODERS:
        model = folder / f"{DECODER}{bits}.onnx"
        if not model.exists():
            call(dovetail, "zoo", DECODER, "--sequence", POSITIONS, "--int8", "--weight-bits", bits, "-o", model)
        profile = json.loads(call(dovetail, "profile", model, "--target", "accel,cpu", "--hw", hardware, "--state", "past.*=present.*", "--json"))
        steps = [step for step in profile["steps"] if "timing" in step]
        yield {"network": DECODER, "positions": POSITIONS, "hardware": hardware, "weight_bits": bits, "regions": len(steps),
               "cycles": profile["latency"]["cycles"], "clock_mhz": profile["latency"]["clock_mhz"],
               "bytes_read": sum(step["timing"]["program"]["bytes_read"] for step in steps), "energy_mj": profile["energy"]["joules"] * 1e3}


def synthesized(dovetail):
    for count in range(len(STEPS) + 1):
        hardware = ",".join([SYNTHESIZED] + [f"{step}=true" for step in STEPS[:count]])
        area = json.loads(call(dovetail, "hw", "area", hardware, "--flow", "xc7", "--run", "--json"))
        whole = area["blocks"][0]
        yield {"extensions": list(STEPS[:count]), "lut": whole["lut"] + whole["lut_ram"], "flip_flops": whole["ff"], "dsp": whole["dsp"],
               "bram": whole["ramb36"] + whole["ramb18"] / 2, "levels": area["logic_levels"]}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dovetail")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", default=NETWORKS)
    parser.add_argument("--area", action="store_true")
    parser.add_argument("-o", dest="out", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    document = {"kind": "generations", "rows": [row for name in arguments.only for row in sweep(arguments.dovetail, arguments.folder, name)]}
    document["decoders"] = list(decoded(arguments.dovetail, arguments.folder))
    if arguments.area:
        document["areas"] = list(synthesized(arguments.dovetail))
    text = json.dumps(document, indent=1) + "\n"
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
