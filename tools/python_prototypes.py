#!/usr/bin/env python3
"""Prints python/dovetail/_prototypes.py: the structs, enumerations and functions of capi/include/dovetail.h for ctypes.

usage: python_prototypes.py.  ./dev gen writes the file. The header's own form is the grammar: one declaration a
statement, members and arguments by the types below; anything else is an error.
"""

import pathlib
import re
import sys
import textwrap

HEADERS = pathlib.Path(__file__).resolve().parent.parent / "capi" / "include"
# The structs of dlpack.h that the interface uses, in their order.
DLPACK = ("DLPackVersion", "DLDevice", "DLDataType", "DLTensor", "DLManagedTensor", "DLManagedTensorVersioned")
COMPILER = "/* ==== With the compiler"
SCALARS = {
    "int": "c_int", "double": "c_double", "size_t": "c_size_t", "uint8_t": "c_uint8", "uint16_t": "c_uint16",
    "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64", "uint64_t": "c_uint64",
    "DLDeviceType": "c_int32",
}


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"//[^\n]*", " ", text)
    return re.sub(r"^#[^\n]*(?:\\\n[^\n]*)*", " ", text, flags=re.MULTILINE)


class Header:
    def __init__(self):
        self.scalars = dict(SCALARS)  # with the enumerations, by their C names
        self.structs = {}             # by their C names: [(member, ctypes expression)]
        self.opaque = set()
        self.enumerations = {}        # by their C names: {value's name: value}
        self.functions = {}           # by name: (result, [argument])

    def type_of(self, words, stars, returned=False):
        """The ctypes expression of a type."""
        words = [word for word in words.split() if word not in ("const", "struct")]
        if len(words) != 1:
            raise SystemExit(f"unknown type: {words}")
        name = words[0]
        if stars == 0:
            return "None" if name == "void" else self.scalars[name] if name in self.scalars else self.struct(name)
        # A char* that the caller frees, or that a callback returns, becomes an address; other char* become bytes.
        if name == "char":
            inner, stars = "c_void_p" if returned else "c_char_p", stars - 1
        elif name == "void" or name in self.opaque:
            inner, stars = "c_void_p", stars - 1
        else:
            inner = self.scalars[name] if name in self.scalars else self.struct(name)
        return "POINTER(" * stars + inner + ")" * stars

    def struct(self, name):
        if name not in self.structs:
            raise SystemExit(f"unknown type: {name}")
        return name

    def declaration(self, text, returned=False):
        """(name, ctypes expression) of `const char* name` or of a pointer to a function."""
        text = " ".join(text.split())
        pointer = re.fullmatch(r"(.*?)\(\*(\w+)\)\((.*)\)", text)
        if pointer:
            result, name, arguments = pointer.groups()
            result = self.type_of(result.replace("*", " "), result.count("*"), returned=True)
            return name, f"CFUNCTYPE({', '.join([result, *self.arguments(arguments)])})"
        plain = re.fullmatch(r"([\w* ]*?[\w*]) ?(\**)(\w+)", text)
        if not plain:
            raise SystemExit(f"unknown declaration: {text}")
        words, more, name = plain.groups()
        stars = words.count("*") + len(more)
        # `char** json` receives text that the caller frees.
        freed = returned or (stars == 2 and words.startswith("char"))
        return name, self.type_of(words.replace("*", " "), stars, freed)

    def arguments(self, text):
        """The types of arguments; those of a pointer to a function hold commas, too."""
        if text.strip() == "void":
            return []
        parts, depth = [""], 0
        for letter in text:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                parts.append("")
            else:
                parts[-1] += letter
        return [self.declaration(part)[1] for part in parts]

    def read_structs(self, text, only=None):
        for found in re.finditer(r"typedef struct (\w*)\s*(?:\{(.*?)\}\s*)?(\w+);", text, re.DOTALL):
            tag, body, name = found.groups()
            if body is None:
                self.opaque.add(name)
            elif only is None or name in only:
                self.structs[name] = []
                for each in filter(None, map(str.strip, body.split(";"))):
                    first, *more = self.split_members(each.replace(f"struct {tag} *", "void *") if tag else each)
                    self.structs[name].append(self.declaration(first))
                    kind = first.rsplit(None, 1)[0]
                    self.structs[name].extend(self.declaration(f"{kind} {other}") for other in more)

    @staticmethod
    def split_members(text):
        """`dvt_texts a, b` declares two members."""
        return [text] if "(" in text else [part.strip() for part in text.split(",")]

    def read(self, text, compiler):
        for name, body in re.findall(r"typedef int32_t (\w+);\s*enum \{(.*?)\};", text, re.DOTALL):
            self.scalars[name] = "c_int32"
            values = (each.split("=") for each in body.split(",") if each.strip())
            self.enumerations[name] = {each.strip(): int(value) for each, value in values}
        self.read_structs(text)
        function = re.compile(r"^DVT_API ([^;(]*?)\b(dvt_\w+)\((.*?)\);", re.MULTILINE | re.DOTALL)
        for result, name, arguments in function.findall(text):
            own = self.type_of(result.replace("*", " "), result.count("*"))
            self.functions[name] = (own, self.arguments(arguments), compiler)


def read():
    header = Header()
    header.read_structs(without_comments((HEADERS / "dlpack.h").read_text(encoding="utf-8")), DLPACK)
    parts = (HEADERS / "dovetail.h").read_text(encoding="utf-8").split(COMPILER)
    if len(parts) != 2:
        raise SystemExit(f"dovetail.h must have one line with {COMPILER}")
    for compiler, part in enumerate(parts):
        header.read(without_comments(part.split("*/", 1)[1] if compiler else part), bool(compiler))
    version = re.search(r"#define DVT_VERSION_MAJOR (\d+)\s+#define DVT_VERSION_MINOR (\d+)", parts[0])
    return header, version.groups()


def prefix_of(values):
    """`DVT_LEVEL_` of DVT_LEVEL_DEFAULT, DVT_LEVEL_NEEDED."""
    first = min(values, key=len)
    return first[: first.rindex("_") + 1]


def text_of(header, version):
    lines = [
        "# Generated by `python3 tools/python_prototypes.py` from capi/include/dovetail.h. Do not edit.",
        '"""The structs, enumerations and functions of dovetail.h for ctypes."""',
        "from ctypes import (",
        "    CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16,",
        "    c_uint32, c_uint64, c_void_p,",
        ")",
        "from typing import Any, Dict, List, Tuple",
        "",
        f"VERSION = ({version[0]}, {version[1]})  # of the header",
        "",
        "# The values of the enumerations, by the C type and by the name that this package takes.",
        "ENUMERATIONS: Dict[str, Dict[str, int]] = {",
    ]
    for name, values in header.enumerations.items():
        prefix = prefix_of(values)
        rows = ", ".join(f'"{each[len(prefix):].lower()}": {value}' for each, value in values.items())
        lines.append(f'    "{name}": {{{rows}}},')
    lines.append("}")
    for name, members in header.structs.items():
        lines += ["", "", f"class {name}(Structure):", "    _fields_ = ["]
        lines += [f'        ("{member}", {expression}),' for member, expression in members]
        lines.append("    ]")
    for number, comment in ((False, "both libraries have"), (True, "only the library with the compiler has")):
        lines += ["", "", f"# The functions that {comment}: the result and the arguments."]
        lines.append(f"{'COMPILER' if number else 'RUNTIME'}: Dict[str, Tuple[Any, List[Any]]] = {{")
        for name, (result, arguments, compiler) in header.functions.items():
            if compiler == number:
                line = f'    "{name}": ({result}, [{", ".join(arguments)}]),'
                if len(line) > 120:
                    wrapped = textwrap.indent(textwrap.fill(", ".join(arguments), 108), " " * 12)
                    line = f'    "{name}": (\n        {result},\n        [\n{wrapped},\n        ],\n    ),'
                lines.append(line)
        lines.append("}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text_of(*read()))
