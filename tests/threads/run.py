#!/usr/bin/env python3
"""Runs all kernels that the CUDA back end makes of models, with threads in adversarial orders (loops/threads/run_threads.h), and compares with the reference.

usage: run.py --program dovetail_threads --cli dovetail [OPTIONS] [NAME...]

The models are the digits, those alongside the repository, of which some are filled with weights by fill_light.py, and those of `dovetail zoo` in float32
and int8; NAME: those whose names contain it. A model of fewer than 50 million multiply-adds runs whole, each group of kernels on what those before it
have made. Of a larger one each layer runs once, on random values, and made smaller (tests/threads/layers.h).

A model that has run is not run again before the tree has changed: its row is kept in --work. Exit status 0: everything was equal; 1: something was not,
and is named; 2: what the command needs is missing.
"""

import argparse
import concurrent.futures
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from gpu_tests import ZOO, Missing, call, commit, last_error, model_files  # noqa: E402

LIGHT = "light_"  # models without weights


def models_of(options):
    """Names, and the function that makes the model's file in a folder."""

    def there(file):
        return lambda folder: file

    def filled(file):
        def make(folder):
            status, _, errors = call([sys.executable, options.models / "fill_light.py", file, folder / "model.onnx"])
            if status != 0:
                raise Missing(f"weights of {file.parent.name}: {last_error(errors)}")
            return folder / "model.onnx"
        return make

    def of_zoo(name, number):
        def make(folder):
            status, _, errors = call([options.cli, "zoo", name, *(["--int8", "--samples", "1"] if number == "int8" else []), "-o", folder / "model.onnx"])
            if status != 0:
                raise Missing(f"the zoo's {name} in {number}: {last_error(errors)}")
            return folder / "model.onnx"
        return make

    models = {name: filled(file) if name.startswith(LIGHT) else there(file) for name, file in model_files(options.models).items()}
    models |= {f"zoo_{name}_{number}": of_zoo(name, number) for name in ZOO for number in ("float32", "int8")}
    return {name: make for name, make in models.items() if not options.names or any(part in name for part in options.names)}


def row_of(options, name, make, tree):
    kept = options.work / f"{name}.json"
    asked = {"tree": tree, "seed": options.seed, "most_macs": options.most_macs, "most_steps": options.most_steps}
    if tree is not None and not tree.endswith("-dirty") and kept.exists():
        row = json.loads(kept.read_text())
        if row.pop("asked") == asked:
            return row
    with tempfile.TemporaryDirectory() as folder:
        file = make(pathlib.Path(folder))
        done = subprocess.run([options.program, file, "--seed", str(options.seed), "--most-macs", str(options.most_macs), "--most-steps",
                               str(options.most_steps)], capture_output=True, text=True, check=False)
    try:
        row = {"model": name, **json.loads(done.stdout)}
    except json.JSONDecodeError:
        row = {"model": name, "failures": [f"status {done.returncode}: {last_error(done.stderr)}"]}
    if done.returncode not in (0, 1) or (done.returncode == 1) != bool(row["failures"]):
        row["failures"].append(f"status {done.returncode}: {last_error(done.stderr)}")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"asked": asked, **row}))
    return row


def words_of(row):
    if "groups" not in row:
        return f"{row['model']}: failed"
    how = "whole" if row["whole"] else f"by layer, {row['smaller']} of {row['groups']} smaller"
    return (f"{row['model']}: {row['macs'] / 1e6:.1f} million multiply-adds, {how}; {row['kernels']} kernels, {row['tensors']} tensors, "
            f"{len(row['failures'])} failures, {row['seconds']} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/dovetail_threads")
    parser.add_argument("--cli", type=pathlib.Path, default=ROOT / "build/release/bin/dovetail")
    parser.add_argument("--models", type=pathlib.Path, default=ROOT.parent / "shared/models", help="folder of NAME/model.onnx")
    parser.add_argument("--most-macs", type=int, default=50_000_000, help="of a model that runs whole")
    parser.add_argument("--most-steps", type=int, default=1_000_000, help="of a layer, as the reference counts them")
    parser.add_argument("--seed", type=int, default=5, help="of values and orders")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/threads", help="folder of rows")
    parser.add_argument("--out", type=pathlib.Path, help="the result as JSON")
    options = parser.parse_args()
    begin = time.monotonic()
    try:
        models = models_of(options)
        if not models:
            raise Missing(f"a model whose name contains {' or '.join(options.names)}")
        tree = commit()
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            rows = []
            for row in pool.map(lambda item: row_of(options, *item, tree), models.items()):
                print(words_of(row), flush=True)
                for failure in row["failures"]:
                    print(f"  {failure}", flush=True)
                rows.append(row)
    except Missing as missing:
        print(f"threads: missing: {missing}", file=sys.stderr)
        return 2
    failures = [f"{row['model']}: {failure}" for row in rows for failure in row["failures"]]
    whole = [row for row in rows if row.get("whole")]
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    document = {"kind": "gpu threads", "date": today, "commit": tree, "seed": options.seed, "models": len(rows), "whole": len(whole),
                "kernels": sum(row.get("kernels", 0) for row in rows), "tensors": sum(row.get("tensors", 0) for row in rows),
                "seconds_of_models": round(sum(row.get("seconds", 0) for row in rows), 1), "seconds": round(time.monotonic() - begin, 1),
                "most_macs_whole": options.most_macs, "most_steps_of_a_layer": options.most_steps, "rows": rows, "failures": failures}
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(document, indent=1) + "\n")
        print(f"threads: {options.out}")
    print(f"threads: {document['models']} models, {document['whole']} of them whole, {document['kernels']} kernels, {document['tensors']} tensors, "
          f"{len(failures)} failures, {document['seconds']} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
