#!/usr/bin/env python3
"""Prints "N passed, N failed, N skipped" for a JUnit file of CTest, after the output of the failed tests, the slowest tests, the reasons of the skipped
tests, and the times: the total time of the parallel run, and the sum for each kind of test.

Exit status 1 if a test failed or none ran.
"""

import collections
import os
import sys
import xml.etree.ElementTree


SLOW_SECONDS = 20


def last_line(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def main(path):
    passed, failed, skipped, slow, kinds = 0, [], [], [], collections.Counter()
    suite = xml.etree.ElementTree.parse(path).getroot()
    for case in suite.iter("testcase"):
        status = case.get("status")
        kinds[case.get("name").partition("/")[0]] += float(case.get("time", 0))
        if float(case.get("time", 0)) >= SLOW_SECONDS:
            slow.append((float(case.get("time")), case.get("name")))
        if status == "run":
            passed += 1
        elif status == "fail":
            failed.append(case.get("name"))
            print(f"---- {case.get('name')} ----\n{(case.findtext('system-out') or '').strip()}")
        elif case.find("skipped") is not None and "SKIP_" in (case.find("skipped").get("message") or ""):
            skipped.append((case.get("name"), last_line(case.findtext("system-out"))))
        elif status == "disabled":
            skipped.append((case.get("name"), "disabled"))
        else:  # the executable is missing, or a fixture failed
            failed.append(f"{case.get('name')} (not run)")
    for seconds, name in sorted(slow, reverse=True)[:10]:
        print(f"slow: {seconds:.0f} s: {name}")
    for name in failed:
        print(f"failed: {name}")
    for name, reason in skipped:
        print(f"skipped: {name}: {reason}")
    tier = "the sample of the tests" if os.environ.get("DOVETAIL_TESTS") == "sample" else "the tests"
    shares = ", ".join(f"{kind} {seconds:.0f} s" for kind, seconds in kinds.most_common())
    print(f"time: {float(suite.get('time', 0)):.0f} s for {tier}; by kind: {shares}")
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: summarize_tests.py JUNIT.xml")
    sys.exit(main(sys.argv[1]))
