#!/usr/bin/env python3
"""find_package(dovetail) with missing dependencies: each missing part is reported with the command that installs it, and is an error where it was requested."""

import unittest

from kit import WORK, configure, exported

NO_SYSTEMC, NO_LLVM = "-DCMAKE_DISABLE_FIND_PACKAGE_DovetailSystemC=TRUE", "-DCMAKE_DISABLE_FIND_PACKAGE_DovetailLLVM=TRUE"


class FindPackage(unittest.TestCase):
    def find(self, components, *options, targets=(), status=0):
        folder = WORK / "find_package"
        folder.mkdir(parents=True, exist_ok=True)
        lines = ["cmake_minimum_required(VERSION 3.25)", "project(mine LANGUAGES CXX)", f"find_package(dovetail 0.1 REQUIRED {components})"]
        lines += [f"if(NOT TARGET dovetail::{target})\n  message(FATAL_ERROR \"no {target}\")\nendif()" for target in targets]
        (folder / "CMakeLists.txt").write_text("\n".join(lines) + "\n")
        return " ".join(configure(folder, folder / "build", *options, status=status).split())  # CMake breaks lines

    def test_all_targets_are_there(self):
        said = self.find("", targets=[*exported(), "dovetail"])
        if "systemc" in exported():
            self.assertNotIn("left out", said)

    def test_a_missing_part_is_named_with_its_installation(self):
        said = self.find("", NO_SYSTEMC, NO_LLVM, targets=["runtime", "accel", "simulator"])
        self.assertIn("dovetail::cpu, dovetail::explore and dovetail::driver need LLVM 19: sudo apt-get install llvm-19-dev liblld-19-dev", said)
        self.assertIn("sudo apt-get install libsystemc-dev pkgconf" if "systemc" in exported() else "./dev deps", said)

    def test_a_requested_part_that_is_missing_is_an_error(self):
        self.assertIn("llvm-19-dev", self.find("COMPONENTS runtime cpu", NO_LLVM, status=1))
        self.assertIn("libsystemc-dev" if "systemc" in exported() else "./dev deps", self.find("COMPONENTS systemc", NO_SYSTEMC, status=1))
        self.assertIn("nonesuch", self.find("COMPONENTS nonesuch", status=1))


if __name__ == "__main__":
    unittest.main()
