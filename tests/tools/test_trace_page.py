#!/usr/bin/env python3
"""The page of a run (simulator/trace/page.h): it holds the trace, refers to nothing outside, is well-formed, and no node name is interpreted as markup."""

import base64
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", ".")).resolve()
CLI = os.environ.get("DOVETAIL_CLI", "dovetail")
MODEL = SOURCE / "examples" / "digits" / "digits_int8.onnx"
HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=alert(1)> & \"'\u2028%TITLE%"

UNITS = ["load", "compute", "store"]
CAUSES = ["none", "fetch", "unit", "drain", "token_prev", "token_next"]
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(html.parser.HTMLParser):
    """Elements in order, with the text of scripts; reports elements that do not nest."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.problems = [], [], {}, []
        self.feed(text)
        self.close()
        self.problems += [f"{tag} is not closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes something else")

    def handle_data(self, data):
        if self.open:
            key = self.elements[-1][1].get("id", self.open[-1]) if self.open[-1] == "script" else self.open[-1]
            self.texts[key] = self.texts.get(key, "") + data


class Numbers:
    def __init__(self, text):
        self.bytes, self.at = base64.b64decode(text, validate=True), 0

    def next(self):
        value, shift = 0, 0
        while True:
            byte = self.bytes[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        folded = self.next()
        return -(folded + 1) // 2 if folded % 2 else folded // 2

    def ended(self):
        return self.at == len(self.bytes)


def decode(data):
    """The trace file's events, the instructions' texts and token flags, and waits."""
    columns = {name: Numbers(text) for name, text in data["columns"].items()}
    last = [[0] * len(re.findall("[\x01\x02]", words)) for words in data["templates"]]
    launches, texts, tokens, source = [], [], [], 0
    for launch in data["launches"]:
        events, issue, instruction = [], 0, -1
        for _ in range(launch["events"]):
            packed = columns["unit"].next()
            tokens.append(columns["tokens"].next())
            instruction += 1 + columns["instruction"].signed()
            issue += columns["issue"].next()
            start = issue + columns["start"].next()
            end = start + columns["length"].next()
            source += columns["source"].signed()
            events.append([instruction, UNITS[packed & 3], issue, start, end, CAUSES[packed >> 2], source])
            template = columns["template"].next()
            for n in range(len(last[template])):
                last[template][n] += columns["numbers"].signed()
            values = iter(last[template])
            texts.append(re.sub("[\x01\x02]", lambda mark: ("" if mark[0] == "\x01" else "0x") + format(next(values), "d" if mark[0] == "\x01" else "x"), data["templates"][template]))
        launches.append(events)
    waits, event = {}, -1
    while not columns["waits"].ended():
        event += 1 + columns["waits"].next()
        waits[event] = [columns["waits"].next() for _ in range(6)]
    return launches, texts, tokens, waits, all(column.ended() for column in columns.values())


class TracePage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.run_cli("run", MODEL, "--target", "accel", "--hw", "1x16x16", "--engine", "cycle", "--memory", "bank:ddr4-2400", "--trace", "t.json", "--html", "p.html")
        cls.trace = json.loads((cls.folder / "t.json").read_text())
        cls.text = (cls.folder / "p.html").read_text()
        cls.page = Page(cls.text)
        cls.data = json.loads(cls.page.texts["data"])

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def run_cli(cls, *words, expected=0):
        done = subprocess.run([CLI, *map(str, words)], cwd=cls.folder, capture_output=True, text=True, timeout=120)
        if done.returncode != expected:
            raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def page_of(self, trace):
        (self.folder / "changed.json").write_text(json.dumps(trace))
        self.run_cli("trace", "changed.json", "--html", "changed.html")
        return (self.folder / "changed.html").read_text()

    def test_it_holds_the_trace(self):
        launches, texts, tokens, waits, ended = decode(self.data)
        self.assertTrue(ended)
        self.assertEqual(launches, [launch["events"] for launch in self.trace["launches"]])
        self.assertEqual(self.data["sources"], self.trace["sources"])
        self.assertEqual([launch["cycles"] for launch in self.data["launches"]], [launch["cycles"] for launch in self.trace["launches"]])
        slices = [event for event in self.trace["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(texts, [event["args"]["what"] for event in slices])
        for text, bits in zip(texts, tokens):
            self.assertEqual(bits, sum(1 << n for n, flag in enumerate(["pop_prev", "pop_next", "push_prev", "push_next"]) if flag in text.split()), text)
        expected, before = {}, 0
        for launch in self.trace["launches"]:
            for row in launch["waits"]["instructions"]:
                expected[before + row[0]] = row[1:]
            before += len(launch["events"])
        self.assertGreater(len(expected), 5)
        self.assertEqual(waits, expected)

    def test_everything_sums_to_the_cycles(self):
        for program in self.data["programs"]:
            cycles = program["whole"]["cycles"]
            self.assertEqual(sum(launch["cycles"] for launch in self.data["launches"]), cycles)
            for unit in UNITS:
                self.assertEqual(sum(program["classes"][unit].values()), cycles)
                self.assertEqual(sum(program["waits"][unit].values()), program["classes"][unit]["memory"])
                self.assertEqual(program["whole"]["units"][unit]["cycles"], cycles)
                layers = sum(layer["units"][unit]["cycles"] for layer in program["layers"])
                self.assertLessEqual(layers, cycles)  # the rest is after the unit's last instruction
                self.assertGreater(layers, cycles // 2)
                self.assertEqual(sum(sum(layer["units"][unit]["memory"].values()) for layer in program["layers"]), program["classes"][unit]["memory"])
            fetch = program["fetch"]
            self.assertEqual(fetch["issue"] + sum(fetch["memory"].values()) + sum(fetch["queue_full"].values()) + fetch["done"], cycles)
            self.assertEqual(sum(layer["macs"] for layer in program["layers"]), program["whole"]["macs"])
            self.assertGreater(len(program["what_if"]), 5)

    def test_the_trace_file_gives_the_same_page(self):
        self.run_cli("trace", "t.json", "--html", "again.html")
        # But for what other hardware would take: --trace alone does not ask; here --html did.
        self.assertEqual((self.folder / "again.html").read_text(), self.text)

    def test_it_is_well_formed_and_refers_to_nothing(self):
        self.assertEqual(self.page.problems, [])
        self.assertTrue(self.text.startswith("<!doctype html>"))
        for tag, attributes in self.page.elements:
            self.assertNotIn(tag, ("link", "img", "iframe", "object", "embed", "base"))
            self.assertFalse({"src", "href", "action", "data", "srcset"} & set(attributes), attributes)
        code = self.page.texts["script"] + self.page.texts["style"]
        for reference in ("https:", "//fonts", "@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket", "import(", "innerHTML", "eval("):
            self.assertNotIn(reference, code)
        self.assertEqual(re.findall(r"http:[^'\"]*", code), ["http://www.w3.org/2000/svg"])  # a name, not an address
        policy = [attributes["content"] for tag, attributes in self.page.elements if attributes.get("http-equiv") == "Content-Security-Policy"]
        self.assertEqual(len(policy), 1)
        self.assertIn("default-src 'none'", policy[0])

    def test_names_stay_in_their_place(self):
        trace = dict(self.trace, title=HOSTILE, sources=[HOSTILE + str(n) for n in range(len(self.trace["sources"]))])
        trace["programs"] = [dict(program, name=HOSTILE, hardware=program["hardware"]) for program in self.trace["programs"]]
        page = Page(self.page_of(trace))
        self.assertEqual(page.problems, [])
        self.assertEqual([tag for tag, _ in page.elements], [tag for tag, _ in self.page.elements])
        self.assertEqual(page.texts["title"], HOSTILE)
        data = json.loads(page.texts["data"])
        self.assertEqual(data["title"], HOSTILE)
        self.assertEqual(data["sources"], trace["sources"])

    def test_a_file_without_its_programs_is_refused(self):
        damaged = [
            ({key: value for key, value in self.trace.items() if key != "programs"}, "the trace does not contain its programs"),
            (dict(self.trace, programs=[]), "the programs have 0 launches, but the trace has 1"),
            (dict(self.trace, programs=self.trace["programs"] * 2), "there are more launches than the trace's 1"),
            (dict(self.trace, programs=[dict(self.trace["programs"][0], instructions="?")]), "the instructions are not valid base64"),
            (dict(self.trace, programs=[dict(self.trace["programs"][0], launches=[[0, 3]])]), "events, for 3 instructions"),
            (dict(self.trace, programs=[dict(self.trace["programs"][0], launches=[[5, 10 ** 9]])]), "launch 5:1000000000 of"),
            (dict(self.trace, programs=[dict(self.trace["programs"][0], launches=7)]), "cannot read the programs of the trace"),
            (dict(self.trace, memory="marble"), "there is no memory model \"marble\""),
        ]
        for trace, why in damaged:
            (self.folder / "damaged.json").write_text(json.dumps(trace))
            done = self.run_cli("trace", "damaged.json", "--html", "damaged.html", expected=2)
            self.assertIn(why, done.stderr)
            self.assertFalse((self.folder / "damaged.html").exists())

    def test_a_browser_shows_it(self):
        browser = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
        if browser is None:
            self.skipTest("there is no chromium")
        (self.folder / "shown.html").write_text(self.page_of(dict(self.trace, sources=[HOSTILE + str(n) for n in range(len(self.trace["sources"]))])))
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + str(self.folder / "profile"), "--enable-logging=stderr", "--dump-dom",
                               (self.folder / "shown.html").as_uri()], capture_output=True, text=True, timeout=120)
        self.assertEqual(re.findall(r".*CONSOLE.*", done.stderr), [])
        shown = Page(done.stdout)
        rows = [tag for tag, _ in shown.elements].count("tr")
        program = self.data["programs"][0]
        components = [part for part in self.data["energy"]["parts"] if part["joules"] > 0]
        self.assertEqual(rows, 1 + len(program["layers"]) + 2 + len(program["what_if"]) + 1 + len(components))
        self.assertIn("a model at 45 nm", done.stdout)
        self.assertIn(f"{program['whole']['cycles']:,}", done.stdout)
        self.assertIn("circle", [tag for tag, _ in shown.elements])
        self.assertNotIn("img", [tag for tag, _ in shown.elements])


if __name__ == "__main__":
    if not shutil.which(CLI):
        print(f"skipped: there is no {CLI}")
        sys.exit(77)
    unittest.main()
