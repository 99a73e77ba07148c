#!/usr/bin/env python3
"""The kernels of examples/kernels against plain NumPy: random sizes and data, on the interpreter, the CPU and as C."""

import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("numpy is not installed (package python3-numpy)")
    sys.exit(77)

source = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"])
cli = os.environ["DOVETAIL_CLI"]
kernels = source / "examples/kernels"
random = np.random.default_rng(int(os.environ.get("DOVETAIL_SEED", "1")))


def floats(*shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def sparse(rows, columns, density, shape=()):
    """A random matrix in compressed rows, some of them empty: begin, column, values, and the dense matrix."""
    dense = random.random((rows, columns)) < density
    if rows > 1:
        dense[random.integers(rows)] = False
    if not dense.any():
        dense[0, 0] = True
    begin = np.concatenate([[0], np.cumsum(dense.sum(axis=1))]).astype(np.int64)
    column = np.nonzero(dense)[1].astype(np.int32)
    values = floats(column.size, *shape)
    full = np.zeros((rows, columns, *shape), np.float32)
    full[dense] = values
    return begin, column, values, full


def mean_of(x, offsets):
    inner = tuple(slice(1, -1) for _ in x.shape)
    moved = [x[tuple(slice(1 + o, n - 1 + o) for o, n in zip(offset, x.shape))] for offset in offsets]
    y = x.copy()
    y[inner] = sum(moved) / len(moved)
    return y


def neighbors(rank):
    return [tuple(sign * (axis == each) for each in range(rank)) for axis in range(rank) for sign in (-1, 1)]


def jacobi(rank):
    n, t = int(random.integers(3, 40 if rank == 2 else 16)), int(random.integers(1, 6))
    x = floats(*[n] * rank)
    y = x
    for _ in range(t):
        y = mean_of(y, neighbors(rank))
    return {"n": n, "t": t}, {"x": x}, {"y": y}


def heat_2d():
    n = int(random.integers(1, 90))
    x = floats(n + 4, n + 4)

    def step(a):
        around = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
        return a[1:-1, 1:-1] + 0.1 * (around - 4 * a[1:-1, 1:-1])

    return {"n": n}, {"x": x}, {"y": step(step(x))}


def advection():
    n, t = int(random.integers(2, 100)), int(random.integers(1, 20))
    x, c = floats(n), np.float32(random.uniform(0, 1))
    y = x.astype(np.float64)
    for _ in range(t):
        y = y - c * (y - np.roll(y, 1))
    return {"n": n, "t": t}, {"x": x, "c": np.array(c)}, {"y": y}


def blur():
    rows, columns = (int(n) for n in random.integers(1, 60, 2))
    x = floats(rows + 2, columns + 2)
    across = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) / 3
    return {"rows": rows, "columns": columns}, {"x": x}, {"y": (across[:-2] + across[1:-1] + across[2:]) / 3}


def prefix_sum():
    parts = int(random.integers(1, 9))
    n = parts * int(random.integers(1, 60))
    x = random.integers(-1000, 1000, n)
    return {"n": n, "parts": parts}, {"x": x}, {"y": np.cumsum(x)}


def histogram():
    parts = int(random.integers(1, 9))
    n = parts * int(random.integers(1, 300))
    x = random.integers(0, 256, n).astype(np.uint8)
    return {"n": n, "parts": parts}, {"x": x}, {"count": np.bincount(x, minlength=256).astype(np.int32)}


def fft():
    stages = int(random.integers(1, 10))
    n = 1 << stages
    x = floats(n, 2)
    root = np.exp(-2j * np.pi * np.arange(n // 2) / n)
    y = np.fft.fft(x[:, 0] + 1j * x[:, 1])
    pairs = {"x": x, "root": np.stack([root.real, root.imag], 1).astype(np.float32)}
    return {"stages": stages, "n": n}, pairs, {"y": np.stack([y.real, y.imag], 1)}


def csr_product():
    rows, columns = (int(n) for n in random.integers(1, 60, 2))
    begin, column, values, full = sparse(rows, columns, random.random() / 2)
    x = floats(columns)
    sizes = {"rows": rows, "columns": columns, "elements": column.size}
    return sizes, {"begin": begin, "column": column, "values": values, "x": x}, {"y": full @ x}


def csr_matrix():
    rows, columns, width = (int(n) for n in random.integers(1, 60, 3))
    begin, column, values, full = sparse(rows, columns, random.random() / 2)
    x = floats(columns, width)
    sizes = {"rows": rows, "columns": columns, "elements": column.size, "width": width}
    return sizes, {"begin": begin, "column": column, "values": values, "x": x}, {"y": full @ x}


def block_sparse():
    rows, columns, b, width = (int(n) for n in random.integers(1, 12, 4))
    begin, column, values, full = sparse(rows, columns, random.random() / 2, (b, b))
    x = floats(columns * b, width)
    y = np.einsum("icrk,ckj->irj", full, x.reshape(columns, b, width))
    sizes = {"rows": rows, "columns": columns, "blocks": column.size, "b": b, "width": width}
    return sizes, {"begin": begin, "column": column, "values": values, "x": x}, {"y": y}


def two_of_four():
    rows, groups = (int(n) for n in random.integers(1, 40, 2))
    place = np.sort(np.array([random.permutation(4)[:2] for _ in range(rows * groups)]), axis=1)
    place = place.reshape(rows, groups * 2).astype(np.uint8)
    values, x = floats(rows, groups * 2), floats(groups * 4)
    columns = np.repeat(np.arange(groups) * 4, 2)[None] + place
    return ({"rows": rows, "columns": groups * 4}, {"values": values, "place": place, "x": x},
            {"y": (values * x[columns]).sum(axis=1)})


def graph(directed):
    vertices = int(random.integers(2, 50))
    density = random.random() * 0.2
    edge = random.random((vertices, vertices)) < density
    if not directed:
        edge = np.triu(edge, 1)
    if not edge.any():
        edge[0, 1] = True
    begin = np.concatenate([[0], np.cumsum(edge.sum(axis=1))]).astype(np.int64)
    return vertices, edge, begin, np.nonzero(edge)[1].astype(np.int32)


def bfs():
    vertices, edge, begin, neighbor = graph(True)
    source_vertex = int(random.integers(vertices))
    distance, frontier = np.full(vertices, -1, np.int32), [source_vertex]
    distance[source_vertex] = 0
    while frontier:
        reached = [w for v in frontier for w in np.nonzero(edge[v])[0] if distance[w] < 0]
        for w in reached:
            distance[w] = distance[frontier[0]] + 1
        frontier = sorted(set(reached))
    inputs = {"begin": begin, "neighbor": neighbor, "source": np.array(source_vertex, np.int64)}
    return {"vertices": vertices, "edges": neighbor.size}, inputs, {"distance": distance}


def pagerank():
    vertices, edge, begin, origin = graph(True)  # row v: the edges into v
    degree = edge.sum(axis=0)
    rank = np.full(vertices, 1 / vertices)
    for _ in range(20):
        lost = rank[degree == 0].sum()
        rank = 0.15 / vertices + 0.85 * (edge @ (rank / np.maximum(degree, 1)) + lost / vertices)
    inputs = {"begin": begin, "from": origin, "degree": degree.astype(np.int32)}
    return {"vertices": vertices, "edges": origin.size}, inputs, {"rank": rank}


def triangles():
    vertices, edge, begin, neighbor = graph(False)
    both = (edge | edge.T).astype(np.int64)
    return ({"vertices": vertices, "edges": neighbor.size}, {"begin": begin, "neighbor": neighbor},
            {"count": np.trace(both @ both @ both) // 6})


def lu():
    b = int(random.integers(1, 9))
    n = b * int(random.integers(1, 9))
    x = floats(n, n) + n * np.eye(n, dtype=np.float32)
    a = x.astype(np.float64)
    for k in range(n):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return {"n": n, "b": b}, {"x": x}, {"a": a}


def cholesky():
    b = int(random.integers(1, 9))
    n = b * int(random.integers(1, 9))
    half = floats(n, n)
    x = half @ half.T + n * np.eye(n, dtype=np.float32)
    return {"n": n, "b": b}, {"x": x}, {"a": np.linalg.cholesky(x.astype(np.float64))}


def matmul():
    m, n, k = (int(n) for n in random.integers(1, 70, 3))
    x, w = floats(m, k), floats(n, k)
    return {"m": m, "n": n, "k": k}, {"x": x, "w": w}, {"y": x @ w.T}


def matmul_int8():
    rows, columns, depth = (int(n) for n in random.integers(1, 70, 3))
    x, w = (random.integers(-128, 128, (n, depth)).astype(np.int8) for n in (rows, columns))
    y = np.clip((x.astype(np.int32) @ w.astype(np.int32).T) >> 8, -128, 127).astype(np.int8)
    return {"rows": rows, "columns": columns, "depth": depth}, {"x": x, "w": w}, {"y": y}


def matmul_int4():
    rows, columns, blocks = (int(n) for n in random.integers(1, 20, 3))
    steps = random.integers(-8, 8, (columns, blocks * 32))
    words = np.zeros((columns, blocks * 4), np.uint32)
    for j in range(8):
        words |= (steps[:, j::8] & 15).astype(np.uint32) << np.uint32(4 * j)
    x, scale = floats(rows, blocks * 32), floats(columns, blocks)
    y = x.astype(np.float64) @ (steps * np.repeat(scale, 32, axis=1)).T
    return ({"rows": rows, "columns": columns, "depth": blocks * 32}, {"x": x, "w": words.view(np.int32), "scale": scale}, {"y": y})


CASES = {"jacobi_2d": lambda: jacobi(2), "jacobi_3d": lambda: jacobi(3)}
for case in (heat_2d, advection, blur, prefix_sum, histogram, fft, csr_product, csr_matrix, block_sparse, two_of_four, bfs,
             pagerank, triangles, lu, cholesky, matmul, matmul_int4, matmul_int8):
    CASES[case.__name__] = case


def run(command, **environment):
    command = [str(each) for each in command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def compare(name, sizes, got, outputs):
    for output, expected in outputs.items():
        value = np.load(got / f"{output}.npy")
        expected = np.asarray(expected)
        assert value.shape == expected.shape, (name, sizes, output, value.shape, expected.shape)
        if np.issubdtype(value.dtype, np.integer):
            assert (value == expected).all(), (name, sizes, output)
        else:
            scale = max(1e-3, np.abs(expected).max(initial=0))
            difference = np.abs(value - expected).max(initial=0) / scale
            assert difference < 2e-5, (name, sizes, output, difference)


def check(name, folder):
    """One random case, on each target."""
    sizes, inputs, outputs = CASES[name]()
    arguments = [kernels / f"{name}.loops"]
    for size, value in sizes.items():
        arguments += ["--size", f"{size}={value}"]
    files = []
    for tensor, value in inputs.items():
        np.save(folder / f"{tensor}.npy", value)
        files += ["--input", f"{tensor}={folder / tensor}.npy"]
    for target in ("interpreter", "cpu"):
        run([cli, "kernel", "run", *arguments, "--target", target, *files, "--output-dir", folder / target])
        compare(name, sizes, folder / target, outputs)
    schedule = kernels / f"{name}.schedule"
    if schedule.exists():
        run([cli, "kernel", "run", *arguments, "--schedule", schedule, "--target", "cpu", *files, "--output-dir", folder / "s"])
        compare(name, sizes, folder / "s", outputs)


def check_gpu(folder):
    """The schedules of a product by hand for GPUs, on simulated threads."""
    emulated = pathlib.Path(cli).resolve().parent.parent / "emulated_gpu"
    if not emulated.is_dir():
        return "are not run: this build has no simulated GPU"
    x, w = floats(64, 96), floats(128, 96)
    np.save(folder / "x.npy", x)
    np.save(folder / "w.npy", w)
    command = [cli, "kernel", "run", kernels / "matmul.loops", "--size", "m=64", "--size", "n=128", "--size", "k=96", "--target", "cuda"]
    command += ["--input", f"x={folder / 'x.npy'}", "--input", f"w={folder / 'w.npy'}"]
    schedules = sorted(kernels.glob("matmul_gpu*.schedule"))
    assert len(schedules) == 3, schedules
    for schedule in schedules:
        run([*command, "--schedule", schedule, "--output-dir", folder / schedule.stem],
            DOVETAIL_NVRTC=str(emulated / "libemulated_nvrtc.so"), DOVETAIL_LIBCUDA=str(emulated / "libemulated_driver.so"))
        compare(schedule.stem, "64 x 128 x 96", folder / schedule.stem, {"y": x.astype(np.float64) @ w.T})
    return "agree"


written = {path.stem for path in kernels.glob("*.loops")}
assert written == set(CASES), f"kernels without a case, or without a file: {written ^ set(CASES)}"
names = sys.argv[1:] or sorted(CASES)
repeats = int(os.environ.get("DOVETAIL_REPEATS", "2"))
for kernel in names:
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as place:
            check(kernel, pathlib.Path(place))
    print(kernel, "agrees")
if not sys.argv[1:]:
    with tempfile.TemporaryDirectory() as place:
        print("the schedules for GPUs", check_gpu(pathlib.Path(place)))
