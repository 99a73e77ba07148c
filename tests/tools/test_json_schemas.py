#!/usr/bin/env python3
"""The output of commands with --json conforms to docs/schema: each real output validates, and each schema is used and documented."""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
SCHEMAS = SOURCE / "docs/schema"
DIGITS = SOURCE / "examples/digits/digits_int8.onnx"
FLOATS = SOURCE / "examples/digits/digits_float.onnx"
IMAGES = SOURCE / "examples/digits/test_images.npy"
LABELS = SOURCE / "examples/digits/test_labels.npy"
MATMUL = SOURCE / "examples/assembly/matmul.s"
JACOBI = str(SOURCE / "examples/kernels/jacobi_2d.loops")
PRODUCT = [str(SOURCE / "examples/kernels/matmul_int8.loops"), "--hw", "1x16x16-ext", "--schedule",
           "accel=" + str(SOURCE / "examples/kernels/matmul_int8_accel.schedule")]
ACCEL = ["--target", "accel,cpu", "--hw", "1x16x16-ext"]



def first_task(folder: str) -> str:
    return json.loads(subprocess.run([CLI, "records", "list", f"{folder}/r.db", "--json"], capture_output=True, check=True).stdout)[0]["task"]


def first_point(folder: str) -> str:
    return json.loads((pathlib.Path(folder) / "sweep/front.json").read_text())["front"][0]["key"]


# Schema: the command lines whose output it describes, in this order; {} is a temporary folder. After None: the exit status is 1.
COMMANDS: list[tuple[str, list]] = [
    ("compile", ["compile", DIGITS, *ACCEL, "--verify", "-o", "{}/d.dvt"]),
    ("compile", ["compile", FLOATS, "--target", "accel,cpu"]),
    ("run", ["run", DIGITS, *ACCEL, "--check"]),
    ("run", ["run", DIGITS, *ACCEL, "--engine", "cycle", "--trace", "{}/t.json", "--html", "{}/page.html", "--dump-tensors", "{}/kept"]),
    ("run", ["run", "{}/d.dvt", "--trust", "--expect", "{}/kept"]),
    ("evaluate", ["evaluate", DIGITS, *ACCEL, "--inputs", IMAGES, "--labels", LABELS, "--against", FLOATS, "--against-target", "cpu"]),
    ("evaluate", ["evaluate", DIGITS, *ACCEL, "--inputs", IMAGES, "--engine", "cycle"]),
    ("quantize", ["quantize", FLOATS, "-o", "{}/q.onnx", "--samples", IMAGES]),
    ("profile", ["profile", DIGITS, *ACCEL, "--repeat", "2"]),
    ("compare", ["compare", DIGITS, "--target", "accel,cpu,cuda", "--repeat", "5"]),
    ("compare", ["compare", DIGITS, "--target", "accel", "--accelerators", "2"]),
    ("explanation", ["compare", DIGITS, "--explain", "--hw", "1x16x16,1x16x16-g2", "--repeat", "2"]),
    ("run", ["run", DIGITS, *ACCEL, "--engine", "cycle", "--accelerators", "2"]),
    ("tune", ["tune", DIGITS, *ACCEL, "--task", "conv1", "--trials", "2", "--records", "{}/r.db"]),
    ("tasks", ["tune", DIGITS, *ACCEL, "--list"]),
    ("records-list", ["records", "list", "{}/r.db"]),
    ("records-show", ["records", "show", "{}/r.db", first_task]),
    ("records", ["records", "merge", "{}/s.db", "{}/r.db"]),
    ("explore", ["explore", DIGITS, "{}/space.json", "-o", "{}/sweep"]),
    ("explore", ["explore", DIGITS, "{}/several.json", "-o", "{}/several"]),
    ("explore", ["explore", FLOATS, "{}/numeric.json", "-o", "{}/numeric", "--samples", IMAGES, "--labels", LABELS]),
    ("point", ["explore", DIGITS, "{}/space.json", "--point", first_point]),
    ("what-if", ["explore", DIGITS, "--what-if", "1x16x16-ext"]),
    ("asm", ["asm", MATMUL, "-o", "{}/p.bin", "--image", "{}/p.img", "--map", "{}/p.json"]),
    ("disasm", ["disasm", "{}/p.bin", "--hw", "1x16x16"]),
    ("check", ["check", MATMUL]),
    ("check", ["check", "{}/race.s", None]),
    ("simulate", ["simulate", MATMUL, "--engine", "functional"]),
    ("simulate", ["simulate", MATMUL, "--engine", "cycle"]),
    ("simulate", ["simulate", MATMUL, "--engine", "cycle", "--until", "y"]),
    ("debug", ["debug", MATMUL, "-x", "{}/commands"]),
    ("trace", ["trace", "{}/t.json"]),
    ("trace-diff", ["trace", "diff", "{}/t.json", "{}/t.json"]),
    ("simulate", ["simulate", MATMUL, "--engine", "cycle", "--memory", "ideal:latency=9", "--trace", "{}/u.json"]),
    ("trace-diff", ["trace", "diff", "{}/t.json", "{}/u.json", None]),
    ("isa", ["isa"]),
    ("operators", ["operators"]),
    ("hardware", ["hw", "show", "1x16x16"]),
    ("hardware-list", ["hw", "list"]),
    ("area", ["hw", "area", "1x16x16"]),
    ("area-estimate", ["hw", "area", "1x16x16", "--estimate"]),
    ("fpga-estimate", ["hw", "area", "1x16x16,accelerators=2", "--estimate", "--flow", "xc7"]),
    ("fpga-estimate", ["hw", "area", "1x16x16", "--estimate", "--flow", "xcup"]),
    ("pnr", ["hw", "pnr", "tiny", "--core"]),
    ("area", ["hw", "area", "tiny", "--flow", "ecp5"]),
    ("zoo", ["zoo", "resnet8", "--int8", "--samples", "1", "-o", "{}/z.onnx"]),
    *((name, [name, "{}/z.onnx", *ACCEL, "--engine", "cycle", "--accelerators", "2", "--split", "layers"]) for name in ("run", "profile")),
    ("export", ["export", DIGITS, "-o", "{}/exported"]),
    ("export-mlir", ["export", DIGITS, "--format", "mlir", "-o", "{}/exported_mlir"]),
    ("zoo-list", ["zoo", "list"]),
    *(("kernel", ["kernel", *words]) for words in (["print", JACOBI], ["mlir", JACOBI], ["check", JACOBI, "--target", "cpu"], ["compile", JACOBI, "--target", "host", "-o", "{}/j.dvt"],
        ["run", JACOBI, "--target", "cpu", "--check"], ["profile", JACOBI, "--repeat", "2"], ["profile", *PRODUCT, "--target", "accel"],
        ["tune", JACOBI, "--trials", "2", "-o", "{}/j.schedule"], ["compare", *PRODUCT, "--target", "interpreter,cpu,accel", "--repeat", "2"])),
    ("export", ["kernel", "export", JACOBI, "-o", "{}/j"]),
    ("rtl", ["rtl", "find", "--hw", "tiny"]),
    ("soc", ["soc", "run", "--layer", "gemm 8x16 -> 8", "--hw", "tiny", "--engine", "systemc"]),
    ("soc", ["soc", "boot", SOURCE / "tests/soc/chip.c", "--hw", "tiny", "--engine", "systemc"]),
    ("onnx-test", ["onnx-test", "{}/onnx", "--target", "cpu", None]),
    ("certificates", ["certificates", "{}/farm", "--queue", "lab.example.org", "--client", "alice:run-code,admin"]),
    ("certificates", ["certificates", "{}/farm", "--revoke", "alice"]),
    ("queue-status", ["queue", "unix:{}/q", "--status"]),
    *((name, [*words, "--on", "queue:unix:{}/q/free"]) for name, words in (
        ("run", ["run", DIGITS, *ACCEL]), ("profile", ["profile", DIGITS, *ACCEL]), ("evaluate", ["evaluate", DIGITS, *ACCEL, "--inputs", IMAGES]),
        ("compare", ["compare", DIGITS, "--target", "accel"]), ("tasks", ["tune", DIGITS, *ACCEL, "--list"]),
        ("point", ["explore", DIGITS, "{}/space.json", "--point", first_point]), ("what-if", ["explore", DIGITS, "--what-if", "1x16x16-ext"]))),
    ("doctor", ["doctor"]),
    *(("inspect", ["inspect", file]) for file in
      (DIGITS, IMAGES, MATMUL, "{}/d.dvt", "{}/p.json", "{}/page.html", "{}/hardware.json")),
]
OPTIONAL = {"rtl", "soc"}  # needs a model that Verilator has made; a compiler for RISC-V, and SystemC
SPACE = {"hardware": "1x16x16-ext", "axes": {"bus_bytes": [8, 16]}}
SEVERAL = {"hardware": "1x16x16-ext", "axes": {"accelerators": [1, 2]}}
NUMERIC = {"hardware": "1x16x16-ext", "axes": {"scales": ["any", "power-of-two"]}}
# Schemas that others refer to.
PARTS = {"shared"}
# Schemas of files that the kit reads: its own files, and one that is made wrong.
FILES = {"dram": sorted((SOURCE / "simulator/memory/dram").glob("*.json")),
         "technology": [SOURCE / "hw/syn/technology.json", *sorted((SOURCE / "explore/technology").glob("*.json"))]}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_of(value: object, name: str) -> bool:
    if name in ("number", "integer"):
        return isinstance(value, int if name == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


@functools.cache
def load(path: pathlib.Path) -> dict:
    return json.loads(path.read_text())


def referred(reference: str, file: pathlib.Path) -> tuple[dict, pathlib.Path]:
    """The target of a $ref in that file, and the file that contains it."""
    path, _, place = reference.partition("#")
    file = file.parent / path if path else file
    schema = load(file)
    for key in filter(None, place.split("/")):
        schema = schema[key]
    return schema, file


def problems(value: object, schema: dict, file: pathlib.Path, where: str = "$") -> list[str]:
    """The keywords of JSON Schema that docs/schema uses; an unknown one is an error. `file`: the file of the schema."""
    known = {"$schema", "title", "description", "default", "$defs", "$ref", "type", "properties", "required", "additionalProperties", "unevaluatedProperties",
             "items", "enum", "const", "anyOf", "minimum", "maximum"}
    if extra := set(schema) - known:
        return [f"{where}: the validator does not know {extra}"]
    if "$ref" in schema:
        target, target_file = referred(schema["$ref"], file)
        rest = {keyword: schema[keyword] for keyword in schema if keyword not in ("$ref", "unevaluatedProperties")}
        found = problems(value, target, target_file, where) + problems(value, rest, file, where)
        if schema.get("unevaluatedProperties") is False:
            found += [f"{where}: {key} is not documented" for key in set(value) - set(target["properties"]) - set(rest.get("properties", {}))]
        return found
    if "anyOf" in schema:
        tries = [problems(value, option, file, where) for option in schema["anyOf"]]
        return [] if any(not found for found in tries) else min(tries, key=len)
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_of(value, name) for name in names):
        return [f"{where}: {json.dumps(value)[:60]} is not {names}"]
    if "const" in schema and value != schema["const"]:
        return [f"{where}: {value!r} is not {schema['const']!r}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{where}: {value!r} is none of {schema['enum']}"]
    if not schema.get("minimum", value) <= value <= schema.get("maximum", value) if is_of(value, "number") else False:
        return [f"{where}: {value} is out of range"]
    found = []
    if isinstance(value, dict):
        found += [f"{where}: {key} is missing" for key in schema.get("required", []) if key not in value]
        other = schema.get("additionalProperties", True)
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, other)
            if inner is False:
                found.append(f"{where}: {key} is not documented")
            elif inner is not True:
                found += problems(item, inner, file, f"{where}.{key}")
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            found += problems(item, schema["items"], file, f"{where}[{index}]")
    return found


class Validator(unittest.TestCase):
    def test_errors_are_found(self) -> None:
        schema = {"type": "object", "required": ["a"], "additionalProperties": False,
                  "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"enum": ["x"]}}, "c": {"$ref": "#/$defs/d"}},
                  "$defs": {"d": {"anyOf": [{"type": "null"}, {"const": 2}]}}}
        other = {"$ref": "schema.json#/$defs/e", "properties": {"more": {"type": "string"}}, "unevaluatedProperties": False}
        schema["$defs"]["e"] = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 4}}}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "schema.json"
            file.write_text(json.dumps(schema))
            self.assertEqual(problems({"a": 1, "b": ["x"], "c": None}, schema, file), [])
            for wrong in ({}, {"a": True}, {"a": 1.5}, {"a": 1, "z": 0}, {"a": 1, "b": ["y"]}, {"a": 1, "c": 3}, []):
                self.assertNotEqual(problems(wrong, schema, file), [], wrong)
            file = file.with_name("other.json")
            self.assertEqual(problems({"n": 4, "more": "x"}, other, file), [])
            for wrong in ({}, {"n": 0}, {"n": 5}, {"n": 1, "more": 1}, {"n": 1, "z": 0}):
                self.assertEqual(len(problems(wrong, other, file)), 1, wrong)


class Outputs(unittest.TestCase):
    def test_every_output_conforms_to_its_schema(self) -> None:
        used = set()
        with tempfile.TemporaryDirectory() as folder:
            self.prepare(pathlib.Path(folder))
            for name, line in COMMANDS:
                words = [word(folder) if callable(word) else str(word).replace("{}", folder) for word in line if word is not None]
                finished = subprocess.run([CLI, *words, "--json"], capture_output=True, text=True, check=False, cwd=folder)
                used.add(name)
                if name in OPTIONAL and finished.returncode != 0:
                    continue
                with self.subTest(command=" ".join(words)):
                    self.assertEqual(finished.returncode, 1 if None in line else 0, finished.stderr)
                    file = SCHEMAS / f"{name}.json"
                    values = [json.loads(row) for row in finished.stdout.splitlines()] if name == "debug" else [json.loads(finished.stdout)]
                    self.assertEqual([text for value in values for text in problems(value, load(file), file)][:20], [])
                    for value in values:
                        board = value.get("board", {}).get("name") if isinstance(value, dict) else None
                        self.assertEqual(board, "free" if "--on" in words else None)
        self.assertEqual(used, {path.stem for path in SCHEMAS.glob("*.json")} - PARTS - set(FILES))

    def test_files_of_the_kit_conform_to_their_schemas(self) -> None:
        for name, paths in FILES.items():
            self.assertGreater(len(paths), 2)
            schema = SCHEMAS / f"{name}.json"
            for path in paths:
                with self.subTest(file=path.name):
                    self.assertEqual(problems(load(path), load(schema), schema), [])
            for key in load(schema)["required"]:
                wrong = {other: value for other, value in load(paths[0]).items() if other != key}
                self.assertNotEqual(problems(wrong, load(schema), schema), [], key)
            self.assertNotEqual(problems({**load(paths[0]), "more": 1}, load(schema), schema), [])

    def prepare(self, folder: pathlib.Path) -> None:
        (folder / "space.json").write_text(json.dumps(SPACE))
        (folder / "several.json").write_text(json.dumps(SEVERAL))
        (folder / "numeric.json").write_text(json.dumps(NUMERIC))
        (folder / "commands").write_text("step 3\nprint acc[0]\nqueues\nquit\n")
        (folder / "race.s").write_text(MATMUL.read_text().replace("pop_prev", "").replace("push_next", ""))
        hardware = subprocess.run([CLI, "hw", "show", "tiny", "--json"], capture_output=True, check=True)
        (folder / "hardware.json").write_bytes(hardware.stdout)
        (folder / "onnx/test_digits/test_data_set_0").mkdir(parents=True)
        (folder / "onnx/test_digits/model.onnx").write_bytes(DIGITS.read_bytes())
        # A queue with a board that is busy, and one that is free.
        endless = ["run", DIGITS, "--target", "cpu", "--cpu", "interpreter", "--repeat", "1000000", "--on", f"queue:unix:{folder}/q/"]
        busy, free = (["serve", f"unix:{folder}/q", "--name", name, "--folder", folder / name] for name in ("busy", "free"))
        started = ((["queue", f"unix:{folder}/q"], "listening "), (busy, "connected "), (endless, "board "), (free, "connected "))
        for number, (words, said) in enumerate(started):
            log = folder / f"{number}.log"
            process = subprocess.Popen([CLI, *words], stdout=log.open("wb"), stderr=subprocess.STDOUT)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            until = time.monotonic() + 60
            while said not in log.read_text() and time.monotonic() < until:
                time.sleep(0.01)

    def test_every_command_that_reports_has_json(self) -> None:
        listed = subprocess.run([CLI, "help"], capture_output=True, text=True, check=True).stdout.split("\nCommands:\n")[1].split("\n\n")[0]
        for command in re.findall("^  ([a-z-]+) ", listed, re.MULTILINE):
            text = subprocess.run([CLI, "help", command], capture_output=True, text=True, check=True).stdout
            self.assertEqual("  --json " in text, command not in ("help", "completion", "serve"), command)

    def test_every_schema_is_described(self) -> None:
        page = (SOURCE / "docs/reference/command-line.md").read_text()
        for path in SCHEMAS.glob("*.json"):
            self.assertIn(f"(../schema/{path.name})", page)
            self.assertIn("description", json.loads(path.read_text()))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
