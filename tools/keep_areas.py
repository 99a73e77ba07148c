#!/usr/bin/env python3
"""Measures the kept areas (hw/syn/results) again if the design, a flow or a configuration has changed, or an area is missing.

usage: keep_areas.py --cli DOVETAIL [--jobs N] [--check [--fresh]] [FILTER]     (only areas whose CONFIG.FLOW matches the regular expression FILTER)

--check measures nothing: it names missing areas, with --fresh also stale ones, and exits with 1 if there are any. Measuring all areas takes an hour, which is
too long for every change of the design; `dovetail hw area` reports whether an area is stale.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
RESULTS = SOURCE / "hw/syn/results"
FLOWS = ("xc7", "xcup", "generic")


def run(cli, *arguments):
    return subprocess.run([cli, *arguments], capture_output=True, text=True, check=False, env={**os.environ, "DOVETAIL_HW": str(SOURCE / "hw")})


def is_kept(cli, config, flow):
    return (RESULTS / f"{config}.{flow}.json").exists() and "STALE" not in run(cli, "hw", "area", config, "--flow", flow, "--json").stderr


def make(cli, config, flow):
    """Measures one area. Returns the error, or None."""
    made = run(cli, "hw", "area", config, "--flow", flow, "--run", "--json")
    if made.returncode != 0:
        return made.stderr
    (RESULTS / f"{config}.{flow}.json").write_text(made.stdout)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", required=True)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("filter", nargs="?", default="")
    arguments = parser.parse_args()
    configs = [config["name"] for config in json.loads(run(arguments.cli, "hw", "list", "--json").stdout)]
    required = [(config, flow) for config in configs for flow in FLOWS
                if re.search(arguments.filter, f"{config}.{flow}") and not is_kept(arguments.cli, config, flow)]
    if arguments.check:
        overdue = [path for path in (RESULTS / f"{config}.{flow}.json" for config, flow in required) if arguments.fresh or not path.exists()]
        for path in overdue:
            print(f"{path.relative_to(SOURCE)} is {'stale' if path.exists() else 'missing'}: ./dev area")
        return 1 if overdue else 0
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (config, flow), wrong in zip(required, pool.map(lambda one: make(arguments.cli, *one), required)):
            failed += wrong is not None
            print(f"{config}.{flow}: {wrong or 'made'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
