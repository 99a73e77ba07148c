#!/usr/bin/env python3
"""What a notebook shows: HTML that is complete, loads nothing and changes nothing around it; traces as arrays."""

import html
import html.parser
import json
import pathlib
import re
import tempfile
import unittest

from environment import DIGITS, HARDWARE, SOURCE, run

import numpy as np

import dovetail
from dovetail import show

VOID = {"br", "meta", "link", "input", "img", "hr"}


class Reader(html.parser.HTMLParser):
    """The elements of a document, which must be balanced, and its text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text, self.frames, self.style = [], [], "", [], ""
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "iframe":
            self.frames.append(dict(attributes))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if "style" in self.open:
            self.style += data
        else:
            self.text += data + " "


class Show(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.image = {"image": np.load(DIGITS / "test_images.npy")[:1]}
        cls.model = DIGITS / "digits_int8.onnx"
        cls.bundle = dovetail.compile(cls.model, "accel,cpu", HARDWARE)
        cls.session = cls.bundle.session(engine="cycle")
        cls.trace = cls.session.trace(cls.image, what_if=True)

    def shown(self, each):
        """What a notebook shows of an object: its text, and the text of its frame's page."""
        text = each._repr_html_()
        reader = Reader(text)
        self.assertNotRegex(text, r"""(src|href)\s*=\s*["']?\w+:""")
        # Every rule is about elements of the class; nothing of the notebook is matched.
        rules = re.sub(r"@media[^{]*\{((?:[^{}]*\{[^{}]*\})*)\}", r"\1", reader.style)
        selectors = [one for rule in re.findall(r"([^{}]+)\{[^{}]*\}", rules) for one in rule.split(",")]
        self.assertGreater(len(selectors), 10)
        for selector in selectors:
            self.assertIn(".dovetail", selector)
        for theme in ("prefers-color-scheme:dark", "data-jp-theme-light=false", "vscode-dark"):
            self.assertIn(theme, reader.style)
        for frame in reader.frames:
            self.assertEqual((frame["class"], frame["sandbox"]), ("dovetail", "allow-scripts"))
            page = Reader(frame["srcdoc"])
            self.assertIn("default-src 'none'", frame["srcdoc"])
            # What the script replaces where the notebook's theme is not the browser's.
            self.assertIn("</iframe><script>(() => {", text)
            for rule in ("(prefers-color-scheme: dark)", "color-scheme: light dark"):
                self.assertIn(rule, frame["srcdoc"])
                self.assertIn(f'.replaceAll("{rule}", ', text)
            self.assertIn("trust the notebook", reader.text)  # where neither frames nor styles are shown
            reader.text += page.text + page.style
        return reader.text

    def test_objects(self):
        self.session.run(self.image)
        program = dovetail.Program((SOURCE / "examples" / "assembly" / "matmul.s").read_text(), name="matmul.s")
        for each, parts in (
            (program, ("Program matmul.s", "1x16x16", "instructions 16", "bias address", "load.wgt")),
            (program.simulate(outputs=["y"]), ("Simulation of matmul.s", "MACs 3,072", "y: int8[4, 16]")),
            (program.simulate(until="#11"), ("#11: before instruction 11", "functional")),
            (program.simulate(engine="cycle", what_if=True), ("matmul.s", "of the tightest bound", "other hardware")),
            (program.check(), ("check", "clean yes")),
            (
                self.bundle,
                ("Bundle digits_int8", "image: float32[1, 1, 8, 8]", "accel 1, cpu 4", "may run", "res1_conv1"),
            ),
            (dovetail.Model(self.model), ("Model digits_int8", "Conv 4", "float32[1, 1, 8, 8]")),
            (
                dovetail.hardware(HARDWARE, inp_buffer_bytes=8192),
                ("inp_buffer_bytes 8,192", "block_in 16", "requant yes"),
            ),
            (self.session.report, ("Run", "region1", "accel", "cycle", "image_quantize")),
            (self.session.profile(self.image, repeat=3), ("Profile", "median", "of 3 runs")),
            (self.session.evaluate(self.image, np.array([0])), ("Evaluation", "1 in 1 runs", "1 of 1, 100.00%")),
            (self.trace.report, ("conv1", "of the tightest bound", "a port of 16 bytes")),
            (self.bundle.compile_report, ("compile", "targets: 2")),
            (dovetail.what_if(self.model, HARDWARE), ("What if 1x16x16-ext", "bus_bytes=16 -", "wide instructions")),
            (dovetail.Report(self.session.energy()), ("joules", "parts")),
        ):
            with self.subTest(type(each).__name__):
                text = " ".join(self.shown(each).split())
                for part in parts:
                    self.assertIn(part, text)

    def test_pages(self):
        samples = np.load(DIGITS / "test_images.npy")[:16]
        with tempfile.TemporaryDirectory() as folder:
            quantized = dovetail.quantize(DIGITS / "digits_float.onnx", {"image": samples}, measured_samples=2)
            tuned = dovetail.tune(self.model, "accel", HARDWARE, records=f"{folder}/r.db", trials=2)
            space = {"hardware": HARDWARE, "axes": {"bus_bytes": [8, 16]}}
            sweep = dovetail.explore(self.model, space, f"{folder}/sweep").wait()
            for each, parts in (
                (quantized, ("Quantized", "16 samples", "Layers", "conv1")),
                (tuned, ("Tuning of", "best schedule", "search guided")),
                (sweep, ("Design points", '"kind":"explore"', "bus_bytes")),
                (dovetail.compare(self.model, "accel,cpu", HARDWARE, repeat=2), ("1x16x16-ext", "accel", "cpu")),
                (self.trace, ("Timeline", '"title":"digits_int8"', "roofline")),
            ):
                with self.subTest(type(each).__name__):
                    text = self.shown(each)
                    for part in parts:
                        self.assertIn(part, text)
            reports = (tuned, sweep.report, quantized.report, self.bundle.report, self.bundle.compile_report)
            for each in (*reports, self.trace.report):
                self.assertLess(len(repr(each)), 600)
                self.assertLess(len(str(each)), 600)
            self.assertRegex(repr(tuned), r"<dovetail.Report tune: .*tasks: \d rows")
            for saved, report in ((sweep, sweep.report), (tuned, tuned)):
                saved.save(f"{folder}/s.html")
                self.assertEqual(pathlib.Path(f"{folder}/s.html").read_text(), report.page())
                saved.save(f"{folder}/s.json")
                self.assertEqual(json.loads(pathlib.Path(f"{folder}/s.json").read_text()), report)
            tuned.save_page(f"{folder}/t.html")
            self.assertEqual(pathlib.Path(f"{folder}/t.html").read_text(), tuned.page())
            self.trace.save_page(f"{folder}/x.html")
            self.assertEqual(pathlib.Path(f"{folder}/x.html").read_text(), self.trace.page())
            self.trace.save(f"{folder}/x.json")
            again = dovetail.Trace(pathlib.Path(f"{folder}/x.json").read_text())
            np.testing.assert_array_equal(again.events, self.trace.events)
        for report, why in (({}, "missing"), ({"kind": "run"}, "comparison, explanation"), ({"kind": "tune"}, "gains")):
            with self.assertRaisesRegex(dovetail.InputError, why):
                dovetail.Report(report).page()

    def test_a_page_that_is_too_large_becomes_a_table(self):
        most, show.MOST_PAGE_BYTES = show.MOST_PAGE_BYTES, 1000
        try:
            text = self.trace._repr_html_()
        finally:
            show.MOST_PAGE_BYTES = most
        self.assertNotIn("<iframe", text)
        self.assertIn("multiplications", text)

    def test_names_are_only_text(self):
        report = dovetail.Report(kind="<b>", **{"<i>": "</style><script>", "rows": [{"<u>": 1}] * (show.MOST_ROWS + 2)})
        text = self.shown(report)
        for part in ("<b>", "<i>", "</style><script>", "<u>", "... and 2 more"):
            self.assertIn(part, text)
        self.assertNotIn("script", {tag for tag, _ in Reader(report._repr_html_()).elements})

    def test_a_sweep_that_runs_or_has_stopped(self):
        space = {"hardware": HARDWARE, "axes": {"clock_mhz": {"from": 100, "to": 999, "plus": 1}}}
        with tempfile.TemporaryDirectory() as folder:
            with dovetail.explore(self.model, space, folder, jobs=1) as sweep:
                next(iter(sweep))
                self.assertIn("Exploration, ", self.shown(sweep))
            self.assertIn("Exploration, stopped", self.shown(sweep))

    def test_without_the_compiler_tables_remain(self):
        library = pathlib.Path(dovetail.library_path).with_name("libdovetail_runtime.so.1")
        if not library.exists():
            self.skipTest(f"there is no {library}")
        with tempfile.TemporaryDirectory() as folder:
            self.bundle.save(f"{folder}/b.dvt")
            program = f"""
import os
os.environ["DOVETAIL_LIBRARY"] = {str(library)!r}
import dovetail
bundle = dovetail.Bundle.load({folder + "/b.dvt"!r}, trust="always")
print("Bundle digits_int8" in bundle._repr_html_())
print("tune" in dovetail.Report(kind="tune", gains=dict())._repr_html_())
"""
            self.assertEqual(run(program), "True\nTrue\n")


class Traces(unittest.TestCase):
    def test_arrays(self):
        bundle = dovetail.compile(DIGITS / "digits_int8.onnx", "accel,cpu", HARDWARE)
        image = {"image": np.load(DIGITS / "test_images.npy")[:1]}
        session = bundle.session(engine="cycle")
        session.run(image)
        steps = {step["name"]: step for step in session.report["steps"]}
        trace = session.trace(image)
        self.assertEqual(trace.cycles, steps["region1"]["cycles"])
        self.assertEqual(len(trace.events), steps["region1"]["counters"]["instructions"]["total"])
        self.assertEqual(
            repr(trace),
            f"<dovetail.Trace: {trace.cycles} cycles, {len(trace.events)} instructions, "
            f"{len(trace.tokens)} tokens>",
        )
        events, tokens = trace.events, trace.tokens
        self.assertTrue((events["issue"] < events["start"]).all() and (events["start"] <= events["end"]).all())
        self.assertLess(events["end"].max(), trace.cycles)
        self.assertIn("conv1", {trace.layers[layer] for layer in events["layer"]})
        gemm = [trace.instructions[i].startswith("gemm") for i in range(len(events))]
        self.assertTrue((events["unit"][gemm] == 1).all() and any(gemm))
        self.assertGreater(len(tokens), 10)
        self.assertTrue((tokens["pushed"] <= tokens["popped"]).all() and (tokens["from"] != tokens["to"]).all())
        self.assertEqual(trace.report["programs"][0]["timing"]["cycles"], trace.cycles)
        self.assertEqual(trace.report["programs"][0]["timing"]["what_if"], [])
        np.testing.assert_array_equal(session.run(image)["logits"], session.run(image)["logits"])

    def test_why_another_run_is_faster(self):
        image = {"image": np.load(DIGITS / "test_images.npy")[:1]}
        traces = [
            dovetail.compile(DIGITS / "digits_int8.onnx", "accel,cpu", each).session(engine="cycle").trace(image)
            for each in (HARDWARE, HARDWARE + ",bus_bytes=16")
        ]
        explained = traces[0].explain(traces[1])
        cycles = [explained[side]["cycles"] for side in ("a", "b")]
        self.assertEqual(cycles, [each.cycles for each in traces])
        self.assertEqual(sum(layer["difference"]["cycles"] for layer in explained["layers"]), cycles[1] - cycles[0])
        self.assertIn("res1_conv2", explained.page())
        with self.assertRaisesRegex(dovetail.InputError, "not the JSON of a profile"):
            traces[0].explain(dovetail.Trace(traces[1].text))

    def test_what_cannot_be_traced(self):
        image = {"image": np.load(DIGITS / "test_images.npy")[:1]}
        with self.assertRaisesRegex(dovetail.InputError, "engine functional has no clock"):
            dovetail.compile(DIGITS / "digits_int8.onnx", "accel,cpu", HARDWARE).session().trace(image)
        with self.assertRaisesRegex(dovetail.InputError, "nothing ran on the accelerator"):
            dovetail.compile(DIGITS / "digits_int8.onnx", "cpu").session(engine="cycle").trace(image)
        for text in ("", "{}", "[]", json.dumps({"sources": [], "launches": [{}], "traceEvents": []})):
            with self.assertRaisesRegex(dovetail.InputError, "not the text of a trace file"):
                dovetail.Trace(text)


if __name__ == "__main__":
    unittest.main()
