#!/usr/bin/env python3
"""The installed kit where an engine or a target lacks a dependency: each names the command that installs it. And engine rtl without missing parts."""

import json
import pathlib
import shutil
import tempfile
import unittest

from kit import PREFIX, PROGRAM, run

MODEL = PREFIX / "share/dovetail/examples/digits/digits_int8.onnx"


def on_path(*programs):
    return all(shutil.which(program) for program in programs)


class Missing(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def engine(self, name, program=PROGRAM, **changes):
        return run(program, "run", MODEL, "--target", "accel", "--hw", "tiny", "--engine", name, status=2, cwd=self.folder, **changes)

    def copy_of_the_kit(self, ignore=None):
        """Files that a test may change; all others are those of the kit."""
        prefix = self.folder / "kit"
        shutil.copytree(PREFIX / "share/dovetail", prefix / "share/dovetail", ignore=ignore)
        shutil.copytree(PREFIX / "lib/dovetail", prefix / "lib/dovetail", ignore=ignore)
        (prefix / "bin").mkdir()
        shutil.copy(PROGRAM, prefix / "bin/dovetail")
        return prefix

    def programs(self, *names):
        """A PATH with only these programs."""
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        for name in names:
            (tools / name).symlink_to(shutil.which(name))
        return tools

    def test_rtl_without_verilator_or_a_compiler(self):
        said = self.engine("rtl", PATH=self.programs("sh"))
        self.assertIn("there is no verilator on the PATH. Hint: sudo apt-get install verilator", said)
        self.assertIn("sudo apt-get install verilator", run(PROGRAM, "rtl", "find", "--hw", "tiny", status=2, PATH="/nonexistent", XDG_CACHE_HOME=self.folder))
        if on_path("verilator"):
            path = self.programs("perl", "verilator")
            self.assertIn("there is no g++ on the PATH. Hint: sudo apt-get install g++", self.engine("rtl", PATH=path))

    def test_areas_without_yosys(self):
        self.assertIn("LUT", run(PROGRAM, "hw", "area", "tiny", "--flow", "xc7", PATH="/nonexistent"))  # its area is part of the kit
        said = run(PROGRAM, "hw", "area", "tiny,inp_buffer_bytes=2048", status=2, PATH="/nonexistent")
        self.assertIn("apt-get install --no-install-recommends yosys", said)

    def test_systemc_that_this_kit_lacks(self):
        prefix = self.copy_of_the_kit(shutil.ignore_patterns("*systemc_engine*"))
        said = self.engine("systemc", program=prefix / "bin/dovetail")
        self.assertIn("cannot load engine systemc", said)
        self.assertRegex(said, "DOVETAIL_PREFIX|`./dev deps`")
        doctor = json.loads(run(prefix / "bin/dovetail", "doctor", "--json"))
        row = next(row for row in doctor["engines"] if row["name"] == "systemc")
        self.assertFalse(row["available"])
        self.assertRegex(row["missing"], "DOVETAIL_PREFIX|`./dev deps`")

    @unittest.skipUnless(any((PREFIX / "lib/dovetail").glob("*systemc_engine*")), "built without SystemC")
    def test_the_engine_systemc_is_part_of_the_kit(self):
        said = run(PROGRAM, "run", MODEL, "--target", "accel", "--hw", "1x16x16-ext", "--engine", "systemc", "--check", cwd=self.folder)
        self.assertIn("all equal", said)

    def test_processes_that_this_kit_cannot_join(self):
        prefix = self.copy_of_the_kit(shutil.ignore_patterns("*dovetail_mpi*"))
        (self.folder / "space.json").write_text('{"hardware": "1x16x16-ext", "axes": {"bus_bytes": [8]}}')
        sweep = ["explore", MODEL, self.folder / "space.json", "-o", self.folder / "out"]
        said = run(prefix / "bin/dovetail", *sweep, status=2, cwd=self.folder, OMPI_COMM_WORLD_SIZE="2")  # as mpirun sets it
        self.assertIn("cannot work in several processes", said)
        self.assertRegex(said, "DOVETAIL_PREFIX|`./dev deps`")
        self.assertRegex(json.loads(run(prefix / "bin/dovetail", "doctor", "--json"))["mpi"], "^no: .*(DOVETAIL_PREFIX|`./dev deps`)")
        run(prefix / "bin/dovetail", *sweep, cwd=self.folder)  # one process does not need MPI

    def test_a_target_without_its_compiler(self):
        said = run(PROGRAM, "compile", MODEL, "--target", "cuda", status=2, cwd=self.folder, DOVETAIL_NVRTC="/nonexistent", XDG_CACHE_HOME=self.folder)
        self.assertIn("pip3 install --target ~/.cache/dovetail/cuda", said)

    @unittest.skipUnless(on_path("verilator", "g++"), "no verilator")
    def test_rtl_is_made_of_the_design_that_was_installed(self):
        prefix = self.copy_of_the_kit()
        command = [prefix / "bin/dovetail", "rtl", "build", "--hw", "tiny", "--fast-build", "--into"]
        run(*command, self.folder / "models")
        said = run(prefix / "bin/dovetail", "rtl", "find", "--hw", "tiny", DOVETAIL_RTL_MODELS=self.folder / "models")
        self.assertIn(str(self.folder / "models"), said)
        with (prefix / "share/dovetail/hw/rtl/dovetail_alu.sv").open("a") as design:
            design.write("not SystemVerilog")
        run(*command, self.folder / "models", status=1)


if __name__ == "__main__":
    unittest.main()
