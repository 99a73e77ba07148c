#!/usr/bin/env python3
"""Hardware as a value."""
import json
import os
import pathlib
import tempfile
import unittest
import unittest.mock

from environment import DIGITS, HARDWARE, run

import numpy as np

import dovetail


class Hardware(unittest.TestCase):
    def test_a_value(self):
        base = dovetail.hardware(HARDWARE)
        small = dovetail.hardware(HARDWARE, inp_buffer_bytes=8192, requant=False)
        self.assertEqual((small.block_in, small.inp_buffer_bytes, small.requant), (16, 8192, False))
        self.assertEqual(str(small), "1x16x16-ext,inp_buffer_bytes=8192,requant=false")
        self.assertEqual(repr(small), "<dovetail.Hardware 1x16x16-ext,inp_buffer_bytes=8192,requant=false>")
        self.assertNotEqual(small, base)
        self.assertEqual(small, base.replace(requant=False).replace(inp_buffer_bytes=8192))
        self.assertEqual(small.replace(inp_buffer_bytes=base.inp_buffer_bytes, requant=True), base)
        self.assertEqual(len({small, base, dovetail.hardware(str(small)), dovetail.hardware(small)}), 2)
        self.assertNotEqual(small, "1x16x16-ext")
        self.assertEqual(base.replace(clock_mhz=300).clock_mhz, 300)
        self.assertEqual(base.memory, "ideal")
        self.assertIn("wgt_buffer_bytes", dir(base))
        for change in (lambda: setattr(base, "batch", 2), lambda: delattr(base, "batch")):
            with self.assertRaisesRegex(AttributeError, "a hardware is a value"):
                change()
        with self.assertRaisesRegex(AttributeError, "the hardware has no parameter warp; it has name, batch, "):
            base.warp

    def test_what_does_not_fit(self):
        for name, parameters, why in (
            ("nonesuch", {}, "this is neither a named configuration nor a file"),
            ("tiny", {"warp": 1}, "no parameter has this name"),
            ("tiny", {"batch": 0}, "batch"),
            ("tiny", {"batch": "many"}, "not an integer"),
            ("tiny", {"requant": np.int64(1)}, "requant"),
        ):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                dovetail.hardware(name, **parameters)
        for wrong in (None, 3):
            with self.assertRaisesRegex(TypeError, "name must be a name, a path, a dict or a Hardware"):
                dovetail.hardware(wrong)

    def test_json_and_back(self):
        for base in dovetail.named_hardware():
            self.assertEqual(dovetail.hardware(base.to_json()), base)
            changed = base.replace(command_queue_depth=17, clock_mhz=123)
            self.assertEqual(dovetail.hardware(changed.to_json()), changed)
            self.assertEqual(dovetail.hardware(json.loads(json.dumps(changed.to_json()))), changed)
        self.assertEqual(dovetail.hardware({"batch": 2}), dovetail.hardware("1x16x16", batch=2))
        self.assertEqual(dovetail.hardware({"batch": 2}, bus_bytes=16), dovetail.hardware(batch=2, bus_bytes=16))
        with self.assertRaisesRegex(dovetail.InputError, "write a JSON file"):
            dovetail.hardware({"system": {"memory": "ideal:latency=64,bytes=0"}})
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mine.json"
            path.write_text(json.dumps({**dovetail.hardware("tiny").to_json(), "name": "mine", "batch": 2}))
            mine = dovetail.hardware(path, bus_bytes=16)
            self.assertEqual(mine, dovetail.hardware("tiny", batch=2, bus_bytes=16))
            self.assertEqual(str(mine), f"{path},bus_bytes=16")

    def test_it_is_accepted_wherever_a_hardware_is(self):
        image = {"image": np.load(DIGITS / "test_images.npy")[:1]}
        model = DIGITS / "digits_int8.onnx"
        expected = dovetail.compile(model, "cpu").session().run(image)["logits"]
        small = dovetail.hardware(HARDWARE, inp_buffer_bytes=8192)
        for hardware in (small, str(small), small.to_json()):
            bundle = dovetail.compile(model, "accel,cpu", hardware)
            self.assertEqual(bundle.describe()["hardware"]["inp_buffer_bytes"], 8192)
            np.testing.assert_array_equal(bundle.session().run(image)["logits"], expected)

    def test_area(self):
        tiny, large = dovetail.hardware("tiny").area(), dovetail.hardware("1x32x32").area()
        self.assertLess(0, tiny["area_mm2"])
        self.assertLess(tiny["area_mm2"], large["area_mm2"])
        self.assertEqual(dovetail.hardware("tiny").area("generic")["flow"], "generic")
        small = dovetail.hardware("tiny").area(technology="cmos7")
        self.assertEqual(small["gates"], tiny["gates"])
        self.assertLess(small["area_mm2"], tiny["area_mm2"])
        self.assertIn("7 nm, example", small["technology"])
        with self.assertRaisesRegex(dovetail.InputError, "nonesuch"):
            dovetail.hardware("tiny").area(technology="nonesuch")
        with self.assertRaisesRegex(dovetail.InputError, "a flow has its own technology"):
            dovetail.hardware("tiny").area("generic", technology="cmos7")
        # 4 x 4 products of 8 x 8 bits, and three DSPs for the product of 32 x 32 bits in each of 4 lanes.
        for flow in ("xc7:estimate", "xcup:estimate"):
            self.assertEqual(dovetail.hardware("tiny").area(flow)["dsp"], 4 * 4 + 3 * 4)
        self.assertEqual(dovetail.hardware("tiny", accelerators=3).area("xc7:estimate")["dsp"], 3 * 28)
        with self.assertRaisesRegex(dovetail.InputError, "give null, generic, xc7, xcup, xc7:estimate or xcup:estimate"):
            dovetail.hardware("tiny").area("asic")

    def test_engines_and_targets(self):
        self.assertIn("cycle", [each["name"] for each in dovetail.engines()])
        self.assertIn("accel", [each["name"] for each in dovetail.targets()])

    def test_rtl_models_that_are_built(self):
        program = "import dovetail, json; print(json.dumps([e for e in dovetail.engines() if e['name'] == 'rtl'][0]))"
        rtl = json.loads(run(program))
        self.assertEqual(rtl["available"] or bool(rtl["missing"]), True)
        self.assertLessEqual(set(rtl["models"]), {str(each) for each in dovetail.named_hardware()})
        kit = pathlib.Path(dovetail.library_path).resolve().parent.parent
        with tempfile.TemporaryDirectory() as folder:  # the same kit, without models
            os.makedirs(f"{folder}/lib/dovetail")
            os.symlink(kit / "share", f"{folder}/share")
            names = {"XDG_CACHE_HOME": folder, "DOVETAIL_RTL_MODELS": folder, "DOVETAIL_PREFIX": folder}
            with unittest.mock.patch.dict(os.environ, names):
                rtl = json.loads(run(program))
        self.assertEqual((rtl["available"], rtl["models"]), (False, []))
        self.assertRegex(rtl["missing"], "`python -m dovetail rtl build --hw NAME` builds one|^no (verilator|g)")

    def test_save(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "wide.json"
            wide = dovetail.hardware("1x16x16-ext", inp_buffer_bytes=65536)
            wide.save(path)
            self.assertEqual(dovetail.hardware(path), wide)


if __name__ == "__main__":
    unittest.main()
