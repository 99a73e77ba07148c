#!/usr/bin/env python3
"""Plots: what is drawn, and what is said where matplotlib is missing or there is nothing to plot."""

import sys
import tempfile
import unittest

from environment import DIGITS, HARDWARE, SOURCE, package

import numpy as np

import dovetail


class Plots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.image = {"image": np.load(DIGITS / "test_images.npy")[:1]}
        cls.session = dovetail.compile(DIGITS / "digits_int8.onnx", "accel,cpu", HARDWARE).session(engine="cycle")
        cls.trace = cls.session.trace(cls.image)
        cls.session.run(cls.image)

    def test_without_matplotlib(self):
        known = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "matplotlib"}
        sys.modules["matplotlib.pyplot"] = None
        try:
            with self.assertRaisesRegex(dovetail.InputError, "pip install matplotlib"):
                self.trace.plot()
        finally:
            del sys.modules["matplotlib.pyplot"]
            sys.modules.update(known)

    def test_what_has_no_plot(self):
        for report, why in (({}, "no timing"), ({"kind": "compile"}, "compile has no plot")):
            with self.assertRaisesRegex(dovetail.InputError, why):
                dovetail.Report(report).plot()

    def axes(self, **options):
        matplotlib = package("matplotlib")
        matplotlib.use("Agg")
        figure, ax = package("matplotlib.pyplot").subplots(**options)
        self.addCleanup(package("matplotlib.pyplot").close, figure)
        return ax

    def test_timeline(self):
        ax = self.axes()
        self.assertIs(self.trace.plot(ax), ax)
        self.assertEqual([label.get_text() for label in ax.get_yticklabels()], ["load", "compute", "store"])
        self.assertEqual(ax.get_xlim(), (0, self.trace.cycles))
        self.assertEqual(len(ax.texts), len(self.trace.tokens))
        bars = sum(len(each.get_paths()) for each in ax.collections)
        self.assertEqual(bars, len(self.trace.events))
        self.assertEqual(
            [each.get_text() for each in ax.get_legend().get_texts()], ["gemm", "alu", "load", "store", "other"]
        )
        part = self.trace.plot(self.axes(), begin=100, end=900)
        self.assertLess(sum(len(each.get_paths()) for each in part.collections), bars)
        with self.assertRaisesRegex(dovetail.InputError, "begin is less"):
            self.trace.plot(self.axes(), begin=9, end=9)

    def test_roofline(self):
        ax = self.trace.roofline(self.axes())
        timing = self.trace.report["programs"][0]["timing"]
        layers, whole = ax.collections
        shown = [row for row in timing["layers"] if row["macs_per_cycle"] and row["macs_per_byte"]]
        np.testing.assert_allclose(
            layers.get_offsets(), [(row["macs_per_byte"], row["macs_per_cycle"]) for row in shown]
        )
        self.assertEqual(whole.get_offsets()[0][1], timing["roofline"]["macs_per_cycle"])
        self.assertEqual(ax.lines[0].get_ydata().max(), 256)
        self.assertEqual(ax.get_xscale(), "log")

    def test_names_of_the_roofline_do_not_overlap(self):
        package("matplotlib").use("Agg")
        samples = {"image": np.load(SOURCE / "examples/first_week/samples.npy")}
        model = dovetail.quantize(SOURCE / "examples/first_week/separable.onnx", samples)
        ax = dovetail.compile(model, "accel,cpu").session(engine="cycle").trace(self.image).roofline()
        self.addCleanup(package("matplotlib.pyplot").close, ax.figure)
        ax.figure.canvas.draw()
        # Of an annotation the box has its line: the text alone is compared.
        texts = [super(type(each), each).get_window_extent() for each in ax.texts if "features" in each.get_text()]
        self.assertGreater(len(texts), 4)
        for index, one in enumerate(texts):
            self.assertLess(one.x1, ax.figure.bbox.width)
            self.assertFalse([other for other in texts[index + 1:] if one.overlaps(other)])

    def test_front(self):
        space = {"hardware": HARDWARE, "axes": {"bus_bytes": [8, 16], "clock_mhz": [200, 400]}}
        for objectives in (["latency_ms", "area_mm2", "energy_mj"], ["latency_ms", "area_mm2"], ["latency_ms"]):
            with tempfile.TemporaryDirectory() as folder:
                sweep = dovetail.explore(DIGITS / "digits_int8.onnx", {**space, "objectives": objectives}, folder)
                ax = sweep.plot(self.axes())
                points, best = ax.collections
                self.assertEqual(len(best.get_offsets()), len(sweep.front))
                self.assertEqual(len(points.get_offsets()), sum(each.state == "measured" for each in sweep.points))

    def test_steps(self):
        ax = self.session.report.plot(self.axes())
        names = [label.get_text() for label in ax.get_yticklabels()]
        self.assertEqual(names[::-1], [step["name"] for step in self.session.report["steps"]])
        self.session.profile(self.image, repeat=2).plot(self.axes())

    def test_a_new_figure(self):
        package("matplotlib").use("Agg")
        ax = self.trace.plot()
        self.addCleanup(package("matplotlib.pyplot").close, ax.figure)
        ax.figure.canvas.draw()


if __name__ == "__main__":
    unittest.main()
