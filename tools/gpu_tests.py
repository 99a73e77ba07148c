#!/usr/bin/env python3
"""The programs by which the CUDA back end is judged: ONNX's node tests, models of the zoo, and the models beside the repository.

usage: gpu_tests.py compile [OPTIONS]    every kernel of all of them by NVIDIA's compiler, for --gpu (sm_80,sm_90a); no device is needed
       gpu_tests.py run [OPTIONS]        on the device that is here, against the reference; random programs as well; and some of them under
                                         compute-sanitizer

Nothing is left out in silence: what is missing (the compiler, a device, the data) ends with status 2 before anything runs; status 1 says that a program
failed. `compile` makes no exception; `run` goes on without cuBLAS, cuDNN and compute-sanitizer and says so in its result.
"""

import argparse
import concurrent.futures
import datetime
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ZOO = ["resnet18", "resnet50", "mobilenet_v1", "mobilenet_v2", "squeezenet1.1", "vgg16", "bert_base", "gpt_block", "resnet8", "ds_cnn"]
# Models that other tests make int8 as well.
ZOO_INT8 = ["resnet18", "mobilenet_v2", "squeezenet1.1", "resnet8", "ds_cnn"]
SANITIZERS = ["memcheck", "racecheck", "synccheck"]
SANITIZER_STATUS = 99
# Of the node tests, under compute-sanitizer: each so manieth, since it slows a program down a hundred times.
SANITIZED_STEP = 25
SANITIZED_MODELS = ["digits_int8", "digits_float", "mnist_cnn", "resnet8_int8", "kws_dscnn_w8", "cct_2_32_opset20"]


class Missing(Exception):
    """What the command cannot do without."""


def call(command, **environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def last_error(text):
    """One line without control characters, of a program's errors."""
    lines = [line for line in text.strip().splitlines() if not line.startswith("progress ")]
    return (lines[-1] if lines else "no message")[:400]


def node_folder(given):
    candidates = [given, os.environ.get("DOVETAIL_ONNX_TESTS")]
    if package := importlib.util.find_spec("onnx"):
        candidates.append(pathlib.Path(package.origin).parent / "backend/test/data/node")
    candidates.append("/usr/share/libonnx-testdata/data/node")
    for folder in filter(None, candidates):
        if any(pathlib.Path(folder).glob("*/model.onnx")):
            return pathlib.Path(folder)
    raise Missing("the data of ONNX's node tests: set DOVETAIL_ONNX_TESTS to a folder of them, or install the Python package onnx or Debian's libonnx-testdata")


def model_files(folder):
    files = {path.parent.name: path for path in sorted(folder.glob("*/model.onnx"))}
    if not files:
        raise Missing(f"models: {folder} holds no NAME/model.onnx; name their folder by --models")
    return {"digits_float": ROOT / "examples/digits/digits_float.onnx", "digits_int8": ROOT / "examples/digits/digits_int8.onnx", **files}


def zoo_files(options, folder):
    for number, names in (("float32", ZOO), ("int8", ZOO_INT8)):
        for name in names:
            if options.zoo is not None and name not in options.zoo:
                continue
            file = folder / f"zoo_{name}_{number}.onnx"
            status, _, errors = call([options.cli, "zoo", name, *(["--int8", "--samples", "1"] if number == "int8" else []), "-o", file])
            if status != 0:
                raise Missing(f"the zoo's {name}: {last_error(errors)}")
            yield f"zoo {name} {number}", file
            file.unlink()


class Results:
    def __init__(self):
        self.parts, self.failures = [], []

    def add(self, part, failures):
        self.parts.append(part)
        self.failures += [f"{part['part']}: {failure}" for failure in failures]
        counts = ", ".join(f"{value} {key.replace('_', ' ')}" for key, value in part.items() if isinstance(value, int))
        print(f"{part['part']}: {counts}, {len(failures)} failures, {part['seconds']} s", flush=True)
        for failure in failures:
            print(f"  {failure}", flush=True)


def doctor(options):
    status, text, errors = call([options.cli, "doctor", "--json"])
    if status != 0:
        raise Missing(f"`dovetail doctor`: {last_error(errors)}")
    gpu = json.loads(text)["gpu"]
    if not gpu["compiler"].startswith("NVRTC"):
        raise Missing(f"NVIDIA's run-time compiler: {gpu['compiler']}")
    return gpu


def onnx_tests(options, folder, arguments, names=None, prefix=()):
    """The tests' reports, by `--jobs` processes."""
    names = sorted(names if names is not None else (path.parent.name for path in folder.glob("*/model.onnx")))
    shares = [share for share in (names[first::options.jobs] for first in range(options.jobs)) if share]

    def run(share):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
            listed.write("\n".join(share))
            listed.flush()
            return call([*prefix, options.cli, "onnx-test", folder, *arguments, "--list", listed.name, "--timeout", "600", "--json"])

    tests = []
    with concurrent.futures.ThreadPoolExecutor(len(shares) or 1) as pool:
        for status, text, errors in pool.map(run, shares):
            try:
                tests += json.loads(text)["tests"]
            except (json.JSONDecodeError, KeyError):
                raise Missing(f"a report of `dovetail onnx-test` (status {status}): {last_error(errors)}") from None
    return sorted(tests, key=lambda test: test["test"])


def seconds_since(begin):
    return round(time.monotonic() - begin, 1)


def node_part(options, nodes, name, arguments, reference):
    """A part of the result, what fails, and the reports: of the tests that the reference passes, all have to pass."""
    begin = time.monotonic()
    tests = onnx_tests(options, nodes, arguments, options.nodes_only)
    bad = [test for test in tests if test["test"] in reference and test["verdict"] != "passed"]
    part = {"part": name, "tests": len(tests), "of_the_reference": len(reference), "passed": sum(test["verdict"] == "passed" for test in tests),
            "not_of_the_reference": {test["test"]: test["reason"] for test in tests if test["test"] not in reference},
            "with_kernels": sum(test["kernels"] > 0 for test in tests), "kernels": sum(test["kernels"] for test in tests),
            "on_the_host": [test["test"] for test in tests if "host" in test["ran_on"]], "seconds": seconds_since(begin)}
    return part, [f"{test['test']}: {test['verdict']}: {test['reason']}" for test in bad]


def passing(options, nodes, *arguments):
    """Those that the kit's reference takes: what its importer refuses, no target sees."""
    names = {test["test"] for test in onnx_tests(options, nodes, ["--target", "host", *arguments], options.nodes_only) if test["verdict"] == "passed"}
    if not names:
        raise Missing(f"a node test that the reference passes, in {nodes}")
    return names


def all_models(options, folder):
    files = {name: file for name, file in model_files(options.models).items() if options.models_only is None or name in options.models_only}
    yield from files.items()
    yield from zoo_files(options, folder)


def compile_models(options, results):
    wanted = set(options.gpu.split(","))
    for level in options.levels:
        begin, rows, failures = time.monotonic(), [], []
        with tempfile.TemporaryDirectory() as folder:
            for name, file in all_models(options, pathlib.Path(folder)):
                status, text, errors = call([options.cli, "compile", file, "--target", "cuda", "--gpu", options.gpu, "-O", level, "--json"])
                if status != 0:
                    failures.append(f"{name}: {last_error(errors)}")
                    continue
                report = json.loads(text)
                codes = report["compiler"]["codes"]
                row = {"model": name, "programs": sum(code["programs"] for code in codes), "nodes_on_the_host": report["summary"]["nodes"].get("host", 0),
                       "compile_seconds": round(sum(code["compile_seconds"] for code in codes), 2)}
                for code in codes:
                    made = {image["architecture"] for image in code["images"] if not image["ptx"] and image["bytes"] > 0}
                    if made != wanted:
                        failures.append(f"{name}: code for {', '.join(sorted(made)) or 'nothing'} instead of {options.gpu}")
                if not codes:
                    failures.append(f"{name}: it has no kernel")
                rows.append(row)
                print(f"  {name}: {row['programs']} programs of kernels, {row['compile_seconds']} s", flush=True)
        results.add({"part": f"models at -O {level}", "models": len(rows), "programs": sum(row["programs"] for row in rows),
                     "nodes_on_the_host": sum(row["nodes_on_the_host"] for row in rows), "seconds": seconds_since(begin), "rows": rows}, failures)


def command_compile(options, results):
    gpu = doctor(options)
    nodes = node_folder(options.nodes)
    if options.nodes_only != []:
        reference = passing(options, nodes, "--compile-only")
        for level in options.levels:
            arguments = ["--target", "cuda", "--gpu", options.gpu, "-O", level, "--compile-only"]
            results.add(*node_part(options, nodes, f"node tests at -O {level}", arguments, reference))
    compile_models(options, results)
    return {"kind": "gpu compile", "compiler": gpu["compiler"], "architectures": options.gpu}


def run_models(options, results, targets):
    for target in targets:
        for level in options.levels:
            begin, rows, failures = time.monotonic(), [], []
            with tempfile.TemporaryDirectory() as folder:
                for name, file in all_models(options, pathlib.Path(folder)):
                    status, text, errors = call([options.cli, "run", file, "--target", target, "-O", level, "--check", "--json"])
                    if status != 0:
                        failures.append(f"{name}: {last_error(errors)}")
                        continue
                    check = json.loads(text)["check"]
                    rows.append({"model": name, **check})
            results.add({"part": f"models on {target} at -O {level}", "models": len(rows) + len(failures), "equal": len(rows), "seconds": seconds_since(begin),
                         "rows": rows}, failures)


def run_random(options, results):
    program = options.cli.parent / "test_property_compiler"
    begin = time.monotonic()
    if not program.exists():
        raise Missing(f"{program}: build it, ./dev test does")
    status, text, _ = call([program, options.random, "-r", "compact"], DOVETAIL_TEST_GPU="device")
    found = re.findall(r"(\d+) assertions?", text)
    part = {"part": "random programs", "filter": options.random, "assertions": int(found[-1]) if found else 0, "seconds": seconds_since(begin)}
    wrong = [line for line in text.splitlines() if ": failed:" in line] or [f"status {status}: {last_error(text)}"]
    results.add(part, wrong if status != 0 or not found else [])


def run_sanitizers(options, results, nodes):
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.access(sanitizer, os.X_OK):
        print("compute-sanitizer: not installed, nothing ran under it", flush=True)
        return "not installed"
    names = sorted(options.nodes_only if options.nodes_only is not None else (path.parent.name for path in nodes.glob("*/model.onnx")))[::SANITIZED_STEP]
    files = model_files(options.models)
    for tool in SANITIZERS:
        begin, ran, failures = time.monotonic(), 0, []
        prefix = [sanitizer, "--tool", tool, "--target-processes", "all", "--error-exitcode", SANITIZER_STATUS]
        commands = [(name, ["onnx-test", nodes / name, "--target", "cuda", "--timeout", "600"]) for name in names]
        commands += [(name, ["run", files[name], "--target", "cuda"]) for name in SANITIZED_MODELS
                     if name in files and (options.models_only is None or name in options.models_only)]
        for name, command in commands:
            status, text, errors = call([*prefix, options.cli, *command])
            ran += 1
            # Whether the test passes is the business of others; here counts what the tool says.
            summary = re.findall(r"ERROR SUMMARY: (\d+)|SUMMARY: (\d+) hazard", text + errors)
            if status == SANITIZER_STATUS or any(int(errors_found or hazards) for errors_found, hazards in summary):
                failures.append(f"{name}: {last_error(text + errors)}")
            elif not summary:
                failures.append(f"{name}: {tool} gave no summary (status {status}): {last_error(text + errors)}")
        results.add({"part": f"compute-sanitizer {tool}", "programs": ran, "seconds": seconds_since(begin)}, failures)
    return call([sanitizer, "--version"])[1].strip().splitlines()[-1:]


def command_run(options, results):
    gpu = doctor(options)
    if gpu["device"].startswith("no"):
        raise Missing(f"a GPU: {gpu['device'].removeprefix('no: ')}")
    nodes = node_folder(options.nodes)
    libraries = {name: gpu[key] for name, key in (("cublas", "cuBLAS"), ("cudnn", "cuDNN")) if re.match(r"\d", gpu[key])}
    targets = ["cuda", *([",".join([*reversed(libraries), "cuda"])] if libraries else [])]
    if options.nodes_only != []:
        reference = passing(options, nodes)
        for target in targets:
            for level in options.levels:
                results.add(*node_part(options, nodes, f"node tests on {target} at -O {level}", ["--target", target, "-O", level], reference))
    run_models(options, results, targets)
    run_random(options, results)
    sanitizer = run_sanitizers(options, results, nodes)
    return {"kind": "gpu run", "device": gpu["device"], "compiler": gpu["compiler"], "libraries": libraries, "compute_sanitizer": sanitizer}


def commit():
    status, text, _ = call(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12"])
    return text.strip() if status == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["compile", "run"])
    parser.add_argument("--cli", type=pathlib.Path, default=ROOT / "build/release/bin/dovetail")
    parser.add_argument("--nodes", type=pathlib.Path, help="folder of ONNX's node tests")
    parser.add_argument("--models", type=pathlib.Path, default=ROOT.parent / "shared/models", help="folder of NAME/model.onnx")
    parser.add_argument("--nodes-only", nargs="*", help="these node tests alone")
    parser.add_argument("--models-only", nargs="*", help="these models alone")
    parser.add_argument("--zoo", nargs="*", help="these models of the zoo alone")
    parser.add_argument("--gpu", default="sm_80,sm_90a", help="architectures, of compile")
    parser.add_argument("--random", default="[gpu]", help="which tests of test_property_compiler, by Catch2's filter")
    parser.add_argument("--levels", nargs="+", default=["2", "1"], help="of -O")
    parser.add_argument("--jobs", type=int, default=1, help="node tests at a time")
    parser.add_argument("--out", type=pathlib.Path, help="the result as JSON; run: default bench/results/DATE-gpu-tests-DEVICE.json")
    options = parser.parse_args()
    results = Results()
    begin = time.monotonic()
    try:
        head = {"compile": command_compile, "run": command_run}[options.command](options, results)
    except Missing as missing:
        print(f"gpu_tests: missing: {missing}", file=sys.stderr)
        return 2
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    document = {**head, "date": today, "commit": commit(), "seconds": seconds_since(begin), "parts": results.parts, "failures": results.failures}
    out = options.out
    if out is None and options.command == "run":
        device = re.sub(r"[^a-z0-9]+", "-", head["device"].lower()).strip("-")
        out = ROOT / "bench/results" / f"{today}-gpu-tests-{device}.json"
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(document, indent=1) + "\n")
        print(f"gpu_tests: {out}")
    print(f"gpu_tests: {len(results.failures)} failures" if results.failures else "gpu_tests: all passed")
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
