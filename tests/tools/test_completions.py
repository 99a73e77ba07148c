#!/usr/bin/env python3
"""Completions, asked of the real shells: bash always, zsh and fish where they are installed."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))

# (typed line, words that must be offered, words that must not)
LINES = [
    ("dovetail comp", {"compile", "compare", "completion"}, {"run"}),
    ("dovetail compile m.onnx --ta", {"--target"}, {"--strict"}),
    ("dovetail run --engine ", {"functional", "cycle", "systemc", "rtl"}, {"file.npy"}),
    ("dovetail simulate p.s --hw 1x16x16-", {"1x16x16-ext"}, {"tiny"}),
    ("dovetail simulate p.s --dram fi", {"file.npy"}, {"functional"}),
    ("dovetail run m.onnx --input x=fi", {"file.npy"}, set()),
    ("dovetail hw ar", {"area"}, {"list"}),
    ("dovetail hw show 1x32", {"1x32x32"}, {"area"}),
    ("dovetail zoo resnet", {"resnet18", "resnet50", "resnet8"}, {"vgg16"}),
    ("dovetail run m.onnx --output-dir fo", {"folder"}, {"file.npy"}),
    ("dovetail help qua", {"quantize"}, set()),
    ("dovetail isa --format m", {"markdown"}, {"sv"}),
    ("dovetail run m.onnx --color ", {"auto", "always", "never"}, set()),
    ("dovetail compile m.onnx --target accel,c", {"accel,cpu"}, set()),
]

BASH = r"""
source "$1" || exit 1
COMP_LINE=$2
read -ra words <<<"$COMP_LINE"
COMP_WORDS=()
for word in "${words[@]}"; do   # as readline divides them: at '=' too
  while [[ $word == *=* ]]; do [[ ${word%%=*} ]] && COMP_WORDS+=("${word%%=*}"); COMP_WORDS+=(=); word=${word#*=}; done
  [[ $word ]] && COMP_WORDS+=("$word")
done
[[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_dovetail
printf '%s\n' "${COMPREPLY[@]}"
"""

# zsh completes only in a terminal: this script opens one and prints what `compadd` would add.
ZSH = r"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PROMPT= RPS1=; cd $PWD; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; setopt noautolist; stty -echo columns 300"
zpty -w z 'compadd() { local -a given=("$@"); [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]] && { builtin compadd "$@"; return $?; }
  local -a __hits; builtin compadd -A __hits "$@"; (( $#__hits )) && print -rC1 -- "HIT="$^__hits; }'
zpty -w z 'bindkey "^I" complete-word; complete-word-and-end() { zle complete-word; print END; zle kill-whole-line }; zle -N complete-word-and-end; bindkey "^X" complete-word-and-end; print READY'
zpty -m -r z line '*READY*READY*' 2>/dev/null || zpty -r z line '*READY*'
sleep 0.3
zpty -n -w z "$2"$'\x18'
zpty -r z line '*END*'
print -r -- "$line"
zpty -d z
"""


class Completions(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.scripts = pathlib.Path(temporary.name) / "scripts"
        self.work = pathlib.Path(temporary.name) / "work"
        (self.work / "folder").mkdir(parents=True)
        (self.work / "file.npy").touch()
        (self.work / "file with spaces").touch()
        made = subprocess.run([CLI, "completion", "all", "-o", self.scripts], capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)

    def check(self, offered_for) -> None:
        for line, required, unwanted in LINES:
            with self.subTest(line=line):
                offered = offered_for(line)
                self.assertEqual(required - offered, set(), f"offered: {sorted(offered)}")
                self.assertEqual(unwanted & offered, set())

    def offered_by_bash(self, line: str) -> set[str]:
        finished = subprocess.run(["bash", "--norc", "-c", BASH, "bash", self.scripts / "dovetail.bash", line], capture_output=True, text=True,
                                  check=False, cwd=self.work)
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        return set(finished.stdout.splitlines())

    def test_bash(self) -> None:
        self.check(self.offered_by_bash)
        self.assertIn("file with spaces", self.offered_by_bash("dovetail inspect fi"))
        self.assertEqual(self.offered_by_bash("dovetail hw show tiny --j"), {"--json"})

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self) -> None:
        def offered(line: str) -> set[str]:
            script = f"source {self.scripts}/dovetail.fish; complete -C {line!r}"
            finished = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=False, cwd=self.work,
                                      env={**os.environ, "HOME": str(self.work), "PATH": f"{pathlib.Path(CLI).parent}:{os.environ['PATH']}"})
            self.assertEqual((finished.returncode, finished.stderr), (0, ""))
            return {row.split("\t")[0].removesuffix("/").removeprefix("x=") for row in finished.stdout.splitlines()}
        self.check(offered)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self) -> None:
        def offered(line: str) -> set[str]:
            finished = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", self.scripts, line], capture_output=True, text=True, check=False, cwd=self.work,
                                      timeout=60)
            hits = set(re.findall("HIT=([^\r\n]*)", finished.stdout))
            before = line.rsplit(" ", 1)[1].rpartition(",")  # a list is completed part by part
            return hits | {before[0] + before[1] + hit for hit in hits}
        syntax = subprocess.run(["zsh", "-n", self.scripts / "_dovetail"], capture_output=True, text=True, check=False)
        self.assertEqual((syntax.returncode, syntax.stderr), (0, ""))
        self.check(offered)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
