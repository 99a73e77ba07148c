#!/usr/bin/env python3
"""The libraries of the wheels, made of the objects of the build: what they need of a system, and what they export."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BINARY = pathlib.Path(os.environ["DOVETAIL_BINARY_DIR"])
HEADER = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"]) / "capi/include/dovetail.h"
FOLDERS = {name: BINARY / "wheel" / f"wheel_{name}" / "lib" for name in ("runtime", "compiler")}
RUNTIME, COMPILER = FOLDERS["runtime"] / "libdovetail_runtime.so.1", FOLDERS["compiler"] / "libdovetail.so.1"
GLIBC = (2, 35)
SYSTEM = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
GRAFTED = {"libpng16.so.16", "libjpeg.so.62", "libyaml-0.so.2"}  # auditwheel adds them


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True).stdout


class Libraries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        targets = run("cmake", "--build", BINARY, "--target", "help")
        if "wheel_compiler" not in targets or "-fsanitize" in os.environ.get("DOVETAIL_CXX_FLAGS", ""):
            print("there is no lld, or an archive is missing, or a sanitizer is linked in")
            sys.exit(77)
        run("cmake", "--build", BINARY, "--target", "wheel_runtime", "wheel_compiler")
        cls.libraries = [path for folder in FOLDERS.values() for path in folder.rglob("*.so*")]

    def test_they_need_hardly_anything(self):
        for library in (RUNTIME, COMPILER):
            needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", library)))
            self.assertLessEqual(needed, SYSTEM | (GRAFTED if library == COMPILER else set()), library)
            self.assertNotIn("RUNPATH", run("readelf", "-d", library))

    def test_an_older_glibc_has_what_they_call(self):
        for library in self.libraries:
            versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", run("readelf", "--dyn-syms", "-W", library))
            self.assertLessEqual(max((int(major), int(minor)) for major, minor in versions), GLIBC, library)

    def test_they_export_the_interface_alone(self):
        runtime, compiler = HEADER.read_text().split("/* ==== With the compiler")
        for library, text in ((RUNTIME, runtime), (COMPILER, runtime + compiler)):
            lines = run("nm", "-D", "--defined-only", library).splitlines()
            exported = {line.split()[-1].split("@")[0] for line in lines}
            functions = set(re.findall(r"^DVT_API [^;(]*?(dvt_\w+)\(", text, re.MULTILINE))
            self.assertEqual(exported - {"DVT_1.0"}, functions)

    def test_a_host_keeps_its_own_copies(self):
        """A program that exports functions of LLVM, SQLite, OpenSSL, zlib and protobuf: the library calls none of them."""
        with tempfile.TemporaryDirectory() as folder:
            host = f"{folder}/host"
            run("c++", "-std=c++17", "-rdynamic", f"-I{HEADER.parent}", pathlib.Path(__file__).parent / "host.cpp",
                COMPILER, f"-Wl,-rpath,{COMPILER.parent}", "-o", host)
            model = HEADER.parents[2] / "examples/digits/digits_int8.onnx"
            self.assertEqual(run("env", f"XDG_STATE_HOME={folder}", host, model, folder), "compiled, tuned and ran\n")


if __name__ == "__main__":
    unittest.main()
