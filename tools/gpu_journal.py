"""The journal of `gpu_tests.py run`, and the document that is made from journals.

A journal has one JSON object per line. The first line of each run describes the run: its commit and device, and the complete list of items of each part, even if this run
does only a share of them. Each further line is one item of one part: its verdict, and its measurements. A line is written as soon as its item is done, so a run that is killed
loses only the item in progress, and the next run continues from there.
"""

import json
import math
import os

HOST = "node tests on host"  # the reference: it decides which node tests count


def read_lines(path):
    """The complete lines of a journal. A run that was killed may have left an incomplete line, whose item is done again."""
    lines = []
    for text in path.read_text(errors="replace").splitlines():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        if isinstance(line, dict) and "commit" in line and "device" in line:
            lines.append(line)
    return lines


class Journal:
    """The items that are done for a commit on a device. Several processes may append to one file."""

    def __init__(self, path, commit, device):
        self.whose = {"commit": commit, "device": device}
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = read_lines(path) if path.exists() else []
        self.lines = [line for line in lines if whose(line) == whose(self.whose)]
        self.done = {(line["part"], line["item"]) for line in self.lines if "item" in line}
        cut = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        if cut:
            os.write(self.file, b"\n")

    def add(self, lines):
        lines = [{**self.whose, **line} for line in lines]
        os.write(self.file, "".join(json.dumps(line) + "\n" for line in lines).encode())
        self.lines += lines


def whose(line):
    return line["commit"], line["device"]


def lists_of(lines):
    """For each part the items that its runs listed, in their order."""
    lists = {}
    for line in lines:
        for part, items in line.get("lists", []):
            lists.setdefault(part, {}).update(dict.fromkeys(items))
    return {part: list(items) for part, items in lists.items()}


def units_of(lines):
    """For each part the lines of its items. If an item ran twice, a failure counts."""
    parts = {}
    for line in lines:
        if "item" in line:
            items = parts.setdefault(line["part"], {})
            if line["item"] not in items or line["verdict"] != "passed":
                items[line["item"]] = line
    return parts


def missing_of(lists, parts):
    absent = {part: [item for item in items if item not in parts.get(part, {})] for part, items in lists.items()}
    return {part: items for part, items in absent.items() if items}


def measured(line):
    return {key: value for key, value in line.items() if key not in ("commit", "device", "part", "item", "verdict", "reason", "seconds")}


def node_counts(tests, reference):
    """Counts of a part of node tests, from reports of `dovetail onnx-test`; `reference`: the names of tests that the reference passes."""
    return {"tests": len(tests), "of_the_reference": len(reference), "passed": sum(test["verdict"] == "passed" for test in tests),
            "not_of_the_reference": {test["test"]: test["reason"] for test in tests if test["test"] not in reference},
            "with_kernels": sum(test["kernels"] > 0 for test in tests), "kernels": sum(test["kernels"] for test in tests),
            "on_the_host": [test["test"] for test in tests if "host" in test["ran_on"]]}


def node_part(items, parts):
    reference = {item for item, line in parts.get(HOST, {}).items() if line["verdict"] == "passed"}
    tests = [{"test": item, **line} for item, line in sorted(items.items())]
    return node_counts(tests, reference), [line for item, line in items.items() if item in reference]


def model_part(items, _):
    rows = [{"model": item, **measured(line)} for item, line in items.items() if line["verdict"] == "passed"]
    return {"models": len(items), "equal": len(rows), "rows": rows}, items.values()


def random_part(items, _):
    return {"tests": len(items), "assertions": sum(line["assertions"] for line in items.values())}, items.values()


def sanitizer_part(items, _):
    return {"programs": len(items)}, items.values()


def geometric_means(rows):
    """The summary of bench_cuda's documents: for each group the ratios of kernels, or of latencies if a peer has no kernels."""
    ratios = {}
    for row in rows:
        for peer, ratio in row.get("faster_than", {}).items():
            key = "kernels" if "kernels" in ratio else "latency"
            ratios.setdefault(f"{row['group']} {row['number']} against {peer}, {key}", []).append(ratio[key])
    return {name: {"geometric_mean": round(math.exp(sum(map(math.log, values)) / len(values)), 4), "rows": len(values)} for name, values in sorted(ratios.items())}


def bench_part(items, _):
    rows = [row for line in items.values() for row in line.get("rows", [])]
    machines = {json.dumps(line["machine"]): line["machine"] for line in items.values() if "machine" in line}
    return {"commands": {item: line["command"] for item, line in items.items()}, "measured": len(rows), "machines": list(machines.values()),
            "summary": geometric_means(rows), "rows": rows}, items.values()


KINDS = {"node tests on ": node_part, "models on ": model_part, "random programs": random_part, "compute-sanitizer ": sanitizer_part, "bench_cuda": bench_part}


def document_of(lines, lists):
    """The document of a commit on a device; `lists`: the items that it should have."""
    parts, runs = units_of(lines), [line["run"] for line in lines if "run" in line]
    head = {"kind": "gpu run", "date": max((run["date"] for run in runs), default=None), "commit": lines[0]["commit"], "device": lines[0]["device"]}
    for key in ("compiler", "libraries", "compute_sanitizer"):
        values = {json.dumps(run[key]): run[key] for run in runs if key in run}
        head[key] = next(iter(values.values())) if len(values) == 1 else list(values.values())
    # The seconds of a part are the sum over its programs, which ran in parallel and at several times.
    document = {**head, "seconds": 0, "parts": [], "failures": [], "missing": missing_of(lists, parts)}
    for part in [part for part in lists if part in parts and part != HOST]:
        items = parts[part]
        counts, judged = next(make for prefix, make in KINDS.items() if part.startswith(prefix))(items, parts)
        document["parts"].append({"part": part, "seconds": round(sum(line["seconds"] for line in items.values()), 1), **counts})
        document["failures"] += [f"{part}: {line['item']}: {line['reason'] or line['verdict']}" for line in judged if line["verdict"] != "passed"]
    document["seconds"] = round(sum(part["seconds"] for part in document["parts"]), 1)
    return document


def print_document(document):
    for part in document["parts"]:
        counts = ", ".join(f"{value} {key.replace('_', ' ')}" for key, value in part.items() if isinstance(value, int))
        print(f"{part['part']}: {counts}, {part['seconds']} s")
    for failure in document["failures"]:
        print(f"failed: {failure}")
    for part, items in document["missing"].items():
        print(f"missing: {part}: {len(items)}: {', '.join(items[:8])}{' …' if len(items) > 8 else ''}")
