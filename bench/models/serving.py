"""What the peers' workers of run.py share: inputs, outputs as files, and the loop that times runs on demand."""

import json
import pathlib
import re
import sys
import time

import numpy


def plain(name):
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def status_kib(key):
    with open("/proc/self/status", encoding="ascii") as status:
        return int(next(line for line in status if line.startswith(key)).split()[1])


def random_array(tensor, random):
    shape = [extent if isinstance(extent, int) else 1 for extent in tensor.shape]
    if "float" in tensor.type:
        return random.uniform(-1, 1, shape).astype(numpy.float32)
    return random.integers(-128 if "(int" in tensor.type else 0, 127, shape).astype(re.search(r"\((\w+)\)", tensor.type)[1])


def inputs_of(tensors, assignments):
    files = dict(assignment.split("=", 1) for assignment in assignments)
    random = numpy.random.default_rng(1)
    return {tensor.name: numpy.load(files[plain(tensor.name)]) if plain(tensor.name) in files else random_array(tensor, random)
            for tensor in tensors}


def write_arrays(folder, arrays):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        numpy.save(pathlib.Path(folder) / f"{plain(name)}.npy", array)


def print_line(line):
    print(json.dumps(line), flush=True)


def answer(run, outputs, before):
    """Answers the driver's lines: N, the number of runs after an untimed one; or a folder for the outputs. `outputs`: by name."""
    for line in sys.stdin:
        run()
        if not line.strip().isdigit():
            write_arrays(line.strip(), outputs())
            print_line({"written": line.strip()})
            continue
        runs = int(line)
        wall, processor = time.perf_counter(), time.process_time()
        for _ in range(runs):
            run()
        print_line({"wall": (time.perf_counter() - wall) / runs, "processor": (time.process_time() - processor) / runs,
             "memory_kib": status_kib("VmHWM") - before})
