"""The design in a form for Yosys 0.23, which does not support import: declarations of the package become global."""

import re


def without_imports(text):
    return re.sub(r" import dovetail_\w+_pkg::\*(, dovetail_\w+_pkg::\*)*;|^(end)?package .*\n", "", text, flags=re.MULTILINE)


def write_without_imports(files, folder):
    """Copies the files into the folder, and returns the copies in their order."""
    copies = [folder / file.name for file in files]
    for file, copy in zip(files, copies):
        copy.write_text(without_imports(file.read_text()))
    return copies
