#!/usr/bin/env python3
"""Plants the faults of faults.txt into copies of the design, one at a time: the torture test must find each.

With --assertions it plants those of hw/sva/faults.txt: a bound assertion must see each.

usage: faults.py --cli DOVETAIL --torture DOVETAIL_TORTURE [--assertions] [--instructions N] [FILTER]
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def faults(file):
    for line in (SOURCE / file).read_text().splitlines():
        if line and not line.startswith("#"):
            name, file, before, after = (part.strip() for part in line.split(" | "))
            yield name, file, before, after


def plant(folder, file, before, after):
    path = folder / "rtl" / file
    text = path.read_text()
    if text.count(before) != 1:
        return f"{file} has {text.count(before)} times: {before}"
    path.write_text(text.replace(before, after))
    return None


def try_fault(arguments, name, file, before, after):
    """(is it found, what to say)"""
    with tempfile.TemporaryDirectory() as folder:
        design = pathlib.Path(folder) / "hw"
        shutil.copytree(SOURCE / "hw", design)
        problem = plant(design, file, before, after)
        if problem is None:
            built = subprocess.run([arguments.cli, "rtl", "build", "--hw", "tiny", "--fast-build", "--design", design, "--into", folder],
                                   capture_output=True, text=True, check=False)
            problem = built.stderr if built.returncode else None
        if problem is not None:
            return False, f"{name}: cannot be planted: {problem}"
        model = next(pathlib.Path(folder).glob("rtl-*.so"))
        run = subprocess.run([arguments.torture, arguments.instructions, "--hw", "tiny", "--model", model, "--no-shrink"],
                             capture_output=True, text=True, check=False)
        said = [line for line in run.stdout.splitlines() if line]
        if run.returncode == 1 and (not arguments.assertions or "_sva.sv" in run.stdout):
            return True, f"{name}: found: {said[-1][:160]}"
        return False, f"{name}: NOT FOUND, exit code {run.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", required=True)
    parser.add_argument("--torture", required=True)
    parser.add_argument("--assertions", action="store_true")
    parser.add_argument("--instructions", default="20000")
    parser.add_argument("filter", nargs="?", default="")
    arguments = parser.parse_args()
    if not shutil.which("verilator"):
        print("skipped: Verilator is not installed")
        return 77
    chosen = [fault for fault in faults("hw/sva/faults.txt" if arguments.assertions else "tests/torture/faults.txt") if re.search(arguments.filter, fault[0])]
    lost = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for found, message in pool.map(lambda fault: try_fault(arguments, *fault), chosen):
            lost += not found
            print(message, flush=True)
    print(f"{lost} faults were not found")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
