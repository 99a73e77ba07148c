#!/usr/bin/env python3
"""The installed examples, built separately against the kit, and run. ./dev test builds one in C++, and sweeps one space (tools/tier.py)."""

import shutil
import sys
import unittest

from kit import PREFIX, PROGRAM, SOURCE, WORK, configure, exported, run

sys.path.insert(0, str(SOURCE / "tools"))
import tier  # noqa: E402

EXAMPLES, FOLDER, BUILD = PREFIX / "share/dovetail/examples", WORK / "examples", WORK / "examples" / "build"
FLOAT, INT8 = EXAMPLES / "digits/digits_float.onnx", EXAMPLES / "digits/digits_int8.onnx"


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        configure(EXAMPLES, BUILD)
        cls.judged, words = tier.judged(["backend_c", "digits_demo", "systemc_region", "generate_matmul"], ["backend_c"])
        print(f"C++ examples: {words}", file=sys.stderr)

    def build(self, name):
        if name not in self.judged:
            self.skipTest("left to ./dev test --all")
        run("cmake", "--build", BUILD, "--parallel", "1", "--target", name)
        return next(path for path in BUILD.rglob(name) if path.is_file())

    def test_backend_c(self):
        self.assertIn("equal up to rounding", run(self.build("backend_c"), FLOAT, "--target", "c,cpu"))

    def test_digits(self):
        program = self.build("digits_demo")
        # A user's program: it finds the design and its models through the kit on the PATH.
        self.assertIn("All agree, bit for bit.", run(program, FOLDER, "--images", "4", PATH=f"{self.without_verilator()}:{PREFIX / 'bin'}:/usr/bin:/bin"))

    def without_verilator(self):
        """A folder for the beginning of the PATH whose verilator does not work."""
        folder = FOLDER / "no_verilator"
        folder.mkdir(exist_ok=True)
        script = folder / "verilator"
        script.write_text("#!/bin/sh\nexit 1\n")
        script.chmod(0o755)
        return folder

    def test_systemc_and_driver(self):
        if "systemc" not in exported():
            self.skipTest("built without SystemC")
        program = self.build("systemc_region")
        run(PROGRAM, "compile", INT8, "--target", "accel", "--hw", "1x16x16-ext", "--emit", FOLDER / "emitted")
        region = sorted(path for path in (FOLDER / "emitted").iterdir() if path.is_dir())[0]
        self.assertRegex(run(program, region), "[0-9]+ cycles")

    def test_generator(self):
        program = FOLDER / "generated.bin"
        self.assertIn("instructions; uops at", run(self.build("generate_matmul"), "8", "2", program, FOLDER / "uops.bin"))
        self.assertIn("gemm", run(PROGRAM, "disasm", program, "--hw", "1x16x16"))

    def test_driver_is_c(self):
        run(PROGRAM, "isa", "--format", "c", "-o", FOLDER / "dovetail_isa.h")
        for source in ("dovetail_driver.c", "dovetail_machine.c", "platform_linux.c"):
            run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-I", FOLDER, "-c", EXAMPLES / "driver" / source, "-o", FOLDER / "driver.o")

    def test_assembly(self):
        source = EXAMPLES / "assembly/matmul.s"
        run(PROGRAM, "check", source)
        run(PROGRAM, "asm", source, "-o", FOLDER / "matmul.bin", "--image", FOLDER / "matmul.image", "--map", FOLDER / "matmul.json")
        self.assertRegex(run(PROGRAM, "simulate", source, "--engine", "cycle"), "[0-9]+ cycles")

    def test_explore(self):
        run(PROGRAM, "zoo", "resnet8", "--int8", "--samples", "2", "-o", FOLDER / "resnet8.onnx")
        spaces, _ = tier.judged(sorted((EXAMPLES / "explore").glob("*.json")), [EXAMPLES / "explore/space.json"])
        for space in spaces:
            # Numeric choices quantize a float model.
            model = [FOLDER / "resnet8.onnx"]
            if "weight_scales" in space.read_text():
                model = [EXAMPLES / "digits/digits_float.onnx", "--samples", EXAMPLES / "digits/test_images.npy"]
            said = run(PROGRAM, "explore", model[0], space, *model[1:], "-o", FOLDER / space.stem, "--points", "4")
            self.assertRegex(said, "[1-9][0-9]* measured")


if __name__ == "__main__":
    unittest.main()
