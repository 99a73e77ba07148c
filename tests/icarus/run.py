#!/usr/bin/env python3
"""The design in a second simulator, Icarus Verilog, which has four states: programs give the bytes of the functional simulator and the cycles of the
cycle engine, and no X reaches a port. Both as RTL (tools/icarus_sources.py) and as the netlist of gates that Yosys makes of it.

usage: run.py [--refused] [FILTER]

--refused prints the places of hw/rtl that Icarus 11 refuses. FILTER: cases whose name it matches. Exit code 77: Icarus is not installed.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
sys.path.insert(0, str(SOURCE / "tools"))
import icarus_sources  # noqa: E402
import tier  # noqa: E402
import yosys_sources  # noqa: E402

LATENCY = 24
PROGRAM_BASE = 0x8000
# Name: configuration, program, and whether the netlist is simulated instead of the RTL.
CASES = {
    "RTL of tiny, peer.s": ("tiny", SOURCE / "tests/cocotb/peer.s", False),
    "RTL of tiny, digits": ("tiny", SOURCE / "examples/digits/digits_int8_pow2.onnx", False),
    "RTL of 1x16x16, matmul.s": ("1x16x16", SOURCE / "examples/assembly/matmul.s", False),
    "RTL of 1x8x8, digits": ("1x8x8", SOURCE / "examples/digits/digits_int8_pow2.onnx", False),
    "RTL of 1x16x16-ext, digits": ("1x16x16-ext", SOURCE / "examples/digits/digits_int8.onnx", False),
    "RTL of 1x16x16-g3, digits": ("1x16x16-g3", SOURCE / "examples/digits/digits_int8.onnx", False),
    "netlist of tiny, peer.s": ("tiny", SOURCE / "tests/cocotb/peer.s", True),
}
SAMPLE = ("RTL of tiny, peer.s", "RTL of 1x16x16, matmul.s")
# Gates and flip-flops without attributes; memories stay arrays.
SYNTHESIS = ("read_verilog -sv {files}; hierarchy -check -top dovetail_top; proc; flatten; opt -full; memory -nomap; opt -full; "
             "wreduce; alumacc; opt; techmap; opt -full; check -assert; write_verilog -noattr netlist.v")


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=900, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(str(word) for word in command)}: {(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def prepare(program, config, folder):
    """The program's memory, launch, the bytes that the functional simulator expects, and the cycles of the cycle engine."""
    memory = f"ideal:latency={LATENCY},bytes=0,outstanding=4096"
    if program.suffix == ".s":
        binary, image, mapped = folder / "program.bin", folder / "image.bin", folder / "map.json"
        run(CLI, "asm", program, "-o", binary, "--image", image, "--map", mapped)
        base, common = PROGRAM_BASE, [program, "--program-base", hex(PROGRAM_BASE)]
    else:
        run(CLI, "compile", program, "--target", "accel,cpu", "--hw", config, "--emit", folder / "emitted")
        region = next(path for path in sorted((folder / "emitted").iterdir()) if path.is_dir())
        binary, mapped, image = region / "program.bin", region / "map.json", folder / "image.bin"
        places = [word for file in sorted(region.glob("input_*.npy")) for word in ("--place", f"{file}@{file.stem.removeprefix('input_')}")]
        base = int(re.search(r"REGION_PROGRAM_BASE 0x([0-9a-f]+)", (region / "region.h").read_text())[1], 16)
        common = [binary, "--map", mapped, "--dram", region / "image.bin", *places, "--program-base", hex(base)]
        run(CLI, "simulate", *common, "--engine", "functional", "--until", "#0", "--dram-out", image)
    run(CLI, "simulate", *common, "--engine", "functional", "--dram-out", folder / "expected.bin")
    report = json.loads(run(CLI, "simulate", *common, "--engine", "cycle", "--memory", memory, "--json"))
    table = json.loads(mapped.read_text())
    launches = table["launches"] or [{"begin": 0, "count": table["instructions"]}]
    assert len(launches) == 1, "the bench runs one launch"
    return {"base": table["image"]["base"], "image": image.read_bytes(), "expected": (folder / "expected.bin").read_bytes(), "program_base": base,
            "program": binary.read_bytes(), "launch": launches[0], "cycles": report["timing"]["cycles"]}


def compile_bench(config, netlist, folder):
    """Compiles the bench with the design in its form for Icarus."""
    table = json.loads(run(CLI, "isa", "--format", "json", "--hw", config))
    package = folder / "dovetail_isa_pkg.sv"
    package.write_text(run(CLI, "isa", "--format", "sv", "--hw", config))
    constants = dict(re.findall(r"localparam int unsigned (\w+) = (\d+);", package.read_text()))
    defines = [f"-DADDRESS_BITS={constants['ADDRESS_BITS']}", f"-DBUS_BYTES={constants['BUS_BYTES']}", "-DADDRESS_TO_DATA=1"]
    defines += [f"-DREG_{row['name']}={row['offset']}" for row in table["registers"]]
    design = [package, *sorted((SOURCE / "hw/rtl").glob("*.sv"))]
    (folder / "sources").mkdir()
    if netlist:
        files = yosys_sources.write_without_imports(design, folder / "sources")
        run("yosys", "-q", "-p", SYNTHESIS.format(files=" ".join(str(file) for file in files)), cwd=folder)
        sources = [folder / "netlist.v"]
    else:
        sources = icarus_sources.write_for_icarus(design, folder / "sources")
    run("iverilog", "-g2012", "-o", folder / "bench.vvp", "-s", "bench", *defines, *sources, HERE / "bench.sv")


def judge(case, folder):
    """None, or what is wrong; and a line about the run."""
    config, program, netlist = case
    prepared = prepare(program, config, folder)
    compile_bench(config, netlist, folder)
    memory = bytearray(max(prepared["base"] + len(prepared["image"]), prepared["program_base"] + len(prepared["program"])))
    for name, address in (("image", prepared["base"]), ("program", prepared["program_base"])):
        memory[address:address + len(prepared[name])] = prepared[name]
    (folder / "memory.hex").write_text("\n".join(f"{byte:02x}" for byte in memory))
    start = time.monotonic()
    said = run("vvp", "-n", folder / "bench.vvp", f"+memory={folder / 'memory.hex'}", f"+result={folder / 'result.hex'}", f"+program={prepared['program_base']}",
               f"+begin={prepared['launch']['begin']}", f"+count={prepared['launch']['count']}", f"+latency={LATENCY}", f"+cycles={4 * prepared['cycles'] + 1000}")
    seconds = time.monotonic() - start
    end = re.search(r"status (\w+) cycles (\w+) error (\w+) unknown (\d+)", said)
    if not end:
        return f"the bench did not end: {said[-500:]}", ""
    wrong = [line for line in said.splitlines() if line.startswith("X: ")]
    if end[1] != "2":
        wrong.append(f"STATUS {end[1]}, instruction {end[3]}")
    if end[2] != str(prepared["cycles"]):
        wrong.append(f"{end[2]} cycles, and {prepared['cycles']} of the cycle engine")
    words = [line for line in (folder / "result.hex").read_text().splitlines() if not line.startswith(("//", "@"))]
    got = words[prepared["base"]:prepared["base"] + len(prepared["expected"])]
    differing = [place for place, (is_, should) in enumerate(zip(got, prepared["expected"])) if is_ != f"{should:02x}"]
    if differing or len(got) != len(prepared["expected"]):
        wrong.append(f"{len(differing)} bytes differ, the first at {prepared['base'] + (differing or [0])[0]:#x}")
    changed = sum(before != after for before, after in zip(prepared["image"], prepared["expected"]))
    if changed == 0:
        wrong.append("the program changes no byte, so it shows nothing")
    return "; ".join(wrong) or None, f"{end[2]} cycles, {changed} bytes written or changed, {seconds:.1f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--refused", action="store_true")
    parser.add_argument("filter", nargs="?", default="")
    arguments = parser.parse_args()
    if arguments.refused:
        for file, number, text in icarus_sources.refused([SOURCE / "hw/gen/dovetail_isa_pkg.sv", *sorted((SOURCE / "hw/rtl").glob("*.sv"))]):
            print(f"{file.relative_to(SOURCE)}:{number}: {text}")
        return 0
    if not shutil.which("iverilog"):
        print("skipped: Icarus Verilog is not installed (apt-get install iverilog)")
        return 77
    names, which = tier.judged(CASES, SAMPLE)
    if arguments.filter:
        names, which = [name for name in CASES if re.search(arguments.filter, name)], "by name"
    print(f"cases: {which}")
    failures = 0
    for name in names:
        if CASES[name][2] and not shutil.which("yosys"):
            print(f"{name}: skipped, Yosys is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            wrong, line = judge(CASES[name], pathlib.Path(folder))
        failures += wrong is not None
        print(f"{name}: {wrong or 'agrees'} ({line})", flush=True)
    print(f"{failures} failures")
    return 1 if failures or not names else 0


if __name__ == "__main__":
    sys.exit(main())
