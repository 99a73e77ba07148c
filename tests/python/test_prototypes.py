#!/usr/bin/env python3
"""The package uses every function of dovetail.h, and its structs have the sizes of C's."""
import ctypes
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from environment import SOURCE

import dovetail
from dovetail import _prototypes
from dovetail._names import python_names

PACKAGE = pathlib.Path(SOURCE / "python" / "dovetail")
HEADERS = SOURCE / "capi" / "include"

# Functions that the package does not use, each with the reason.
UNUSED = {
    "dvt_status_count": "dvt_status_json has all diagnostics",
    "dvt_status_what": "likewise",
    "dvt_status_where": "likewise",
    "dvt_status_why": "likewise",
    "dvt_status_hint": "likewise",
    "dvt_status_text": "likewise",
    "dvt_tensors_view": "dvt_tensors_export has the view, and keeps the memory",
    "dvt_tensors_find": "all outputs are taken",
    "dvt_simulate": "the module of programs has it",
}


# Functions in diagnostics that a caller of the package does not see, each with the reason.
NOT_SEEN = {
    "dvt_tensors_count": "an index that the package gives",
    "dvt_tensors_export": "likewise",
    "dvt_simulate": "the module of programs has it",
}


class Prototypes(unittest.TestCase):
    def test_every_function_is_used_or_listed_with_a_reason(self):
        declared = set(re.findall(r"^DVT_API [^;(]*?\b(dvt_\w+)\(", (HEADERS / "dovetail.h").read_text(), re.MULTILINE))
        known = _prototypes.RUNTIME.keys() | _prototypes.COMPILER.keys()
        self.assertEqual(declared, known)
        used = set()
        for path in PACKAGE.rglob("*.py"):
            if path.name != "_prototypes.py":
                used |= set(re.findall(r"\b(?:lib|library)\.(dvt_\w+)", path.read_text()))
        self.assertEqual(used - known, set(), "functions that the header lacks")
        self.assertEqual(known - used, UNUSED.keys())

    def test_names_in_diagnostics_are_those_of_the_package(self):
        literals = " ".join(literal for path in (SOURCE / "capi").rglob("*.cpp")
                            for literal in re.findall(r'"(?:[^"\\]|\\.)*"', path.read_text()))
        names = set(re.findall(r"\b(?:dvt|DVT)_\w+", literals))
        self.assertGreater(len(names), 30)
        for name in names - NOT_SEEN.keys():
            translated = python_names(name)
            if name.startswith("DVT_"):
                self.assertNotEqual(translated, name)
                continue
            found = dovetail
            for part in translated.split("."):
                known = hasattr(found, part) or part in getattr(found, "__annotations__", {})
                self.assertTrue(known, (name, translated))
                found = getattr(found, part, None)
        for text, expected in (
            ("dvt_session_create: options, threads", "Session: threads"),
            ("`dvt_compile_stages` with `stages` import", '`compile_stages` with `stages=["import"]`'),
            ("use `engine` cycle, whose", 'use `engine="cycle"`, whose'),
            ("add {} to `targets`, omit `strict`", "add {} to `targets`, omit `strict`"),
            ("`place` a/b=cpu", '`place={"a/b": "cpu"}`'),
            ("`shapes` x=1x3x8 for it, or `shapes` N=4", '`shapes={"x": (1, 3, 8)}` for it, or `shapes={"N": 4}`'),
            ("`decide` slots_inp=1", '`decide={"slots_inp": 1}`'),
            ("`dovetail rtl build --hw tiny`", "`python -m dovetail rtl build --hw tiny`"),
            ("from `dvt_hardware`", "from `named_hardware`"),
        ):
            self.assertEqual(python_names(text), expected)

    @unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
    def test_structs_have_the_layout_of_c(self):
        structs = {name: value for name, value in vars(_prototypes).items()
                   if isinstance(value, type) and issubclass(value, ctypes.Structure) and value is not ctypes.Structure}
        self.assertGreater(len(structs), 15)
        lines, expected = [], []
        for name, struct in structs.items():
            lines.append(f'printf("%zu\\n", sizeof({name}));')
            expected.append(ctypes.sizeof(struct))
            for member, *_ in struct._fields_:
                lines.append(f'printf("%zu\\n", offsetof({name}, {member}));')
                expected.append(getattr(struct, member).offset)
        body = "\n".join(["#include <stdio.h>", "#include <dovetail.h>", "int main(void) {", *lines, "return 0;", "}"])
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "sizes.c"
            source.write_text(body)
            subprocess.run(["cc", f"-I{HEADERS}", str(source), "-o", f"{folder}/sizes"], check=True)
            found = subprocess.run([f"{folder}/sizes"], check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual([int(each) for each in found], expected)

    def test_enumerations_have_the_header_s_values(self):
        text = (HEADERS / "dovetail.h").read_text()
        values = {name: int(value) for name, value in re.findall(r"\b(DVT_\w+) = (\d+)", text)}
        prefixes = {"dvt_cause": "DVT_CAUSE_", "dvt_log_level": "DVT_LOG_", "dvt_trust": "DVT_TRUST_",
                    "dvt_level": "DVT_LEVEL_", "dvt_offload": "DVT_OFFLOAD_"}
        for kind, rows in _prototypes.ENUMERATIONS.items():
            for name, value in rows.items():
                self.assertEqual(values.pop(prefixes[kind] + name.upper()), value)
        self.assertEqual(values, {})


if __name__ == "__main__":
    unittest.main()
