#!/usr/bin/env python3
"""tools/turn.py: consecutive turns judge everything between them."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", ".")) / "tools"))
import turn  # noqa: E402

ITEMS = list("abcdefgh")


class Turn(unittest.TestCase):
    def share(self, number):
        with mock.patch.dict(os.environ, {"DOVETAIL_TEST_TURN": number}):
            return turn.share(ITEMS, 3)

    def test_consecutive_turns_cover_everything_once(self):
        for first in (0, 7, 1234):
            shares = [self.share(str(number))[0] for number in range(first, first + 3)]
            self.assertEqual(sorted(sum(shares, [])), ITEMS)

    def test_it_tells_which(self):
        self.assertEqual(self.share("7"), (["b", "e", "h"], "share 2 of 3: 3 of 8 (DOVETAIL_TEST_TURN=7; ./dev test --all judges all)"))

    def test_files_of_the_last_commits(self):
        with tempfile.TemporaryDirectory() as root:
            git = ["git", "-C", root, "-c", "user.name=n", "-c", "user.email=e"]
            subprocess.run([*git, "init", "-q"], check=True)
            for name in ("a/x", "b/y", "b/z"):
                path = pathlib.Path(root) / name
                path.parent.mkdir(exist_ok=True)
                path.touch()
                subprocess.run([*git, "add", "."], check=True)
                subprocess.run([*git, "commit", "-qm", name], check=True)
            self.assertEqual(turn.files_of_last_commits(root, 2), ["b/z", "b/y"])
            self.assertEqual(turn.files_of_last_commits(root, 9, ["a/"]), ["a/x"])
            self.assertEqual(turn.files_of_last_commits(root, 2, ["a/"]), [])

    def test_without_a_turn_all(self):
        self.assertEqual(self.share(""), (ITEMS, "all 8"))


if __name__ == "__main__":
    unittest.main()
