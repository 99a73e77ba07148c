#!/usr/bin/env python3
"""Tests the CUDA back end with ONNX's node tests, models of the zoo, and the models in the folder next to the repository.

usage: gpu_tests.py compile [OPTIONS]             compiles every kernel of all of them with NVIDIA's compiler, for --gpu (sm_80, sm_90a, sm_100, sm_120); no device is needed
       gpu_tests.py run [OPTIONS]                 runs them on this machine's device and compares with the reference; also random programs, some under
                                                  compute-sanitizer, and bench_cuda
       gpu_tests.py merge JOURNAL... [OPTIONS]    makes the dated document of several runs

`run` writes each item into a journal as soon as it is done, and skips items that the journal has for this commit and device, so that a run that was killed
continues. `--part k/n` runs one of n equal shares of every list, `--minutes M` starts no item after M minutes.

Missing parts are reported: if the compiler, a device or the data is missing, the status is 2 before anything runs. Status 1 means that a program failed, status
3 that all passed so far and some are still to run. `run` continues without cuBLAS, cuDNN and compute-sanitizer, and states it in its result.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import datetime
import importlib.util
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import gpu_journal

ROOT = pathlib.Path(__file__).resolve().parent.parent
ZOO = ["resnet18", "resnet50", "mobilenet_v1", "mobilenet_v2", "squeezenet1.1", "vgg16", "bert_base", "gpt_block", "resnet8", "ds_cnn"]
# Models that other tests quantize to int8 too.
ZOO_INT8 = ["resnet18", "mobilenet_v2", "squeezenet1.1", "resnet8", "ds_cnn"]
# Ampere; Hopper with instructions of sm_90a alone; Blackwell, of data centers and of desktops. Compilers before 12.8 lack the last two.
ARCHITECTURES = ["sm_80", "sm_90a", "sm_100", "sm_120"]
WHAT = ["nodes", "models", "random", "sanitizers", "bench"]
SANITIZERS = ["memcheck", "racecheck", "synccheck"]
SANITIZER_STATUS = 99
SANITIZED_MODELS = ["digits_int8", "digits_float", "mnist_cnn", "resnet8_int8", "kws_dscnn_w8", "cct_2_32_opset20"]


class Missing(Exception):
    """Something that the command needs is missing."""


RUNNING = set()  # running programs, each the leader of a process group


def end_all(number, _):
    """Handles an interrupt or a request to end: ends all processes that were started."""
    for process in list(RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    os._exit(128 + number)


# Seconds for one program: a kernel that never ends fails, and does not block the others.
LONGEST_SECONDS = 600


def call(command, seconds=None, **environment):
    """Returns status, output and errors; after `seconds` the program and its children are killed, and the status is -9."""
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


def listed_models(options):
    """The name of each model, from the folder next to the repository and from the zoo, with its file, or the zoo's name and number."""
    models = {name: file for name, file in model_files(options.models).items() if options.models_only is None or name in options.models_only}
    for number, names in (("float32", ZOO), ("int8", ZOO_INT8)):
        models |= {f"zoo {name} {number}": (name, number) for name in names if options.zoo is None or name in options.zoo}
    return models


class ModelFiles:
    """Files of models; a model of the zoo is made at its first use, and kept for this run."""

    def __init__(self, options, folder):
        self.cli, self.folder, self.models = options.cli, pathlib.Path(folder), listed_models(options)
        self.locks = {name: threading.Lock() for name in self.models}

    def file(self, name):
        if isinstance(self.models[name], pathlib.Path):
            return self.models[name]
        network, number = self.models[name]
        made = self.folder / f"{network}_{number}.onnx"
        with self.locks[name]:
            if not made.exists():
                status, _, errors = call([self.cli, "zoo", network, *(["--int8", "--samples", "1"] if number == "int8" else []), "-o", made])
                if status != 0:
                    raise Missing(f"the zoo's {network}: {last_error(errors)}")
        return made


class Results:
    """The document of `compile`, written again after each part, so that finished parts are not lost."""

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


def onnx_test(options, folder, arguments, names):
    """Reports of these tests, from one process."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write("\n".join(names))
        listed.flush()
        status, text, errors = call([options.cli, "onnx-test", folder, *arguments, "--list", listed.name, "--timeout", str(options.timeout), "--json"])
    try:
        return json.loads(text)["tests"]
    except (json.JSONDecodeError, KeyError):
        raise Missing(f"a report of `dovetail onnx-test` (status {status}): {last_error(errors)}") from None


def node_names(options, folder):
    return sorted(options.nodes_only if options.nodes_only is not None else (path.parent.name for path in folder.glob("*/model.onnx")))


def onnx_tests(options, folder, arguments):
    """The tests' reports, by `--jobs` processes."""
    names = node_names(options, folder)
    shares = [share for share in (names[first::options.jobs] for first in range(options.jobs)) if share]
    with concurrent.futures.ThreadPoolExecutor(len(shares) or 1) as pool:
        tests = [test for share in pool.map(lambda share: onnx_test(options, folder, arguments, share), shares) for test in share]
    return sorted(tests, key=lambda test: test["test"])


def seconds_since(begin):
    return round(time.monotonic() - begin, 1)


def compile_nodes(options, results, nodes):
    """All tests that the reference passes must compile; other tests are refused at import."""
    reference = {test["test"] for test in onnx_tests(options, nodes, ["--target", "host", "--compile-only"]) if test["verdict"] == "passed"}
    if not reference:
        raise Missing(f"a node test that the reference passes, in {nodes}")
    for level in options.levels:
        begin = time.monotonic()
        tests = onnx_tests(options, nodes, ["--target", "cuda", "--gpu", options.gpu, "-O", level, "--compile-only"])
        part = {"part": f"node tests at -O {level}", **gpu_journal.node_counts(tests, reference), "seconds": seconds_since(begin)}
        results.add(part, [f"{test['test']}: {test['verdict']}: {test['reason']}" for test in tests
                           if test["test"] in reference and test["verdict"] != "passed"])


def compile_model(options, name, file, level):
    """The row of a model, or None, and the failures."""
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
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        models = ModelFiles(options, folder)
        for level in options.levels:
            begin = time.monotonic()
            done = list(pool.map(lambda name, level=level: compile_model(options, name, models.file(name), level), models.models))
            rows = [row for row, _ in done if row is not None]
            results.add({"part": f"models at -O {level}", "models": len(rows), "programs": sum(row["programs"] for row in rows),
                         "nodes_on_the_host": sum(row["nodes_on_the_host"] for row in rows), "seconds": seconds_since(begin), "rows": rows},
                        [failure for _, failures in done for failure in failures])


def architectures_of(compiler):
    """The architectures to compile for, of those of which the compiler's version makes code."""
    known = set(re.findall(r"sm_\d+", compiler))
    return ",".join(name for name in ARCHITECTURES if name.rstrip("a") in known)


def command_compile(options):
    gpu = doctor(options)
    options.gpu = options.gpu or architectures_of(gpu["compiler"])
    results = Results(options.out)
    results.head |= {"date": today(), "commit": commit(), "kind": "gpu compile", "compiler": gpu["compiler"], "architectures": options.gpu}
    nodes = node_folder(options.nodes)
    if options.nodes_only != []:
        compile_nodes(options, results, nodes)
    compile_models(options, results)
    results.write()
    print(f"gpu_tests: {len(results.failures)} failures" if results.failures else "gpu_tests: all passed")
    return 1 if results.failures else 0


@dataclasses.dataclass
class Unit:
    """Items that run together: `work(items)` returns a line of the journal for each."""
    part: str
    items: list
    work: object
    alone: bool = False  # its times count


def passed_or(reason):
    return {"verdict": "failed" if reason else "passed", "reason": reason or ""}


# Few enough items that a killed run loses little, enough that starting a process pays off.
NODES_OF_A_PROCESS = 50


def node_units(options, targets):
    nodes = node_folder(options.nodes)
    names = node_names(options, nodes)
    parts = {gpu_journal.HOST: ["--target", "host"]}
    for target in targets:
        parts |= {f"node tests on {target} at -O {level}": ["--target", target, "-O", level] for level in options.levels}

    def unit(part, arguments):
        def work(items):
            tests = {test.pop("test"): test for test in onnx_test(options, nodes, arguments, items)}
            return [{"item": item, **tests[item]} for item in items]

        return Unit(part, names, work)

    return [unit(part, arguments) for part, arguments in parts.items()]


def model_units(options, targets, folder):
    models = ModelFiles(options, folder)

    def unit(target, level):
        def work(items):
            status, text, errors = call([options.cli, "run", models.file(items[0]), "--target", target, "-O", level, "--check", "--json"], options.timeout)
            if status != 0:
                return [{"item": items[0], **passed_or(last_error(errors))}]
            return [{"item": items[0], **passed_or(None), **json.loads(text)["check"]}]

        return Unit(f"models on {target} at -O {level}", list(models.models), work)

    return [unit(target, level) for target in targets for level in options.levels]


def program_beside(options, name):
    program = options.cli.parent / name
    if not program.exists():
        raise Missing(f"{program}: build it, ./dev test does")
    return program


def random_units(options):
    program = program_beside(options, "test_property_compiler")
    tests = call([program, options.random, "--list-test-names-only"])[1].strip().splitlines()
    if not tests:
        raise Missing(f"tests of {program} for {options.random}")

    def work(items):
        # A comma and a bracket have a meaning in Catch2's filter.
        test = re.sub(r"([,\[\]\\])", r"\\\1", items[0])
        status, text, errors = call([program, test, "-r", "compact"], options.timeout, DOVETAIL_TEST_GPU="device")
        found = re.findall(r"(\d+) assertions?", text)
        wrong = [line for line in text.splitlines() if ": failed:" in line] or [f"status {status}: {last_error(text + errors)}"]
        return [{"item": items[0], **passed_or(None if status == 0 and found else "; ".join(wrong)), "assertions": int(found[-1]) if found else 0}]

    return [Unit("random programs", tests, work)]


def sanitizer():
    program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    return program if os.access(program, os.X_OK) else None


def sanitizer_units(options):
    program = sanitizer()
    if program is None:
        print("compute-sanitizer is not installed: no test runs under it", flush=True)
        return []
    nodes, models = node_folder(options.nodes), model_files(options.models)
    commands = {name: ["onnx-test", nodes / name, "--target", "cuda", "--timeout", str(options.timeout)]
                for name in node_names(options, nodes)[::options.sanitize_every]}
    commands |= {name: ["run", models[name], "--target", "cuda"] for name in SANITIZED_MODELS
                 if name in models and (options.models_only is None or name in options.models_only)}

    def unit(tool):
        def work(items):
            prefix = [program, "--tool", tool, "--target-processes", "all", "--error-exitcode", SANITIZER_STATUS]
            status, text, errors = call([*prefix, options.cli, *commands[items[0]]], options.timeout)
            # Other parts check whether the test passes; here only the tool's verdict counts.
            summary = re.findall(r"ERROR SUMMARY: (\d+)|SUMMARY: (\d+) hazard", text + errors)
            reason = None if summary else f"{tool} gave no summary (status {status}): {last_error(text + errors)}"
            if status == SANITIZER_STATUS or any(int(errors_found or hazards) for errors_found, hazards in summary):
                reason = last_error(text + errors)
            return [{"item": items[0], **passed_or(reason)}]

        return Unit(f"compute-sanitizer {tool}", list(commands), work)

    return [unit(tool) for tool in SANITIZERS]


# Everything that bench_cuda measures, in commands of at most two minutes.
BENCH_NUMBERS = ["float32", "float16", "bfloat16", "tf32", "int8"]


def bench_commands():
    commands = {f"network {name}, batch {batch}": ["--filter", "network", "--networks", name, "--batches", batch]
                for name in ("resnet50", "mobilenet_v2", "bert_base") for batch in (1, 32)}
    commands |= {f"product {size}, {number}": ["--filter", "product", "--sizes", size, "--number", number]
                 for number in BENCH_NUMBERS for size in (1024, 2048, 4096, 8192)}
    commands["chains"] = ["--filter", "chain"]
    commands |= {f"convolutions, batch {batch}, {number}": ["--filter", "convolution", "--batches", batch, "--number", number]
                 for number in BENCH_NUMBERS if number != "int8" for batch in (1, 32)}
    return {item: [str(word) for word in words] for item, words in commands.items()}


def bench_units(options):
    program, commands = program_beside(options, "bench_cuda"), bench_commands()

    def work(items):
        words = [*commands[items[0]], *shlex.split(options.bench)]
        status, text, errors = call([program, *words], options.timeout)
        line = {"item": items[0], "command": shlex.join(["bench_cuda", *words])}
        try:
            document = json.loads(text)
        except json.JSONDecodeError:
            return [{**line, **passed_or(f"status {status}: {last_error(errors)}")}]
        wrong = [f"{row['name']}, {row['number']}: {row['failure']}" for row in document["rows"] if "failure" in row]
        return [{**line, **passed_or("; ".join(wrong)), "machine": document["machine"], "rows": document["rows"]}]

    return [Unit("bench_cuda", list(commands), work, alone=True)]


def left_of(units, options, journal):
    """The items of this run: those of its share of each list that the journal lacks."""
    number, count = options.part
    left = []
    for unit in units:
        items = [item for item in unit.items[number - 1::count] if (unit.part, item) not in journal.done]
        size = min(NODES_OF_A_PROCESS, -(-len(items) // options.jobs)) if unit.part.startswith("node tests") else 1
        left += [dataclasses.replace(unit, items=items[first:first + size]) for first in range(0, len(items), size or 1)]
    return left


def run_units(units, options, journal):
    """Runs the units. Returns the number of items for which there was no time. Units that run alone come last."""
    end = time.monotonic() + 60 * options.minutes if options.minutes is not None else None

    def run(unit):
        begin = time.monotonic()
        if end is not None and begin >= end:
            return len(unit.items)
        lines = unit.work(unit.items)
        seconds = time.monotonic() - begin
        journal.add([{"part": unit.part, "seconds": round(seconds / len(lines), 3), **line} for line in lines])
        what = f"{len(lines)} items" if unit.part.startswith("node tests") else f"{lines[0]['item']}: {lines[0]['verdict']}"
        print(f"  {unit.part}: {what}, {seconds:.1f} s", flush=True)
        return 0

    left = 0
    for alone in (False, True):
        with concurrent.futures.ThreadPoolExecutor(1 if alone else options.jobs) as pool:
            tasks = [pool.submit(run, unit) for unit in units if unit.alone == alone]
            try:
                left += sum(task.result() for task in tasks)
            except Missing:
                pool.shutdown(cancel_futures=True)
                raise
    return left


def device_and_libraries(options):
    gpu = doctor(options)
    if gpu["device"].startswith("no"):
        raise Missing(f"a GPU: {gpu['device'].removeprefix('no: ')}")
    libraries = {name: gpu[key] for name, key in (("cublas", "cuBLAS"), ("cudnn", "cuDNN")) if re.match(r"\d", gpu[key])}
    return gpu, libraries


def command_run(options):
    gpu, libraries = device_and_libraries(options)
    tested = options.commit or commit()
    if tested is None:
        raise Missing(f"the commit: {ROOT} is not a clone; name it by --commit")
    if tested.endswith("-dirty"):
        # It is unknown what changed since an earlier run.
        tested += datetime.datetime.now(datetime.timezone.utc).strftime("-%Y%m%dT%H%M%S")
        print(f"gpu_tests: uncommitted changes: this is a separate run, {tested}", flush=True)
    targets = ["cuda", *([",".join([*reversed(libraries), "cuda"])] if libraries else [])]
    with tempfile.TemporaryDirectory() as folder:
        make = {"nodes": lambda: node_units(options, targets) if options.nodes_only != [] else [], "models": lambda: model_units(options, targets, folder),
                "random": lambda: random_units(options), "sanitizers": lambda: sanitizer_units(options), "bench": lambda: bench_units(options)}
        units = [unit for kind in options.what for unit in make[kind]()]
        journal = gpu_journal.Journal(options.journal, tested, gpu["device"])
        version = call([sanitizer(), "--version"])[1].strip().splitlines()[-1:] if sanitizer() else "not installed"
        journal.add([{"run": {"date": today(), "compiler": gpu["compiler"], "libraries": libraries, "compute_sanitizer": version},
                      "lists": [(unit.part, unit.items) for unit in units]}])
        left = run_units(left_of(units, options, journal), options, journal)
    print(f"gpu_tests: the journal is {options.journal}")
    if left:
        print(f"gpu_tests: {left} items of this share are still to run: run again")
    if options.part != (1, 1) or left:
        failed = gpu_journal.document_of(journal.lines, gpu_journal.lists_of(journal.lines))["failures"]
        for failure in failed:
            print(f"failed: {failure}")
        return 1 if failed else 3 if left else 0
    return finish(journal.lines, gpu_journal.lists_of(journal.lines), options.out)


def finish(lines, lists, out):
    """Writes and prints the document; the status."""
    document = gpu_journal.document_of(lines, lists)
    if lists.get(gpu_journal.HOST) and not any(part["of_the_reference"] for part in document["parts"] if part["part"].startswith("node tests")):
        raise Missing("a node test that the reference passes")
    if out is None:
        device = re.sub(r"[^a-z0-9]+", "-", document["device"].lower()).strip("-")
        out = ROOT / "bench/results" / f"{document['date']}-gpu-tests-{device}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(document, indent=1) + "\n")
    gpu_journal.print_document(document)
    print(f"gpu_tests: {out}")
    failures, missing = len(document["failures"]), sum(map(len, document["missing"].values()))
    print(f"gpu_tests: {failures} failures, {missing} missing" if failures or missing else "gpu_tests: all passed")
    return 1 if failures else 3 if missing else 0


def command_merge(options):
    lines = [line for path in options.journals for line in gpu_journal.read_lines(path)]
    for key in ("commit", "device"):
        chosen = getattr(options, key)
        found = sorted({line[key] for line in lines})
        lines = [line for line in lines if chosen in (None, line[key])]
        if chosen is not None and not lines:
            raise Missing(f"{key} {chosen}: the journals have {', '.join(found)}")
        if chosen is None and len(found) > 1:
            raise Missing(f"one {key}: the journals have {', '.join(found)}; --{key} chooses one")
    if not lines:
        raise Missing("a line in the journals")
    lists = gpu_journal.lists_of(lines)
    # A run knows only the models of its batch.
    if any(options.models.glob("*/model.onnx")):
        names = list(listed_models(options))
        lists = {part: list(dict.fromkeys([*names, *items])) if part.startswith("models on ") else items for part, items in lists.items()}
    else:
        print(f"gpu_tests: {options.models} has no models, so it is unknown whether the journals have all of them")
    return finish(lines, lists, options.out)


def today():
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def commit():
    status, text, _ = call(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12"])
    return text.strip() if status == 0 else None


def share(text):
    number, count = map(int, text.split("/"))
    if not 1 <= number <= count:
        raise ValueError
    return number, count


def parsed_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    models = argparse.ArgumentParser(add_help=False)
    models.add_argument("--models", type=pathlib.Path, default=ROOT.parent / "shared/models", help="folder of NAME/model.onnx")
    models.add_argument("--models-only", nargs="*", help="these models alone")
    models.add_argument("--zoo", nargs="*", help="only these models of the zoo")
    models.add_argument("--out", type=pathlib.Path, help="the result as JSON; run, merge: default bench/results/DATE-gpu-tests-DEVICE.json")
    programs = argparse.ArgumentParser(add_help=False, parents=[models])
    programs.add_argument("--cli", type=pathlib.Path, default=ROOT / "build/release/bin/dovetail")
    programs.add_argument("--nodes", type=pathlib.Path, help="folder of ONNX's node tests")
    programs.add_argument("--nodes-only", nargs="*", help="only these node tests")
    programs.add_argument("--levels", nargs="+", default=["2", "1"], help="of -O")
    programs.add_argument("--jobs", type=int, default=1, help="number of programs at a time")
    programs.add_argument("--timeout", type=int, default=LONGEST_SECONDS, help="seconds that a program may run")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("compile", parents=[programs])
    command.add_argument("--gpu", help=f"architectures; default those of {','.join(ARCHITECTURES)} that the compiler has")
    command.set_defaults(do=command_compile)
    command = commands.add_parser("run", parents=[programs])
    command.add_argument("--what", nargs="+", choices=WHAT, default=WHAT, help="these kinds alone")
    command.add_argument("--part", type=share, default=(1, 1), metavar="K/N", help="the K-th of N shares of every list")
    command.add_argument("--minutes", type=float, help="start no item after this many minutes")
    command.add_argument("--journal", type=pathlib.Path, default=ROOT / "build/gpu-tests.jsonl", help="default build/gpu-tests.jsonl")
    command.add_argument("--commit", help="commit of the programs, if this folder is not a clone")
    command.add_argument("--random", default="[gpu]", help="which tests of test_property_compiler, by Catch2's filter")
    # compute-sanitizer slows a program down a hundred times.
    command.add_argument("--sanitize-every", type=int, default=25, help="every N-th node test runs under compute-sanitizer")
    command.add_argument("--bench", default="", metavar="OPTIONS", help="further options of bench_cuda")
    command.set_defaults(do=command_run)
    command = commands.add_parser("merge", parents=[models])
    command.add_argument("journals", nargs="+", type=pathlib.Path, metavar="JOURNAL")
    command.add_argument("--commit", help="which of several in the journals")
    command.add_argument("--device", help="which of several in the journals")
    command.set_defaults(do=command_merge)
    return parser.parse_args()


def main():
    options = parsed_options()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_all)
    try:
        return options.do(options)
    except Missing as missing:
        print(f"gpu_tests: missing: {missing}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
