#!/usr/bin/env python3
"""What a run costs from Python, compared with the same call from C, in one process on one session.

usage: PYTHONPATH=python python3 bench/python/calls.py [--rounds N]

The digits model on the CPU, one thread. Each round measures C and Python in turn; the figures are the least of the
rounds, in microseconds, since other work on the machine only adds time. Prints JSON. Needs a C compiler.
"""

import argparse
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import dovetail
from dovetail.session import named_tensors

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CALLS = 500


def loops(folder):
    """The functions of calls.c."""
    library = f"{folder}/calls.so"
    source, headers = ROOT / "bench/python/calls.c", ROOT / "capi/include"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-I{headers}", str(source), "-o", library], check=True)
    ctypes.CDLL(dovetail.library_path, ctypes.RTLD_GLOBAL)  # whose functions calls.so calls
    functions = ctypes.CDLL(library)
    for name in ("seconds_of_bound", "seconds_of_run"):
        getattr(functions, name).restype = ctypes.c_double
    return functions


def seconds_of(call):
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - start) / CALLS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    digits = ROOT / "examples" / "digits"
    session = dovetail.compile(digits / "digits_int8.onnx", "cpu").session(threads=1)
    inputs = {"image": np.load(digits / "test_images.npy")[:1]}
    binding = session.bind({"image": np.ascontiguousarray(inputs["image"])})
    rows = named_tensors(inputs, "calls", {"image": "float32"})
    with tempfile.TemporaryDirectory() as folder:
        functions = loops(folder)
    handle = ctypes.c_void_p(session._handle._as_parameter_)
    kinds = {
        "bound": (lambda: functions.seconds_of_bound(handle, CALLS), binding.run),
        "run": (lambda: functions.seconds_of_run(handle, rows, len(rows), CALLS), lambda: session.run(inputs)),
    }
    document = {"python": sys.version.split()[0], "numpy": np.__version__, "rounds": rounds, "calls": []}
    for name, (in_c, in_python) in kinds.items():
        in_c(), seconds_of(in_python)
        pairs = [(in_c() * 1e6, seconds_of(in_python) * 1e6) for _ in range(rounds)]
        c, p = (min(each) for each in zip(*pairs))
        figures = {"c_us": c, "python_us": p, "difference_us": p - c, "ratio": p / c}
        document["calls"].append({"call": name, **{key: round(value, 3) for key, value in figures.items()}})
    json.dump(document, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
