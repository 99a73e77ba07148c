#!/usr/bin/env python3
"""The kept areas (hw/syn/results) are complete and consistent: blocks sum up, SRAMs are block RAM, multipliers are DSPs. ./dev test --all demands too that they
are of the design as it is (./dev area makes those that are not), and that `tiny` comes out again as it is kept."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tools"))
import tier  # noqa: E402

CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
# Below it, an SRAM may be LUT RAM: `tiny` has none larger.
SMALL_BITS = 4096


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          env={**os.environ, "DOVETAIL_HW": str(SOURCE / "hw")})


def sram_bits(config):
    """The bits of each SRAM, by path."""
    bits = {path: 8 * config[f"{memory}_buffer_bytes"] for path, memory in
            (("u_inp", "inp"), ("u_wgt", "wgt"), ("u_compute/u_steps/u_uop", "uop"), ("u_compute/u_acc", "acc"))}
    bits["u_store/u_out"] = bits["u_compute/u_acc"] // 4
    return bits


def check(name, area, config):
    blocks = {block["path"]: block for block in area["blocks"]}
    resources = [key for key in blocks[""] if key not in ("path", "module", "instances")]
    for path, block in blocks.items():
        below = [other for other in blocks.values() if other["path"] and other["path"].rpartition("/")[0] == path and other["path"] != path]
        for resource in resources:
            if sum(other[resource] for other in below) > block[resource]:
                yield f"{name}: the parts of {path or 'the design'} have more {resource} than the whole"
    if area["logic_levels"] < 5:
        yield f"{name}: {area['logic_levels']} levels of logic"
    if area["flow"] == "generic":
        for path, bits in sram_bits(config).items():
            if blocks[path]["memory_bits"] < bits:
                yield f"{name}: {path} of {bits} bits has {blocks[path]['memory_bits']}"
        return
    for path, bits in sram_bits(config).items():
        block = blocks[path]
        if bits > SMALL_BITS and (block["ramb18"] + block["ramb36"] + block["uram"] == 0 or block["lut_ram"] != 0):
            yield f"{name}: {path} of {bits} bits is not a block RAM: {block}"
    multipliers = config["batch"] * config["block_in"] * config["block_out"]
    if blocks["u_compute/u_gemm"]["dsp"] != multipliers:
        yield f"{name}: {blocks['u_compute/u_gemm']['dsp']} DSPs for {multipliers} multipliers of GEMM"


def main():
    if not os.access(CLI, os.X_OK):
        print(f"there is no {CLI}")
        return 77
    configs = {config["name"]: config for config in json.loads(run(CLI, "hw", "list", "--json").stdout)}
    failures = []
    kept = {path.name[:-5]: json.loads(path.read_text()) for path in sorted((SOURCE / "hw/syn/results").glob("*.json"))}
    if "tiny.xc7" not in kept:
        failures.append("tiny.xc7.json is not kept")
    for name, area in kept.items():
        if name != f"{area['config']}.{area['flow']}" or area["config"] not in configs:
            failures.append(f"{name} is of {area['config']}, flow {area['flow']}")
        else:
            failures.extend(check(name, area, configs[area["config"]]))
    page = (SOURCE / "docs/reference/rtl.md").read_text()
    for name, area in kept.items():
        whole = area["blocks"][0]
        if area["flow"] == "generic":
            continue
        row = (f"| `{area['config']}` | {whole['lut']:,} | {whole['lut_ram']:,} | {whole['ff']:,} | {whole['dsp']} | "
               f"{whole['ramb36'] + whole['ramb18'] / 2:g} | {area['logic_levels']} |")
        if row not in page:
            failures.append(f"{name}: docs/reference/rtl.md has another row than {row}")
    checked = run(sys.executable, SOURCE / "tools/keep_areas.py", "--cli", CLI, "--check", *([] if tier.is_sample() else ["--fresh"]))
    failures.extend(checked.stdout.splitlines() if checked.returncode == 1 else [checked.stderr] if checked.returncode else [])
    if shutil.which("yosys") and not tier.is_sample():
        made = run(CLI, "hw", "area", "tiny", "--flow", "xc7", "--run", "--json")
        if made.returncode != 0:
            failures.append(f"tiny.xc7: {made.stderr}")
        elif json.loads(made.stdout)["tool"] == kept["tiny.xc7"]["tool"] and json.loads(made.stdout) != kept["tiny.xc7"]:
            failures.append("tiny.xc7 comes out other than it is kept")
    for failure in failures:
        print(failure)
    print(f"{len(kept)} areas, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
