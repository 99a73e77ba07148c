#!/usr/bin/env python3
"""Tuning and exploring."""
import json
import pathlib
import tempfile
import unittest

from environment import DIGITS, HARDWARE, package

import numpy as np

import dovetail

MODEL = DIGITS / "digits_int8.onnx"
SPACE = {"hardware": HARDWARE, "axes": {"bus_bytes": [8, 16], "requant": [False, True], "clock_mhz": [200, 400]}}


# The numbers of the preset ddr4-2400.
DDR4_2400 = {
    "name": "mine", "source": "docs/reference/memory-models.md", "clock_mhz": 1200, "channels": 1, "ranks": 1, "bank_groups": 4,
    "banks_per_group": 4, "row_bytes": 8192, "access_bytes": 64, "access_clocks": 4,
    "timing": {"tCL": 17, "tCWL": 12, "tRCD": 17, "tRP": 17, "tRAS": 39, "tCCD_S": 4, "tCCD_L": 6, "tRRD_S": 4, "tRRD_L": 6,
               "tFAW": 26, "tWR": 18, "tRTP": 9, "tWTR_S": 3, "tWTR_L": 9, "tRTRS": 2, "tRFC": 420, "tREFI": 9360},
}


class Searches(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_tune(self):
        records = self.folder / "records.db"
        seen = []
        report = dovetail.tune(MODEL, "accel,cpu", HARDWARE, records=records, trials=4, seed=3,
                               progress=lambda *each: seen.append(each))
        self.assertEqual(report["kind"], "tune")
        self.assertIn("trials", [what for what, _, _ in seen])
        again = dovetail.tune(MODEL, "accel,cpu", HARDWARE, records=records, trials=1, early_stop=0)
        self.assertGreater(sum(task["known"] for task in again["tasks"]), 0)
        bundle = dovetail.compile(MODEL, "accel,cpu", HARDWARE, records=records)
        image = {"image": np.load(DIGITS / "test_images.npy")[:1]}
        self.assertEqual(bundle.session().check(image)["different"], 0)
        for options, why in (({"trials": 0}, "it is 0"), ({"search": "nonesuch"}, "nonesuch"), ({"seed": 0}, "it is 0"),
                             ({"batch": 10**6}, "batch"), ({"level": "best"}, "'best' is unknown")):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                dovetail.tune(MODEL, "accel,cpu", HARDWARE, records=records, **options)
        with self.assertRaises(TypeError):
            dovetail.tune(MODEL, "accel,cpu", HARDWARE)

    def test_what_if(self):
        table = dovetail.what_if(MODEL, HARDWARE, progress=False)
        changes = {step["change"]: step.get("values") for step in table["steps"]}
        wider = dovetail.hardware(HARDWARE, bus_bytes=2 * dovetail.hardware(HARDWARE).bus_bytes)
        again = dovetail.what_if([MODEL.read_bytes()], wider, weights=[2.0], progress=False)["values"]
        self.assertEqual(2 * changes[f"bus_bytes={wider.bus_bytes}"]["latency_ms"], again["latency_ms"])
        for options, why in (({"weights": []}, "of 1 models"), ({"weights": [0.0]}, "outside")):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                dovetail.what_if(MODEL, HARDWARE, **options)

    def test_explore(self):
        axes = {**SPACE["axes"], "bus_bytes": np.array([8, 16]), "clock_mhz": range(200, 401, 200)}
        space = {"hardware": dovetail.hardware(HARDWARE), "axes": axes}
        sweep = dovetail.explore(MODEL, space, self.folder / "sweep", prune=False)
        points = []
        for point in sweep:
            points.append(point)
            self.assertFalse(point.known)
            self.assertEqual(set(point.chosen), {"bus_bytes", "requant", "clock_mhz"})
        self.assertEqual(len(points), 8)
        self.assertEqual(list(sweep), points)
        measured = [point for point in points if point.state == "measured"]
        self.assertGreater(len(measured), 0)
        for point in measured:
            self.assertEqual(point.hardware.bus_bytes, point.chosen["bus_bytes"])
            self.assertGreater(point.values["latency_ms"], 0)
            self.assertRegex(repr(point), r"<dovetail.Point 1x16x16-ext\S*: latency_ms [\d.]+, ")
        self.assertEqual(sweep.report["kind"], "explore")
        self.assertIn(min(point.values["latency_ms"] for point in measured),
                      [point.values["latency_ms"] for point in sweep.front])
        self.assertEqual(repr(sweep), f"<dovetail.Exploration, ended: 8 points, {len(measured)} measured, "
                                      f"{len(sweep.front)} of them on the front>")
        again = dovetail.explore([MODEL], SPACE, self.folder / "sweep", prune=False).wait()
        self.assertTrue(all(point.known for point in again.points))
        self.assertEqual({point.machine for point in again.points}, {point.machine for point in points})

    def test_explore_with_files(self):
        """A DRAM file next to the space's file, and the examples of another node."""
        (self.folder / "parts").mkdir()
        (self.folder / "parts/mine.json").write_text(json.dumps(DDR4_2400))
        memories = ["bank:ddr4-2400", "bank:parts/mine.json"]
        (self.folder / "space.json").write_text(json.dumps({"hardware": HARDWARE, "axes": {"memory": memories}}))
        sweep = dovetail.explore(MODEL, self.folder / "space.json", self.folder / "sweep", prune=False, energy="cmos28",
                                 technology="cmos28").wait()
        points = list(sweep.points)
        self.assertEqual({point.chosen["memory"] for point in points}, set(memories))
        self.assertEqual(points[0].values["latency_ms"], points[1].values["latency_ms"])  # the same numbers
        self.assertIn("28 nm, example", sweep.report["technology"])
        self.assertIn("cmos28", sweep.report["energy"])
        with self.assertRaisesRegex(dovetail.InputError, "nonesuch"):
            dovetail.explore(MODEL, SPACE, self.folder / "other", technology="nonesuch").wait()

    def test_to_pandas(self):
        package("pandas")
        table = dovetail.explore(MODEL, SPACE, self.folder / "sweep").to_pandas()
        self.assertEqual(len(table), 8)
        self.assertTrue({"machine", "state", "bus_bytes", "latency_ms", "area_mm2"} <= set(table.columns))
        best = table[table["state"] == "measured"].sort_values("latency_ms").iloc[0]
        self.assertTrue(best["on_front"])
        self.assertLess(table["on_front"].sum(), 8)

    def test_no_point_is_feasible(self):
        space = {"hardware": HARDWARE, "axes": {"bus_bytes": [8, 16]}, "constraints": {"latency_ms": 1e-9}}
        with self.assertLogs("dovetail", "WARNING") as said:
            sweep = dovetail.explore(MODEL, space, self.folder / "sweep").wait()
        self.assertEqual((len(sweep.points), sweep.front), (2, []))
        self.assertRegex(said.output[0], "no point of the space is feasible: .*latency_ms")

    def test_a_sweep_that_is_left_stops_and_continues(self):
        space = {"hardware": HARDWARE, "axes": {"bus_bytes": [8, 16], "clock_mhz": {"from": 100, "to": 999, "plus": 1}}}
        with dovetail.explore(MODEL, space, self.folder / "sweep", jobs=1, prune=False) as sweep:
            for point in sweep:
                if len(sweep.points) > 20:
                    break
        self.assertTrue(repr(sweep).startswith(f"<dovetail.Exploration, stopped: {len(sweep.points)} points, "))
        with self.assertRaisesRegex(dovetail.WorkError, "stopped"):
            sweep.wait()
        first = [point.machine for point in sweep.points]
        with dovetail.explore(MODEL, space, self.folder / "sweep", jobs=1, prune=False) as sweep:
            for point in sweep:
                if not point.known:
                    break
            known = {point.machine for point in sweep.points if point.known}
        self.assertTrue(set(first) <= known)

    def test_numeric_choices(self):
        images, labels = np.load(DIGITS / "test_images.npy"), np.load(DIGITS / "test_labels.npy")
        space = {"hardware": HARDWARE, "axes": {"scales": ["any", "power-of-two"]}}
        model = DIGITS / "digits_float.onnx"
        sweep = dovetail.explore(model, space, self.folder / "sweep", samples={"image": images[:40]},
                                 tests={"image": images}, labels=labels)
        accuracies = [point.values["accuracy"] for point in sweep if point.state == "measured"]
        self.assertTrue(accuracies and min(accuracies) > 0.9, accuracies)
        for options, why in (({}, "it is null, and the space has numeric choices"),
                             ({"labels": labels}, "there are none"),
                             ({"samples": {"image": images.astype(np.float64)}}, "float64")):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                dovetail.explore(model, space, self.folder / "other", **options).wait()

    def test_what_does_not_fit(self):
        for space, options, why in (
            ("nonesuch.json", {}, "give a dict, JSON text, or the path"),
            ('{"axes": ', {}, "space"),
            ({"axes": {"warp": [1]}}, {}, "warp"),
            ({"axes": {"bus_bytes": [object()]}}, {}, "JSON has no object"),
            (SPACE, {"strategy": "nonesuch"}, "nonesuch"),
            (SPACE, {"points": 0}, "it is 0"),
            (SPACE, {"weights": [1, 2]}, "there are 2, of 1 models"),
            (SPACE, {"weights": [-1]}, "it is -1"),
            (SPACE, {"jobs": -1}, "jobs"),
            (MODEL, {}, "it is not text|give a dict"),
        ):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                dovetail.explore(MODEL, space, self.folder / "sweep", **options).wait()
        with self.assertRaisesRegex(dovetail.InputError, "models.*there are none"):
            dovetail.explore([], SPACE, self.folder / "sweep")
        for seconds in (-1, float("nan")):
            with self.assertRaisesRegex(dovetail.InputError, "seconds"):
                dovetail.tune(MODEL, "cpu", records=self.folder / "none.db", seconds=seconds)
        with self.assertRaisesRegex(dovetail.InputError, "no such file"):
            dovetail.explore("nonesuch.onnx", SPACE, self.folder / "sweep")


if __name__ == "__main__":
    unittest.main()
