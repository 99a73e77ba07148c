#!/usr/bin/env python3
"""The ONNX backend's node tests that tests/onnx/tier_a.txt lists, on the host: at least as many pass as before, and none gives wrong values. The data are
those below DOVETAIL_ONNX_TESTS (a folder of test folders), of the Python package onnx, or of Debian's libonnx-testdata; skipped where there are none."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

# How many of the listed tests of ONNX 1.22 pass. Older data hold fewer; there only wrong values count.
PASSES = 954

source, cli = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"]), os.environ["DOVETAIL_CLI"]


def folders():
    if given := os.environ.get("DOVETAIL_ONNX_TESTS"):
        yield pathlib.Path(given)
    if package := importlib.util.find_spec("onnx"):
        yield pathlib.Path(package.origin).parent / "backend/test/data/node"
    yield pathlib.Path("/usr/share/libonnx-testdata/data/node")


def main():
    folder = next((each for each in folders() if each.is_dir()), None)
    if folder is None:
        print("no data of ONNX backend tests: set DOVETAIL_ONNX_TESTS, or install the Python package onnx or libonnx-testdata")
        return 77
    names = source / "tests/onnx/tier_a.txt"
    done = subprocess.run([cli, "onnx-test", folder, "--target", "host", "--list", names, "--json"], stdout=subprocess.PIPE, check=False)
    report = json.loads(done.stdout)
    totals = report["totals"]
    print(folder, totals)
    bad = [test for test in report["tests"] if test["verdict"] in ("wrong", "failed")]
    for test in bad:
        print(test["test"], test["verdict"], test["reason"])
    listed = sum(totals.values())
    complete = sum(len(line.split()) for line in names.read_text().splitlines() if not line.startswith("#")) == listed
    if complete and totals["passed"] < PASSES:
        print(f"{totals['passed']} tests pass; {PASSES} did")
        return 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
