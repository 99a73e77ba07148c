#!/usr/bin/env python3
"""Finds words and phrases that a first-time reader may not understand, and names a replacement.

usage: check_words.py [--all] [PATH...]    name each occurrence in SCOPE (or in PATH..., or in the whole tree); exit code 1 if there is one
       check_words.py --count              count lines for each word, in all and by top folder, over the whole tree

In Markdown, code blocks and code between backticks are not read: the output of programs is checked in their source. Generated files (gen/)
are not read either. ALLOWED lists the lines that must keep a word, each with the reason.
"""

import argparse
import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from repository_files import repository_files  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Files and folders that are free of these words, and must stay so.
SCOPE = ["README.md", "SECURITY.md", "CHANGELOG.md", "docs", "dev", "base", "bench", "bundle", "capi", "cli", "cmake", "compiler", "driver", "examples", "explore",
         "isa", "loops", "python", "runtime", "simulator", "tools", "tests", "hw"]

SUFFIXES = {".cpp", ".h", ".md", ".sv", ".py", ".inc", ".in", ".cmake"}
NAMES = {"dev"}
# Not read: generated text, this list itself and its test, the schemas, a header of others.
LEFT_OUT = re.compile(r"(^|/)gen/|^capi/include/dlpack\.h$|^tools/check_words\.py$|^tests/tools/test_check_words\.py$|^docs/schema/")

# (name, pattern, what to write instead). Case does not matter.
WORDS = [
    ("lie", r"\blies?\b|\blay\b|\blying\b", "is, is stored, is at, is between"),
    ("behind", r"\bbehind\b", "after"),
    ("in front of", r"\bin front of\b", "before"),
    ("beside", r"\bbesides?\b", "next to, compared with, in addition to"),
    ("of its own", r"\bof (its|their|one's|his|your|our|a user's) own\b", "separate, own, your own"),
    ("wanted", r"\bwant(s|ed|ing)?\b", "needs, expects, required"),
    ("tells", r"\btells?\b|\btold\b", "reports, says, distinguishes"),
    ("goes on", r"\bgo(es)? on\b|\bwent on\b|\bgoing on\b", "continues, resumes"),
    ("whoever", r"\bwho(m|so)?ever\b", "a user who, the caller, code that"),
    ("held against", r"\b(held|holds?|holding) [^.;]{0,40}\bagainst\b", "compared with, checked with"),
    ("is no", r"(?<!there )\b(is|are|was|were|be) no (?!longer\b|more\b|less\b|larger\b|smaller\b|later\b|faster\b|slower\b|better\b|worse\b|nearer\b|higher\b|lower\b)",
     "is not a, must be"),
    ("as well", r"\bas well\b(?! as\b)", "also, too"),
    ("mend", r"\bmend(s|ed|ing)?\b", "fix"),
    ("stands", r"\bstands?\b(?! (for|alone)\b)|\bstood\b", "is"),
    ("by now", r"\bby now\b", "now"),
    ("alike", r"\balike\b", "equally, the same, both"),
    ("for lack of", r"\bfor (lack|want) of\b", "because there is no"),
    ("letter by letter", r"\bletter by letter\b", "verbatim"),
    ("under way", r"\bunder way\b", "in flight, in progress"),
    ("for nothing", r"\bfor nothing\b", "without effect, when idle"),
    ("owes", r"\bow(e|es|ed|ing)\b", "outstanding"),
    ("come about", r"\bc[ao]mes? about\b", "is generated, is made"),
    ("does not do", r"\bdo(es)? not do\b", "is not enough"),
    ("one beside", r"\bone step beside\b", "differs by one step"),
    (", say", r", say\b[,.) ;]", "for example"),
    ("whole number", r"\bwhole numbers?\b", "integer"),
    ("from N on", r"\bfrom (0|1|\{\}|zero|one|there|then) on\b", "must be >= N, from N"),
    ("that there is not", r"\bthat there (is|are) not\b|\bthat is not there\b|\bthat are not there\b", "missing"),
    ("nobody else", r"\b(nobody|no one|nothing) else's?\b", "only, no other"),
    ("kin", r"\bits kin\b|\btheir kin\b", "similar, related"),
    ("allowed are", r"\ballowed are\b|\bthe (most|least) allowed\b", "must be one of, must be at most"),
    ("bad value of", r"\bbad values? (of|for)\b", "invalid value for"),
    ("honors", r"\bhonou?rs?\b|\bkinds honou?red\b", "supports, is not supported"),
    ("one a line", r"\bone a (line|row|cycle|beat|task)\b|\beach a (line|row)\b", "one per line"),
    ("in silence", r"\bin silence\b", "without a diagnostic, without a note"),
    ("heeds", r"\bheed(s|ed|ing)?\b", "uses, reads"),
    ("loader's path", r"\bloader's paths?\b", "the dynamic linker's search path"),
    ("again and again", r"\bover and over\b|\bagain and again\b", "repeatedly"),
    ("what it gets", r"\bwhat (it|a part|each part) (gets|brings)\b|\bever more (rarely|often)\b", "what to add, which provides, at growing intervals"),
    ("is believed", r"\b(is|are) believed\b", "is used, is assumed"),
    ("as it came", r"\bas it came\b", "the original, the imported"),
    ("what became of", r"\bwhat (became|becomes) of\b", "the result of, where each node runs"),
    ("fragment with of", r"(?:^|[.;] |// |# )(?-i:Of|Also of) (?:a|an|the|those|them|it|its|each|another|this|that|one)\b[^,.;:|]{0,50}\.", "a sentence with its noun"),
    ("a part of it", r"(^|[.] |// |# )A part of (it|them)\.", "a sentence with its noun"),
    ("review's identifiers", r"\b(kFelt|kHeldUp|kTurn|kManyBeside|kManyApart|kAtOnce|barren_|Vanishing|VanishingGroup|speechless|run_others)\b",
     "a name that says what it is"),
    ("review's phrases", r"gets and leaves everything|what it waits for is held up|through once it was|judged in turn|goes on from after|that the kit does not know|what the hardware takes",
     "a plain sentence"),
]

# (file, name of the word, part of the line, reason)
ALLOWED = [
]

FENCE = re.compile(r"^\s*(```|~~~)")
CONTINUED = re.compile(r"^\s*(//|#|- |\|)?\s*")


def reads(path):
    return (path.suffix in SUFFIXES or path.as_posix() in NAMES) and not LEFT_OUT.search(path.as_posix())


def lines_of(path, text):
    """(number, line) for each line of a file that is read."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if path.suffix == ".md":
            if FENCE.match(line):
                fenced = not fenced
                continue
            if fenced:
                continue
            line = re.sub(r"`[^`]*`", "``", line)
            line = re.sub(r"\]\([^)\s]*\)", "]", line)
        yield number, line


def findings(root, paths, words=None, allowed=None):
    """(path, number, name of the word, what was found, what to write instead)"""
    compiled = [(name, re.compile(pattern, re.IGNORECASE), instead) for name, pattern, instead in (WORDS if words is None else words)]
    for path in paths:
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        mine = [row for row in (ALLOWED if allowed is None else allowed) if row[0] == path.as_posix()]
        lines = list(lines_of(path, text))
        for index, (number, line) in enumerate(lines):
            # A phrase may continue on the next line.
            after = lines[index + 1][1] if index + 1 < len(lines) and lines[index + 1][0] == number + 1 and line.strip() else ""
            window = line.rstrip() + " " + CONTINUED.sub("", after)
            for name, pattern, instead in compiled:
                match = pattern.search(window)
                if match and match.start() < len(line.rstrip()) and not any(row[1] == name and row[2] in line for row in mine):
                    yield path.as_posix(), number, name, match.group().strip(), instead


def in_scope(path, scope):
    return any(path.as_posix() == each or path.as_posix().startswith(each.rstrip("/") + "/") for each in scope)


def unused(root, allowed=None):
    """Rows of the allow list that match no line."""
    patterns = {name: re.compile(pattern, re.IGNORECASE) for name, pattern, _ in WORDS}
    for file, name, part, _ in ALLOWED if allowed is None else allowed:
        path = root / file
        lines = [line for _, line in lines_of(pathlib.Path(file), path.read_text(encoding="utf-8"))] if path.is_file() else []
        if not any(part in line and patterns[name].search(line) for line in lines):
            yield f"{file}: no line has «{part}» with «{name}»: remove it from ALLOWED"


def count(root, paths):
    """{name: {top folder: lines}}"""
    table = {name: collections.Counter() for name, _, _ in WORDS}
    for path, _, name, _, _ in findings(root, paths, allowed=[]):
        table[name][path.split("/")[0] if "/" in path else "."] += 1
    return table


def print_counts(table):
    folders = sorted({folder for row in table.values() for folder in row})
    print(f"{'':22}{'all':>6}" + "".join(f"{folder:>{max(7, len(folder) + 1)}}" for folder in folders))
    for name, row in table.items():
        print(f"{name:22}{sum(row.values()):6}" + "".join(f"{row[folder] or '-':>{max(7, len(folder) + 1)}}" for folder in folders))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", action="store_true", help="count lines for each word, over the whole tree")
    parser.add_argument("--all", action="store_true", help="look at the whole tree")
    parser.add_argument("paths", nargs="*", metavar="PATH")
    arguments = parser.parse_args()
    paths = [path for path in repository_files(ROOT) if reads(path)]
    if arguments.count:
        print_counts(count(ROOT, paths))
        return 0
    if not arguments.all:
        scope = [pathlib.Path(each).as_posix() for each in arguments.paths] or SCOPE
        paths = [path for path in paths if in_scope(path, scope)]
    found = [f"{path}:{number}: «{what}»; write: {instead}" for path, number, _, what, instead in findings(ROOT, paths)]
    found += unused(ROOT)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
