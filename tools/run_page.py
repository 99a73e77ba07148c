#!/usr/bin/env python3
"""Runs the commands that Markdown pages show and compares their output with the pages.

usage: run_page.py [--update] --dovetail PROGRAM PAGE...

A session is a fenced block whose first line begins with `$ `: a command (a line that ends in `\\` continues), then its output,
stdout and stderr together. All sessions of a page with `<!-- run: page -->` are run; in any other page those with `<!-- run -->`
on the line before. Sessions begin in one temporary folder of the page (`cd` lasts until the session ends), in which `examples`
leads to the examples of the tree; `dovetail` and the programs in its folder are on the PATH. A command must succeed.

Lines are compared one by one; runs of blanks, and of the `-` of tables, count as one. A line `...` represents any lines; at the end
of a line it represents any text. Comments on the line before a block:

    <!-- run: exit 1 -->        its last command ends with this status
    <!-- run: no, REASON -->    it is not run
    <!-- run: file NAME -->     it is not a session, but is written to this file

Comments anywhere in the page declare what differs between runs or machines:

    <!-- varies: took (\\S+ ms) -->          text that the groups of this regular expression match is not compared
    <!-- near: (\\S+) dB within 0.3 -->      the groups are numbers, which may differ by this much

Neither may match a number of cycles or instructions, and one that matches nothing is an error. --update writes the current
output into the page: if it has `...`, the lines that correspond to those shown; it names lines that are gone.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = re.compile(r"^<!-- *(run|varies|near)(?:: *(.*?))? *-->$")
FENCE = re.compile(r"^```")
EXACT = re.compile(r"\d[\d,]* (?:cycles|instructions)\b")
LIMIT_S = 240


class PageError(Exception):
    pass


class Session:
    """A fenced block: lines [begin, end) of the page between its fences, and its run comment."""

    def __init__(self, begin, end, mark):
        self.begin, self.end, self.mark = begin, end, mark


class Page:
    def __init__(self, path):
        self.path = path
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.varies, self.near, self.blocks = [], [], []
        self.whole = False
        self._read()

    def _read(self):
        begin, mark = None, None
        for number, line in enumerate(self.lines):
            if begin is None and (match := MARK.match(line)):
                kind, text = match.group(1), match.group(2) or ""
                if kind == "varies":
                    self.varies.append(self._pattern(number, text))
                elif kind == "near":
                    pattern, _, within = text.rpartition(" within ")
                    if not re.fullmatch(r"\d+(\.\d+)?", within):
                        raise PageError(f"{self.path}:{number + 1}: `{text}` does not end in `within NUMBER`")
                    self.near.append((self._pattern(number, pattern), float(within)))
                elif text == "page":
                    self.whole = True
                else:
                    mark = text
                    continue
            elif FENCE.match(line):
                if begin is None:
                    begin = number + 1
                    continue
                self.blocks.append(Session(begin, number, mark))
                begin = None
            if begin is None:
                mark = None
        if begin is not None:
            raise PageError(f"{self.path}:{begin}: a block without its end")

    def _pattern(self, number, text):
        try:
            pattern = re.compile(text)
        except re.error as error:
            raise PageError(f"{self.path}:{number + 1}: `{text}` is not a regular expression: {error}") from error
        if pattern.groups == 0:
            raise PageError(f"{self.path}:{number + 1}: `{text}` has no group")
        return pattern

    def runs(self, block):
        if block.mark is not None and (block.mark.startswith("no") or block.mark.startswith("file ")):
            return False
        shown = self.lines[block.begin : block.end]
        return bool(shown) and shown[0].startswith("$ ") and (self.whole or block.mark is not None)

    def commands(self, block):
        """[(command, first line of its output, one past the last)]"""
        found = []
        number = block.begin
        while number < block.end:
            command = [self.lines[number][2:]]
            while command[-1].endswith("\\") and number + 1 < block.end:
                number += 1
                command.append(self.lines[number])
            number += 1
            first = number
            while number < block.end and not self.lines[number].startswith("$ "):
                number += 1
            found.append(("\n".join(command), first, number))
        return found


class Comparison:
    """The text that a page declares as varying, and whether two lines are equal except for that text."""

    def __init__(self, page):
        self.page, self.used = page, set()

    def masked(self, line):
        for number, pattern in enumerate(self.page.varies):
            pieces, at = [], 0
            for match in pattern.finditer(line):
                for group in range(1, pattern.groups + 1):
                    begin, end = match.span(group)
                    if begin < at:
                        continue
                    for exact in EXACT.finditer(line):
                        if begin < exact.end() and exact.start() < end:
                            raise PageError(f"{self.page.path}: `{pattern.pattern}` hides `{exact.group()}`, which is exact")
                    pieces += [line[at:begin], "~"]
                    at = end
                self.used.add(("varies", number))
            line = "".join(pieces) + line[at:]
        return re.sub(r"-{2,}", "--", re.sub(r"\s+", " ", line.rstrip()))

    def split_near(self, line):
        numbers = []
        for number, (pattern, within) in enumerate(self.page.near):
            pieces, at = [], 0
            for match in pattern.finditer(line):
                for group in range(1, pattern.groups + 1):
                    begin, end = match.span(group)
                    numbers.append((float(match.group(group).replace(",", "")), within))
                    pieces += [line[at:begin], "~"]
                    at = end
                self.used.add(("near", number))
            line = "".join(pieces) + line[at:]
        return line, numbers

    def same(self, shown, printed):
        shown, printed = self.masked(shown), self.masked(printed)
        if shown.endswith("...") and not shown.strip() == "...":
            shown = shown[:-3].rstrip()
            printed = printed[: len(shown)]
        (shown, shown_numbers), (printed, numbers) = self.split_near(shown), self.split_near(printed)
        return shown == printed and all(abs(a - b) <= within for (a, within), (b, _) in zip(shown_numbers, numbers))

    def unused(self):
        for number, pattern in enumerate(self.page.varies):
            if ("varies", number) not in self.used:
                yield f"{self.page.path}: nothing matches `varies: {pattern.pattern}`"
        for number, (pattern, _) in enumerate(self.page.near):
            if ("near", number) not in self.used:
                yield f"{self.page.path}: nothing matches `near: {pattern.pattern}`"


def is_gap(line):
    return line.strip() == "..."


def first_difference(shown, printed, same):
    """None, or (index in shown, index in printed, why): a gap matches as little as it can."""
    at, begin = 0, 0
    while begin < len(shown):
        gap = is_gap(shown[begin])
        begin += gap
        end = begin
        while end < len(shown) and not is_gap(shown[end]):
            end += 1
        part = shown[begin:end]
        if not gap:
            for i, line in enumerate(part):
                if at + i >= len(printed) or not same(line, printed[at + i]):
                    return begin + i, at + i
            at += len(part)
        elif end == len(shown):  # to the end of the output
            last = len(printed) - len(part)
            for i, line in enumerate(part):
                if last + i < at or not same(line, printed[last + i]):
                    return begin + i, last + i
            at = len(printed)
        else:
            found = next((k for k in range(at, len(printed) - len(part) + 1)
                          if all(same(line, printed[k + i]) for i, line in enumerate(part))), None)
            if found is None:
                return begin, at
            at = found + len(part)
        begin = end
    return None if at == len(printed) else (len(shown), at)


def updated(shown, printed, same):
    """(`shown` with the corresponding lines of `printed`, lines without a corresponding line). Without a gap, all of `printed`."""
    if not any(map(is_gap, shown)):
        if len(shown) == len(printed):  # lines that differ only in varying text are kept
            return [old if same(old, new) else new for old, new in zip(shown, printed)], []
        return printed, []

    def words(line, count):
        return re.sub(r"[\d,.]+", "0", line).split()[:count]

    lines, lost, at = [], [], 0
    for line in filter(lambda line: not is_gap(line), shown):
        found = next((k for k in range(at, len(printed)) if same(line, printed[k])), None)
        for count in (99, 4, 3, 2, 1):
            if found is None and line.strip():
                found = next((k for k in range(at, len(printed)) if words(printed[k], count) == words(line, count)), None)
        if found is None:
            lines.append(line)
            lost.append(line)
            continue
        if found > at:
            lines.append("...")
        lines.append(line if same(line, printed[found]) else printed[found])
        at = found + 1
    return lines + ["..."] * (at < len(printed)), lost


def execute(command, folder, environment):
    """Exit status and lines. Runs in the folder in which the last command ended (cd)."""
    place = folder / ".place"
    where = place.read_text(encoding="utf-8").rstrip("\n") if place.exists() else folder
    script = f"trap 'pwd > {place}' EXIT\n{command}"
    run = subprocess.run(["bash", "-c", script], cwd=where, env=environment, stdin=subprocess.DEVNULL, timeout=LIMIT_S,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return run.returncode, run.stdout.decode("utf-8", "replace").splitlines()


def environment_in(folder, dovetail):
    programs = folder / ".bin"
    programs.mkdir()
    (programs / "dovetail").symlink_to(Path(dovetail).resolve())
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    environment.update(PATH=f"{programs}:{Path(dovetail).resolve().parent}:{environment.get('PATH', '')}", HOME=str(folder), NO_COLOR="1",
                       XDG_STATE_HOME=str(folder / ".state"), PYTHONDONTWRITEBYTECODE="1", LC_ALL="C.UTF-8")
    return environment


def run_page(path, dovetail, update=False):
    """Returns the problems, and the number of commands that ran. With `update` the page is written again."""
    page = Page(path)
    comparison = Comparison(page)
    problems, count, edits = [], 0, []
    with tempfile.TemporaryDirectory(prefix="dovetail-page-") as name:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        environment = environment_in(folder, dovetail)
        for block in page.blocks:
            if block.mark is not None and block.mark.startswith("file "):
                (folder / block.mark[5:].strip()).write_text("\n".join(page.lines[block.begin : block.end]) + "\n", encoding="utf-8")
            if not page.runs(block):
                continue
            commands = page.commands(block)
            (folder / ".place").unlink(missing_ok=True)
            for command, begin, end in commands:
                status, printed = execute(command, folder, environment)
                count += 1
                is_last = command is commands[-1][0]
                expected = int(block.mark[5:]) if is_last and (block.mark or "").startswith("exit ") else 0
                where = f"{path}:{begin}: `{command.splitlines()[0]}`"
                if status != expected:
                    problems.append("\n".join([f"{where} ends with {status}, not {expected}:"] + printed[-20:]))
                shown = page.lines[begin:end]
                difference = first_difference(shown, printed, comparison.same)
                if difference is None:
                    continue
                if update:
                    lines, lost = updated(shown, printed, comparison.same)
                    edits.append((begin, end, lines))
                    problems += [f"{where} no longer prints a line like `{line}`: edit the page by hand" for line in lost]
                    continue
                line, at = difference
                problems.append(f"the output of {where} differs, from {path}:{begin + line + 1} on:\n"
                                f"  the page: {shown[line] if line < len(shown) else '(nothing more)'}\n"
                                f"  printed:  {printed[at] if 0 <= at < len(printed) else '(nothing more)'}")
    problems += comparison.unused()
    if not count:
        problems.append(f"{path}: no session to run")
    for begin, end, lines in reversed(edits):
        page.lines[begin:end] = lines
    if edits:
        path.write_text("\n".join(page.lines) + "\n", encoding="utf-8")
    return problems, count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--update", action="store_true", help="write the current output into the pages")
    parser.add_argument("--dovetail", required=True, metavar="PROGRAM")
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE")
    arguments = parser.parse_args()
    failed = False
    for path in arguments.pages:
        try:
            problems, count = run_page(path, arguments.dovetail, arguments.update)
        except PageError as error:
            problems, count = [str(error)], 0
        for problem in problems:
            print(problem)
        print(f"{path}: {count} commands, {len(problems)} problems")
        failed = failed or bool(problems)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
