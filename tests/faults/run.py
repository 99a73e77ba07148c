"""Simulates a machine out of resources at every place where a command requests some (refuse.cpp, which is preloaded).

run.py --dovetail PROGRAM --library REFUSE.so [--allocations N|all] [--jobs N] [--list] [NAME...]

Each command below first runs to its end, and counts its places: uses of writing, memory outside the heap, threads, shared
objects and programs, and places that ask for heap memory. Then it runs once for each use, which is refused; and once more
for each with all later uses refused too, as on a full disk. For the heap, --allocations evenly spread places are
refused (default 40), or all that no earlier command has reached: without heap memory the process always ends in the
same way. Conditions of each run:

  - the command ends within a minute: no signal, no hang
  - it reports the failure in a diagnostic other than "internal error", with exit code 1; or it does its work without the
    resource, reports that in a note, and its exit code is 0
  - nothing is left over: no temporary file or folder, no process, and no partial output

The last lines print how often each kind was refused. Exit status 0: all held.
"""

import argparse
import concurrent.futures
import contextlib
import ctypes
import json
import multiprocessing
import os
import pathlib
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import tier  # noqa: E402

DIGITS = ROOT / "examples" / "digits" / "digits_int8.onnx"
DIGITS_FLOAT = ROOT / "examples" / "digits" / "digits_float.onnx"
KINDS = ["write", "map", "thread", "library", "process", "heap"]
LIMIT_S = 60

# {d} is the command's new folder. Files that commands make are named out*; "prepare" makes the inputs of others.
PREPARE = [
    ["compile", "{p}/model.onnx", "--target", "cpu", "-o", "{p}/cpu.dvt"],
    ["compile", str(DIGITS), "--target", "accel", "--hw", "tiny", "-o", "{p}/accel.dvt"],
    ["asm", "{p}/p.s", "-o", "{p}/p.bin"],
    ["run", "{p}/accel.dvt", "--engine", "cycle", "--trace", "{p}/trace.json"],
]
COMMANDS = {
    "compile": ["compile", "{p}/model.onnx", "--target", "cpu", "-o", "{d}/out.dvt", "--report", "{d}/out.json"],
    "compile for the accelerator": ["compile", str(DIGITS), "--target", "accel", "--hw", "tiny", "-o", "{d}/out.dvt"],
    "run a bundle": ["run", "{p}/cpu.dvt", "--threads", "3", "--output-dir", "{d}/out", "--report", "{d}/out.json"],
    "run a model": ["run", "{p}/model.onnx", "--target", "cpu", "--threads", "2", "--check"],
    "run, cycle engine": ["run", "{p}/accel.dvt", "--engine", "cycle", "--trace", "{d}/out.json", "--html",
                          "{d}/out.html"],
    "run, systemc engine": ["run", "{p}/accel.dvt", "--engine", "systemc"],
    "run, rtl engine": ["run", "{p}/accel.dvt", "--engine", "rtl", "--no-build"],
    "build a model of the design": ["rtl", "build", "--hw", "tiny"],
    "area": ["hw", "area", "tiny", "--run"],
    "export": ["export", str(DIGITS), "-o", "{d}/out"],
    "zoo": ["zoo", "ds_cnn", "-o", "{d}/out.onnx"],
    "records": ["records", "import", "{d}/out.db", "{p}/records.jsonl"],
    "certificates": ["certificates", "{d}/out", "--queue", "lab.example.org", "--board", "pi4"],
    "tune": ["tune", "{p}/model.onnx", "--target", "cpu", "--trials", "2", "--records", "{d}/out.db", "--report", "{d}/out.json"],
    "explore": ["explore", str(DIGITS), "{p}/space.json", "-o", "{d}/out", "--jobs", "2"],
    "onnx-test": ["onnx-test", "{p}/test", "--target", "cpu"],
    "asm": ["asm", "{p}/p.s", "-o", "{d}/out.bin"],
    "simulate": ["simulate", "{p}/p.bin", "--hw", "1x16x16", "--dram", "{p}/dram", "--dram-out", "{d}/out.bin",
                 "--engine", "functional"],
    "check": ["check", "{p}/p.s"],
    "disasm": ["disasm", "{p}/p.bin"],
    "debug": ["debug", "{p}/p.s", "--dram", "{p}/dram", "-x", "{p}/debug"],
    "inspect": ["inspect", "{p}/accel.dvt"],
    "trace": ["trace", "{p}/trace.json", "--html", "{d}/out.html"],
    "evaluate": ["evaluate", "{p}/model.onnx", "--target", "cpu", "--inputs", "{p}/samples.npy", "--threads", "2"],
    "quantize": ["quantize", str(DIGITS_FLOAT), "-o", "{d}/out.onnx", "--samples", "{p}/images.npy", "--measure-layers", "1",
                 "--report", "{d}/out.json"],
    "profile": ["profile", "{p}/accel.dvt", "--repeat", "1"],
    "compare": ["compare", "{p}/model.onnx", "--target", "cpu", "--repeat", "2", "--html", "{d}/out.html"],
}
STAND_INS = {  # fast replacements of other tools
    "verilator": """case $1 in
  --version) echo 'Verilator 9.1 2030-01-01 rev fake'; exit ;;
  --getenv) echo /nowhere; exit ;;
esac
while [ $# -gt 0 ]; do
  [ "$1" = --Mdir ] && mkdir -p "$2" && echo > "$2/model.cpp"
  shift
done
sleep "${STAND_IN_SECONDS:-0}" """,
    "g++": """while [ $# -gt 0 ]; do
  [ "$1" = -o ] && out=$2
  shift
done
echo model > "$out" """,
    "yosys": """[ "$1" = -V ] && echo 'Yosys 0.0' && exit
sleep "${STAND_IN_SECONDS:-0}"
exit 1""",
}


def small_model():
    """y = Softmax(Exp(w)), so that kernels are a small part of a run."""

    def field(number, value):
        if isinstance(value, int):
            return bytes([number << 3, value])
        value = value.encode() if isinstance(value, str) else value
        return bytes([number << 3 | 2, len(value)]) + value

    def tensor(name):
        shape = field(1, field(1, 2)) + field(1, field(1, 3))
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    def node(op, source, target):
        return field(1, field(1, source) + field(2, target) + field(3, op + "_node") + field(4, op))

    graph = node("Exp", "w", "x") + node("Softmax", "x", "y") + field(2, "small")
    graph += field(11, tensor("w")) + field(12, tensor("y"))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


def tensor_file(values):
    """float32[2, 3] as a TensorProto, as in ONNX's backend tests."""
    raw = struct.pack("<6f", *values)
    return bytes([0x08, 2, 0x08, 3, 0x10, 1, 0x4A, len(raw)]) + raw


def array_file(shape, values):
    """float32 as .npy, version 1.0."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * ((54 - len(header) - 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack(f"<H{len(header)}s{len(values)}f", len(header), header.encode(), *values)


def record_line(number):
    """A tuning record of some kilobytes, so that several records need several writes."""
    texts = dict.fromkeys(("kind", "name", "unit", "why", "search", "time"), "")
    return json.dumps({"version": 1, "task": "t", "machine": "m", "target": "cpu", "sketch_version": 1, "outcome": "measured",
                       "cost": 1, "default_cost": 2, "feature_version": 1, "features": [], "trace": "x" * 2000,
                       "decisions": {"tile": str(number)}} | texts) + "\n"


class Place:
    """A folder for everything that commands may leave."""

    def __init__(self, shelf):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="place-", dir=shelf.root))
        for name in ("d", "tmp", "state", "cache"):
            (self.path / name).mkdir(mode=0o700)

    def environment(self, shelf, name, more):
        environment = dict(os.environ, TMPDIR=str(self.path / "tmp"), XDG_STATE_HOME=str(self.path / "state"),
                           HOME=str(self.path), DOVETAIL_REFUSE_SEEN=str(self.path / "seen"), **more)
        if name in ("build a model of the design", "area"):
            environment["PATH"] = f"{shelf.root / 'bin'}:{environment['PATH']}"
            environment["XDG_CACHE_HOME"] = str(self.path / "cache")
        if name in ("run a bundle", "profile") or name.endswith(" engine"):
            environment["XDG_STATE_HOME"] = str(shelf.root / "state")
        return environment

    def left(self):
        """Unexpected files."""
        left = [str(p.relative_to(self.path)) for p in (self.path / "tmp").rglob("*")]
        for folder in ("d", "state", "cache"):
            for path in (self.path / folder).rglob("*"):
                if path.name.endswith(".tmp") or path.suffix == ".work":
                    left.append(str(path.relative_to(self.path)))
        return left

    def outputs(self):
        files = [p for p in (self.path / "d").rglob("*") if p.is_file()]
        return {str(p.relative_to(self.path)): p.stat().st_size for p in files}

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


class Shelf:
    """Makes the inputs of all commands."""

    def __init__(self, dovetail, library):
        self.dovetail, self.library = dovetail, library
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="dovetail-faults-"))
        (self.root / "bin").mkdir()
        (self.root / "state").mkdir(mode=0o700)
        for name, text in STAND_INS.items():
            (self.root / "bin" / name).write_text("#!/bin/sh\n" + text + "\n")
            (self.root / "bin" / name).chmod(0o755)
        (self.root / "p.s").write_text("load.inp sram=0 dram=0 size=1x1\nfinish\n")
        (self.root / "records.jsonl").write_text("".join(record_line(n) for n in range(20)))
        (self.root / "dram").write_bytes(bytes(8192))
        (self.root / "debug").write_text("break #1\ncontinue\nstep\ninfo\nquit\n")
        (self.root / "samples.npy").write_bytes(array_file((8, 3), range(24)))
        (self.root / "images.npy").write_bytes(array_file((2, 1, 8, 8), [i % 17 for i in range(128)]))
        (self.root / "model.onnx").write_bytes(small_model())
        (self.root / "space.json").write_text('{"hardware": "1x16x16-ext", "axes": {"bus_bytes": [8, 16]}}')
        data = self.root / "test" / "test_data_set_0"
        data.mkdir(parents=True)
        (self.root / "test" / "model.onnx").write_bytes(small_model())
        (data / "input_0.pb").write_bytes(tensor_file([0] * 6))
        (data / "output_0.pb").write_bytes(tensor_file([1 / 3] * 6))
        environment = dict(os.environ, XDG_STATE_HOME=str(self.root / "state"))
        for line in PREPARE:
            command = [dovetail] + [word.format(p=self.root) for word in line]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)}: {done.stderr}")


    def refusing(self, request):
        return {"LD_PRELOAD": self.library, "DOVETAIL_REFUSE": request}


def heed_interrupts():
    """Restores the signals that a shell makes its background commands ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Run:
    """One run of a command, with the files and processes that it leaves."""

    def __init__(self, shelf, name, request, seconds=LIMIT_S, stop=None, more=None):
        self.place = Place(shelf)
        words = [w.format(p=shelf.root, d=self.place.path / "d") for w in COMMANDS[name]]
        environment = self.place.environment(shelf, name, {**(more or {}), **(shelf.refusing(request) if request else {})})
        with open(self.place.path / "stdout", "wb") as out, open(self.place.path / "stderr", "wb") as error:
            process = subprocess.Popen([shelf.dovetail] + words, stdin=subprocess.DEVNULL, stdout=out, stderr=error,
                                       env=environment, preexec_fn=heed_interrupts)
            if stop:
                time.sleep(1)
                process.send_signal(stop)
            if has_ended(process, seconds):
                self.exit = process.wait()
            else:
                process.kill()
                process.wait()
                self.exit = "a hang"
        self.out = (self.place.path / "stdout").read_text(errors="replace")
        self.error = (self.place.path / "stderr").read_text(errors="replace")
        self.orphans = wait_for_orphans()
        self.seen = (self.place.path / "seen").exists()  # a request was refused
        self.left = self.place.left()
        self.outputs = self.place.outputs()
        self.broken = [name for name in self.outputs if name.endswith(".dvt") and subprocess.run(
            [shelf.dovetail, "inspect", self.place.path / name], capture_output=True).returncode != 0]
        self.broken += [output for output in self.outputs if output.endswith("authority.key") and subprocess.run(
            [shelf.dovetail, "certificates", (self.place.path / output).parent], capture_output=True).returncode != 0]
        self.broken += [output for output in self.outputs if output.endswith(".db") and not self.is_whole(shelf, name, output)]
        self.place.remove()

    def is_whole(self, shelf, name, output):
        """A valid database, with all imported records or none. SQLite's journal next to it rolls back partial work."""
        if name != "records":
            with contextlib.closing(sqlite3.connect(self.place.path / output)) as database:
                return database.execute("pragma integrity_check").fetchone() == ("ok",)
        export = subprocess.run([shelf.dovetail, "records", "export", self.place.path / output], capture_output=True, text=True)
        return export.stdout.count("\n") in (0, 20) if export.returncode == 0 else "the database is empty" in export.stderr


def has_ended(process, seconds):
    """Waits at most that long. Popen.wait with a limit would poll."""
    descriptor = os.pidfd_open(process.pid)
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def wait_for_orphans():
    """Kills the processes that commands leave running, which this process adopts; returns their number after a second."""
    end = time.monotonic() + 1
    while True:
        try:
            number, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 0
        if number == 0 and time.monotonic() > end:
            break
        if number == 0:
            time.sleep(0.01)
    children = pathlib.Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGKILL)
        os.waitpid(int(child), 0)
    return len(children)


def problems_of(run, sound, kind):
    problems = []
    if run.exit == 0:
        # Sorting requests a buffer, and works without one. A search names the first candidate that it lost.
        reported = "note " in run.out or "note" in run.error or re.search(r"^refused +\d+ candidate.*: error: ", run.out, re.M)
        # The number of requests of a command that measures depends on the load of the machine.
        if kind != "heap" and run.seen and not reported:
            problems.append("the refusal had no effect that any note reports")
    elif run.exit == 1:
        in_table = run.out.startswith("refused  ") and "total " in run.out  # onnx-test's result of each test
        if not run.error.startswith(("error: ", "note: ")) and "\nerror: " not in run.error and not in_table:
            problems.append("there is no diagnostic")
        if "internal error" in run.error:
            problems.append("it is taken for a defect")
    else:
        problems.append(f"exit code {run.exit}")
    if run.orphans:
        problems.append(f"{run.orphans} processes are left")
    problems += [f"{name} is left" for name in run.left]
    problems += [f"{name} is in part there" for name in run.broken]
    for name, size in run.outputs.items():
        if name in sound.outputs and name.endswith((".pem", ".key")):
            continue  # the signature's size is random
        if sound.outputs.get(name) != size and not name.endswith((".json", ".html", ".dvt", ".db", ".db-journal", ".csv")):
            # the others contain times, or are checked above
            problems.append(f"{name} has {size} bytes, whole it has {sound.outputs.get(name)}")
    return problems


def count_places(shelf, name):
    file = shelf.root / "count"
    file.unlink(missing_ok=True)
    sound = Run(shelf, name, f"count:{file}", seconds=600)
    uses, places, heap = dict.fromkeys(KINDS, 0), {}, []
    for line in file.read_text().splitlines() if file.exists() else []:
        kind, place, number = line.split()
        if kind == "heap":
            heap.append((place, int(number)))
        else:
            uses[kind] += int(number)
            places[(kind, place)] = int(number)
    heap.sort(key=lambda place: place[1])
    uses["heap"] = len(heap)
    return sound, uses, places, heap


def functions_of(file, which):
    """Names of the functions that an ELF file imports, or exports."""
    listed = subprocess.run(["nm", "--dynamic", which, file], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].partition("@")[0] for line in listed.splitlines() if line.split()[-2] in ("U", "T")}


def check_every_function(shelf, reached):
    """Some command reaches every function of the program's imports that the library can refuse."""
    heap = {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "dlerror"}
    needed = functions_of(shelf.dovetail, "--undefined-only") & functions_of(shelf.library, "--defined-only") - heap
    missing = needed - {place.partition("+")[0] for _, place in reached}
    print(f"{len(needed - missing)} of the {len(needed)} functions that the program may be refused were reached")
    for function in sorted(missing):
        print(f"no command reaches {function}")
    return len(missing)


def name_of(shelf, place):
    """A place as function names: the function that was called, and its caller."""
    function, _, offset = place.partition("+")
    found = subprocess.run(["addr2line", "-fCe", shelf.dovetail, offset], capture_output=True, text=True, check=False).stdout
    return f"{function} in {found.partition(chr(10))[0] or offset}"


def spread(items, number):
    number = min(number, len(items))
    return [items[i * len(items) // number] for i in range(number)]


def requests_of(uses, heap, allocations, known):
    """The refusals, as values of DOVETAIL_REFUSE. `known`: heap places that earlier commands have reached; extended here."""
    requests = [f"{kind}:{n}{lasting}" for kind in KINDS if kind != "heap" for n in range(1, uses[kind] + 1)
                for lasting in ("", "+")]
    chosen = [(place, use) for place, use in heap if place not in known] if allocations == "all" else spread(heap, int(allocations))
    known.update(place for place, _ in heap)
    return requests + [f"heap:{place}@{use}" for place, use in chosen]


def become_reaper():
    """Makes this process adopt the processes that its commands leave running. It has no other children: the pool's belong to its parent."""
    subreaper = 36  # PR_SET_CHILD_SUBREAPER
    ctypes.CDLL(None).prctl(subreaper, 1, 0, 0, 0)


def refuse(work):
    """One run with a refusal: whether the work was done without the resource, the problems, and the output."""
    shelf, name, request, sound = work
    run = Run(shelf, name, request)
    return request, run.exit == 0, problems_of(run, sound, request.partition(":")[0]), run.error


def check_command(shelf, name, pool, allocations, known, refused, all_places):
    sound, uses, places, heap = pool.submit(count_places, shelf, name).result()
    if sound.exit != 0 and name != "area":  # the fake Yosys fails
        # Engines need SystemC or Verilator, which a machine may lack.
        print(f"{name}: {'skipped' if name.endswith(' engine') else 'it fails by itself'}: {sound.error.strip()}")
        return 0 if name.endswith(" engine") else 1
    for place, number in places.items():
        all_places[place] = all_places.get(place, 0) + number
    failures = without = 0
    requests = requests_of(uses, heap, allocations, known)
    for request, works, problems, error in pool.map(refuse, [(shelf, name, request, sound) for request in requests], chunksize=8):
        refused[request.partition(":")[0]] += 1
        without += works
        for problem in problems:
            failures += 1
            print(f"{name}, DOVETAIL_REFUSE={request}: {problem}\n    {error.strip()[-600:]}", flush=True)
    counts = ", ".join(f"{uses[kind]} {kind}" for kind in KINDS if uses[kind])
    print(f"{name}: {counts}; {len(requests)} runs, {without} did their work without, {failures} failures",
          flush=True)
    return failures


def check_signals(shelf):
    """Commands that have started other programs and are ended while those run."""
    failures = 0
    for name in ("build a model of the design", "area"):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            run = Run(shelf, name, None, stop=number, more={"STAND_IN_SECONDS": "100"})
            problems = [] if run.exit == -number else [f"exit code {run.exit}"]
            problems += [f"{run.orphans} processes are left"] if run.orphans else []
            if number != signal.SIGKILL:
                problems += [f"{left} is left" for left in run.left]
            failures += len(problems)
            for problem in problems:
                print(f"{name}, {number.name}: {problem}")
    print(f"signals: 8 runs, {failures} failures")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dovetail", required=True)
    parser.add_argument("--library", required=True, help="refuse.cpp, compiled")
    parser.add_argument("--allocations", default="40")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--sample", nargs="+", default=[], metavar="NAME", help="those of the names that ./dev test judges (tools/tier.py)")
    parser.add_argument("--list", action="store_true", help="print the places too")
    parser.add_argument("names", nargs="*", help="of the commands below, and signals; default: all")
    arguments = parser.parse_args()
    if arguments.sample:
        arguments.names, which = tier.judged(arguments.names or [*COMMANDS, "signals"], arguments.sample)
        print(f"commands: {which}")
    shelf = Shelf(str(pathlib.Path(arguments.dovetail).resolve()), str(pathlib.Path(arguments.library).resolve()))
    refused, places, known, failures = dict.fromkeys(KINDS, 0), {}, set(), 0
    context = multiprocessing.get_context("fork")
    try:
        with concurrent.futures.ProcessPoolExecutor(arguments.jobs, mp_context=context, initializer=become_reaper) as pool:
            for name in COMMANDS:
                if not arguments.names or name in arguments.names:
                    failures += check_command(shelf, name, pool, arguments.allocations, known, refused, places)
            if not arguments.names or "signals" in arguments.names:
                failures += pool.submit(check_signals, shelf).result()
    finally:
        shutil.rmtree(shelf.root, ignore_errors=True)
    if not arguments.names:
        failures += check_every_function(shelf, places)
    if arguments.list:
        for (kind, place), number in sorted(places.items()):
            print(f"  {kind:10} {name_of(shelf, place):70} {number} uses")
    print("refused: " + ", ".join(f"{number} {kind}" for kind, number in refused.items()))
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
