#!/usr/bin/env python3
"""Kernels of examples/kernels next to Halide (its wheel) and SciPy, in one run: stencils, a blur, sparse products.

Each contender runs in a process for each number of threads. Runs alternate; of each the least time counts. Halide's
stencils are scheduled by its autoschedulers and by hand; ours by the schedules in examples/kernels and the ones here. All
write to the caller's memory.

    PYTHONPATH=python python3 bench/kernels/peers.py [--repeat N] [--threads 1 2] [--json FILE]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples/kernels"

STENCIL_2D = """program stencil_2d {
  size n = 4096
  input x: float32[n + 2, n + 2]
  output y: float32[n, n]
  y[i in n, j in n] = 0.25 * (x[i, j + 1] + x[i + 2, j + 1] + x[i + 1, j] + x[i + 1, j + 2])
}"""
STENCIL_3D = """program stencil_3d {
  size n = 256
  input x: float32[n + 2, n + 2, n + 2]
  output y: float32[n, n, n]
  y[i in n, j in n, k in n] = (x[i, j + 1, k + 1] + x[i + 2, j + 1, k + 1] + x[i + 1, j, k + 1] + x[i + 1, j + 2, k + 1]
      + x[i + 1, j + 1, k] + x[i + 1, j + 1, k + 2]) * 0.166666667
}"""


def by_rows(inner):
    return f"split y.i 32 -> it ii\nsplit y.{inner} 16 -> o v\nvectorize v\nparallel it\n"


def aligned(array):
    """A copy at a multiple of 64 bytes, which bound buffers need so that runs do not copy them."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    result = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


def floats(*shape):
    return aligned(np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32))


def sparse(rows, per_row):
    random = np.random.default_rng(1)
    begin = np.concatenate([[0], np.cumsum(random.poisson(per_row, rows))]).astype(np.int64)
    column = random.integers(0, rows, begin[-1]).astype(np.int32)
    return aligned(begin.astype(np.int32)), aligned(column), aligned(random.uniform(-1, 1, column.size).astype(np.float32))


# ---- A contender: a function that runs and returns seconds, and one that returns the result.


def timed(run):
    def timed_run():
        begin = time.perf_counter()
        run()
        return time.perf_counter() - begin

    return timed_run


def ours(text, schedule, inputs, threads, sizes=None):
    from dovetail import loops

    program = loops.Loops.parse(text, sizes=sizes)
    if schedule:
        program = program.apply(schedule)
    binding = program.compile("cpu").session(threads=threads).bind(inputs)
    return timed(binding.run), lambda: binding.outputs["y"]


def example(name):
    return (FOLDER / f"{name}.loops").read_text()


def csr_example(name):
    """With int32 for the first elements of rows, as SciPy has them."""
    text = example(name).replace("begin: int64", "begin: int32")
    return text.replace("begin[i]", "int64(begin[i])").replace("begin[i + 1]", "int64(begin[i + 1])")


# ---- Halide


def halide_run(define, schedule, x, shape, autoscheduler=None):
    import halide as hl

    source = hl.Buffer(x)
    out, stages = define(hl, source)
    if autoscheduler:
        libraries = pathlib.Path(hl.__file__).parent / "lib64"
        hl.load_plugin(str(libraries / f"libautoschedule_{autoscheduler.lower()}.so"))
        for each, extent in zip(out.args(), reversed(shape)):
            out.set_estimate(each, 0, extent)
        pipeline = hl.Pipeline(out)
        target = hl.get_jit_target_from_environment()
        threads = os.environ["HL_NUM_THREADS"]
        pipeline.apply_autoscheduler(target, hl.AutoschedulerParams(autoscheduler, {"parallelism": threads}))
        run = pipeline
    else:
        schedule(hl, out, stages)
        run = out
    result = aligned(np.zeros(shape, np.float32))
    target_buffer = hl.Buffer(result)
    return timed(lambda: run.realize(target_buffer)), lambda: result


def halide_2d(hl, x):
    i, j, out = hl.Var("i"), hl.Var("j"), hl.Func("out")
    out[i, j] = hl.f32(0.25) * (x[i + 1, j] + x[i + 1, j + 2] + x[i, j + 1] + x[i + 2, j + 1])
    return out, ()


def halide_3d(hl, x):
    i, j, k, out = hl.Var("i"), hl.Var("j"), hl.Var("k"), hl.Func("out")
    out[i, j, k] = hl.f32(0.166666667) * (
        x[i + 1, j + 1, k] + x[i + 1, j + 1, k + 2] + x[i + 1, j, k + 1] + x[i + 1, j + 2, k + 1]
        + x[i, j + 1, k + 1] + x[i + 2, j + 1, k + 1])
    return out, ()


def halide_blur(hl, x):
    i, j, across, out = hl.Var("i"), hl.Var("j"), hl.Func("across"), hl.Func("out")
    third = hl.f32(0.333333343)
    across[i, j] = (x[i, j] + x[i + 1, j] + x[i + 2, j]) * third
    out[i, j] = (across[i, j] + across[i, j + 1] + across[i, j + 2]) * third
    return out, (across,)


def halide_by_hand(hl, out, stages):
    args = out.args()
    strip, row = hl.Var("strip"), hl.Var("row")
    last = args[-1]
    out.split(last, strip, row, 32).vectorize(args[0], 16).parallel(strip)
    for stage in stages:
        stage.store_at(out, strip).compute_at(out, row).vectorize(stage.args()[0], 16)


# ---- The cases: what each contender runs.


def stencil(text, define, schedule, shape, x, sizes=None):
    cases = {"dovetail": lambda threads: ours(text, schedule, {"x": x}, threads, sizes),
             "halide, by hand": lambda _: halide_run(define, halide_by_hand, x, shape)}
    for each in ("Mullapudi2016", "Adams2019"):
        cases[f"halide, {each}"] = lambda _, each=each: halide_run(define, None, x, shape, each)
    return cases


def stencil_2d():
    n = 4096
    return stencil(STENCIL_2D, halide_2d, by_rows("j"), (n, n), floats(n + 2, n + 2))


def stencil_3d():
    n = 256
    schedule = "split y.i 8 -> it ii\nsplit y.k 16 -> o v\nvectorize v\nparallel it\n"
    return stencil(STENCIL_3D, halide_3d, schedule, (n, n, n), floats(n + 2, n + 2, n + 2))


def blur():
    n = 4096
    schedule = (FOLDER / "blur.schedule").read_text()
    return stencil(example("blur"), halide_blur, schedule, (n, n), floats(n + 2, n + 2), {"rows": n, "columns": n})


def csr_product():
    rows = 300000
    begin, column, values = sparse(rows, 16)
    x = floats(rows)

    def scipy(_):
        import scipy.sparse

        matrix = scipy.sparse.csr_matrix((values, column, begin), shape=(rows, rows))
        result = []
        return timed(lambda: result.__setitem__(slice(None), [matrix @ x])), lambda: result[0]

    inputs = {"begin": begin, "column": column, "values": values, "x": x}
    sizes = {"rows": rows, "columns": rows, "elements": column.size}
    schedule = (FOLDER / "csr_product.schedule").read_text()
    return {"dovetail": lambda threads: ours(csr_example("csr_product"), schedule, inputs, threads, sizes), "scipy": scipy}


def csr_matrix():
    rows, width = 30000, 64
    begin, column, values = sparse(rows, 16)
    x = floats(rows, width)

    def scipy(_):
        import scipy.sparse

        matrix = scipy.sparse.csr_matrix((values, column, begin), shape=(rows, rows))
        result = []
        return timed(lambda: result.__setitem__(slice(None), [matrix @ x])), lambda: result[0]

    inputs = {"begin": begin, "column": column, "values": values, "x": x}
    sizes = {"rows": rows, "columns": rows, "elements": column.size, "width": width}
    schedule = "split j 16 -> o v\nvectorize v\nparallel i\n"
    return {"dovetail": lambda threads: ours(csr_example("csr_matrix"), schedule, inputs, threads, sizes), "scipy": scipy}


CASES = {case.__name__: case for case in (stencil_2d, stencil_3d, blur, csr_product, csr_matrix)}


def worker(name, threads, repeat):
    """Times all contenders of a case, in turns."""
    contenders = CASES[name]()
    running, rows, expected = {}, {}, None
    for contender, make in contenders.items():
        try:
            run, result = make(threads)
            run()
        except Exception as error:  # a contender that is not installed, or refuses
            rows[contender] = {"error": f"{type(error).__name__}: {error}"[:200]}
            continue
        if expected is None:
            expected = result().copy()
        difference = float(np.abs(result() - expected).max())
        assert difference < 1e-3 * max(1, float(np.abs(expected).max())), (name, contender, difference)
        running[contender], rows[contender] = run, {"seconds": []}
    for _ in range(repeat):
        for contender, run in running.items():
            rows[contender]["seconds"].append(run())
    print(json.dumps(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker is not None:
        worker(given.cases[0], given.worker, given.repeat)
        return 0
    results = {}
    for case in given.cases:
        for threads in given.threads:
            environment = {**os.environ, "HL_NUM_THREADS": str(threads)}
            command = [sys.executable, __file__, case, "--worker", str(threads), "--repeat", str(given.repeat)]
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
            if done.returncode != 0:
                print(done.stderr, file=sys.stderr)
                return 1
            rows = json.loads(done.stdout)
            results[f"{case}, {threads}"] = rows
            least = {name: min(row["seconds"]) for name, row in rows.items() if "seconds" in row}
            for name, row in rows.items():
                if name not in least:
                    print(f"{case:12} {threads} threads  {name:22} {row['error']}")
                else:
                    ratio = least[name] / least["dovetail"]
                    print(f"{case:12} {threads} threads  {name:22} {1e3 * least[name]:8.3f} ms  dovetail is {ratio:.2f} times as fast")
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
