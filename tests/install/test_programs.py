#!/usr/bin/env python3
"""docs/howto/installing.md has a program for every target of the package; each is built from the page's text, runs, and prints the output on the page.

./dev test builds those of SAMPLE (tools/tier.py).
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import unittest

from kit import PAGE, PREFIX, PROGRAM, SOURCE, WORK, configure, environment, exported, run

sys.path.insert(0, str(SOURCE / "tools"))
import tier  # noqa: E402

SECTION = re.compile(r"^### `dovetail::(\w+)`\n+```cpp\n(.*?)^```\n+```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FOLDER, BUILD = WORK / "programs", WORK / "programs" / "build"

# base has the headers that the others share; runtime is for applications that run bundles, accel for those that compile.
SAMPLE = ("base", "runtime", "accel")
# Headers that most of them include, compiled once. systemc is compiled with its own definition.
COMMON = "<cstdio> <functional> <map> <optional> <span> <string> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp>"


def first_image(folder):
    """The first of the digits' test images, as a separate .npy."""
    images = (PREFIX / "share/dovetail/examples/digits/test_images.npy").read_bytes()
    data = 10 + struct.unpack_from("<H", images, 8)[0]
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 8, 8), }".ljust(117) + b"\n"
    path = folder / "image.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + images[data:data + 256])
    return path


def arguments_of(name):
    model = PREFIX / "share/dovetail/examples/digits/digits_int8.onnx"
    if name in ("accel", "driver"):
        return [model]
    if name == "runtime":
        run(PROGRAM, "compile", model, "--target", "accel", "--hw", "1x16x16-ext", "-o", FOLDER / "digits.dvt")
        return [FOLDER / "digits.dvt", first_image(FOLDER)]
    return []


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        page = PAGE.read_text()
        cls.programs = {name: (text, printed) for name, text, printed in SECTION.findall(page)}
        cls.here, words = tier.judged([name for name in cls.programs if name in exported()], SAMPLE)
        cls.here.sort(key=lambda name: name != "base")
        print(f"programs: {words}", file=sys.stderr)
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        lines = ["cmake_minimum_required(VERSION 3.25)", "project(programs LANGUAGES CXX)", f"find_package(dovetail 0.1 REQUIRED COMPONENTS {' '.join(cls.here)})"]
        for name in cls.here:
            (FOLDER / f"{name}.cpp").write_text(cls.programs[name][0])
            lines += [f"add_executable({name} {name}.cpp)", f"target_link_libraries({name} PRIVATE dovetail::{name})"]
            if name == "base":
                lines += [f"target_precompile_headers(base PRIVATE {COMMON})"]
            elif name != "systemc":
                lines += [f"target_precompile_headers({name} REUSE_FROM base)"]
        # The program of the kit, as on the page.
        lines += [re.search(r"^add_custom_command\(.*\)$", page, re.MULTILINE).group(), "add_custom_target(header ALL DEPENDS dovetail_isa.h)"]
        (FOLDER / "CMakeLists.txt").write_text("\n".join(lines) + "\n")
        configure(FOLDER, BUILD)
        run("cmake", "--build", BUILD, "--parallel", "1")

    def test_every_target_has_a_program_and_a_row(self):
        self.assertEqual(exported() - set(self.programs), set())
        self.assertLessEqual(set(self.programs) - exported(), {"systemc"})
        for name in self.programs:
            self.assertRegex(PAGE.read_text(), rf"(?m)^\|.*`dovetail::{name}`.*\|$")

    def test_each_prints_the_output_on_the_page(self):
        path = f"{PREFIX / 'bin'}:{os.environ['PATH']}"  # through which the area model's files are found
        for name in self.here:
            with self.subTest(name):
                command = [str(word) for word in (BUILD / name, *arguments_of(name))]
                printed = subprocess.run(command, cwd=FOLDER, text=True, check=True, env=environment(PATH=path, SYSTEMC_DISABLE_COPYRIGHT_MESSAGE="1"), stdout=subprocess.PIPE).stdout
                self.assertEqual(printed, self.programs[name][1])

    def test_only_what_is_linked_is_loaded(self):
        for name, absent in (("accel", "libLLVM"), ("simulator", "libsystemc"), ("runtime", "libLLVM")):
            if name in self.here:
                self.assertNotIn(absent, run("ldd", BUILD / name))

    def test_the_program_of_the_kit_makes_files_of_a_build(self):
        self.assertIn("DOVETAIL_REG_", (BUILD / "dovetail_isa.h").read_text())


if __name__ == "__main__":
    unittest.main()
