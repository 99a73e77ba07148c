#!/usr/bin/env python3
"""tools/summarize_tests.py counts the results of CTest, and treats a test that could not run as a failure."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.environ.get("DOVETAIL_SOURCE_DIR", "."), "tools"))
import summarize_tests  # noqa: E402

PASSED = '<testcase name="a" status="run"/>'
FAILED = '<testcase name="b" status="fail"><failure message="Failed"/><system-out>1 != 2</system-out></testcase>'
SKIPPED = ('<testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
           "<system-out>looking\nno numpy here\n</system-out></testcase>")
MISSING = '<testcase name="d" status="notrun"><skipped message="Unable to find executable: x"/></testcase>'


class SummarizeTests(unittest.TestCase):
    def summary(self, *cases):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(f"<testsuite time='36.4'>{''.join(cases)}</testsuite>")
            file.flush()
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                status = summarize_tests.main(file.name)
            lines = output.getvalue().splitlines()
            self.time = lines.pop(-2)
            return status, lines

    def test_all_passed(self):
        self.assertEqual(self.summary(PASSED, PASSED), (0, ["2 passed, 0 failed, 0 skipped"]))

    def test_a_skip_states_its_reason(self):
        self.assertEqual(self.summary(PASSED, SKIPPED), (0, ["skipped: c: no numpy here", "1 passed, 0 failed, 1 skipped"]))

    def test_a_failure(self):
        self.assertEqual(self.summary(PASSED, FAILED), (1, ["---- b ----", "1 != 2", "failed: b", "1 passed, 1 failed, 0 skipped"]))

    def test_a_test_that_could_not_run_failed(self):
        self.assertEqual(self.summary(PASSED, MISSING), (1, ["failed: d (not run)", "1 passed, 1 failed, 0 skipped"]))

    def test_the_slowest_are_named(self):
        times = [f'<testcase name="t{seconds}" status="run" time="{seconds}.25"/>' for seconds in (3, 70, 25)]
        self.assertEqual(self.summary(*times), (0, ["slow: 70 s: t70", "slow: 25 s: t25", "3 passed, 0 failed, 0 skipped"]))

    def test_times_are_summed_up_by_kind(self):
        cases = [f'<testcase name="{name}" status="run" time="{seconds}"/>' for name, seconds in (("unit/a", 1.6), ("e2e/b", 30), ("unit/c", 2))]
        for tier, words in (("", "the tests"), ("sample", "the sample of the tests")):
            with mock.patch.dict(os.environ, {"DOVETAIL_TESTS": tier}):
                self.summary(*cases)
            self.assertEqual(self.time, f"time: 36 s for {words}; by kind: e2e 30 s, unit 4 s")

    def test_no_test_at_all_is_not_a_success(self):
        self.assertEqual(self.summary(), (1, ["0 passed, 0 failed, 0 skipped"]))


if __name__ == "__main__":
    unittest.main()
