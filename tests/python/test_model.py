#!/usr/bin/env python3
"""Models: sources, options of compiling, quantizing, and what each says where something does not fit."""
import io
import json
import os
import pathlib
import tempfile
import threading
import time
import unittest
import unittest.mock
import warnings

from environment import DIGITS, HARDWARE, package

import numpy as np

import dovetail
from dovetail import compiler

INT8, FLOAT = DIGITS / "digits_int8.onnx", DIGITS / "digits_float.onnx"


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.images = np.load(DIGITS / "test_images.npy")
        cls.labels = np.load(DIGITS / "test_labels.npy")

    def test_sources(self):
        onnx = package("onnx")
        content = INT8.read_bytes()
        kinds = [INT8, str(INT8), content, bytearray(content), memoryview(content), onnx.load(INT8)]
        said = {repr(dovetail.Model(each)) for each in kinds}
        self.assertEqual(len(said), 1, said)
        model = dovetail.Model(content, name="mine")
        self.assertEqual(dovetail.Model(model).describe(), model.describe())
        self.assertEqual(model.input_axes(), [("image", 4)])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "copy.onnx"
            model.save(path)
            self.assertEqual(path.read_bytes(), content)

    def test_layers_by_their_shape(self):
        layers = dovetail.Model.of_layers("stem: conv 3x12x12 -> 8 k3 s2 p1 relu", "gemm 4x20 -> 12")
        self.assertEqual([row["name"] for row in layers.describe()["inputs"]], ["stem.input/steps", "gemm.input/steps"])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "layers.onnx"
            layers.save(path)
            topology = pathlib.Path(folder) / "two.csv"
            topology.write_text("Layer, M, N, K,\nfirst, 4, 12, 20,\nsecond, 4, 8, 12,\n", encoding="utf-8")
            for source, names in ((layers, ["stem.relu/steps", "gemm/steps"]), (path, ["stem.relu/steps", "gemm/steps"]),
                                  (topology, ["first/steps", "second/steps"])):
                model = dovetail.Model(source)
                self.assertEqual([row["name"] for row in model.describe()["outputs"]], names)
                session = dovetail.compile(model, targets="accel", hardware="1x16x16-ext").session(engine="cycle")
                reference = dovetail.compile(model, targets="cpu").session()
                shapes = {row["name"]: [int(n) for n in row["type"][5:-1].split(",")] for row in model.describe()["inputs"]}
                inputs = {name: np.random.default_rng(1).integers(-128, 128, shape, np.int8) for name, shape in shapes.items()}
                for name, value in session.run(inputs).items():
                    np.testing.assert_array_equal(value, reference.run(inputs)[name])
            part = dovetail.Model(topology).part(["sec*"])
            self.assertEqual([row["name"] for row in part.describe()["inputs"]], ["second.input/steps"])
        self.assertEqual(repr(layers.part(to=["stem.relu/steps"])), repr(layers.part(["stem"])))
        for call, why in ((lambda: dovetail.Model.of_layers("conv 3"), "character 6"),
                          (lambda: dovetail.Model.of_layers(), "there are none"),
                          (lambda: layers.part(["z*"]), "no node of such a name"),
                          (lambda: layers.part(), "all lists are empty")):
            with self.assertRaisesRegex(dovetail.InputError, why):
                call()

    def test_sources_that_are_not_models(self):
        for source, why in (
            ("nonesuch.onnx", "no such file"),
            (b"", "model"),
            (b"abc" * 100, "model"),
            (INT8.read_bytes()[:1000], "model"),
            (3, "its type is int"),
            (io.StringIO(), "its type is StringIO"),
            ("a\0b", "zero byte"),
        ):
            with self.subTest(source), self.assertRaisesRegex(dovetail.InputError, why):
                dovetail.compile(source, "cpu")

    def test_pipes_and_devices(self):
        """A pipe is a source like a file; what ends never, or is too large, is refused at once."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(f"{folder}/pipe")
            writer = threading.Thread(target=lambda: pathlib.Path(f"{folder}/pipe").write_bytes(INT8.read_bytes()))
            writer.start()
            model = dovetail.Model(f"{folder}/pipe")
            writer.join()
            self.assertEqual(repr(model), repr(dovetail.Model(INT8)))
            logits = dovetail.compile(model, "cpu").session().run({"image": self.images[:1]})["logits"]
            self.assertEqual(logits.argmax(), self.labels[0])
            with self.assertRaisesRegex(dovetail.InputError, "pipe"):  # not the name of a copy of it
                dovetail.compile(model, "cpu", shapes={"nonesuch": 3})

            with open(f"{folder}/large", "wb") as large:
                large.truncate(3 << 30)
            with self.assertRaisesRegex(dovetail.InputError, "3221225472 bytes > 2147483647, the limit of a protobuf"):
                dovetail.Model(f"{folder}/large")
            begin = time.monotonic()
            for read in (dovetail.Model, dovetail.Bundle.load, dovetail.inspect):
                with self.subTest(read), self.assertRaisesRegex(dovetail.InputError, r"its first \d+ bytes do not begin"):
                    read("/dev/zero")
                with self.subTest(read), self.assertRaisesRegex(dovetail.InputError, "the path is a directory"):
                    read(folder)
            self.assertLess(time.monotonic() - begin, 1)

    def test_options_are_checked(self):
        for options, why in (
            ({"targets": "warp"}, "warp"),
            ({"targets": []}, "target"),
            ({"level": "best"}, "'best' is unknown"),
            ({"offload": "never"}, "'never' is unknown"),
            ({"hardware": "nonesuch"}, "neither a named configuration nor a file"),
            ({"place": {"nonesuch": "cpu"}}, "nonesuch"),
            ({"shapes": {"nonesuch": 1}}, "nonesuch"),
            ({"shapes": {"image": (2, 1, 8, 8)}}, "the model fixes it to 1"),
            ({"decide": {"nonesuch": 1}}, "nonesuch"),
            ({"without_passes": ["nonesuch"]}, "nonesuch"),
            ({"counted_candidates": 0}, "it is 0"),
            ({"cpu": "z80"}, "z80"),
            ({"threads": -1}, "threads"),
            ({"clock_mhz": 0}, "it is 0"),
            ({"accelerators": 0}, "it is 0"),
            ({"records": "nonesuch/records.db"}, "nonesuch"),
        ):
            arguments = {"targets": "accel,cpu", "hardware": HARDWARE, **options}
            with self.subTest(str(options)), self.assertRaisesRegex(dovetail.InputError, why) as caught:
                dovetail.compile(INT8, **arguments)
            self.assertTrue(caught.exception.diagnostics[0].hint, options)
        with self.assertRaisesRegex(dovetail.InputError, "use one of 'default', 'needed', 'exact', 'tolerant', 'fast'"):
            dovetail.compile(INT8, "cpu", level="O2")
        for targets in (None, 3, ["accel", 3], {"cpu": 1}):
            with self.subTest(targets), self.assertRaisesRegex(TypeError, "compile: targets must be str, or a list"):
                dovetail.compile(INT8, targets)
        for options in ({"with_passes": "nonesuch"}, {"level": 4}, {"strict": "yes"}, {"unknown": 1}):
            with self.subTest(str(options)), self.assertRaises((TypeError, dovetail.InputError)):
                dovetail.compile(INT8, "cpu", **options)

    def test_diagnostics_have_the_names_of_the_package(self):
        images, labels = {"image": self.images[:4]}, self.labels[:4]
        session = dovetail.compile(INT8, "cpu").session()
        wide = {"image": self.images[:1].astype(np.float64)}
        for call, named in (
            (lambda: dovetail.compile(INT8, "warp"), "value for `targets`"),
            (lambda: dovetail.compile(INT8, "cpu", place={"nonesuch": "cpu"}), "value for `place`"),
            (lambda: dovetail.compile(INT8, "accel", HARDWARE, clock_mhz=1e9), "for example `clock_mhz=333`"),
            (lambda: session.evaluate(images, labels - 99), "`labels`"),
            (lambda: session.evaluate(images, labels, output="nonesuch"), "there is no output 'nonesuch'"),
            (lambda: session.run(wide), "or pass copy=True"),
        ):
            with self.subTest(named), self.assertRaises(dovetail.InputError) as caught:
                call()
            self.assertIn(named, str(caught.exception))
            self.assertNotIn("--", str(caught.exception))
        with self.assertRaises(dovetail.InputError) as caught:  # it has no option `copy`
            session.bind(wide)
        self.assertNotIn("copy=True", caught.exception.hint)
        with self.assertRaises(dovetail.InputError) as caught:
            dovetail.quantize(FLOAT, images, keep_float=["nonesuch"])
        self.assertIn('`compile_stages` with `stages=["import"]` lists the nodes', caught.exception.hint)

    def test_decisions(self):
        found = dovetail.decisions(INT8, "accel,cpu", HARDWARE)
        conv2 = {each.name: each for each in found if each.kernel == "conv2"}
        self.assertEqual(conv2["slots_inp"].values, ("1", "2", "3", "4"))
        self.assertEqual(conv2["stays"].values, ("weights", "inputs"))
        other = next(each for each in conv2["slots_inp"].values if each != conv2["slots_inp"].chosen)
        again = dovetail.decisions(INT8, "accel,cpu", HARDWARE, decide={"slots_inp": other})
        self.assertEqual({each.chosen for each in again if each[:2] == ("conv2", "slots_inp")}, {other})
        self.assertEqual(compiler._values("factors", "4:2"), ("4,1", "2,2", "1,4"))
        self.assertEqual(compiler._values("either", "y,x|x,y"), ("y,x", "x,y"))
        for decide, why, hint in (
            ({"slot_inp": 1}, "decision of this name", "did you mean `slots_inp`?"),
            ({"slots_inp": 9}, "value of the decision", "the values are 1, 2, 3, 4"),
            ("slots_inp", "no value", "'slots_inp=VALUE'"),
        ):
            with self.subTest(decide), self.assertRaisesRegex(dovetail.InputError, why) as caught:
                dovetail.compile(INT8, "accel,cpu", HARDWARE, decide=decide)
            self.assertIn(hint, caught.exception.hint)
            self.assertTrue("`decisions` lists" in caught.exception.hint or decide == "slots_inp")
        with self.assertRaises(dovetail.InputError) as caught:
            dovetail.compile(INT8, "accel", HARDWARE, decide={"nonesuch1": 1, "nonesuch2": 1})
        self.assertEqual(len(caught.exception.diagnostics), 2)
        for decide in ("stays=inputs", ["stays=inputs"]):
            same = dovetail.decisions(INT8, "accel", HARDWARE, decide=decide)
            self.assertEqual({each.chosen for each in same if each.name == "stays"}, {"inputs"})

    def test_a_model_that_leaves_the_accelerator_warns(self):
        with self.assertWarnsRegex(dovetail.PlacementWarning, "floating point.*`quantize`") as caught:
            bundle = dovetail.compile(FLOAT, "accel", HARDWARE)
        self.assertEqual(pathlib.Path(caught.filename).name, "test_model.py")
        for report in (bundle.report, bundle.compile_report, dovetail.Bundle.load(bundle.to_bytes()).report):
            self.assertIn("in floating point", report["left_accelerator"]["why"])
            self.assertIn("`quantize`", report["left_accelerator"]["remedy"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dovetail.compile(INT8, "accel", HARDWARE)
            dovetail.compile(FLOAT, "cpu,accel", HARDWARE)

    def test_models_and_bundles_are_not_confused(self):
        quantized = dovetail.quantize(FLOAT, {"image": self.images[:8]})
        self.assertEqual(repr(dovetail.Model(quantized)), repr(quantized.model))
        self.assertEqual(dovetail.compare(quantized, "cpu", repeat=1)["kind"], "comparison")
        bundle = dovetail.compile(quantized, "cpu")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "digits.dvt"
            bundle.save(path)
            for call, hint in (
                (lambda: dovetail.compile(bundle, "cpu"), r"Bundle.session\(\) runs it"),
                (lambda: dovetail.compile(path, "cpu"), r"dovetail.Session\(path\) runs it"),
                (lambda: dovetail.Session(INT8), r"dovetail.compile\(model, targets\)"),
                (lambda: dovetail.Session(quantized), r"dovetail.compile\(model, targets\)"),
                (lambda: dovetail.Session(quantized.model), r"dovetail.compile\(model, targets\)"),
            ):
                with self.subTest(hint), self.assertRaisesRegex(dovetail.InputError, hint):
                    call()

    def test_misspelt_keywords(self):
        bundle = dovetail.compile(INT8, "cpu")
        for call, meant in (
            (lambda: dovetail.compile(INT8, "cpu", hardwares=HARDWARE), r"compile\(\).*'hardware'"),
            (lambda: dovetail.compile_stages(INT8, "cpu", recods="x"), r"compile_stages\(\).*'records'"),
            (lambda: dovetail.decisions(INT8, "cpu", progres=False), r"decisions\(\).*'progress'"),
            (lambda: dovetail.tune(INT8, "cpu", records="x", trails=3), r"tune\(\).*'trials'"),
            (lambda: dovetail.tune(INT8, "cpu", records="x", tread=3), r"tune\(\).*'threads'"),
            (lambda: dovetail.quantize(FLOAT, {}, measured_sample=3), r"quantize\(\).*'measured_samples'"),
            (lambda: bundle.session(engin="cycle"), r"Session\(\).*'engine'"),
            (lambda: bundle.session().evaluate({}, label=3), r"Session.evaluate\(\).*'labels'"),
            (lambda: dovetail.loops.program("x", [], harware="x"), r"program\(\).*'hardware'"),
        ):
            with self.subTest(meant), self.assertRaisesRegex(TypeError, meant + r"\?$"):
                call()

    def test_results_are_saved(self):
        quantized = dovetail.quantize(FLOAT, {"image": self.images[:8]})
        with tempfile.TemporaryDirectory() as folder:
            model, page, report = (pathlib.Path(folder) / name for name in ("q.onnx", "q.html", "q.json"))
            quantized.save(model, page)
            quantized.save(model, report)
            self.assertEqual(model.read_bytes(), self.saved(quantized.model))
            self.assertIn("<html", page.read_text())
            self.assertEqual(json.loads(report.read_text()), quantized.report)

    def test_options_have_an_effect(self):
        placed = dovetail.compile(INT8, ["accel", "cpu"], HARDWARE, place={"conv1": "cpu"})
        whole = dovetail.compile(INT8, ["accel", "cpu"], HARDWARE)
        self.assertGreater(placed.describe()["targets"]["cpu"], whole.describe()["targets"]["cpu"])
        needed = dovetail.compile(FLOAT, "cpu", level="needed")
        self.assertGreater(needed.describe()["steps"], dovetail.compile(FLOAT, "cpu", level="fast").describe()["steps"])
        seen = []
        dovetail.compile(INT8, "cpu", progress=lambda what, done, all: seen.append((what, done, all)))
        self.assertTrue(seen and all(done <= all for _, done, all in seen), seen)

    def test_errors_have_every_diagnostic(self):
        with self.assertRaises(dovetail.Error) as caught:
            dovetail.compile(INT8, "accel", HARDWARE, strict=True, place={"nonesuch1": "accel", "nonesuch2": "accel"})
        error = caught.exception
        self.assertIsInstance(error, ValueError)
        self.assertEqual((error.what, error.where, error.why, error.hint), error.diagnostics[0][:4])
        self.assertEqual(str(error), "\n".join(map(str, error.diagnostics)))

    def test_quantize_takes_any_iterator(self):
        whole, report = dovetail.quantize(FLOAT, {"image": self.images[:40]})
        self.assertEqual(report["rows"], 40)
        self.assertRegex(repr(dovetail.Quantized(whole, report)), "<dovetail.Quantized <dovetail.Model digits")
        expected = self.saved(whole)
        batches = [self.images[:40][i : i + 8] for i in range(0, 40, 8)]
        for samples in (
            [{"image": each} for each in batches],
            batches,
            iter(batches),
            (each for each in self.images[:40]),  # without the axis of the batch
            (each[np.newaxis].astype(np.float32) for each in self.images[:40]),
            {"image": np.repeat(self.images[:40], 2, axis=3)[..., ::2]},  # not contiguous
        ):
            self.assertEqual(self.saved(dovetail.quantize(FLOAT, samples).model), expected)
        accuracy = dovetail.compile(whole, "cpu").session().evaluate({"image": self.images}, self.labels).accuracy
        self.assertGreater(accuracy, 0.95)

    def saved(self, model):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            model.save(path)
            return path.read_bytes()

    def test_quantize_refuses(self):
        image = {"image": self.images[:4]}
        for samples, options, why in (
            ([], {}, "there are none"),
            (3, {}, "its type is int"),
            ("path", {}, "its type is str"),
            ({"nonesuch": self.images}, {}, "nonesuch"),
            ([self.images[0, 0, 0]], {}, "neither one sample's nor a batch's"),
            ({}, {}, "there are none"),
            ({"image": self.images[:0]}, {}, "there are none"),
            ([self.images[:0]], {}, "there are none"),
            ([(self.images[:4], self.labels[:4])], {}, r"give \(x for x, _ in loader\)"),
            ([{"image": self.images[:4]}, {}], {}, "a sample has no 'image'"),
            ([self.images[:4], np.zeros((4, 1, 8, 9), np.float32)], {}, "give samples of one shape"),
            (image, {"calibration": "magic"}, "magic"),
            (image, {"tail": 0.1}, "percentiles alone"),
            (image, {"keep_float": ["nonesuch"]}, "nonesuch"),
            ({"image": np.full((4, 1, 8, 8), np.nan, np.float32)}, {}, "element 0 is NaN"),
            (image, {"measured_samples": -1}, "measured_samples"),
        ):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                dovetail.quantize(FLOAT, samples, **options)

    def test_quantize_limits_and_resumes(self):
        image = {"image": self.images[:40]}
        with tempfile.TemporaryDirectory() as cache, unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=cache):
            expected = self.saved(dovetail.quantize(FLOAT, image).model)
            self.assertEqual(self.saved(dovetail.quantize(FLOAT, image, memory_limit="4GiB").model), expected)
            with self.assertRaisesRegex(dovetail.InputError, "set the limit to at least"):
                dovetail.quantize(FLOAT, image, memory_limit=1 << 20)
            with self.assertRaisesRegex(dovetail.InputError, "512MiB"):
                dovetail.quantize(FLOAT, image, memory_limit="much")

            def stop(what, done, total):
                if what == "comparison" and done > 20:
                    raise KeyboardInterrupt

            with self.assertRaises(KeyboardInterrupt):
                dovetail.quantize(FLOAT, image, progress=stop, resume=True)
            kept = os.path.join(cache, "dovetail", "quantize")
            self.assertEqual(len(os.listdir(kept)), 1)
            compared = []

            def note(what, done, total):
                if what == "comparison":
                    compared.append(done)

            resumed = dovetail.quantize(FLOAT, image, progress=note, resume=True).model
            self.assertEqual(self.saved(resumed), expected)
            self.assertGreater(compared[0], 20)
            self.assertEqual(os.listdir(kept), [])

    def test_quantize_options(self):
        image = {"image": self.images[:20]}
        model, report = dovetail.quantize(FLOAT, image, calibration="percentile", tail=0.001, per_tensor=True,
                                          powers_of_two=True, symmetric=True, equalize=True, correct_biases=True,
                                          measured_samples=4)
        self.assertEqual(report["kind"], "quantize")
        self.assertNotEqual(self.saved(model), self.saved(dovetail.quantize(FLOAT, image).model))


if __name__ == "__main__":
    unittest.main()
