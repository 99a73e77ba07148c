#!/usr/bin/env python3
"""The design is clean under Verilator's lint, and Yosys takes it, at every named configuration; ./dev test judges those of SAMPLE (tools/tier.py)."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
sys.path.insert(0, str(SOURCE / "tools"))
import tier  # noqa: E402
import yosys_sources  # noqa: E402

# The smallest, and the largest of the default shape, with all extensions.
SAMPLE = ("tiny", "1x16x16-ext")


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def find_core():
    """The path of picorv32.v, or None."""
    if os.environ.get("DOVETAIL_PICORV32"):
        return os.environ["DOVETAIL_PICORV32"]
    found = subprocess.run([shutil.which("python3") or sys.executable, "-c", "import pythondata_cpu_picorv32 as core; print(core.data_location)"],
                           capture_output=True, text=True, check=False)
    return found.stdout.strip() + "/picorv32.v" if found.returncode == 0 else None


def check_system(folder, design, checkers):
    """The failures of the system on chip with the last configuration's package."""
    core = find_core()
    if core is None:
        print("the system on chip is not checked: there is no PicoRV32")
        return []
    failures = []
    packages = [folder / "dovetail_isa_pkg.sv", folder / "dovetail_soc_pkg.sv"]
    packages[1].write_text(run(CLI, "soc", "map", "--format", "sv").stdout)
    system = sorted((SOURCE / "hw/soc").glob("*.sv"))
    if shutil.which("verilator"):
        lint = run("verilator", "--lint-only", "--assert", "-Wall", "--top-module", "dovetail_soc", SOURCE / "hw/lint/waivers.vlt", *packages, *design,
                   *system, *checkers, core)
        if lint.returncode != 0 or lint.stderr:
            failures.append(f"system on chip: verilator: {lint.stderr}")
    if shutil.which("yosys"):
        sources = folder / "yosys_soc"
        sources.mkdir(exist_ok=True)
        files = " ".join(str(path) for path in yosys_sources.write_without_imports([*packages, *design, *system], sources))
        script = f"read_verilog -sv {files}; read_verilog {core}; hierarchy -check -top dovetail_soc; proc; check -assert"
        synthesis = run("yosys", "-q", "-p", script)
        if synthesis.returncode != 0:
            failures.append(f"system on chip: yosys: {synthesis.stdout[-2000:]}{synthesis.stderr[-2000:]}")
    return failures


def main():
    if not os.access(CLI, os.X_OK):
        print(f"there is no {CLI}")
        return 77
    if not shutil.which("verilator") and not shutil.which("yosys"):
        print("neither Verilator nor Yosys is installed")
        return 77
    design = sorted((SOURCE / "hw/rtl").glob("*.sv"))
    checkers = sorted((SOURCE / "hw/sva").glob("*.sv"))
    failures = []
    # Yosys 0.23 reads ~Width'(0) as (~Width)'(0), which is 0; Verilator reads ~(Width'(0)).
    for file in design:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if re.search(r"[~!]\w+'\(", line.split("//")[0]):
                failures.append(f"{file.name}:{number}: an operator directly before a cast: {line.strip()}")
    configs = {config["name"]: config for config in json.loads(run(CLI, "hw", "list", "--json").stdout)}
    judged, which = tier.judged(configs, SAMPLE)
    print(f"configurations: {which}")
    with tempfile.TemporaryDirectory() as folder:
        for config in map(configs.get, judged):
            package = pathlib.Path(folder) / "dovetail_isa_pkg.sv"
            parameters = pathlib.Path(folder) / "config.json"
            parameters.write_text(json.dumps(config))
            package.write_text(run(CLI, "isa", "--format", "sv", "--hw", parameters).stdout)
            if shutil.which("verilator"):
                lint = run("verilator", "--lint-only", "--assert", "-Wall", "--top-module", "dovetail_top", SOURCE / "hw/lint/waivers.vlt", package, *design, *checkers)
                if lint.returncode != 0 or lint.stderr:
                    failures.append(f"{config['name']}: verilator: {lint.stderr}")
            if shutil.which("yosys"):
                sources = pathlib.Path(folder) / "yosys"
                sources.mkdir(exist_ok=True)
                files = " ".join(str(path) for path in yosys_sources.write_without_imports([package, *design], sources))
                synthesis = run("yosys", "-q", "-p", f"read_verilog -sv {files}; hierarchy -check -top dovetail_top; proc; check -assert")
                if synthesis.returncode != 0:
                    failures.append(f"{config['name']}: yosys: {synthesis.stdout[-2000:]}{synthesis.stderr[-2000:]}")
        failures += check_system(pathlib.Path(folder), design, checkers)
    for failure in failures:
        print(failure)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
