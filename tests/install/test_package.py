#!/usr/bin/env python3
"""The Debian packages: their contents and dependencies, and that the program runs where they are unpacked."""

import re
import shutil
import subprocess
import sys
import unittest

from kit import BINARY, PREFIX, SOURCE, WORK, environment, run

FOLDER = WORK / "packages"

TOOLS = ("cpack", "dpkg-shlibdeps", "dpkg-deb", "file")
# Requirements of lintian that do not apply to a package outside Debian.
NOT_DEBIANS = {"no-changelog", "bogus-mail-host", "copyright-without-copyright-notice"}


@unittest.skipUnless(all(map(shutil.which, TOOLS)), f"one of {', '.join(TOOLS)} is missing")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        # The least compression takes a tenth of the time.
        run("cpack", "--config", BINARY / "CPackConfig.cmake", "-B", FOLDER, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
        cls.root = FOLDER / "root"
        cls.files, cls.fields = {}, {}
        for file in FOLDER.glob("*.deb"):
            name = file.name.split("_")[0]
            cls.files[name] = file
            cls.fields[name] = dict(re.findall(r"^([\w-]+): (.*)$", run("dpkg-deb", "-f", file), re.MULTILINE))
            run("dpkg-deb", "-x", file, cls.root)

    def test_there_are_five(self):
        self.assertEqual(set(self.files), {"dovetail", "libdovetail-dev", "libdovetail1", "libdovetail-runtime1", "python3-dovetail"})

    def test_dependencies(self):
        kit, dev = self.fields["dovetail"], self.fields["libdovetail-dev"]
        # As dpkg-shlibdeps finds them: every library that the program loads is one of the dependencies.
        for library in ("libc6", "libfmt", "libllvm19", "libsqlite3-0", "libssl3", "zlib1g"):
            self.assertIn(library, kit["Depends"])
        if list((PREFIX / "lib/dovetail").glob("*systemc*")):
            self.assertIn("libsystemc", kit["Depends"])
        self.assertNotRegex(kit["Depends"], r"-dev\b")
        for package in ("verilator", "g++", "libxgboost0"):
            self.assertIn(package, kit["Recommends"])
        self.assertIn(f"dovetail (= {kit['Version']})", dev["Depends"])
        self.assertIn("libfmt-dev", dev["Depends"])
        for library in ("libdovetail1", "libdovetail-runtime1"):
            self.assertIn(f"{library} (= {kit['Version']})", dev["Depends"])
        self.assertIn("libllvm19", self.fields["libdovetail1"]["Depends"])
        self.assertNotRegex(self.fields["libdovetail-runtime1"]["Depends"], "libllvm|sqlite|png")
        python = self.fields["python3-dovetail"]
        self.assertEqual(python["Architecture"], "all")
        for package in ("python3-numpy", f"libdovetail1 (= {python['Version']})"):
            self.assertIn(package, python["Depends"])
        self.assertIn("libsystemc-dev", dev["Recommends"])
        self.assertRegex(kit["Version"], r"^\d+\.\d+\.\d+-\d+$")

    def test_all_hold_what_an_installed_kit_does(self):
        installed = {path.relative_to(PREFIX) for path in PREFIX.rglob("*") if not path.is_dir()}
        packed = {path.relative_to(self.root / "usr") for path in (self.root / "usr").rglob("*") if not path.is_dir()}
        self.assertEqual(packed, installed)
        self.assertEqual([path.name for path in self.root.iterdir()], ["usr"])

    def test_files_are_roots_and_readable_by_all(self):
        for file in self.files.values():
            for line in run("dpkg-deb", "-c", file).splitlines():
                self.assertRegex(line, r"^(d|-|l)rw[x-]r[w-][x-]r[w-][x-] root/root ")
        kit = run("dpkg-deb", "-c", self.files["dovetail"])
        for path in ("./usr/bin/dovetail", "./usr/share/dovetail/hw/rtl/dovetail_top.sv", "./usr/share/doc/dovetail/README.md"):
            self.assertIn(path, kit)
        self.assertNotIn("/include/", kit)

    def test_the_program_runs_where_it_is_unpacked(self):
        program = self.root / "usr/bin/dovetail"
        self.assertIn("engines", run(program, "doctor"))
        model = self.root / "usr/share/dovetail/examples/digits/digits_int8.onnx"
        self.assertIn("all equal", run(program, "run", model, "--target", "accel,cpu", "--hw", "1x16x16-ext", "--check", cwd=FOLDER))

    def test_nothing_refers_to_the_sources_or_the_build(self):
        for path in self.root.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                for folder in (SOURCE, BINARY):
                    self.assertFalse(str(folder).encode() in content, f"{path}: {folder}")

    @unittest.skipUnless(shutil.which("lintian"), "no lintian")
    def test_lintian_finds_no_errors(self):
        for file in self.files.values():
            said = subprocess.run(["lintian", "--fail-on", "none", "--allow-root", str(file)], stdout=subprocess.PIPE, text=True, env=environment(), check=False).stdout
            errors = [line for line in said.splitlines() if line.startswith("E:") and line.split()[2] not in NOT_DEBIANS]
            self.assertEqual(errors, [])


if __name__ == "__main__":
    unittest.main()
