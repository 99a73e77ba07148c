#!/usr/bin/env python3
"""Runs models, and a separate program, on the system on chip: values, cycles, interrupts, errors and planted faults.

usage: soc.py DOVETAIL [--build CONFIG] [CASE]
Without CASE, those of the tier (tools/tier.py). --build makes the Verilated model of a configuration instead. Exit status 77: a
tool is missing.
"""

import argparse
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools"))
import tier  # noqa: E402

DIGITS = SOURCE / "examples/digits/digits_int8.onnx"
IDEAL, DDR = "ideal:latency=24", "bank:ddr4-2400"
# A product that takes the accelerator a few thousand cycles, and the processor not much more.
SMALL = ("--layer", "gemm 8x16 -> 8", "--hw", "tiny")
LIMIT = "6000000"  # cycles of a run of SMALL that hangs
CHIP = SOURCE / "tests/soc/chip.c"
# What chip.c asks for over the serial line.
CHIP_INPUT = b"\x55\x00\xff\x80\x01xyhello, chip"
# The faults of the sample of ./dev test.
SAMPLE_FAULTS = ("the accelerator's interrupt is not connected", "the processor reads the wrong word of a beat", "the timer compares half of its time")


class Wrong(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Wrong(message)


class Runs:
    def __init__(self, cli, folder):
        self.cli, self.folder = cli, folder

    def command(self, *words, status=0, variables=None):
        done = subprocess.run([self.cli, *map(str, words)], capture_output=True, text=True, check=False, env=os.environ | (variables or {}))
        expect(done.returncode == status, f"{' '.join(map(str, words))} left with {done.returncode}, not {status}:\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def report(self, *words, status=0):
        """The report of a run, and its messages."""
        output, messages = self.command("soc", "run", *words, "--json", status=status)
        return json.loads(output), messages

    def agree(self, model, hardware, wait, memory, engine="rtl"):
        words = ["--hw", hardware, "--wait", wait, "--memory", memory, "--engine", engine]
        report, _ = self.report(*(model if isinstance(model, tuple) else (model,)), *words, *(("--assertions",) if engine == "rtl" else ()))
        expect(report["right"] and report["status"]["result"] == 0, f"the run is wrong: {report}")
        expect(report["launches"] and all(row["cycles"] == row["expected_cycles"] for row in report["launches"]), f"other cycles: {report}")
        expect(report["outputs"] and all(row["elements"] > 0 and row["different"] == 0 for row in report["outputs"]), f"other values: {report}")
        if wait == "poll":
            expect(report["interrupts"] == 0 and report["waiting_cycles"] == 0, f"polling took interrupts: {report}")
        else:
            expect(0 < report["interrupts"] <= len(report["launches"]) and report["waiting_cycles"] > 0, f"no interrupts: {report}")
        return report

    def chip(self, engine, variables=None):
        """The differences of what chip.c prints from chip.txt, or why it did not end; empty: none."""
        given = self.folder / "chip_input"
        given.write_bytes(CHIP_INPUT)
        words = ["soc", "boot", CHIP, "--hw", "tiny", "--engine", engine, "--serial-input", given, "--max-cycles", "1000000", "--json",
                 "--memory-bytes", "786432"]  # less than its window, so that it has an end to be tried
        words += ["--assertions"] if engine == "rtl" else []
        done = subprocess.run([self.cli, *map(str, words)], capture_output=True, text=True, check=False, env=os.environ | (variables or {}))
        if done.returncode != 0:
            return done.stderr
        report = json.loads(done.stdout)
        expected = CHIP.with_suffix(".txt").read_text().splitlines()
        return "\n".join(difflib.unified_diff(expected, report["serial"].splitlines(), "tests/soc/chip.txt", f"engine {engine}", n=0, lineterm=""))

    def zoo(self, name):
        path = self.folder / f"{name}.onnx"
        if not path.exists():
            self.command("zoo", name, "--int8", "-o", path)
        return path


def digits(wait, memory):
    return lambda runs: runs.agree(DIGITS, "tiny", wait, memory)


def keywords(wait, memory):
    return lambda runs: runs.agree(runs.zoo("ds_cnn"), "1x8x8", wait, memory)


def systemc(runs):
    """The same firmware has the same launches on the loosely timed model."""
    for wait in ("interrupt", "poll"):
        for memory in (IDEAL, DDR):
            runs.agree(DIGITS, "tiny", wait, memory, "systemc")
            runs.agree(runs.zoo("ds_cnn"), "1x8x8", wait, memory, "systemc")
    runs.agree(runs.zoo("resnet8"), "tiny", "interrupt", DDR, "systemc")


def errors(runs):
    """What ends a run reaches the firmware, and its report."""
    for engine in ("rtl", "systemc"):
        where = (*SMALL, "--engine", engine)
        good = runs.agree(SMALL[:2], "tiny", "interrupt", IDEAL, engine)
        for wait in ("interrupt", "poll"):
            report, messages = runs.report(*where, "--memory-error", "0x1000", "--wait", wait, status=1)
            expect(report["status"]["text"] == "launch_failed" and report["status"]["detail"].startswith("slave_error at instruction "), str(report))
            expect("the firmware ended with an error" in messages and "slave_error" in messages, messages)
        report, messages = runs.report(*where, "--memory-bytes", good["memory_bytes"] - 4096, status=1)
        expect(report["status"]["text"] == "bad_memory" and "bad_memory" in messages, str(report))
        _, messages = runs.command("soc", "run", *where, "--max-cycles", "1000", status=1)
        expect("the firmware did not end" in messages and "1000 cycles" in messages, messages)


def bus_faults(runs):
    """An access of the processor that the memory answers with an error ends the run, with its address."""
    runs.command("export", DIGITS, "--target", "accel,cpu", "--hw", "tiny", "-o", runs.folder / "exported")
    # What the processor writes before the second launch.
    places = re.findall(r"dovetail_machine_clean\(machine, NET_MEMORY_BASE \+ (0x[0-9a-f]+)", (runs.folder / "exported/net.c").read_text())
    base = re.search(r"NET_MEMORY_BASE UINT64_C\((0x[0-9a-f]+)\)", (runs.folder / "exported/net.h").read_text())
    address = int(places[1], 16) + int(base[1], 16)
    for engine in ("rtl", "systemc"):
        report, messages = runs.report(DIGITS, "--hw", "tiny", "--engine", engine, "--memory-error", hex(address), status=1)
        expect(report["status"] == {"result": 1, "text": "bus_fault", "detail": f"write to 0x{0x40000000 + address:08x}"}, str(report))
        expect("bus_fault" in messages, messages)


def chip(runs):
    """The timer, the receiver of the serial line, and errors of the bus: chip.c finds them on both engines."""
    for engine in ("rtl", "systemc"):
        differences = runs.chip(engine)
        expect(not differences, f"{differences}\nIf it is right: dovetail soc boot tests/soc/chip.c prints it (chip.txt has no \"serial\")")


def boot(runs):
    """Programs of the user: machine code, a status, an error that nothing handles, and what is refused."""
    program = runs.folder / "program.c"
    keep = runs.folder / "kept"
    program.write_text('#include "soc.h"\nint main(void) {\n  soc_print("one\\ntwo\\x01\\n");\n  return 7;\n}\n')
    words = ("--hw", "tiny", "--engine", "systemc")
    output, messages = runs.command("soc", "boot", program, *words, "--keep", keep, "--json", status=1)
    report = json.loads(output)
    expect(report["serial"] == "one\ntwo\\x01\n" and report["status"] == 7, str(report))
    expect("its status is 7" in messages, messages)
    output, _ = runs.command("soc", "boot", keep / "firmware.bin", *words, status=1)
    expect("serial        one\nserial        two\\x01\n" in output, output)
    # The line of the status follows a line that the program did not end.
    program.write_text('#include "soc.h"\nint main(void) {\n  soc_print("weekend 3");\n  return 9;\n}\n')
    report = json.loads(runs.command("soc", "boot", program, *words, "--keep", keep, "--json", status=1)[0])
    expect(report["serial"] == "weekend 3" and report["status"] == 9, str(report))
    own = runs.folder / "own"
    own.mkdir()
    (own / "serial.c").write_text("mine")
    _, messages = runs.command("soc", "boot", program, *words, "--keep", own, status=2)
    expect("the folder has other files" in messages and (own / "serial.c").read_text() == "mine", messages)
    _, messages = runs.command("soc", "boot", keep / "program.c", *words, "--keep", keep, status=2)
    expect("its folder receives the kit's sources too" in messages, messages)
    program.write_text('#include "dovetail_soc.h"\n#include "soc.h"\nint main(void) {\n  soc_mask_interrupts(~SOC_ALWAYS_ENABLED);\n'
                       "  return *(volatile int*)0x20000000;\n}\n")
    output, _ = runs.command("soc", "boot", program, *words, status=1)
    expect("serial        fault read 20000000\n" in output, output)
    program.write_text("int main(void) { return missing; }\n")
    large = runs.folder / "large.bin"
    large.write_bytes(bytes((16 << 20) + 1))
    rows = [((program,), "'missing' undeclared"), ((), "PROGRAM"), ((large,), "large.bin"), ((DIGITS,), "not a file of C"),
            ((program, "--input", "x=y.npy"), "--input"), ((program, "--memory-bytes", "2000000"), "2000000 bytes > 1048576"),
            ((runs.folder / "none.c",), "none.c"), ((program, "--serial-input", runs.folder / "none.txt"), "none.txt")]
    for given, said in rows:
        _, messages = runs.command("soc", "boot", *given, *words, status=2)
        expect(said in messages, f"{given}: {messages}")


def usage(runs):
    """Wrong words and missing tools are refused with a remedy."""
    rows = [(("soc", "fly"), "the actions are run, boot, build and map"), (("soc", "run"), "it is missing"),
            (("soc", "run", *SMALL, "--wait", "luck"), "--wait poll"), (("soc", "run", *SMALL, "--engine", "magic"), "--engine systemc"),
            (("soc", "run", *SMALL, "--engine", "systemc", "--assertions"), "--engine rtl"), (("soc", "map", "--format", "tex"), "markdown"),
            (("soc", "run", *SMALL, "--serial-input", CHIP), "the firmware of a model does not read"), (("soc", "run", runs.folder / "none.onnx"), "none.onnx")]
    rows += [(("soc", "boot", CHIP, "--hw", "tiny", *option), "the option is for `dovetail soc run`")
             for option in (("--wait", "poll"), ("--seed", "2"), ("--shape", "x=1"), ("-O", "1"), ("--output-dir", runs.folder))]
    for words, said in rows:
        _, messages = runs.command(*words, status=2)
        expect(said in messages, f"{words}: {messages}")
    page = (SOURCE / "docs/howto/system-on-chip.md").read_text()
    for table in runs.command("soc", "map")[0].strip().split("\n\n"):
        expect(table in page, f"docs/howto/system-on-chip.md does not have the table of `dovetail soc map`:\n{table}")
    _, messages = runs.command("soc", "run", *SMALL, status=2, variables={"DOVETAIL_PICORV32": "/nonexistent"})
    expect("pip install pythondata-cpu-picorv32" in messages, messages)
    tools = runs.folder / "bin"
    tools.mkdir()
    for tool in ("sh", "python3"):
        (tools / tool).symlink_to(shutil.which(tool))
    _, messages = runs.command("soc", "run", *SMALL, status=2, variables={"PATH": str(tools)})
    expect("apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf" in messages, messages)
    rows = json.loads(runs.command("doctor", "--json", variables={"PATH": str(tools), "DOVETAIL_PICORV32": "/nonexistent"})[0])["hardware"]
    for row, parts in zip(rows, (("verilator: ", "/nonexistent: ", "riscv64-unknown-elf-gcc: "), ("yosys: ", "nextpnr-ecp5: ", "ecppack: "))):
        expect(not row["available"] and all(part in row["missing"] for part in parts), str(row))
    # Without Verilator, and without a model.
    (tools / "riscv64-unknown-elf-gcc").symlink_to(shutil.which("riscv64-unknown-elf-gcc"))
    hidden = {"PATH": str(tools), "XDG_CACHE_HOME": str(runs.folder / "cache"), "DOVETAIL_RTL_MODELS": str(runs.folder / "none")}
    _, messages = runs.command("soc", "run", *SMALL[:3], "tiny,acc_buffer_bytes=512", status=2, variables=hidden)
    expect("apt-get install verilator" in messages, messages)


def faults(runs):
    """A copy of the design with one fault: the run of a model, or of chip.c, must show what is wrong."""
    lines = (SOURCE / "tests/soc/faults.txt").read_text().splitlines()
    rows = [[part.strip() for part in line.split(" | ")] for line in lines if line and not line.startswith("#")]
    names, which = tier.judged([row[0] for row in rows], SAMPLE_FAULTS)
    print(f"faults: {which}", flush=True)
    for number, (name, file, before, after, run, said) in enumerate(row for row in rows if row[0] in names):
        design = runs.folder / f"fault{number}"
        shutil.copytree(SOURCE / "hw", design)
        text = (design / file).read_text()
        expect(text.count(before) == 1, f"{name}: {file} has {text.count(before)} times: {before}")
        (design / file).write_text(text.replace(before, after))
        models = {"DOVETAIL_HW": str(design), "XDG_CACHE_HOME": str(runs.folder / "models")}
        runs.command("soc", "build", "--hw", "tiny", "--fast-build", variables=models)
        if run == "chip":
            messages = runs.chip("rtl", models)
        else:
            _, messages = runs.command("soc", "run", *SMALL, "--max-cycles", LIMIT, status=1, variables=models)
        expect(re.search(said, messages), f"{name}: not found: {messages}")
        print(f"{name}: found", flush=True)


CASES = {
    "digits, interrupt, DDR4": digits("interrupt", DDR),
    "digits, interrupt, ideal memory": digits("interrupt", IDEAL),
    "digits, polling, DDR4": digits("poll", DDR),
    "digits, polling, ideal memory": digits("poll", IDEAL),
    "keywords, interrupt, DDR4": keywords("interrupt", DDR),
    "keywords, interrupt, ideal memory": keywords("interrupt", IDEAL),
    "keywords, polling, DDR4": keywords("poll", DDR),
    "keywords, polling, ideal memory": keywords("poll", IDEAL),
    "systemc": systemc,
    "errors": errors,
    "bus faults": bus_faults,
    "chip": chip,
    "boot": boot,
    "usage": usage,
    "faults": faults,
}
SAMPLE = ("digits, interrupt, DDR4", "digits, polling, ideal memory", "keywords, interrupt, DDR4", "systemc", "errors", "bus faults", "chip", "boot", "usage", "faults")


def missing():
    for tool, package in (("verilator", "verilator"), ("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf")):
        if not shutil.which(tool):
            return f"{tool} is missing (Debian package {package})"
    specs = subprocess.run(["riscv64-unknown-elf-gcc", "-print-file-name=picolibc.specs"], capture_output=True, text=True, check=True).stdout
    if not specs.startswith("/"):
        return "picolibc is missing (Debian package picolibc-riscv64-unknown-elf)"
    if not os.environ.get("DOVETAIL_PICORV32") and subprocess.run(
            [shutil.which("python3"), "-c", "import pythondata_cpu_picorv32"], capture_output=True, check=False).returncode:
        return "PicoRV32 is missing (DOVETAIL_PICORV32, or the package pythondata-cpu-picorv32 of PyPI: ./dev tools)"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dovetail", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("case", nargs="?", choices=CASES)
    parser.add_argument("--build", metavar="CONFIG")
    arguments = parser.parse_args()
    if reason := missing():
        print(f"skipped: {reason}")
        return 77
    if arguments.build:
        return subprocess.run([arguments.dovetail, "soc", "build", "--hw", arguments.build], check=False).returncode
    names, which = ([arguments.case], "one case") if arguments.case else tier.judged(CASES, SAMPLE)
    if arguments.case and tier.is_sample() and arguments.case not in SAMPLE:
        print("skipped: ./dev test --all runs it")
        return 77
    print(f"soc: {which}")
    failures = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                CASES[name](Runs(arguments.dovetail, pathlib.Path(folder)))
                print(f"{name}: passed", flush=True)
            except Wrong as wrong:
                failures += 1
                print(f"{name}: FAILED: {wrong}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
