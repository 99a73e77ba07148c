#!/usr/bin/env python3
"""The programs by which the CUDA back end is judged: ONNX's node tests, models of the zoo, and the models alongside the repository.

usage: gpu_tests.py compile [OPTIONS]    every kernel of all of them by NVIDIA's compiler, for --gpu (sm_80,sm_90a); no device is needed
       gpu_tests.py run [OPTIONS]        on the device that is here, against the reference; random programs as well; and some of them under
                                         compute-sanitizer

Nothing is left out in silence: what is missing (the compiler, a device, the data) ends with status 2 before anything runs; status 1 says that a program
failed. `compile` makes no exception; `run` continues without cuBLAS, cuDNN and compute-sanitizer and says so in its result.
"""

import argparse
import concurrent.futures
import contextlib
import datetime
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
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
SANITIZED_MODELS = ["digits_int8", "digits_float", "mnist_cnn", "resnet8_int8", "kws_dscnn_w8", "cct_2_32_opset20"]


class Missing(Exception):
    """What the command cannot do without."""


RUNNING = set()  # programs, each with the processes that it began its own group


def end_all(number, _):
    """On an interrupt or a request to end: nothing is left behind."""
    for process in list(RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    os._exit(128 + number)


# Of one program: a kernel that never ends fails, and holds up nothing else.
LONGEST_SECONDS = 600


def call(command, seconds=None, **environment):
    """Status, output and errors; after `seconds` the program and its children are ended, and the status is -9."""
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment},
                          start_new_session=True) as process:
        RUNNING.add(process)
        try:
            text, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, errors = process.communicate()
            errors += f"\nit ran for more than {seconds} s"
        RUNNING.discard(process)
        return process.returncode, text, errors


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


def make_zoo_file(options, file, name, number):
    status, _, errors = call([options.cli, "zoo", name, *(["--int8", "--samples", "1"] if number == "int8" else []), "-o", file])
    if status != 0:
        raise Missing(f"the zoo's {name}: {last_error(errors)}")


class Results:
    """The document, written anew after each part: what ran is not lost with what comes after it."""

    def __init__(self, out):
        self.out, self.begin, self.head, self.parts, self.failures = out, time.monotonic(), {}, [], []

    def write(self):
        if self.out is None:
            return
        document = {**self.head, "seconds": seconds_since(self.begin), "parts": self.parts, "failures": self.failures}
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.out.write_text(json.dumps(document, indent=1) + "\n")

    def add(self, part, failures):
        self.parts.append(part)
        self.failures += [f"{part['part']}: {failure}" for failure in failures]
        counts = ", ".join(f"{value} {key.replace('_', ' ')}" for key, value in part.items() if isinstance(value, int))
        print(f"{part['part']}: {counts}, {len(failures)} failures, {part['seconds']} s", flush=True)
        for failure in failures:
            print(f"  {failure}", flush=True)
        self.write()


def doctor(options):
    status, text, errors = call([options.cli, "doctor", "--json"], options.timeout)
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
            return call([*prefix, options.cli, "onnx-test", folder, *arguments, "--list", listed.name, "--timeout", str(options.timeout), "--json"])

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


def each_model(options, work):
    """`work(name, file)` of the models alongside the repository and of the zoo, `--jobs` at a time; its results in their order."""
    files = {name: file for name, file in model_files(options.models).items() if options.models_only is None or name in options.models_only}

    def of_zoo(name, number):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / f"{name}_{number}.onnx"
            make_zoo_file(options, file, name, number)
            return work(f"zoo {name} {number}", file)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tasks = [pool.submit(of_zoo, name, number) for number, names in (("float32", ZOO), ("int8", ZOO_INT8)) for name in names
                 if options.zoo is None or name in options.zoo]
        tasks = [pool.submit(work, name, file) for name, file in files.items()] + tasks
        return [task.result() for task in tasks]


def compile_model(options, name, file, level):
    """Its row, or None, and what fails."""
    status, text, errors = call([options.cli, "compile", file, "--target", "cuda", "--gpu", options.gpu, "-O", level, "--json"])
    if status != 0:
        return None, [f"{name}: {last_error(errors)}"]
    report = json.loads(text)
    codes, failures = report["compiler"]["codes"], []
    for code in codes:
        made = {image["architecture"] for image in code["images"] if not image["ptx"] and image["bytes"] > 0}
        if made != set(options.gpu.split(",")):
            failures.append(f"{name}: code for {', '.join(sorted(made)) or 'nothing'} instead of {options.gpu}")
    if not codes:
        failures.append(f"{name}: it has no kernel")
    row = {"model": name, "programs": sum(code["programs"] for code in codes), "nodes_on_the_host": report["summary"]["nodes"].get("host", 0),
           "compile_seconds": round(sum(code["compile_seconds"] for code in codes), 2)}
    print(f"  {name}: {row['programs']} programs of kernels, {row['compile_seconds']} s", flush=True)
    return row, failures


def compile_models(options, results):
    for level in options.levels:
        begin = time.monotonic()
        done = each_model(options, lambda name, file, level=level: compile_model(options, name, file, level))
        rows = [row for row, _ in done if row is not None]
        results.add({"part": f"models at -O {level}", "models": len(rows), "programs": sum(row["programs"] for row in rows),
                     "nodes_on_the_host": sum(row["nodes_on_the_host"] for row in rows), "seconds": seconds_since(begin), "rows": rows},
                    [failure for _, failures in done for failure in failures])


def command_compile(options, results):
    gpu = doctor(options)
    results.head |= {"kind": "gpu compile", "compiler": gpu["compiler"], "architectures": options.gpu}
    nodes = node_folder(options.nodes)
    if options.nodes_only != []:
        reference = passing(options, nodes, "--compile-only")
        for level in options.levels:
            arguments = ["--target", "cuda", "--gpu", options.gpu, "-O", level, "--compile-only"]
            results.add(*node_part(options, nodes, f"node tests at -O {level}", arguments, reference))
    compile_models(options, results)


def run_model(options, name, file, target, level):
    """Its row, or None, and what fails."""
    status, text, errors = call([options.cli, "run", file, "--target", target, "-O", level, "--check", "--json"], options.timeout)
    if status != 0:
        return None, [f"{name}: {last_error(errors)}"]
    return {"model": name, **json.loads(text)["check"]}, []


def run_models(options, results, targets):
    for target in targets:
        for level in options.levels:
            begin = time.monotonic()
            done = each_model(options, lambda name, file, target=target, level=level: run_model(options, name, file, target, level))
            rows = [row for row, _ in done if row is not None]
            results.add({"part": f"models on {target} at -O {level}", "models": len(done), "equal": len(rows), "seconds": seconds_since(begin), "rows": rows},
                        [failure for _, failures in done for failure in failures])


def run_random(options, results):
    program = options.cli.parent / "test_property_compiler"
    begin = time.monotonic()
    if not program.exists():
        raise Missing(f"{program}: build it, ./dev test does")
    tests = call([program, options.random, "--list-test-names-only"])[1].strip().splitlines()
    if not tests:
        raise Missing(f"tests of {program} for {options.random}")

    def run(test):
        # In Catch2's filter a comma and a bracket mean something.
        status, text, errors = call([program, re.sub(r"([,\[\]\\])", r"\\\1", test), "-r", "compact"], options.timeout, DOVETAIL_TEST_GPU="device")
        found = re.findall(r"(\d+) assertions?", text)
        if status == 0 and found:
            return int(found[-1]), []
        wrong = [line for line in text.splitlines() if ": failed:" in line] or [f"status {status}: {last_error(text + errors)}"]
        return int(found[-1]) if found else 0, [f"{test}: {line}" for line in wrong]

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        done = list(pool.map(run, tests))
    results.add({"part": "random programs", "filter": options.random, "tests": len(tests), "assertions": sum(count for count, _ in done),
                 "seconds": seconds_since(begin)}, [failure for _, failures in done for failure in failures])


def run_sanitizers(options, results, nodes):
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.access(sanitizer, os.X_OK):
        print("compute-sanitizer: not installed, nothing ran under it", flush=True)
        return "not installed"
    names = sorted(options.nodes_only if options.nodes_only is not None else (path.parent.name for path in nodes.glob("*/model.onnx")))[::options.sanitize_every]
    files = model_files(options.models)
    for tool in SANITIZERS:
        begin = time.monotonic()
        prefix = [sanitizer, "--tool", tool, "--target-processes", "all", "--error-exitcode", SANITIZER_STATUS]
        commands = [(name, ["onnx-test", nodes / name, "--target", "cuda", "--timeout", str(options.timeout)]) for name in names]
        commands += [(name, ["run", files[name], "--target", "cuda"]) for name in SANITIZED_MODELS
                     if name in files and (options.models_only is None or name in options.models_only)]

        def run(task, prefix=prefix, tool=tool):
            name, command = task
            status, text, errors = call([*prefix, options.cli, *command], options.timeout)
            # Whether the test passes is the business of others; here counts what the tool says.
            summary = re.findall(r"ERROR SUMMARY: (\d+)|SUMMARY: (\d+) hazard", text + errors)
            if status == SANITIZER_STATUS or any(int(errors_found or hazards) for errors_found, hazards in summary):
                return f"{name}: {last_error(text + errors)}"
            return None if summary else f"{name}: {tool} gave no summary (status {status}): {last_error(text + errors)}"

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            failures = [failure for failure in pool.map(run, commands) if failure]
        results.add({"part": f"compute-sanitizer {tool}", "programs": len(commands), "seconds": seconds_since(begin)}, failures)
    return call([sanitizer, "--version"])[1].strip().splitlines()[-1:]


def command_run(options, results):
    gpu = doctor(options)
    if gpu["device"].startswith("no"):
        raise Missing(f"a GPU: {gpu['device'].removeprefix('no: ')}")
    nodes = node_folder(options.nodes)
    libraries = {name: gpu[key] for name, key in (("cublas", "cuBLAS"), ("cudnn", "cuDNN")) if re.match(r"\d", gpu[key])}
    targets = ["cuda", *([",".join([*reversed(libraries), "cuda"])] if libraries else [])]
    results.head |= {"kind": "gpu run", "device": gpu["device"], "compiler": gpu["compiler"], "libraries": libraries}
    if results.out is None:
        device = re.sub(r"[^a-z0-9]+", "-", gpu["device"].lower()).strip("-")
        results.out = ROOT / "bench/results" / f"{results.head['date']}-gpu-tests-{device}.json"
    if options.nodes_only != []:
        reference = passing(options, nodes)
        for target in targets:
            for level in options.levels:
                results.add(*node_part(options, nodes, f"node tests on {target} at -O {level}", ["--target", target, "-O", level], reference))
    run_models(options, results, targets)
    run_random(options, results)
    results.head["compute_sanitizer"] = run_sanitizers(options, results, nodes)


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
    # compute-sanitizer slows a program down a hundred times.
    parser.add_argument("--sanitize-every", type=int, default=25, help="each so manieth node test runs under compute-sanitizer")
    parser.add_argument("--levels", nargs="+", default=["2", "1"], help="of -O")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--timeout", type=int, default=LONGEST_SECONDS, help="seconds that a program may run")
    parser.add_argument("--out", type=pathlib.Path, help="the result as JSON; run: default bench/results/DATE-gpu-tests-DEVICE.json")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_all)
    results = Results(options.out)
    results.head |= {"date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(), "commit": commit()}
    try:
        {"compile": command_compile, "run": command_run}[options.command](options, results)
    except Missing as missing:
        print(f"gpu_tests: missing: {missing}", file=sys.stderr)
        return 2
    results.write()
    if results.out is not None:
        print(f"gpu_tests: {results.out}")
    print(f"gpu_tests: {len(results.failures)} failures" if results.failures else "gpu_tests: all passed")
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
