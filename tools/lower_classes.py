#!/usr/bin/env python3
"""Prints the classes of processors below this machine's that it can run as, one a line: what `dovetail doctor` says."""

import json
import subprocess
import sys


def lower_classes(report):
    """Of a report of `doctor --json`. Where DOVETAIL_PROCESSOR is set the run is of one class, and there are no others."""
    processor = report["processor"]
    return [] if processor["cap"] else [name for name in processor["runs"] if name != processor["class"]]


if __name__ == "__main__":
    done = subprocess.run([sys.argv[1], "doctor", "--json"], capture_output=True, text=True, check=True)
    print("\n".join(lower_classes(json.loads(done.stdout))))
