#!/usr/bin/env python3
"""Every constant of isa/spec/timing.h is used: the cycle engine reads it (by name, or through a row of the ALU's operations), and the design is compared with that
engine instruction by instruction; or it is a size that the design takes from its package."""

import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
CONSTANT = re.compile(r"inline constexpr TimingConstant (k\w+)\{")


def unread(timing, engine):
    words = set(re.findall(r"\w+", engine))
    return [name for name in CONSTANT.findall(timing) if name not in words]


class TimingConstants(unittest.TestCase):
    def test_the_cycle_engine_reads_all(self):
        timing = (ROOT / "isa/spec/timing.h").read_text(encoding="utf-8")
        engine = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "simulator/cycle").iterdir()))
        engine += (ROOT / "isa/spec/alu_ops.h").read_text(encoding="utf-8")
        self.assertGreater(len(CONSTANT.findall(timing)), 20)
        self.assertEqual(unread(timing, engine), [])

    def test_one_that_nothing_reads(self):
        timing = "inline constexpr TimingConstant kUsed{};\ninline constexpr TimingConstant kDead{};\n"
        self.assertEqual(unread(timing, "cycles_of(kUsed) + kDeadline"), ["kDead"])


if __name__ == "__main__":
    unittest.main()
