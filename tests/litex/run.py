#!/usr/bin/env python3
"""The accelerator as a core of LiteX: litex_sim's SoC with PicoRV32 runs a program of the accelerator with the kit's driver as firmware. The bytes are
those of the functional simulator, and the interrupt reaches the event manager.

usage: run.py [FILTER]

FILTER: standards of LiteX's bus that its main interconnect has (wishbone, axi-lite, axi). Exit code 77: litex_sim, or what its model is built with, is
missing.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
sys.path.insert(0, str(SOURCE / "tools"))
import python_with  # noqa: E402
import tier  # noqa: E402

CONFIG = "tiny"
PROGRAM = SOURCE / "tests/cocotb/peer.s"
PROGRAM_BASE = 0x8000
STANDARDS = ("wishbone", "axi-lite", "axi")
SAMPLE = ("wishbone",)
COMPILER = "riscv64-unknown-elf-gcc"
PACKAGES = ("litex", "litedram", "liteeth", "litescope", "pythondata_cpu_picorv32", "pythondata_misc_tapcfg")  # litex_sim imports them all
LIBRARIES = ("json-c/json.h", "event2/event.h")
GENERATE = ("import json, pathlib, sys; import soc; "
            "print(json.dumps(soc.generate(pathlib.Path('.'), sys.argv[2:-2], sys.argv[1], *sys.argv[-2:])))")


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=1200, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(str(word) for word in command)}: {(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def generate(python, folder, standard, rom, ram, sources):
    """The SoC as litex_sim's model, before it is compiled; the addresses of its registers and memories."""
    said = run(python, "-c", GENERATE, standard, *sources, rom, ram, cwd=folder,
               env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])})
    return json.loads(said.splitlines()[-1])


def firmware(folder, csr, memories, program, result):
    header = {"UART_RXTX": csr["uart_rxtx"], "UART_TXFULL": csr["uart_txfull"], "DOVETAIL_BASE": memories["dovetail"],
              "DOVETAIL_EV_STATUS": csr["dovetail_ev_status"], "DOVETAIL_EV_ENABLE": csr["dovetail_ev_enable"], "PROGRAM_BASE": PROGRAM_BASE,
              "PROGRAM_BEGIN": 0, "PROGRAM_COUNT": program, "RESULT_BASE": memories["main_ram"] + result["base"], "RESULT_BYTES": result["bytes"]}
    (folder / "system.h").write_text("".join(f"#define {name} 0x{value:x}u\n" for name, value in header.items()))
    driver = SOURCE / "examples/driver"
    run(COMPILER, "-march=rv32im", "-mabi=ilp32", "-Os", "-ffreestanding", "-nostdlib", "-Wall", "-Werror", f"-I{folder}", f"-I{driver}", HERE / "start.S", HERE / "main.c",
        driver / "dovetail_driver.c", f"-T{HERE / 'link.ld'}", "-lgcc", "-o", folder / "firmware.elf")
    run(COMPILER.replace("gcc", "objcopy"), "-O", "binary", folder / "firmware.elf", folder / "firmware.bin")


def simulate(folder):
    """What the firmware writes to the console, up to its last line. The simulation has no end: it is stopped there, or after two minutes."""
    with subprocess.Popen(["obj_dir/Vsim"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as simulation:
        too_late = threading.Timer(120, simulation.kill)
        too_late.start()
        said = ""
        for line in simulation.stdout:
            said += line
            if line == "end\n":
                break
        too_late.cancel()
        simulation.kill()
    return said


def judge(python, standard, folder):
    """None, or what is wrong; and a line about the run."""
    binary, image, mapped, expected = (folder / name for name in ("program.bin", "image.bin", "map.json", "expected.bin"))
    run(CLI, "asm", PROGRAM, "-o", binary, "--image", image, "--map", mapped)
    run(CLI, "simulate", PROGRAM, "--engine", "functional", "--dram-out", expected)
    table = json.loads(mapped.read_text())
    memory = bytearray(PROGRAM_BASE + binary.stat().st_size)
    memory[table["image"]["base"]:table["image"]["base"] + table["image"]["bytes"]] = image.read_bytes()
    memory[PROGRAM_BASE:] = binary.read_bytes()
    (folder / "ram.bin").write_bytes(memory)
    package = folder / "dovetail_isa_pkg.sv"
    for form, file in (("sv", package), ("c", folder / "dovetail_isa.h"), ("litex", folder / "dovetail_litex.py")):
        run(CLI, "isa", "--format", form, "--hw", CONFIG, "-o", file)
    sources = [package, *sorted((SOURCE / "hw/rtl").glob("*.sv"))]
    (folder / "firmware.bin").write_bytes(bytes(4))
    csr, memories = generate(python, folder, standard, folder / "firmware.bin", folder / "ram.bin", sources)
    firmware(folder, csr, memories, table["instructions"], table["image"])
    again, _ = generate(python, folder, standard, folder / "firmware.bin", folder / "ram.bin", sources)
    assert again == csr
    run("bash", "build_sim.sh", cwd=folder / "gateware")
    said = simulate(folder / "gateware")
    head = re.search(r"result (\w{8}) error (\w{2})(\w{8}) pending (\w)(\w) cycles (\w{8})\n", said)
    if not head or not said.endswith("end\n"):
        return f"no report of the firmware: {said[-400:]!r}", ""
    wrong = []
    if head[1] != "00000000":
        wrong.append(f"the driver returns {head[1]}, error {head[2]} at instruction {head[3]}")
    if (head[4], head[5]) != ("1", "0"):
        wrong.append(f"the interrupt is {head[4]} after the launch and {head[5]} after it is cleared, not 1 and 0")
    got = bytes.fromhex("".join(said[head.end():-len("end\n")].split()))
    if got != expected.read_bytes():
        wrong.append("the bytes are not those of the functional simulator")
    return "; ".join(wrong) or None, f"{int(head[6], 16)} cycles of the launch, {len(got)} bytes compared"


def main():
    python = python_with.python_with(*PACKAGES)
    if python is None:
        print(f"skipped: no Python with {', '.join(PACKAGES)} is found; ./dev tools installs them")
        return 77
    for library in LIBRARIES:
        if subprocess.run(["cc", "-E", "-x", "c", "-"], input=f"#include <{library}>\n", text=True, capture_output=True, check=False).returncode != 0:
            print(f"skipped: {library} is not installed (libjson-c-dev, libevent-dev)")
            return 77
    for program in (COMPILER, "verilator"):
        if not shutil.which(program):
            print(f"skipped: {program} is not installed")
            return 77
    names, which = tier.judged(STANDARDS, SAMPLE)
    if len(sys.argv) > 1:
        names, which = [name for name in STANDARDS if re.fullmatch(sys.argv[1], name)], "by name"
    print(f"standards of the bus: {which}")
    failures = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            wrong, line = judge(python, name, pathlib.Path(folder))
        failures += wrong is not None
        print(f"{name}: {wrong or 'agrees'} ({line})", flush=True)
    print(f"{failures} failures")
    return 1 if failures or not names else 0


if __name__ == "__main__":
    sys.exit(main())
