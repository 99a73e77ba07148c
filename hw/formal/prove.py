#!/usr/bin/env python3
"""Proves what proofs.txt lists, with Yosys and an SMT solver; or plants the faults of faults.txt, each of which a proof must detect.

usage: prove.py [--faults] [--jobs N] [FILTER]

Every proof consists of a base from reset, an induction step where the line has one, and the cover statements. Exit code 0: all hold; 1: one does
not, or a fault was not detected; 77: Yosys or the solver is not installed. Without FILTER, the proofs of the tier (tools/tier.py): ./dev test runs one of
each harness.
"""

import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HARDWARE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HARDWARE.parent / "tools"))
import tier  # noqa: E402
import yosys_sources  # noqa: E402

SOLVER = "z3"
# The sample of ./dev test: for each harness a proof, and a fault that it must detect, of a few seconds.
PROOFS_SAMPLE = ("token FIFO of 4", "FIFO of 5", "read arbiter, 2 beats", "splitter, 64 bytes a beat", "read buffer of 8", "write port of 4",
                 "bodies of dot, 1 lane", "REQUANT up to its product", "table, beats of 4 bytes", "epilogue with its table",
                 "reciprocal and root", "an element of WGT4 a beat", "offset of operands", "decoder, small memory", "reads of the system",
                 "registers of the system")
FAULTS_SAMPLE = ("tokens survive a flush", "head wraps one word early", "length one too long", "longer than allowed by one", "credit not given back",
                 "W waits for AW", "products of magnitudes", "scale's sign forgotten", "first copy for all lanes",
                 "looked up without being asked", "last digit not rounded", "weights of 4 bits are not signed", "mask that Yosys reads as 0",
                 "OKAY outside the windows", "a burst is taken back", "data waits for its address", "an answer is not held")
# From a flat design to SMT-LIB.
FINISH = "async2sync; dffunmap; opt_clean; check -assert; write_smt2 -wires design.smt2"


def table(name, columns):
    rows = []
    for line in (HARDWARE / "formal" / name).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            cells = [cell.strip() for cell in line.split(" | ")]
            if len(cells) != columns:
                sys.exit(f"{name}: {len(cells)} cells instead of {columns}: {line}")
            rows.append(cells)
    return rows


def run(*command, folder):
    return subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False, timeout=900)


def source(hardware, module):
    return hardware / ("soc" if module.startswith("soc_") else "rtl") / f"dovetail_{module}.sv"


def translate(folder, hardware, harness, parameters, modules):
    """Writes the harness with its modules as SMT-LIB; returns the error, or None. Parameters in upper case are constants of the package."""
    values = dict(parameter.split("=") for parameter in parameters.split())
    packages = [HARDWARE / "gen" / f"dovetail_{name}_pkg.sv" for name in ("isa", "soc")]
    files = packages + [source(hardware, module) for module in modules.split()] + [HARDWARE / "formal" / f"{harness}.sv"]
    files = yosys_sources.write_without_imports(files, folder)
    for name in [name for name in values if name.isupper()]:
        files[0].write_text(re.sub(rf"(int unsigned {name} = )\d+", rf"\g<1>{values.pop(name)}", files[0].read_text()))
    own = HARDWARE / "formal" / f"{harness}.ys"
    if own.exists():
        # {products}: with Merge=1 both bodies share multipliers of equal operands; otherwise the
        # solver analyzes the multipliers. {cut}: with CutProduct=1 products are arbitrary numbers.
        products = "wreduce t:$mul; opt_merge; opt -full" if values.get("Merge") == "1" else ""
        cut = "cutpoint t:$mul" if values.get("CutProduct") == "1" else ""
        lines = [line for line in own.read_text().splitlines() if not line.startswith("#")]
        text = "\n".join(lines).format(rtl=folder, harness=f"{harness}.sv", products=products, cut=cut, **values)
        (folder / "design.ys").write_text(f"{text}\n{FINISH.replace('; ', chr(10))}\n")
        done = run("yosys", "-q", "-s", "design.ys", folder=folder)
        return None if done.returncode == 0 else f"Yosys: {(done.stdout + done.stderr)[-1500:]}"
    # Not by hierarchy -chparam, with which Yosys 0.23 may derive a module twice, and stops.
    setting = "".join(f"chparam -set {name} {value} {harness}; " for name, value in values.items())
    script = f"read_verilog -sv -formal {' '.join(str(file) for file in files)}; {setting}hierarchy -check -top {harness}; proc; flatten; opt -full; {FINISH}"
    done = run("yosys", "-q", "-p", script, folder=folder)
    return None if done.returncode == 0 else f"Yosys: {(done.stdout + done.stderr)[-1500:]}"


def check(folder, *mode):
    """(whether it holds, the report of failures)"""
    done = run("yosys-smtbmc", "--noprogress", "--unroll", "--noincr", "-s", SOLVER, *mode, "design.smt2", folder=folder)
    said = [re.sub(r"^##\s+\S+\s+", "", line) for line in done.stdout.splitlines() if re.search(r"Assert failed|Unreached|Status|rror", line)]
    return done.returncode == 0 and "Status: PASSED" in done.stdout, "; ".join(said) + done.stderr[-500:]


def prove(proof):
    name, harness, parameters, modules, base, induction, cover = proof
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = pathlib.Path(name_of_folder)
        problem = translate(folder, HARDWARE, harness, parameters, modules)
        if problem:
            return False, f"{name}: {problem}"
        steps = [("base", ["-t", base])]
        if induction != "-":
            steps.append(("induction", ["-i", "-t", induction]))
        if cover != "-":
            steps.append(("cover", ["-c", "-t", cover]))
        for what, mode in steps:
            holds, said = check(folder, *mode)
            if not holds:
                return False, f"{name}: {what} fails: {said}"
    kind = f"within {base} cycles of reset" if induction == "-" else "for ever"
    return True, f"{name}: holds {kind} ({time.monotonic() - start:.1f} s)"


def try_fault(proofs, fault):
    name, proof, file, before, after = fault
    if proof not in proofs:
        return False, f"{name}: there is no proof {proof}"
    _, harness, parameters, modules, base, induction, _ = proofs[proof]
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = pathlib.Path(name_of_folder)
        hardware = folder / "hw"
        for name_of_part in ("rtl", "soc"):
            shutil.copytree(HARDWARE / name_of_part, hardware / name_of_part)
        planted = hardware / (file if "/" in file else f"rtl/{file}")
        text = planted.read_text()
        if text.count(before) != 1:
            return False, f"{name}: {file} has {text.count(before)} times: {before}"
        planted.write_text(text.replace(before, after))
        problem = translate(folder, hardware, harness, parameters, modules)
        if problem:
            return False, f"{name}: cannot be planted: {problem}"
        holds, said = check(folder, "-t", base)
        if holds and induction != "-":  # a fault that shows only later than the base reaches
            holds, said = check(folder, "-i", "-t", induction)
    if not holds and "Assert failed" in said:
        return True, f"{name}: seen: {said.split(';')[0]}"
    return False, f"{name}: NOT SEEN: {said}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("filter", nargs="?", default="")
    arguments = parser.parse_args()
    for program in ("yosys", "yosys-smtbmc", SOLVER):
        if not shutil.which(program):
            print(f"skipped: {program} is not installed")
            return 77
    proofs = {row[0]: row for row in table("proofs.txt", 7)}
    if arguments.faults:
        faults = table("faults.txt", 5)
        unwatched = {row[1] for row in proofs.values()} - {proofs[fault[1]][1] for fault in faults if fault[1] in proofs}
        if unwatched:
            print(f"no fault is planted for {', '.join(sorted(unwatched))}")
            return 1
        names = [fault[0] for fault in faults]
        sample = FAULTS_SAMPLE
        work = [(fault[0], lambda fault=fault: try_fault(proofs, fault)) for fault in faults]
    else:
        names, sample = list(proofs), PROOFS_SAMPLE
        work = [(name, lambda proof=proof: prove(proof)) for name, proof in proofs.items()]
    if not arguments.filter:
        names, which = tier.judged(names, sample)
        print(f"{'faults' if arguments.faults else 'proofs'}: {which}")
    chosen = [task for name, task in work if name in names and re.search(arguments.filter, name)]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for good, message in pool.map(lambda task: task(), chosen):
            failures += not good
            print(message, flush=True)
    print(f"{len(chosen)} {'faults' if arguments.faults else 'proofs'}, {failures} failures")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
