#!/usr/bin/env python3
"""An installed kit is complete, and refers to no other file of this machine."""

import pathlib
import re
import sys
import tempfile
import unittest

from kit import BINARY, FIRST, PREFIX, PROGRAM, SOURCE, run

sys.path.insert(0, str(SOURCE / "tools"))
from check_links import FENCED, INLINE_CODE, LINK  # noqa: E402


def files():
    return [path for path in PREFIX.rglob("*") if path.is_file() and not path.is_symlink()]


class Contents(unittest.TestCase):
    def test_nothing_refers_to_the_sources_the_build_or_the_first_folder(self):
        folders = [str(folder).encode() for folder in (SOURCE, BINARY, FIRST)]
        found = []
        for path in files():
            content = path.read_bytes()
            found += [f"{path}: {folder}" for folder in folders if folder in content]
        self.assertEqual(found, [])
        self.assertGreater(len(files()), 300)

    def test_links_lead_to_files_of_the_kit(self):
        links = [path for path in PREFIX.rglob("*") if path.is_symlink()]
        self.assertTrue(links)
        for link in links:
            self.assertTrue(link.exists() and link.resolve().is_relative_to(PREFIX.resolve()), link)

    def test_every_header_finds_what_it_includes(self):
        root = PREFIX / "include" / "dovetail"
        self.assertTrue((root / "simulator/systemc/accelerator.h").is_file())
        for header in root.rglob("*.h"):
            for included in re.findall(r'^#include "([^"]+)"', header.read_text(), re.MULTILINE):
                self.assertTrue((root / included).is_file(), f"{header} includes {included}")

    def test_the_design_the_examples_the_pages_and_the_tables_are_there(self):
        share = PREFIX / "share" / "dovetail"
        folders = {"hw/rtl": "hw/rtl", "hw/sva": "hw/sva", "hw/tb": "hw/tb", "hw/syn": "hw/syn", "examples": "examples", "docs": "../doc/dovetail/docs"}
        for folder, into in folders.items():
            for path in (SOURCE / folder).rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    installed = share / into / path.relative_to(SOURCE / folder)
                    self.assertTrue(installed.is_file() and installed.read_bytes() == path.read_bytes(), installed)
        for name in ("energy/cmos45.json", "energy/cmos7.json", "technology/cmos28.json", "dram/hbm3.json",
                     "simulator/rtl/model_api.h", "../doc/dovetail/README.md", "../doc/dovetail/LICENSE"):
            self.assertTrue((share / name).is_file(), name)

    def test_links_between_pages_hold(self):
        for page in (PREFIX / "share" / "doc" / "dovetail").rglob("*.md"):
            for target in LINK.findall(INLINE_CODE.sub("", FENCED.sub("", page.read_text()))):
                target = target.split("#")[0]
                if target.endswith(".md") and ":" not in target and not target.endswith("SECURITY.md"):
                    self.assertTrue((page.parent / target).exists(), f"{page}: {target}")

    @unittest.skipUnless((BINARY / "completions").is_dir(), "this build makes no completions")
    def test_completions_are_where_shells_look_for_them(self):
        for name, place in (("dovetail.bash", "bash-completion/completions/dovetail"), ("_dovetail", "zsh/site-functions/_dovetail"),
                            ("_dovetail", "zsh/vendor-completions/_dovetail"), ("dovetail.fish", "fish/vendor_completions.d/dovetail.fish")):
            self.assertEqual((PREFIX / "share" / place).read_bytes(), (BINARY / "completions" / name).read_bytes())

    def test_the_program_runs_from_any_folder_and_through_a_link(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("1x16x16-ext", run(PROGRAM, "hw", "list", cwd=folder))
            link = pathlib.Path(folder) / "dovetail"
            link.symlink_to(PROGRAM)
            self.assertIn("mm", run(link, "hw", "area", "tiny", "--estimate", cwd=folder))


if __name__ == "__main__":
    unittest.main()
