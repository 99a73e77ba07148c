#!/usr/bin/env python3
"""tools/compare_benches.py: which numbers of each benchmark are compared, the ratios of alternating rounds, and rows that one side lacks."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", ".")).resolve()
sys.path.insert(0, str(SOURCE / "tools"))
import compare_benches  # noqa: E402

FUNCTIONAL = {"benchmark": "functional simulator", "runs": 1, "levels": [
    {"kernel_level": "avx2", "workloads": [
        {"workload": "gemm", "instructions": 15, "launch_ms": 3.4, "gmac_per_s": 38.3},
        {"workload": "nop", "instructions": 500000, "launch_ms": 9, "minsn_per_s": 55.5, "minsn_per_s_with_decode": 20.5}]}]}
CYCLE = {"streams": [{"name": "ResNet-18", "instructions": 4272}], "rows": [
    {"stream": "ResNet-18", "memory": "bank:hbm2", "engine": "cycle", "cycles": 12500957, "milliseconds": 17.42, "mcycles_per_s": 717.62,
     "instructions_per_s": 245235.0}]}
CPU = {"threads": 1, "peak_of_one_core": {"float32": {"gop_per_s": 158.7}}, "layers": [
    {"layer": "C1", "number": "int8", "mmac": 118.0, "onednn_of_peak": 0.76, "candidates": {
        "ours": {"processor_ms": 1.8, "gop_per_s": 131.1, "gop_per_s_wall": 131.2}, "oneDNN": {"gop_per_s": 120.8}, "ours_against_best_peer": 1.09}}],
    "networks": [{"network": "resnet50", "number": "float32", "candidates": {"ours plain": {"gop_per_s": 90.5}}}]}

GROWTH = {"limit_s": 60, "families": [{"family": "chain", "time_exponent": 1.0, "sizes": [
    {"nodes": 500, "seconds": 0.5, "mebibytes": 90.0, "nodes_per_s": 1000.0}]}]}
MASTER = {"job_milliseconds": 250, "points": 1024, "rows": [{"name": "1000 workers, batch 64", "workers": 1000, "seconds": 22.3, "points_per_minute": 2756.0}]}


def echo(results):
    return f"echo '{json.dumps({'results': results})}'"


class Rows(unittest.TestCase):
    def test_rates_are_speeds_and_the_rest_is_left_aside(self):
        rows = {name: dict(benchmark.rows(document)) for (name, benchmark), document in zip(
            compare_benches.BENCHMARKS.items(), [{"unit": "operations per second", "results": {"conv": 7.5}}, FUNCTIONAL, CYCLE, CPU, GROWTH, MASTER])}
        self.assertEqual(rows["interpreter"], {"conv": 7.5})
        self.assertEqual(rows["functional"], {"avx2 gemm gmac_per_s": 38.3, "avx2 nop minsn_per_s": 55.5, "avx2 nop minsn_per_s_with_decode": 20.5})
        self.assertEqual(rows["cycle"], {"ResNet-18 of 12500957 cycles, bank:hbm2, cycle": 717.62})
        self.assertEqual(rows["cpu"], {"C1 int8, ours": 131.1, "resnet50 float32, ours plain": 90.5})
        self.assertEqual(rows["growth"], {"chain of 500": 1000.0})
        self.assertEqual(rows["master"], {"1000 workers, batch 64": 2756.0})

    def test_every_program_of_the_tree_can_be_compared(self):
        # Of several sources, or none of the benchmarks.
        programs = {path.stem for path in SOURCE.glob("bench/*/*.cpp") if path.parent.name not in ("cpu", "cuda", "models", "tiles", "tuning")} | {"cpu"}
        self.assertEqual(programs, set(compare_benches.BENCHMARKS))

    def test_the_best_rounds_of_each_side_count(self):
        rows, here, there = compare_benches.matched("x", [({"a": 9.0}, {"a": 10.0}), ({"a": 22.0}, {"a": 11.0}), ({"a": 5.0}, {"a": 20.0})])
        self.assertEqual((rows[0].ratios, rows[0].ratio), ([0.9, 2.0, 0.25], 1.1))
        self.assertEqual((here, there), ([], []))

    def test_rows_of_one_side_alone(self):
        rows, here, there = compare_benches.matched("x", [({"a": 1, "new": 1}, {"a": 1, "old": 1})])
        self.assertEqual([row.name for row in rows], ["a"])
        self.assertEqual((here, there), (["new"], ["old"]))


class Programs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)

    def program(self, side, text):
        path = self.root / side / "bench_interpreter"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\necho {side} >> {self.root / 'calls'}\n{text}\n")
        path.chmod(0o755)

    def compare(self, *options):
        done = subprocess.run([sys.executable, SOURCE / "tools/compare_benches.py", *options, self.root / "here", self.root / "there"],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def speeds(self, here, there):
        self.program("here", echo(here))
        self.program("there", echo(there))

    def test_both_sides_take_turns(self):
        self.speeds({"conv": 95, "new": 1}, {"conv": 100})
        status, text, _ = self.compare("--rounds", "3", "--out", self.root / "out.json")
        self.assertEqual(status, 0)
        self.assertEqual((self.root / "calls").read_text().split(), ["here", "there", "there", "here", "here", "there"])
        self.assertIn("interpreter  conv  0.950  0.950 to 0.950", text)
        self.assertIn("only here: interpreter: new", text)
        kept = json.loads((self.root / "out.json").read_text())
        self.assertEqual((kept["rows"][0]["ratio"], kept["rows"][0]["here"], kept["only_here"]), (0.95, [95, 95, 95], ["interpreter: new"]))

    def test_least(self):
        self.speeds({"conv": 96, "sum": 98}, {"conv": 100, "sum": 100})
        self.assertEqual(self.compare("--least", "0.95")[0], 0)
        status, text, _ = self.compare("--least", "0.97")
        self.assertEqual(status, 1)
        self.assertIn("1 of 2 rows are below 0.97", text)

    def test_a_slow_row_gets_further_rounds(self):
        self.speeds({"conv": 96}, {"conv": 100})
        self.compare("--rounds", "2", "--least", "0.97")
        self.assertEqual((self.root / "calls").read_text().split().count("here"), 2 + 3 * 2)

    def test_a_round_that_was_disturbed_is_made_up_for(self):
        self.program("here", f"if [ $(grep -c here {self.root / 'calls'}) = 1 ]; then {echo({'conv': 50})}; else {echo({'conv': 100})}; fi")
        self.program("there", echo({"conv": 100}))
        self.assertEqual(self.compare("--rounds", "1", "--least", "0.97")[0], 0)
        self.assertEqual((self.root / "calls").read_text().split().count("here"), 2)

    def test_a_failing_program_stops(self):
        self.speeds({"conv": 1}, {"conv": 1})
        (self.root / "there/bench_interpreter").write_text("#!/bin/sh\nexit 3\n")
        status, _, errors = self.compare()
        self.assertEqual(status, 1)
        self.assertIn("there/bench_interpreter failed", errors)

    def test_nothing_to_compare(self):
        self.speeds({"conv": 1}, {"conv": 1})
        self.assertIn("nothing to compare", self.compare("--filter", "cpu")[2])


if __name__ == "__main__":
    unittest.main()
