"""The design in a form for Icarus Verilog 11, which takes all of it but three constructs.

- Parameters with a type of more than one word (`localparam int unsigned`) or of type bit: they become vectors of the same width.
- A conditional expression of enumerators, assigned to a variable of their type: it becomes an `if`.
- always_comb compiles, but the simulation then repeats all such processes in one time step without end: it becomes `always @*`.
"""

import re

# The constructs, and what replaces each.
CHANGES = (
    (r"\b(local)?(parameter|param) int unsigned\b", r"\1\2 [31:0]"),
    (r"\b(local)?(parameter|param) bit\b", r"\1\2 [0:0]"),
    (r"(?<!assign )\b(\w+) = ([^?;=]+) \? (ERROR_\w+) : (ERROR_\w+);", r"begin if (\2) \1 = \3; else \1 = \4; end"),
    (r"\balways_comb\b", "always @*"),
)


def for_icarus(text):
    for before, after in CHANGES:
        text = re.sub(before, after, text)
    return text


def refused(files):
    """(file, line, text) of each place that Icarus 11 refuses, in order."""
    return [(file, number, line.strip())
            for file in files
            for number, line in enumerate(file.read_text().splitlines(), 1)
            if for_icarus(line) != line]


def write_for_icarus(files, folder):
    """Copies the files into the folder, and returns the copies in their order."""
    copies = [folder / file.name for file in files]
    for file, copy in zip(files, copies):
        copy.write_text(for_icarus(file.read_text()))
    return copies
