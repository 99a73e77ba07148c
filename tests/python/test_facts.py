#!/usr/bin/env python3
"""Models to try, files, operators, the machine, records: the same JSON as the commands print."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from environment import DIGITS, HARDWARE, SOURCE

import numpy as np

import dovetail

CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
MATMUL = SOURCE / "examples" / "assembly" / "matmul.s"


def command(*arguments):
    """The JSON that a command prints, which may leave with 1."""
    done = subprocess.run([CLI, *map(str, arguments), "--json"], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def facts(value):
    """JSON without hints, which name the command line there and the package here."""
    if isinstance(value, list):
        return [facts(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: facts(each) for key, each in value.items() if key not in ("hint", "missing", "notes", "remedy", "why")}


class Facts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_facts_are_those_of_the_commands(self):
        for function, arguments in (
            (dovetail.doctor, ["doctor"]),
            (dovetail.operators, ["operators"]),
            (dovetail.isa, ["isa"]),
            (lambda: dovetail.isa("tiny"), ["isa", "--hw", "tiny"]),
            (dovetail.zoo, ["zoo", "list"]),
        ):
            with self.subTest(arguments):
                self.assertEqual(facts(function()), facts(command(*arguments)))
        for row in (*dovetail.doctor()["targets"], *dovetail.targets(), *dovetail.engines()):
            self.assertNotRegex(row["missing"], r" --(target|engine|hw|gpu)|`dovetail ")
        with self.assertRaisesRegex(dovetail.InputError, "nonesuch"):
            dovetail.isa("nonesuch")
        self.assertIn("engines", dovetail.doctor()._repr_html_())

    def test_inspect(self):
        np.save(self.folder / "x.npy", np.arange(6, dtype=np.int8))
        program = dovetail.Program(MATMUL.read_text())
        (self.folder / "p.bin").write_bytes(program.instructions.tobytes())
        for path, hardware in ((DIGITS / "digits_int8.onnx", None), (MATMUL, None), (self.folder / "x.npy", None),
                               (self.folder / "p.bin", "1x16x16")):
            more = () if hardware is None else ("--hw", hardware)
            self.assertEqual(dovetail.inspect(path, hardware=hardware), command("inspect", path, *more))
        (self.folder / "empty").write_bytes(b"")
        (self.folder / "cut.dvt").write_bytes(dovetail.compile(DIGITS / "digits_int8.onnx", "accel").to_bytes()[:99])
        for name in "empty", "cut.dvt", "nonesuch", "p.bin":
            with self.subTest(name), self.assertRaisesRegex(dovetail.InputError, name):
                dovetail.inspect(self.folder / name)

    def test_a_program_as_the_commands_see_it(self):
        program = dovetail.Program(MATMUL.read_text(), name=str(MATMUL))
        self.assertEqual(program.check(), command("check", MATMUL))
        run = program.simulate(engine="cycle", trace=True, what_if=True)
        (self.folder / "t.json").write_text(run.trace.text)
        printed = command("simulate", MATMUL, "--engine", "cycle", "--trace", self.folder / "c.json")
        self.assertEqual({**run.report, "seconds": 0}, {**printed, "seconds": 0})
        self.assertEqual(json.loads(run.trace.text), json.loads((self.folder / "c.json").read_text()))
        summary = command("trace", self.folder / "t.json")
        self.assertEqual({**run.trace.summary(), "file": ""}, {**summary, "file": ""})
        stopped = command("simulate", MATMUL, "--engine", "cycle", "--until", "y")
        own = program.simulate(engine="cycle", until="y").report
        self.assertEqual(facts({**own, "seconds": 0}), facts({**stopped, "seconds": 0}))
        self.assertIn('`engine="cycle"` has one', json.dumps(own).replace('\\"', '"'))
        command("asm", MATMUL, "-o", self.folder / "p.bin", "--image", self.folder / "i.bin", "--map",
                self.folder / "m.json")
        self.assertEqual(program.map, json.loads((self.folder / "m.json").read_text()))
        self.assertEqual(program.instructions.tobytes(), (self.folder / "p.bin").read_bytes())
        self.assertEqual(program.image.tobytes(), (self.folder / "i.bin").read_bytes())
        disassemble = [CLI, *"disasm --hw 1x16x16".split(), self.folder / "p.bin"]
        self.assertEqual(program.disassemble(), subprocess.run(disassemble, capture_output=True, text=True,
                                                               check=True).stdout)

    def test_examples(self):
        model = dovetail.Model(dovetail.examples() / "digits/digits_float.onnx")
        self.assertIn("image: float32[1, 1, 8, 8]", repr(model))

    def test_a_model_of_the_zoo(self):
        model = dovetail.zoo_model("resnet8", batch=2)
        model.save(self.folder / "own.onnx")
        command("zoo", "resnet8", "--batch", 2, "-o", self.folder / "theirs.onnx")
        self.assertEqual((self.folder / "own.onnx").read_bytes(), (self.folder / "theirs.onnx").read_bytes())
        seen = []
        int8 = dovetail.zoo_model("resnet8", int8=True, samples=1, progress=lambda *each: seen.append(each))
        self.assertIn("QuantizeLinear", int8.describe()["operators"])
        self.assertGreater(len(seen), 0)
        for options, why in (({"name": "nonesuch"}, "nonesuch"), ({"batch": 0}, "it is 0"), ({"image": 3}, "image"),
                             ({"samples": 3}, "int8"), ({"int8": True, "calibration": "best"}, "best")):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                dovetail.zoo_model(**{"name": "resnet8", **options})

    def test_records(self):
        path = self.folder / "records.db"
        dovetail.tune(DIGITS / "digits_int8.onnx", "accel", HARDWARE, records=path, trials=2)
        records = dovetail.Records(path)
        rows = records.list()
        self.assertEqual(rows, command("records", "list", path))
        task = rows[0]["task"]
        self.assertEqual(records.show(task[:12]), command("records", "show", path, task))
        self.assertEqual(records.list(task[:12]), [row for row in rows if row["task"] == task])
        other = dovetail.Records(self.folder / "other.db")
        self.assertEqual(other.import_(records.export(task))["action"], "import")
        self.assertEqual({row["task"] for row in other.list()}, {task})
        self.assertGreater(other.merge(path)["added"], 0)
        self.assertEqual(other.export(), records.export())
        (self.folder / "text.db").write_text("plain text, longer than the header of a database" * 99)
        for wrong, why in (
            (lambda: records.show("nonesuch"), "nonesuch"),
            (lambda: records.show(""), "the key may mean"),
            (lambda: dovetail.Records(self.folder / "none.db").list(), "none.db"),
            (lambda: dovetail.Records(self.folder / "text.db").list(), "text.db"),
            (lambda: other.merge(self.folder / "none.db"), "none.db"),
            (lambda: other.merge(), "count"),
            (lambda: other.import_("{}\n"), "lines:1"),
            (lambda: other.import_("\n"), "no records"),
        ):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                wrong()


if __name__ == "__main__":
    unittest.main()
