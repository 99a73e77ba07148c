#!/usr/bin/env python3
"""The pages docs/howto/adding-*.md end with the exact list of files that their case needs.

Each page leads through a real case of the tree, and has a section of this form:

    ## Files

    Identifiers: `its_function`, `ItsType`.

    - `folder/file.cpp`: what belongs there
    - `folder/list.h`: its line

The bullets are exactly the files of the tree that mention one of the identifiers as a whole word. Pages (docs/), generated files (gen/) and
golden files do not count.
"""

import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", "."))
sys.path.insert(0, str(ROOT / "tools"))
from repository_files import repository_files  # noqa: E402

SECTION = re.compile(r"^## Files\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
IDENTIFIERS = re.compile(r"^Identifiers: (`[^`\n]+`(?:, `[^`\n]+`)*)\.$", re.MULTILINE)
BULLET = re.compile(r"^- `([^`\n]+)`: \S", re.MULTILINE)


def counts(path):
    return path.parts[0] != "docs" and "gen" not in path.parts and path.suffix != ".golden"


def mentions(root, files, identifiers):
    """{path: the first of the identifiers that it mentions}"""
    words = re.compile(rb"(?<!\w)(?:" + b"|".join(re.escape(word.encode()) for word in identifiers) + rb")(?!\w)")
    found = {}
    for path in files:
        content = (root / path).read_bytes()
        match = None if b"\0" in content else words.search(content)
        if match:
            found[path.as_posix()] = match.group().decode()
    return found


def problems_of(page, root, files):
    section = SECTION.search((root / page).read_text(encoding="utf-8"))
    identifiers = section and IDENTIFIERS.search(section.group(1))
    if not identifiers:
        return [f"{page}: no section «## Files» with a line «Identifiers: `a`, `b`.»"]
    listed = BULLET.findall(section.group(1))
    found = mentions(root, files, re.findall(r"`([^`]+)`", identifiers.group(1)))
    problems = [f"{page}: {path} is listed twice" for path in sorted(set(listed)) if listed.count(path) > 1]
    problems += [f"{page}: {path} mentions {word} and is not listed" for path, word in found.items() if path not in listed]
    problems += [f"{page}: {path} is listed and mentions none of the identifiers" for path in listed if path not in found]
    return problems


def check(root):
    files = repository_files(root)
    pages = [path for path in files if path.match("docs/howto/adding-*.md")]
    sources = [path for path in files if counts(path)]
    return [problem for page in pages for problem in problems_of(page, root, sources)] if pages else ["no page docs/howto/adding-*.md"]


class AddingPages(unittest.TestCase):
    PAGE = "# How\n\n## Files\n\nIdentifiers: `peel_loop`, `Peel::first`.\n\n- `a/peel.cpp`: the code\n- `a/list.h`: its line\n"
    TREE = {"a/peel.cpp": "int peel_loop();\n", "a/list.h": "LINE(peel_loop)\n", "a/other.cpp": "int repeel_loop, peel_loops;\n",
            "a/gen/all.md": "peel_loop\n", "a/a.golden": "peel_loop\n"}

    def problems(self, page=PAGE, **more):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, content in {**self.TREE, "docs/howto/adding-a-loop.md": page, **more.get("files", {})}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content, encoding="utf-8")
            return check(root)

    def test_the_pages_of_this_tree(self):
        self.assertEqual(check(ROOT), [])

    def test_an_exact_list(self):
        self.assertEqual(self.problems(), [])

    def test_a_file_that_is_not_listed(self):
        self.assertEqual(self.problems(files={"b/more.h": "x = Peel::first;\n"}),
                         ["docs/howto/adding-a-loop.md: b/more.h mentions Peel::first and is not listed"])

    def test_a_file_that_is_listed_in_vain(self):
        self.assertEqual(self.problems(self.PAGE + "- `a/other.cpp`: nothing\n- `a/gone.cpp`: nothing\n"),
                         [f"docs/howto/adding-a-loop.md: a/{name}.cpp is listed and mentions none of the identifiers"
                          for name in ("other", "gone")])

    def test_a_file_that_is_listed_twice(self):
        self.assertEqual(self.problems(self.PAGE + "- `a/list.h`: again\n"), ["docs/howto/adding-a-loop.md: a/list.h is listed twice"])

    def test_a_page_without_the_section(self):
        message = "docs/howto/adding-a-loop.md: no section «## Files» with a line «Identifiers: `a`, `b`.»"
        self.assertEqual(self.problems("# How\n"), [message])
        self.assertEqual(self.problems("## Files\n\n- `a/peel.cpp`: the code\n"), [message])


if __name__ == "__main__":
    unittest.main()
