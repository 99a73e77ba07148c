#!/usr/bin/env python3
"""tools/compile_alone.py: a source that depends on the includes of another, or on the precompiled header, is detected."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", ".")).resolve()
USES = "std::string name();\n"


@unittest.skipUnless(shutil.which("g++"), "no g++")
class CompileAlone(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        self.build = self.root / "build"
        (self.build / "Unity").mkdir(parents=True)
        self.entries = []

    def source(self, name, text):
        (self.root / name).write_text(text)
        return self.root / name

    def unit(self, file, *options):
        self.entries.append({"directory": str(self.build), "file": str(file), "command": f"g++ {' '.join(options)} -o x.o -c {file}"})

    def joint(self, *files):
        unit = self.build / "Unity" / "unity_0_cxx.cxx"
        unit.write_text("".join(f'#include "{file}"\n' for file in files))
        self.unit(unit)

    def check(self):
        (self.build / "compile_commands.json").write_text(json.dumps(self.entries))
        done = subprocess.run([sys.executable, SOURCE / "tools/compile_alone.py", "--root", self.root, self.build], capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout

    def test_a_source_that_depends_on_its_neighbor(self):
        self.joint(self.source("a.cpp", "#include <string>\n" + USES), self.source("b.cpp", USES))
        status, text = self.check()
        self.assertEqual(status, 1)
        self.assertIn("b.cpp does not compile alone", text)
        self.assertIn("2 sources, 1 do not compile alone", text)

    def test_a_source_that_depends_on_the_precompiled_header(self):
        header = self.source("cmake_pch.hxx", "#include <string>\n")
        self.unit(self.source("a.cpp", USES), "-Winvalid-pch", "-include", str(header))
        self.assertEqual(self.check()[0], 1)

    def test_a_header_without_its_own_source(self):
        self.joint(self.source("a.cpp", "int x;\n"))
        self.source("h.h", USES)
        (self.build / "header_check").mkdir()
        check = self.build / "header_check" / "h.cpp"
        check.write_text('#include "h.h"\n')
        self.unit(check, f"-I{self.root}")
        status, text = self.check()
        self.assertEqual(status, 1)
        self.assertIn("h.h does not compile alone", text)
        self.assertIn("2 sources, 1 do not compile alone", text)

    def test_a_build_that_compiles_each_alone_is_skipped(self):
        self.unit(self.source("a.cpp", "int x;\n"))
        self.assertEqual(self.check(), (77, "this build compiles every source alone\n"))


if __name__ == "__main__":
    unittest.main()
