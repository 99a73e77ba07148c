#!/usr/bin/env python3
"""Checks the links and paths in the repository's texts.  usage: check_links.py [ROOT]

- every relative link of a Markdown file leads to a file;
- every path from the root of the repository in a Markdown file or a comment is that of a file. Patterns (*, {a,b}, <name>) and placeholders
  (NAME) are ignored.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from repository_files import repository_files  # noqa: E402

LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]*`")

# The beginnings of comments; Markdown is read completely.
COMMENTS = {".h": "//", ".cpp": "//", ".sv": "//", ".py": "#", ".cmake": "#", ".txt": "#", ".md": ""}
# A path of a source, a script or a page, from the root of the repository.
PATH = r"(?<![\w/.$<>*{{-])((?:{folders})/[\w./-]*\w\.(?:h|cpp|sv|py|md|txt|js))(?![\w/*{{<])"
PLACEHOLDER = re.compile(r"\bNAME\b")


def check_links(root, path, text):
    for target in LINK.findall(INLINE_CODE.sub("", FENCED.sub("", text))):
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            continue
        if not ((root / path).parent / target.split("#")[0]).exists():
            yield f"{path}: the target of the link {target} does not exist"


def check_paths(path, text, existing, pattern):
    begin = COMMENTS[path.suffix]
    for number, line in enumerate(text.splitlines(), 1):
        _, found, comment = line.partition(begin) if begin else ("", True, line)
        for name in pattern.findall(comment) if found else []:
            known = name in existing or name + ".in" in existing  # the build makes it
            if not known and not PLACEHOLDER.search(name):
                yield f"{path}:{number}: {name} is not a file of the tree"


def check(root):
    paths = repository_files(root)
    existing = {path.as_posix() for path in paths}
    folders = sorted({path.parts[0] for path in paths if len(path.parts) > 1})
    pattern = re.compile(PATH.format(folders="|".join(map(re.escape, folders))))
    problems = []
    for path in paths:
        if path.suffix not in COMMENTS or "gen" in path.parts:
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".md":
            problems += check_links(root, path, text)
        problems += check_paths(path, text, existing, pattern)
    return problems


if __name__ == "__main__":
    found = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)
