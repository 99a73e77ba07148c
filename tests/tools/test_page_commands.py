#!/usr/bin/env python3
"""Runs the commands of all pages, and compares their output, where a page has a mark `<!-- run ...` (tools/run_page.py): ./dev test
judges those of SAMPLE (tools/tier.py).

To accept the present output: python3 tools/run_page.py --update --dovetail build/release/bin/dovetail PAGE
"""

import os
import pathlib
import sys

ROOT = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"])
sys.path.insert(0, str(ROOT / "tools"))
import tier  # noqa: E402
from run_page import PageError, run_page  # noqa: E402

# The first two pages that a reader tries.
SAMPLE = [ROOT / "README.md", ROOT / "docs/guide/first-week.md"]
KNOWN = {"README.md", "docs/guide/tour.md", "docs/guide/first-week.md", "docs/howto/assembly.md", "docs/howto/debugging.md", "docs/howto/own-data.md", "docs/howto/regions.md"}

failed = False
pages = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
         if "\n<!-- run" in path.read_text(encoding="utf-8")]
judged, which = tier.judged(pages, SAMPLE)
print(f"pages: {which}")
for page in judged:
    try:
        problems, count = run_page(page, os.environ["DOVETAIL_CLI"])
    except PageError as error:
        problems, count = [str(error)], 0
    for problem in problems:
        print(problem)
    print(f"{page.relative_to(ROOT)}: {count} commands, {len(problems)} problems")
    failed = failed or bool(problems)
missing = KNOWN - {path.relative_to(ROOT).as_posix() for path in pages}
if missing:
    print("no mark any more in", *sorted(missing))
sys.exit(1 if failed or missing else 0)
