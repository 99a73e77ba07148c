#!/usr/bin/env python3
"""Which library is opened, what the one that only runs bundles refuses, and progress bars."""
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

from environment import DIGITS, finish, package, run, start

import dovetail
from dovetail import _library, _prototypes, _work

RUNTIME = pathlib.Path(dovetail.library_path).parent / "libdovetail_runtime.so.1"


class Library(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def with_library(self, path, program):
        with mock.patch.dict(os.environ, {"DOVETAIL_LIBRARY": str(path)}):
            return run(program)

    def test_the_library_that_runs_bundles(self):
        dovetail.compile(DIGITS / "digits_int8.onnx", "accel,cpu", "1x16x16-ext").save(f"{self.folder}/digits.dvt")
        out = self.with_library(RUNTIME, f"""
import numpy as np, dovetail
assert not dovetail.has_compiler and dovetail.library_path == {str(RUNTIME)!r}
session = dovetail.Session({self.folder + "/digits.dvt"!r}, engine="cycle")
image = {{"image": np.load({str(DIGITS / "test_images.npy")!r})[:1]}}
assert (session.run(image)["logits"] == session.bind(image).run()["logits"]).all()
assert session.report["engine"] == "cycle" and "cycle" in [each["name"] for each in dovetail.engines()]
assert dovetail.hardware("tiny").batch == 1
for call in (
    lambda: dovetail.compile("x.onnx", "cpu"),
    lambda: dovetail.targets(),
    lambda: session.bundle.verify(),
    lambda: session.energy(),
    lambda: session.check(image),
    lambda: session.evaluate(image),
    lambda: dovetail.hardware("tiny").area(),
    lambda: dovetail.quantize("x.onnx", image),
    lambda: dovetail.tune("x.onnx", "cpu", records="r.db"),
    lambda: dovetail.explore("x.onnx", {{}}, "sweep"),
    lambda: dovetail.Program("finish"),
    lambda: dovetail.compare("x.onnx"),
    lambda: dovetail.compile_stages("x.onnx", "cpu"),
    lambda: dovetail.Records("r.db").list(),
    lambda: dovetail.zoo_model("resnet8"),
    lambda: dovetail.inspect("x.onnx"),
    lambda: dovetail.doctor(),
    lambda: session.bundle.programs(),
    lambda: session.trace(image).summary(),
):
    try:
        call()
    except dovetail.InputError as error:
        assert "only runs bundles" in error.why and "pip install dovetail-kit" in error.hint, error
    else:
        raise AssertionError(call)
""")
        self.assertEqual(out, "")

    def test_a_library_that_is_not_there_or_another_one(self):
        for path, why in (("/nonesuch/libdovetail.so.1", "/nonesuch/libdovetail.so.1"),
                          ("libc.so.6", "ImportError: dovetail: libc.so.6 is not a library of the kit")):
            with mock.patch.dict(os.environ, {"DOVETAIL_LIBRARY": path}):
                status, out, errors = finish(start("import dovetail"))
            self.assertEqual((status, out), (1, ""))
            self.assertIn(why, errors.splitlines()[-1])

    def test_an_older_and_another_library(self):
        with mock.patch.dict(os.environ, {"DOVETAIL_LIBRARY": dovetail.library_path}):
            with mock.patch.dict(_prototypes.RUNTIME, {"dvt_nonesuch": (None, [])}):
                older = _library.Library()
            with self.assertRaisesRegex(dovetail.InputError, "is older than this package"):
                older.dvt_nonesuch()
            with self.assertRaisesRegex(AttributeError, "dovetail.h has no function dvt_nothing"):
                older.dvt_nothing
            with mock.patch.object(_prototypes, "VERSION", (2, 0)):
                with self.assertRaisesRegex(ImportError, "has version 1 of the interface, and this package needs 2"):
                    _library.Library()

    def test_the_order_of_places(self):
        names = [str(path) for path in _library._files()]
        self.assertIn("dovetail/lib/libdovetail_runtime.so.1", names[-3])
        self.assertTrue(names[-2].endswith("build/release/lib/libdovetail.so.1"), names)

    def test_bars(self):
        package("tqdm")
        program = f"""
import sys, types
import numpy as np, dovetail
from dovetail import _work
class Shell:
    kernel = 1
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: Shell)
shown = []
class Bar:
    def __init__(self, total, desc, leave, delay):
        self.n, self.total = 0, total
        shown.append(desc)
    def update(self, count):
        self.n += count
        assert 0 <= self.n <= self.total
    def close(self):
        shown.append("closed")
sys.modules["tqdm.auto"] = types.SimpleNamespace(tqdm=Bar)
dovetail.compile({str(DIGITS / "digits_int8.onnx")!r}, "cpu")
session = dovetail.compile({str(DIGITS / "digits_int8.onnx")!r}, "cpu", progress=False).session()
session.evaluate({{"image": np.load({str(DIGITS / "test_images.npy")!r})}})
try:
    session.evaluate(1 / 0 for _ in range(2))
except ZeroDivisionError:
    pass
print(shown)
"""
        shown = run(program)
        self.assertRegex(shown, r"^\['compile: .*'closed', 'evaluate: samples', 'closed'\]\n$")

    def test_bars_of_widgets(self):
        """A notebook's file keeps nothing of a bar that has ended."""
        shown = []

        class Bar:
            container = "widgets"

            def __init__(self, total, desc, leave, delay):
                self.n = 0

            def update(self, count):
                self.n += count

            def close(self):
                shown.append("closed")

        class Output:
            def update(self, content, raw):
                shown.append(content)

        def display(content, display_id):
            shown.append(content)
            return Output()

        bars = _work._Bars(Bar, "tune")
        with mock.patch.dict(sys.modules, {"IPython.display": types.SimpleNamespace(display=display)}):
            bars("short", 1, 2)
            self.assertTrue(bars._bar.displayed)  # not by tqdm
            with mock.patch.object(_work._Bars, "DELAY_S", -1):
                bars("long", 1, 2)
                bars("long", 2, 2)
            bars.close()
            bars.close()
        self.assertEqual(shown, ["closed", "widgets", "closed", {"text/plain": ""}])


if __name__ == "__main__":
    unittest.main()
