#!/usr/bin/env python3
"""Cycles of whole networks on the accelerator, compared with the bounds of their layers (docs/explanation/accelerator-bound.md).

usage: run.py DOVETAIL FOLDER [--models DIR] [--only TEXT] [--batch N] [--check] [-o OUT.json]

Models come from `dovetail zoo --int8` and are kept in FOLDER. Each network runs on the cycle simulator, with --check its
values are compared with the reference, on 1x16x16-ext and 1x16x16, with memories of four kinds, and on 1x16x16-g2, 1x32x32 and
4x8x8 with the first kind, with the slots chosen by the schedules and with one slot. Prints a table for each network, machine and
memory. With --models, the networks are instead those of DIR/*/model.onnx that have an integer form; their layers come from that
form.
"""

import argparse
import dataclasses
import json
import pathlib
import re
import subprocess
import sys

import bound
import networks

NETWORKS = {"resnet18": networks.resnet18, "mobilenet_v2": networks.mobilenet_v2, "gpt_block": networks.gpt_block,
            "bert_base": networks.bert_base}
WITH_BATCH = ("resnet18", "mobilenet_v2")
MACHINES = ("1x16x16-ext", "1x16x16-g2", "1x16x16", "1x32x32", "4x8x8")
WITH_ALL_MEMORIES = ("1x16x16-ext", "1x16x16")
# name, --memory and --clock, bytes per cycle shared by reads and writes (None: not shared)
DDR4_BYTES_PER_SECOND = 19.2e9
MEMORIES = (("ideal, latency 64", ("ideal:latency=64",), None), ("ideal, latency 1", ("ideal:latency=1",), None),
            ("DDR4-2400, 100 MHz", ("bank:ddr4-2400", "--clock", 100), DDR4_BYTES_PER_SECOND / 100e6),
            ("DDR4-2400, 333 MHz", ("bank:ddr4-2400", "--clock", 333), DDR4_BYTES_PER_SECOND / 333e6))
ONE_SLOT = [word for name in ("inp", "wgt", "acc") for word in ("--decide", f"slots_{name}=1")]


def call(words, **options):
    ended = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{ended.stdout[-2000:]}{ended.stderr}")
    return ended.stdout


def machine_of(dovetail, name):
    facts = json.loads(call([dovetail, "hw", "show", name, "--json"]))
    return bound.Machine(**{field.name: facts[field.name] for field in dataclasses.fields(bound.Machine)})


def integer_form(dovetail, model, stage="integer"):
    return call([dovetail, "compile", model, "--target", "accel,cpu", "--stop-after", stage, "--dump", stage])


def with_multipliers(layers, dovetail, model):
    """The layers; sums get the multipliers of their operands from the model's integer form, before any program."""
    printed = integer_form(dovetail, model)
    found = {}
    for line in printed.splitlines():
        node = re.search(r"dovetail\.qadd\(.*\ba_multiplier=([^,}]*).*\bb_multiplier=([^,}]*).*\bscale=([^,}]*).*// (\S+)", line)
        if node:
            found[node[4]] = {"multipliers": (float(node[1]), float(node[2])), "sum_scale": float(node[3])}
    return [dataclasses.replace(layer, **found.get(layer.name, {})) for layer in layers]


def is_measured(name, dovetail, model):
    """Whether every product of the model is one of integers; says so where it is not."""
    printed = integer_form(dovetail, model)
    if not re.search(r"= dovetail\.q(conv|gemm)\(", printed):
        return False
    left = re.findall(r"= (Conv|Gemm|MatMul|MatMulInteger|ConvInteger|dovetail\.w\w+)\(", printed)
    if left:
        print(f"{name}: not measured, since {len(left)} of its products are not in integers")
    return not left


def measure(dovetail, model, machine, memory, extra, report):
    call([dovetail, "run", model, "--target", "accel,cpu", "--hw", machine, "--engine", "cycle", "--memory", *memory, "--report",
          report, *extra])
    run = json.loads(report.read_text())
    steps = [step for step in run["steps"] if step["target"] == "accel"]
    rows = [row for step in steps for row in step["timing"]["layers"]]
    return rows, steps


def tokens_of(dovetail, model, machine, folder):
    """Tokens per layer: those of its instructions, and those of a planner that synchronizes at every change of queues."""
    report = folder / "compiled.json"
    call([dovetail, "compile", model, "--target", "accel,cpu", "--hw", machine, "-o", folder / "compiled.dvt", "--report", report])
    rows = [row for code in json.loads(report.read_text())["compiler"]["codes"] for row in code["tokens"]["layers"]]
    return {row["name"]: (row["all"], row["stage_order"]) for row in rows}


def rows_of(layer, names):
    """The run's rows for the layer: a convolution and the pooling after it have one, or one each. A row of fused layers,
    "conv1+pool1", is that of the last one."""
    last = {name.split("+")[-1]: name for name in names}
    own = [last[name] for name in (layer.name, layer.name + ".relu", layer.name + ".norm") if name in last][:1]
    return own + (rows_of(layer.pool, names) if layer.pool else [])


def compare(layers, rows, machine, peak):
    """Each layer with rows in the run, and its bound: a layer without rows is fused with the next one with rows."""
    cycles = {row["name"]: row["cycles"] for row in rows}
    result, waiting = [], None
    for layer in layers:
        here = bound.bound(layer, machine)
        waiting = (waiting[0] + here, waiting[1] + layer.macs) if waiting else (here, layer.macs)
        names = rows_of(layer, cycles)
        if not names:
            continue
        limit, taken = waiting[0].cycles(machine, peak), sum(cycles[name] for name in names)
        result.append({"layer": f"{layer.name}, {layer.pool.name}" if layer.pool else layer.name, "rows": names, "cycles": taken,
                       "bound": round(limit), "of_bound": limit / taken, "macs": waiting[1], "macs_per_cycle": waiting[1] / taken})
        waiting = None
    if waiting:
        result.append({"layer": "not on the accelerator", "cycles": None, "bound": round(waiting[0].compute()), "macs": waiting[1]})
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dovetail", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path, help="folder of folders with an int8 model.onnx each, instead of the zoo")
    parser.add_argument("--only", default="", help="part of NETWORK, MACHINE, MEMORY")
    parser.add_argument("--batch", type=int, default=1, help="images; transformers are skipped unless it is 1")
    parser.add_argument("--check", action="store_true", help="compare every tensor with the reference")
    parser.add_argument("-o", dest="output", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    runs = []
    if options.models:
        networks_and_layers = [(model.parent.name, model, lambda model=model: networks.integer_layers(integer_form(options.dovetail, model, "graph")))
                               for model in sorted(options.models.glob("*/model.onnx"))]
        networks_and_layers = [row for row in networks_and_layers if is_measured(row[0], options.dovetail, row[1])]
    else:
        networks_and_layers = [(network, options.folder / (f"{network}.onnx" if options.batch == 1 else f"{network}_{options.batch}.onnx"),
                                lambda network=network, of=of: of(options.batch) if network in WITH_BATCH else of())
                               for network, of in NETWORKS.items() if options.batch == 1 or network in WITH_BATCH]
    for network, model, layers_of in networks_and_layers:
        for machine_name in MACHINES:
            for memory, spec, peak in MEMORIES:
                if options.only not in f"{network}, {machine_name}, {memory}":
                    continue
                if memory != MEMORIES[0][0] and (options.models or machine_name not in WITH_ALL_MEMORIES):
                    continue
                if not model.exists():
                    call([options.dovetail, "zoo", network, "--int8", "--batch", options.batch, "-o", model])
                machine = machine_of(options.dovetail, machine_name)
                report = options.folder / "report.json"
                rows, steps = measure(options.dovetail, model, machine_name, spec, ["--check"] if options.check else [], report)
                alone, _ = measure(options.dovetail, model, machine_name, spec, ONE_SLOT, report)
                layers = layers_of() if options.models else with_multipliers(layers_of(), options.dovetail, model)
                table = compare(layers, rows, machine, peak)
                total = sum(step["timing"]["cycles"] for step in steps)
                one_slot = {row["name"]: row["cycles"] for row in alone}
                macs = sum(layer.macs for layer in layers)
                tokens = sum(step["counters"]["tokens"] for step in steps)
                of_layers = tokens_of(options.dovetail, model, machine_name, options.folder)
                at_every_change = sum(every for _, every in of_layers.values())
                limit = sum(row["bound"] for row in table)
                print(f"\n{network} on {machine_name}, {memory}: {total:,} cycles in {len(steps)} regions, bound "
                      f"{limit:,}, {limit / total:.3f} of it, {macs / total / (machine.batch * machine.block_in * machine.block_out):.3f} "
                      f"of the peak useful, {tokens:,} tokens, {at_every_change:,} at every change of queues, with one slot {sum(one_slot.values()):,} cycles\n")
                print("| layer | cycles | bound | of it | with one slot | own MACs a cycle | tokens | at every change |\n|---|---|---|---|---|---|---|---|")
                for row in table:
                    if row["cycles"] is None:
                        print(f"| {row['layer']} | | {row['bound']:,} | | | | | |")
                        continue
                    names = row.pop("rows")
                    row["tokens"], row["tokens_at_every_change"] = (sum(of_layers[name][i] for name in names) for i in (0, 1))
                    single = sum(one_slot[name] for name in names) if all(name in one_slot for name in names) else None
                    print(f"| {row['layer']} | {row['cycles']:,} | {row['bound']:,} | {row['of_bound']:.3f} | "
                          f"{single if single is None else format(single, ',')} | {row['macs_per_cycle']:.1f} | "
                          f"{row['tokens']:,} | {row['tokens_at_every_change']:,} |")
                runs.append({"network": network, "machine": machine_name, "memory": memory, "cycles": total,
                             "regions": len(steps), "tokens": tokens, "tokens_at_every_change": at_every_change, "layers": table})
                if options.output:
                    options.output.write_text(json.dumps(runs, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
