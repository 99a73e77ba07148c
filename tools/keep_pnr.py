#!/usr/bin/env python3
"""Places the named configurations that fit an LFE5U-85F again (hw/syn/pnr), with three seeds, if the design or the flow has changed, or a result is missing.

usage: keep_pnr.py --cli DOVETAIL [--lock FILE] [--check [--fresh]] [FILTER]     (only configurations whose name matches the regular expression FILTER)

--check places nothing: it names missing results, with --fresh also stale ones, and exits with 1 if there are any. A seed takes three
minutes (tiny) to twenty (1x8x8); `dovetail hw pnr CONFIG --core` reports whether a result is stale. --lock FILE waits for a lock before each configuration.
"""

import argparse
import fcntl
import json
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
RESULTS = SOURCE / "hw/syn/pnr"
# Those that fit. tests/tools/test_pnr.py checks that no other named configuration has few enough multipliers.
CONFIGS = ("tiny", "1x8x8")
SEEDS = (1, 2, 3)


def run(cli, *arguments):
    return subprocess.run([cli, *map(str, arguments)], capture_output=True, text=True, check=False, env={**os.environ, "DOVETAIL_HW": str(SOURCE / "hw")})


def path_of(config):
    return RESULTS / f"{config}.ecp5.json"


def is_fresh(cli, config):
    return path_of(config).exists() and "STALE" not in run(cli, "hw", "pnr", config, "--core", "--json").stderr


def make(cli, config, lock):
    """Places a configuration. Returns the error, or None."""
    with open(lock or os.devnull, "a+b") as waited:
        if lock:
            fcntl.flock(waited, fcntl.LOCK_EX)
        made = run(cli, "hw", "pnr", config, "--core", "--run", "--json", *(word for seed in SEEDS for word in ("--seed", seed)))
    if made.returncode != 0:
        return made.stderr
    RESULTS.mkdir(exist_ok=True)
    path_of(config).write_text(json.dumps(json.loads(made.stdout), indent=1) + "\n")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", required=True)
    parser.add_argument("--lock", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("filter", nargs="?", default="")
    arguments = parser.parse_args()
    required = [config for config in CONFIGS if re.search(arguments.filter, config) and not is_fresh(arguments.cli, config)]
    if arguments.check:
        overdue = [path for path in map(path_of, required) if arguments.fresh or not path.exists()]
        for path in overdue:
            print(f"{path.relative_to(SOURCE)} is {'stale' if path.exists() else 'missing'}: ./dev pnr")
        return 1 if overdue else 0
    failed = 0
    for config in required:
        wrong = make(arguments.cli, config, arguments.lock)
        failed += wrong is not None
        print(f"{config}: {wrong or 'made'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
