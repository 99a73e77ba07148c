#!/usr/bin/env python3
"""The files for LiteX and for Vivado that `dovetail isa` generates, as far as they can be judged without the tools they are for: Verilator lints the top
with the design, every port of dovetail_top is connected once, the script and the overlay have balanced braces and the design point's numbers."""

import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
CONFIGS = ("tiny", "1x16x16-g3", "1x16x16-wide")


def emit(form, config):
    return subprocess.run([CLI, "isa", "--format", form, "--hw", config], capture_output=True, text=True, check=True).stdout


def balanced(text):
    depth = 0
    for character in re.sub(r'"(\\.|[^"])*"', "", text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth < 0:
            return False
    return depth == 0


def main():
    if not os.access(CLI, os.X_OK):
        print(f"there is no {CLI}")
        return 77
    failures = []

    def check(condition, text):
        if not condition:
            failures.append(text)

    ports = set(re.findall(r"^  (?:input|output)\s+logic.*?(\w+_n?[io]),?$", (SOURCE / "hw/rtl/dovetail_top.sv").read_text(), re.MULTILINE))
    check(len(ports) > 40, f"only {len(ports)} ports of dovetail_top are found")
    for config in CONFIGS:
        package, top, script, overlay, litex = (emit(form, config) for form in ("sv", "vivado-top", "vivado-tcl", "devicetree", "litex"))
        constants = dict(re.findall(r"localparam int unsigned (\w+) = (\d+);", package))
        connected = re.findall(r"^    \.(\w+)\(\w+\)", top, re.MULTILINE)
        check(sorted(connected) == sorted(ports), f"{config}: the ports of the top differ: {sorted(set(connected) ^ ports)}")
        described = top.count("X_INTERFACE_INFO")
        # AxCACHE and AxPROT are the top's own.
        check(described == len(ports) + 4, f"{config}: {described} ports are described, and there are {len(ports)} of the design")
        for text, name in ((top, "top"), (script, "script"), (overlay, "overlay")):
            check("Not run here" in text, f"{config}: the {name} does not state that it was not run")
        check(balanced(script) and balanced(overlay), f"{config}: braces do not match")
        check(f"1 << {constants['ADDRESS_BITS']}" in script, f"{config}: the script has another address space")
        check("@" not in re.sub(r"@a0000000|@0 |@staticmethod", "", script + overlay + top + litex), f"{config}: a mark of the template is left")
        names = {node.targets[0].id: node.value for node in ast.parse(litex).body if isinstance(node, ast.Assign)}
        check(ast.literal_eval(names["BUS_BYTES"]) == int(constants["BUS_BYTES"]), f"{config}: the core of LiteX has another width")
        registers = ast.literal_eval(names["REGISTERS"])
        listed = {name: int(value, 16) for name, value in re.findall(r"REG_(\w+)_OFFSET = 12'h(\w+)", package)}
        check(all(registers[name][0] == listed[name] for name in registers) and len(registers) >= 16, f"{config}: the registers differ")
        check(("OFFSET_LO" in registers) == (constants["OFFSET_ENABLED"] == "1"), f"{config}: OFFSET is listed for the wrong design points")
        if shutil.which("verilator"):
            with tempfile.TemporaryDirectory() as folder:
                files = {"dovetail_isa_pkg.sv": package, "dovetail_ip.v": top}
                for name, text in files.items():
                    (pathlib.Path(folder) / name).write_text(text)
                lint = subprocess.run(["verilator", "--lint-only", "-Wall", "--assert", "-Wno-DECLFILENAME", "-Wno-SYMRSVDWORD", "--top-module", "dovetail_ip", SOURCE / "hw/lint/waivers.vlt",
                                       *(pathlib.Path(folder) / name for name in files), *sorted((SOURCE / "hw/rtl").glob("*.sv")), *sorted((SOURCE / "hw/sva").glob("*.sv"))],
                                      capture_output=True, text=True, check=False)
                check(lint.returncode == 0 and not lint.stderr, f"{config}: Verilator: {lint.stderr[-800:]}")
    for failure in failures:
        print(failure)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
