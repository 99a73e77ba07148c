#!/usr/bin/env python3
"""Whole models on the CPU, compared with ONNX Runtime and OpenVINO (docs/results/benchmarks.md).

usage: run.py BIN FOLDER [--ort PYTHON] [--openvino PYTHON] [--cpu CLASS] [--mask LIBRARY] [--threads 1,2] [--rounds N]
              [--list FILE] [--only REGEX] [--number float32|int8] [--quantized] [--dynamic int8|uint8] [--records DB] [--shared DIR]
              [--compile-option WORD]... [-o OUT.json]

BIN contains `dovetail` and `model_runner`; models are created in FOLDER and kept there. The models are those of list.json
or of --list, which `tools/real_models.py --bench` writes for trained models from published packages: files, or models from
the folder `--shared` (filled with weights by its fill_light.py if they have none), and from `dovetail zoo`. ONNX
Runtime and OpenVINO are imported by their PYTHON; without --ort, only ours is timed. All are processes that live for all
rounds of a model and alternate; one thread is measured in processor time, several in wall time, each by its best round. All
get the same inputs, and the row includes the difference of the outputs. With --cpu, ours is compiled for that class, and
OpenVINO is limited to it; with --mask, the library that mask_cpuid.py built, both peers see a processor
with AVX2 only. A row says for each peer whether it was capped. With --records, ours runs twice, with default schedules and with the
recorded ones (`dovetail tune`). With --dynamic, both run the float models as quantized by ONNX Runtime's dynamic
quantization, with weights of that type, instead of all models. Prints a row for each model. Exit code 1 if a model fails, or
if the outputs of a float model differ by more than 0.001 of the largest.
"""

import argparse
import itertools
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ONEDNN_CLASSES = {"baseline": "SSE41", "avx2": "AVX2", "avx2-vnni": "AVX2_VNNI", "avx512": "AVX512_CORE",
                  "avx512-vnni": "AVX512_CORE_VNNI", "avx512-amx": "AVX512_CORE_AMX"}
SAMPLE_SECONDS = 0.1  # per round and contender
MOST_APART = 1e-3  # difference of the outputs of float models, relative to the largest element
LABELS = {"ort_ratio": "", "openvino_ratio": ", OpenVINO", "tuned_ratio": ", tuned"}
PAUSE_SECONDS = 0.02  # after it: threads keep spinning for a moment


class Failure(Exception):
    pass


def call(words, environment=None):
    """Runs a program to its end; returns its wall and processor seconds, and its peak memory."""
    start = time.perf_counter()
    with subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment) as process:
        errors = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Failure(f"{pathlib.Path(str(words[0])).name} {words[1]}: {errors.strip()[-600:]}")
    return {"wall": time.perf_counter() - start, "processor": usage.ru_utime + usage.ru_stime, "memory_kib": usage.ru_maxrss}


def peer_environment(options):
    """With capped instructions, if options ask for that."""
    cap = {"ONEDNN_MAX_CPU_ISA": ONEDNN_CLASSES[options.cpu]} if options.cpu else {}
    return {**os.environ, **cap, **({"LD_PRELOAD": str(options.mask.resolve())} if options.mask else {})}


def capped(peer, ready, options):
    """Whether the peer used no instructions beyond the class of --cpu; of OpenVINO, by what its kernels name."""
    if not options.cpu:
        return False
    if options.mask and options.cpu == "avx2":
        return True
    return peer == "openvino" and options.cpu.startswith("avx2") and not any("512" in one or "amx" in one for one in ready["instructions"])


class Contender:
    """A process that runs a model on demand."""

    def __init__(self, words, processors, environment=None):
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=environment,
                                        preexec_fn=lambda: os.sched_setaffinity(0, processors))
        self.ready = self.answer()
        self.samples = []

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failure(self.process.stderr.read().strip()[-600:])
        return json.loads(line)

    def ask(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.answer()

    def runs(self, count):
        return self.ask(count)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def model_file(entry, options):
    """The model's file and its inputs, created if needed."""
    if "file" in entry:
        return pathlib.Path(entry["file"]), entry["inputs"]
    if "shared" in entry:
        folder = options.shared / entry["shared"]
        sample = min(path for path in folder.iterdir() if path.is_dir())
        inputs = [f"{file.stem[len('in_'):]}={file}" for file in sorted(sample.glob("in_*.npy"))]
        if not entry.get("fill"):
            return folder / "model.onnx", inputs
        file = options.folder / f"{entry['name']}.onnx"
        if not file.exists():
            call([options.ort or sys.executable, options.shared / "fill_light.py", folder / "model.onnx", file], peer_environment(options))
        return file, inputs
    file = options.folder / f"{entry['name']}.onnx"
    if not file.exists():
        call([options.bin / "dovetail", "zoo", entry["zoo"], *(["--int8", "--samples", "1"] if entry["number"] == "int8" else []),
              "-o", file])
    return file, []


def dynamic_file(entry, model, options):
    """The model dynamically quantized by ONNX Runtime's tool."""
    file = options.folder / f"{entry['name']}.{options.dynamic}.onnx"
    if not file.exists():
        call([options.ort, HERE / "onnxruntime_worker.py", model, "--quantize-dynamic", file, "--weights", options.dynamic],
             peer_environment(options))
    return file


def quantized_file(entry, options):
    """The float model of an int8 model of the zoo, quantized by ONNX Runtime's tool."""
    file = options.folder / f"{entry['name']}.ort.onnx"
    if not file.exists():
        plain = options.folder / f"zoo_{entry['zoo']}.onnx"
        if not plain.exists():
            call([options.bin / "dovetail", "zoo", entry["zoo"], "-o", plain])
        call([options.ort, HERE / "onnxruntime_worker.py", plain, "--quantize", file], peer_environment(options))
    return file


def shared_inputs(entry, model, options):
    """Random inputs, as files, for a model without inputs."""
    folder = options.folder / f"{entry['name']}.inputs"
    if not folder.exists():
        call([options.ort, HERE / "onnxruntime_worker.py", model, "--write-inputs", folder], peer_environment(options))
    return [f"{file.stem}={file}" for file in sorted(folder.glob("*.npy"))]


def difference(contenders, ours, entry, options):
    """The largest difference of all outputs: of floats relative to the largest element, of integers in steps."""
    folders = {name: (options.folder / f"{entry['name']}.{name}").resolve() for name in (ours, "ort")}
    for name, folder in folders.items():
        folder.mkdir(exist_ok=True)
        contenders[name].ask(folder)
    compared = subprocess.run([options.ort, HERE / "onnxruntime_worker.py", folders[ours], "--compare", folders["ort"]],
                              capture_output=True, text=True, check=False, env=peer_environment(options))
    if compared.returncode != 0:
        raise Failure(compared.stderr.strip()[-600:])
    return json.loads(compared.stdout)["apart"]


def alternate(contenders, rounds):
    for contender in contenders.values():
        once = contender.runs(1)["wall"]
        contender.count = max(1, min(10000, math.ceil(SAMPLE_SECONDS / max(once, 1e-6))))
    for number in range(rounds):
        order = list(contenders.values())
        for contender in order if number % 2 == 0 else reversed(order):
            contender.samples.append(contender.runs(contender.count))
            time.sleep(PAUSE_SECONDS)


def measure(entry, threads, bundles, model, inputs, options):
    """`bundles`: ours, by the name of the contender, including "ours"."""
    processors = sorted(os.sched_getaffinity(0))[:threads]
    if options.ort and not inputs:
        inputs = shared_inputs(entry, model, options)
    given = [word for each in inputs for word in ("--input", each)]
    contenders = {}
    row = {}
    try:
        for name, bundle in bundles.items():
            contenders[name] = Contender([options.bin / "model_runner", bundle, "--threads", threads, *given], processors)
        if options.ort:
            worker = [options.ort, HERE / "onnxruntime_worker.py"]
            contenders["ort"] = Contender([*worker, model, "--threads", threads, *given], processors, peer_environment(options))
            if options.openvino:
                try:
                    contenders["openvino"] = Contender([options.openvino, HERE / "openvino_worker.py", model, "--threads", threads, *given], processors,
                                                       peer_environment(options))
                except Failure as failure:  # it refuses some models, which the other peer runs
                    row["openvino_failure"] = str(failure)
            if options.quantized and "zoo" in entry and entry["number"] == "int8":
                contenders["ort_quantised"] = Contender([*worker, quantized_file(entry, options), "--threads", threads, *given], processors,
                                                        peer_environment(options))
        if options.ort:
            row["difference"] = max(difference(contenders, name, entry, options) for name in bundles)
        alternate(contenders, options.rounds)
    finally:
        for contender in contenders.values():
            contender.close()
    key = "processor" if threads == 1 else "wall"
    for name, contender in contenders.items():
        times = [sample[key] for sample in contender.samples]
        row[name] = {"best_ms": 1e3 * min(times), "median_ms": 1e3 * statistics.median(times), "judged_by": key,
                     "best_wall_ms": 1e3 * min(sample["wall"] for sample in contender.samples),
                     "memory_mib": contender.samples[-1]["memory_kib"] / 1024, "load_seconds": contender.ready["load_seconds"]}
        if name not in bundles:
            row[name] |= {"capped": capped(name, contender.ready, options), "version": contender.ready["version"]}
    for name in ("ort", "ort_quantised", "openvino"):
        if name in row:
            row[f"{name}_ratio"] = row[name]["best_ms"] / row["ours"]["best_ms"]
            row[f"{name}_median_ratio"] = row[name]["median_ms"] / row["ours"]["median_ms"]
    if "tuned" in row and "ort" in row:
        row["tuned_ratio"] = row["ort"]["best_ms"] / row["tuned"]["best_ms"]
    return row


def figure(row, *keys):
    for key in keys:
        row = row.get(key) if row else None
    return "–" if row is None else f"{row:.2f}" if row < 100 else f"{row:.0f}"


def print_row(result, threads):
    cells = [result["name"]]
    for count in threads:
        row = result["threads"].get(str(count))
        cells += [figure(row, "ours", "best_ms"), figure(row, "ort", "best_ms"), f"**{figure(row, 'ort_ratio')}**", figure(row, "openvino", "best_ms"), f"**{figure(row, 'openvino_ratio')}**"]
    first = result["threads"].get(str(threads[0]))
    apart = first and first.get("difference")
    cells += [figure(first, "tuned", "best_ms"), figure(first, "tuned_ratio"), "–" if apart is None else f"{apart:.0e}", figure(first, "ort_quantised_ratio"), figure(result, "compile", "processor"), figure(result, "compile", "memory_mib"),
              figure(first, "ours", "memory_mib"), figure(first, "ort", "memory_mib")]
    print("| " + " | ".join(cells) + " |", flush=True)


def print_head(threads):
    cells = ["model"]
    for count in threads:
        cells += [f"ours, {count} thread{'s' if count > 1 else ''}, ms", "ORT ms", "ratio", "OpenVINO ms", "ratio"]
    cells += ["tuned ms", "ratio, tuned", "outputs apart", "ratio, ORT's own int8", "compile, s", "MiB", "run, MiB", "ORT MiB"]
    print("| " + " | ".join(cells) + " |\n|" + "---|" * len(cells), flush=True)


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def processor_name():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        facts = dict(line.strip().split("\t: ", 1) for line in lines if "\t: " in line)
    return {key: facts.get(key, "") for key in ("model name", "cpu family", "model", "cache size")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ort", help="a Python that imports onnxruntime, and onnx for models without weights")
    parser.add_argument("--openvino", metavar="PYTHON", help="a Python that imports openvino; needs --ort, which makes inputs and compares outputs")
    parser.add_argument("--cpu", choices=list(ONEDNN_CLASSES), help="compile for that class, and cap OpenVINO to it")
    parser.add_argument("--mask", metavar="LIBRARY", type=pathlib.Path, help="mask_cpuid.so of the peers' environment: they see AVX2 only")
    parser.add_argument("--threads", default="1,2", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--list", default=HERE / "list.json", type=pathlib.Path, help="the models (default: list.json)")
    parser.add_argument("--only", default="", type=re.compile, help="only models whose name matches")
    parser.add_argument("--number", choices=("float32", "int8"))
    parser.add_argument("--quantized", action="store_true", help="also measure the zoo's int8 models as quantized by ONNX Runtime's tool")
    parser.add_argument("--dynamic", choices=("int8", "uint8"), help="float models, dynamically quantized with weights of that type")
    parser.add_argument("--records", help="a database of `dovetail tune`, for a second column of ours")
    parser.add_argument("--shared", type=pathlib.Path, default=HERE.parents[2] / "shared" / "models")
    parser.add_argument("--compile-option", action="append", default=[], help="an argument for `dovetail compile`, for example --cpu=avx2")
    parser.add_argument("-o", dest="output", type=pathlib.Path)
    options = parser.parse_args()
    if options.openvino and not options.ort:
        parser.error("--openvino needs --ort, which makes inputs and compares outputs")
    options.folder.mkdir(parents=True, exist_ok=True)
    results = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "processor": processor_name(),
               "class": options.cpu or "native", "load_average": os.getloadavg(), "models": []}
    print_head(options.threads)
    for entry in json.loads(options.list.read_text()):
        if not options.only.search(entry["name"]) or options.number not in (None, entry["number"]):
            continue
        if options.dynamic and entry["number"] != "float32":
            continue
        result = {"name": entry["name"], "number": entry["number"], "threads": {}}
        results["models"].append(result)
        try:
            model, inputs = model_file(entry, options)
            if options.dynamic:
                model = dynamic_file(entry, model, options)
                entry["name"], result["number"] = model.stem, f"dynamic {options.dynamic}"
                result["name"] = model.stem
            bundles = {"ours": options.folder / f"{entry['name']}.dvt"}
            compile_model = [options.bin / "dovetail", "compile", model, "--target", "cpu", *(f"--shape={shape}" for shape in entry.get("shapes", [])),
                             *([f"--cpu={options.cpu}"] if options.cpu else []), *options.compile_option]
            cost = call([*compile_model, "-o", bundles["ours"]])
            result["compile"] = {**cost, "memory_mib": cost["memory_kib"] / 1024}
            if options.records:
                bundles["tuned"] = options.folder / f"{entry['name']}.tuned.dvt"
                call([*compile_model, f"--records={options.records}", "-o", bundles["tuned"]])
            for threads in options.threads:
                result["threads"][str(threads)] = measure(entry, threads, bundles, model, inputs, options)
        except Failure as failure:
            result["failure"] = str(failure)
            print(f"{entry['name']}: {failure}", file=sys.stderr, flush=True)
        print_row(result, options.threads)
        if options.output:
            options.output.write_text(json.dumps(results, indent=1))
    for threads, key in itertools.product(options.threads, ("ort_ratio", "openvino_ratio", "tuned_ratio")):
        ratios = [row["threads"][str(threads)][key] for row in results["models"] if key in row["threads"].get(str(threads), {})]
        if not ratios:
            continue
        print(f"\n{threads} thread{'s' if threads > 1 else ''}{LABELS[key]}: geometric mean {geomean(ratios):.2f} over {len(ratios)} models, "
              f"{sum(ratio < 1 for ratio in ratios)} below 1")
    wrong = [row["name"] for row in results["models"] for of in row["threads"].values()
             if row["number"] == "float32" and not of.get("difference", 0) <= MOST_APART]
    if wrong:
        print(f"outputs differ by more than {MOST_APART}: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong or any("failure" in row for row in results["models"]) else 0


if __name__ == "__main__":
    sys.exit(main())
