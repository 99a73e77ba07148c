#!/usr/bin/env python3
"""Plants the faults of faults.txt into copies of the design, one at a time: the torture test must find each.

With --assertions it plants those of hw/sva/faults.txt: a bound assertion must see each.

usage: faults.py --cli DOVETAIL --torture DOVETAIL_TORTURE [--assertions] [--instructions N] [--jobs N] [FILTER]
Without FILTER, those of the tier (tools/tier.py).
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools"))
import tier  # noqa: E402

# The sample of ./dev test: a fault in the order of instructions.
SAMPLE = ("token popped without need",)


def faults(file):
    for line in (SOURCE / file).read_text().splitlines():
        if line and not line.startswith("#"):
            name, file, before, after, *changes = (part.strip() for part in line.split(" | "))
            yield name, file, before, after, changes[0].split() if changes else []


def plant(folder, file, before, after):
    path = folder / ("" if "/" in file else "rtl") / file
    text = path.read_text()
    if text.count(before) != 1:
        return f"{file} has {text.count(before)} times: {before}"
    path.write_text(text.replace(before, after))
    return None


def write_config(folder, changes):
    """The configuration `tiny` with other parameters, as a file."""
    config = json.loads((SOURCE / "isa" / "configs" / "tiny.json").read_text())
    for change in changes:
        key, value = change.split("=")
        config[key] = json.loads(value)
    path = folder / "hw.json"
    path.write_text(json.dumps(config))
    return path


def build_model(arguments, config, design, into):
    """The error, or None."""
    built = subprocess.run([arguments.cli, "rtl", "build", "--hw", config, "--fast-build", "--design", design, "--into", into],
                           capture_output=True, text=True, check=False)
    return built.stderr if built.returncode else None


def try_fault(arguments, sound, name, file, before, after, changes):
    """(whether it is found, the message); `sound`: the folder of a model without a fault."""
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = pathlib.Path(name_of_folder)
        design = folder / "hw"
        shutil.copytree(SOURCE / "hw", design)
        # Verilator's run time is the same in all models, and takes as long to compile as one of them.
        for library in sound.glob("verilated-*.o"):
            shutil.copy(library, folder)
        config = write_config(folder, changes)
        problem = plant(design, file, before, after) or build_model(arguments, config, design, folder)
        if problem is not None:
            return False, f"{name}: cannot be planted: {problem}"
        model = next(folder.glob("rtl-*.so"))
        # Right programs suffice to break assertions; other faults may need wrong ones.
        wrong = "0" if arguments.assertions else "50"
        run = subprocess.run([arguments.torture, arguments.instructions, "--hw", config, "--model", model, "--engines", "rtl",
                              "--wrong", wrong, "--folder", folder / "failed", "--no-shrink"], capture_output=True, text=True, check=False)
        said = [line for line in run.stdout.splitlines() if line]
        if run.returncode == 1 and (not arguments.assertions or "_sva.sv" in run.stdout):
            return True, f"{name}: found: {said[0][:160]}"
        return False, f"{name}: NOT FOUND, exit code {run.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", required=True)
    parser.add_argument("--torture", required=True)
    parser.add_argument("--assertions", action="store_true")
    parser.add_argument("--instructions", default="20000")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("filter", nargs="?", default="")
    arguments = parser.parse_args()
    if not shutil.which("verilator"):
        print("skipped: Verilator is not installed")
        return 77
    listed = list(faults("hw/sva/faults.txt" if arguments.assertions else "tests/torture/faults.txt"))
    if arguments.filter:
        chosen = [fault for fault in listed if re.search(arguments.filter, fault[0])]
    else:
        names, which = tier.judged([fault[0] for fault in listed], () if arguments.assertions else SAMPLE)
        chosen = [fault for fault in listed if fault[0] in names]
        print(f"faults: {which}")
    lost = 0
    with tempfile.TemporaryDirectory() as sound, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        problem = build_model(arguments, "tiny", SOURCE / "hw", sound)
        if problem is not None:
            print(f"the design without a fault does not build: {problem}")
            return 1
        for found, message in pool.map(lambda fault: try_fault(arguments, pathlib.Path(sound), *fault), chosen):
            lost += not found
            print(message, flush=True)
    print(f"{lost} faults were not found")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
