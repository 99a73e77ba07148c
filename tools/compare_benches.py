#!/usr/bin/env python3
"""Runs the benchmarks of two builds alternately and prints for each row the speed of the first relative to the second.

usage: compare_benches.py [--rounds N] [--least R] [--out FILE.json] [--filter REGEX] HERE THERE

HERE and THERE are folders with programs bench_<name>. A round runs every benchmark of both, one right after the other; the next round
reverses the order. A ratio is HERE's best speed over THERE's: above 1 HERE is faster, 0.97 is 3 % slower. --least R: exit status 1 if a ratio is below R
and stays below it in further rounds. Ctrl-C stops, and reports the finished rounds.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys

# Further rounds for a benchmark with rows below --least, as a multiple of the first rounds: other jobs can only slow a program down, so bests only improve.
FURTHER_ROUNDS = 3

# One thread of bench_cpu: with several threads only wall time can be compared, which includes other jobs.
ENVIRONMENT = {"DOVETAIL_BENCH_THREADS": "1"}


def interpreter(document):
    yield from document["results"].items()


def functional(document):
    for level in document["levels"]:
        for row in level["workloads"]:
            for key, speed in row.items():
                if "_per_s" in key:
                    yield f"{level['kernel_level']} {row['workload']} {key}", speed


def cycle(document):
    # The name includes the cycles: another commit may compile another stream.
    for row in document["rows"]:
        yield f"{row['stream']} of {row['cycles']} cycles, {row['memory']}, {row['engine']}", row["mcycles_per_s"]


def cpu(document):
    for row in document["layers"] + document["networks"]:
        for candidate, measured in row["candidates"].items():
            if candidate in ("ours", "ours plain"):
                yield f"{row.get('layer') or row['network']} {row['number']}, {candidate}", measured["gop_per_s"]


def growth(document):
    for family in document["families"]:
        for row in family["sizes"]:
            yield f"{family['family']} of {row['nodes']}", row["nodes_per_s"]


def master(document):
    for row in document["rows"]:
        yield row["name"], row["points_per_minute"]


@dataclasses.dataclass
class Benchmark:
    # The rows of a benchmark's output: (name, speed). Rows are matched by name. A speed is a rate, so higher is better; times in the same document
    # are the same measurements, and numbers that are not rates are facts.
    rows: object
    # Arguments that make a round short. A program of another commit ignores unknown arguments.
    arguments: list


BENCHMARKS = {
    "interpreter": Benchmark(interpreter, []),
    "functional": Benchmark(functional, ["1"]),
    "cycle": Benchmark(cycle, ["5", "cycle"]),
    "cpu": Benchmark(cpu, ["5"]),
    "growth": Benchmark(growth, ["1000"]),
    "master": Benchmark(master, ["250", "256", "1000"]),
}


@dataclasses.dataclass
class Row:
    benchmark: str
    name: str
    here: list  # speeds, by round
    there: list

    @property
    def ratios(self):
        return [here / there for here, there in zip(self.here, self.there)]

    @property
    def ratio(self):
        return max(self.here) / max(self.there)


def matched(benchmark, rounds):
    """rounds: [(rows of HERE, rows of THERE), ...], each {name: speed}. Returns the rows that both have in every round, and the names that one of them lacks."""
    sides = [set.intersection(*(set(one[side]) for one in rounds)) for side in (0, 1)]
    rows = [Row(benchmark, name, [here[name] for here, _ in rounds], [there[name] for _, there in rounds])
            for name in rounds[0][0] if name in sides[0] & sides[1]]
    return rows, sorted(sides[0] - sides[1]), sorted(sides[1] - sides[0])


def table(rows, only_here, only_there):
    width = max((len(row.name) for row in rows), default=0)
    lines = [f"{'benchmark':11}  {'row':{width}}  ratio  of single rounds  rounds        here       there"]
    for row in rows:
        lines.append(f"{row.benchmark:11}  {row.name:{width}}  {row.ratio:5.3f}  {min(row.ratios):.3f} to {max(row.ratios):.3f}"
                     f"  {len(row.here):6}  {max(row.here):10.3f}  {max(row.there):10.3f}")
    lines += [f"only here: {name}" for name in only_here] + [f"only there: {name}" for name in only_there]
    return "\n".join(lines)


def report(rows, only_here, only_there):
    return {"rows": [{**dataclasses.asdict(row), "ratio": row.ratio, "ratios": row.ratios} for row in rows],
            "only_here": only_here, "only_there": only_there}


def measure(folder, name):
    program = pathlib.Path(folder) / f"bench_{name}"
    done = subprocess.run([program, *BENCHMARKS[name].arguments], stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, **ENVIRONMENT})
    if done.returncode != 0:
        sys.exit(f"{program} failed")
    return dict(BENCHMARKS[name].rows(json.loads(done.stdout)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--filter", default="")
    parser.add_argument("here", type=pathlib.Path)
    parser.add_argument("there", type=pathlib.Path)
    arguments = parser.parse_args()
    folders = (arguments.here, arguments.there)
    names = [name for name in BENCHMARKS if re.search(arguments.filter, name)]
    names, missing = ([name for name in names if all((folder / f"bench_{name}").exists() for folder in folders) == there] for there in (True, False))
    for name in missing:
        print(f"bench_{name} is not in both builds", file=sys.stderr)
    if not names:
        sys.exit("nothing to compare")

    measured = {name: [] for name in names}

    def run_round(name):
        number = len(measured[name])
        print(f"round {number + 1}: {name}", file=sys.stderr)
        order = (0, 1) if number % 2 == 0 else (1, 0)
        sides = {side: measure(folders[side], name) for side in order}
        measured[name].append((sides[0], sides[1]))

    def low(rows):
        return [row for row in rows if row.ratio < arguments.least]

    try:
        for _ in range(arguments.rounds):
            for name in names:
                run_round(name)
        for _ in range(FURTHER_ROUNDS * arguments.rounds):
            for name in names:
                if slow := low(matched(name, measured[name])[0]):
                    print(f"{name}: below {arguments.least}: " + ", ".join(f"{row.name} {row.ratio:.3f}" for row in slow), file=sys.stderr)
                    run_round(name)
    except KeyboardInterrupt:
        print("stopped: these are the finished rounds", file=sys.stderr)

    rows, only_here, only_there = [], [], []
    for name in (name for name in names if measured[name]):
        both, here, there = matched(name, measured[name])
        rows += both
        only_here += [f"{name}: {row}" for row in here]
        only_there += [f"{name}: {row}" for row in there]
    print(table(rows, only_here, only_there))
    if arguments.out:
        arguments.out.write_text(json.dumps(report(rows, only_here, only_there), indent=2) + "\n")
    if low(rows):
        print(f"{len(low(rows))} of {len(rows)} rows are below {arguments.least}")
    return 1 if low(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
