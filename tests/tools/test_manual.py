#!/usr/bin/env python3
"""The manual: every page is reached from docs/README.md, links name headings that exist, lines have at most 120 columns, and README.md stays short."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "tools"))
from check_links import FENCED, INLINE_CODE, LINK  # noqa: E402

COLUMNS = 120
COLUMNS_IN_BLOCKS = 200  # rows of tables cannot be wrapped; code and output are quoted unchanged
README_LINES, README_BYTES = 120, 7168
# Pages whose lines may be longer, with the reason. Generated pages (gen/) may, too.
LONG_LINES = {
}


def links_of(root, page):
    """(page, anchor or '') of each relative link to a page."""
    for target in LINK.findall(INLINE_CODE.sub("", FENCED.sub("", (root / page).read_text(encoding="utf-8")))):
        path, _, anchor = target.partition("#")
        if not re.match(r"[a-z]+:", target) and (path.endswith(".md") or not path):
            yield os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page, anchor


def pages_of(root):
    return sorted(path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md"))


def not_reached(root):
    reached, waiting = set(), ["docs/README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and (root / page).is_file():
            reached.add(page)
            waiting += [target for target, _ in links_of(root, page)]
    return [page for page in pages_of(root) if page not in reached]


def anchors_of(text):
    """The anchors of a page's headings, by GitHub's rule."""
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *$", FENCED.sub("", text), re.MULTILINE):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = 0
        while (slug if not number else f"{slug}-{number}") in found:
            number += 1
        found.add(slug if not number else f"{slug}-{number}")
    return found


def wrong_anchors(root, pages):
    for page in pages:
        for target, anchor in links_of(root, page):
            if anchor and (root / target).is_file() and anchor not in anchors_of((root / target).read_text(encoding="utf-8")):
                yield f"{page}: {target} has no heading #{anchor}"


def long_lines(root, pages):
    for page in pages:
        if page in LONG_LINES or "gen" in page.split("/"):
            continue
        fenced = False
        for number, line in enumerate((root / page).read_text(encoding="utf-8").splitlines(), 1):
            fenced ^= line.startswith("```")
            most = COLUMNS_IN_BLOCKS if fenced or line.startswith(("|", "Identifiers:", "<!--")) else COLUMNS
            if len(line) > most and " " in line.strip() and not re.fullmatch(r"!?\[[^\]]*\]\([^)]*\)", line):
                yield f"{page}:{number}: {len(line)} columns, at most {most}"


class Manual(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "docs/howto").mkdir(parents=True)
        self.write("docs/README.md", "# Manual\n\n[a](howto/a.md#first-steps)\n")
        self.write("docs/howto/a.md", "# A\n\n## First steps\n\n[b](b.md)\n")
        self.write("docs/howto/b.md", "# B\n")

    def write(self, name, text):
        (self.root / name).write_text(text, encoding="utf-8")

    def test_this_tree_reaches_every_page(self):
        self.assertEqual(not_reached(ROOT), [])
        self.assertIn("docs/README.md", [page for page, _ in links_of(ROOT, "README.md")])

    def test_anchors_of_this_tree(self):
        self.assertEqual(list(wrong_anchors(ROOT, ["README.md", *pages_of(ROOT)])), [])

    def test_lines_of_this_tree(self):
        self.assertEqual(list(long_lines(ROOT, ["README.md", "CHANGELOG.md", *pages_of(ROOT)])), [])

    def test_pages_and_figures_of_this_tree_are_current(self):
        """Checks the pages that need no program; ./dev gen --check compares the others."""
        listed = subprocess.run(["./dev", "gen", "--list"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        tools = [line.split() for line in listed.splitlines() if " tools/" in line and "PROGRAM" not in line]
        self.assertGreaterEqual(len(tools), 6)
        for path, *command in tools:
            made = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout
            self.assertEqual(made, (ROOT / path).read_text(encoding="utf-8"), f"{path} is out of date; run ./dev gen")

    def test_the_readme_of_this_tree_is_short(self):
        text = (ROOT / "README.md").read_bytes()
        self.assertLessEqual(text.count(b"\n"), README_LINES)
        self.assertLessEqual(len(text), README_BYTES)

    def test_a_page_that_nothing_links(self):
        self.assertEqual(not_reached(self.root), [])
        self.write("docs/howto/c.md", "# C\n\n[a](a.md)\n")
        self.assertEqual(not_reached(self.root), ["docs/howto/c.md"])

    def test_a_heading_that_does_not_exist(self):
        self.assertEqual(list(wrong_anchors(self.root, ["docs/README.md"])), [])
        self.write("docs/howto/a.md", "# A\n\n## Second steps\n")
        self.assertEqual(list(wrong_anchors(self.root, ["docs/README.md"])), ["docs/README.md: docs/howto/a.md has no heading #first-steps"])

    def test_anchors(self):
        self.assertEqual(anchors_of("# `-` is stdin\n## Cache (`a.cpp`)\n```\n# no heading\n```\n## Cache (`a.cpp`)\n"),
                         {"--is-stdin", "cache-acpp", "cache-acpp-1"})

    def test_a_long_line(self):
        self.write("docs/howto/b.md", "a " * 61 + "\n| " + "a " * 70 + "|\n| " + "a " * 110 + "|\n" + "a" * 200 + "\n")
        self.assertEqual(list(long_lines(self.root, ["docs/howto/b.md"])),
                         ["docs/howto/b.md:1: 122 columns, at most 120", "docs/howto/b.md:3: 223 columns, at most 200"])


if __name__ == "__main__":
    unittest.main()
