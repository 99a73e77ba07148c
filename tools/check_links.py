#!/usr/bin/env python3
"""Checks that every relative link of the repository's Markdown files leads to a file.  usage: check_links.py [ROOT]"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from repository_files import repository_files  # noqa: E402

LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]*`")


def check(root):
    problems = []
    for path in repository_files(root):
        if path.suffix != ".md":
            continue
        text = INLINE_CODE.sub("", FENCED.sub("", (root / path).read_text(encoding="utf-8")))
        for target in LINK.findall(text):
            if re.match(r"[a-z]+:", target) or target.startswith("#"):
                continue
            if not ((root / path).parent / target.split("#")[0]).exists():
                problems.append(f"{path}: the link {target} leads nowhere")
    return problems


if __name__ == "__main__":
    found = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)
