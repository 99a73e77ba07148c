#!/usr/bin/env python3
"""A float32 product of square matrices: as written, scheduled by hand, tuned, and a library (NumPy's BLAS), in one run.

    PYTHONPATH=python python3 bench/kernels/products.py [--sizes 1024 2048 4096] [--threads 1 2] [--trials N] [--json FILE]

GFLOP/s of the least time of some runs in turns. The schedule by hand is examples/kernels/matmul_registers.schedule. The
tuned one is `Loops.tune` of the compiler's own schedule for matrices of 512, with the weights as a constant, which it
packs once.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

TUNED_SIZE = 512  # candidates are checked on the interpreter
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples/kernels"


def aligned(shape):
    count = int(np.prod(shape))
    memory = np.empty(4 * count + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin : begin + 4 * count].view(np.float32).reshape(shape)


def worker(n, threads, trials, repeat):
    from dovetail import loops

    text = (FOLDER / "matmul.loops").read_text()
    random = np.random.default_rng(1)
    x, w, y = aligned((n, n)), aligned((n, n)), aligned((n, n))
    x[...], w[...] = random.uniform(-1, 1, (2, n, n))
    sizes = {"m": n, "n": n, "k": n}
    written = loops.Loops.parse(text, sizes=sizes)
    by_hand = written.apply((FOLDER / "matmul_registers.schedule").read_text())
    constant = text.replace("input w", "constant w")
    small = dict.fromkeys("mnk", TUNED_SIZE)
    part = {"x": x[:TUNED_SIZE, :TUNED_SIZE].copy(), "w": w[:TUNED_SIZE, :TUNED_SIZE].copy()}
    best, _ = loops.Loops.parse(constant, sizes=small).tune(part, trials=trials, threads=threads)
    best = loops.Loops.parse(constant, sizes=sizes).apply(best.trace)
    contenders = {"library": lambda: np.matmul(x, w.T, out=y)}
    for name, program in (("as written", written), ("by hand", by_hand), ("tuned", best)):
        session = program.compile("cpu").session(threads=threads)
        inputs = {each.name: {"x": x, "w": w}[each.name] for each in program.inputs}
        contenders[name] = session.bind(inputs, {"y": y}).run
    expected = x @ w.T
    seconds = {}
    for name, run in contenders.items():
        run()
        assert np.abs(y - expected).max() < 1e-4 * n, name
        seconds[name] = []
    for turn in range(repeat):
        for name, run in contenders.items():
            if name == "as written" and n > 1024 and turn > 1:
                continue  # seconds each
            begin = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begin)
    print(json.dumps({name: 2e-9 * n**3 / min(each) for name, each in seconds.items()}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 2048, 4096])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=6)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--worker", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(*given.worker, given.trials, given.repeat)
        return 0
    results = {}
    for n in given.sizes:
        for threads in given.threads:
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
            command = [sys.executable, __file__, "--worker", str(n), str(threads), "--trials", str(given.trials),
                       "--repeat", str(given.repeat)]
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
            if done.returncode != 0:
                print(done.stderr, file=sys.stderr)
                return 1
            rates = json.loads(done.stdout.splitlines()[-1])
            results[f"{n}, {threads}"] = rates
            print(f"{n:5} {threads} threads  " + "  ".join(f"{name} {rate:7.1f}" for name, rate in rates.items()))
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
