#!/usr/bin/env python3
"""The table of docs/howto/python.md has every command of the program, with functions of the package or a reason."""

import os
import re
import subprocess
import unittest

from environment import SOURCE

import dovetail

PAGE = SOURCE / "docs" / "howto" / "python.md"


def resolve(name):
    value = dovetail
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


class Commands(unittest.TestCase):
    def test_every_command_has_a_row(self):
        cli = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
        printed = subprocess.run([cli, "help"], capture_output=True, text=True, check=True).stdout
        commands = re.findall(r"^  ([a-z][a-z-]*) {2,}\S", printed.partition("Commands:")[2], re.MULTILINE)
        self.assertGreater(len(commands), 20)
        rows = re.findall(r"^\| `([a-z-]+)` \|([^|]*)\|([^|]*)\|$", PAGE.read_text(), re.MULTILINE)
        self.assertEqual([row[0] for row in rows], commands)
        for command, functions, reason in rows:
            names = re.findall(r"`(dovetail(?:\.\w+)+)`", functions)
            for name in names:
                self.assertTrue(callable(resolve(name)), name)
            self.assertTrue(names or len(reason.strip()) > 10, f"{command} has neither a function nor a reason")


if __name__ == "__main__":
    unittest.main()
