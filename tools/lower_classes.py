#!/usr/bin/env python3
"""Prints the processor classes below this machine's as which it can run, one per line, from `dovetail doctor`."""

import json
import subprocess
import sys


def lower_classes(report):
    """The classes in a report of `doctor --json`. With DOVETAIL_PROCESSOR set there is only one class, and no lower one."""
    processor = report["processor"]
    return [] if processor["cap"] else [name for name in processor["runs"] if name != processor["class"]]


if __name__ == "__main__":
    done = subprocess.run([sys.argv[1], "doctor", "--json"], capture_output=True, text=True, check=True)
    print("\n".join(lower_classes(json.loads(done.stdout))))
