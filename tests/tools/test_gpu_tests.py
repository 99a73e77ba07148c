#!/usr/bin/env python3
"""tools/gpu_tests.py on the emulated GPU: passes and failures are counted, a missing part is not a success, compute-sanitizer is read, and a run
continues where it was ended."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", ".")).resolve()
BUILD = pathlib.Path(os.environ.get("DOVETAIL_BINARY_DIR", SOURCE / "build/release"))
CLI = pathlib.Path(os.environ.get("DOVETAIL_CLI", BUILD / "bin/dovetail"))
EMULATED = {f"DOVETAIL_{variable}": str(BUILD / f"emulated_gpu/libemulated_{part}.so")
            for variable, part in (("NVRTC", "nvrtc"), ("LIBCUDA", "driver"), ("CUBLAS", "cublas"), ("CUDNN", "cudnn"))}


def varint(value):
    text = b""
    while value > 127:
        text, value = text + bytes([value & 127 | 128]), value >> 7
    return text + bytes([value])


def field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def floats(name, values):
    import struct
    return field(1, len(values)) + field(2, 1) + field(8, name) + field(9, struct.pack(f"<{len(values)}f", *values))


def value_info(name, extent):
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, field(1, field(1, extent)))))


def write_test(folder, expected):
    """y = x + x, of ONNX's messages: ModelProto, GraphProto, NodeProto, TensorProto."""
    node = field(1, "x") + field(1, "x") + field(2, "y") + field(3, "n") + field(4, "Add")
    graph = field(1, node) + field(2, "g") + field(11, value_info("x", 3)) + field(12, value_info("y", 3))
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13)))
    (data / "input_0.pb").write_bytes(floats("x", [1, 2, 3]))
    (data / "output_0.pb").write_bytes(floats("y", expected))


class GpuTests(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        write_test(self.root / "nodes/test_twice", [2, 4, 6])
        write_test(self.root / "nodes/test_not_the_reference_either", [2, 4, 7])
        (self.root / "models/digits").mkdir(parents=True)
        shutil.copy(SOURCE / "examples/digits/digits_float.onnx", self.root / "models/digits/model.onnx")

    def command(self, command, *arguments):
        run = ["--what", "nodes", "models", "--journal", self.root / "journal.jsonl", "--commit", "c1"] if command == "run" else []
        return [sys.executable, SOURCE / "tools/gpu_tests.py", command, "--cli", CLI, "--nodes", self.root / "nodes", "--models", self.root / "models",
                "--models-only", "digits", "--zoo", "--levels", "2", "--out", self.root / "result.json", *run, *arguments]

    def run_words(self, words, **environment):
        out = self.root / "result.json"
        out.unlink(missing_ok=True)
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **EMULATED, "PATH": "/usr/bin:/bin", **environment})
        return done.returncode, done.stdout + done.stderr, json.loads(out.read_text()) if out.exists() else None

    def run_tool(self, command, *arguments, **environment):
        return self.run_words(self.command(command, *arguments), **environment)

    def merge(self, *arguments):
        return self.run_words([sys.executable, SOURCE / "tools/gpu_tests.py", "merge", *arguments, "--zoo", "--out", self.root / "result.json"])

    def items(self, journal="journal.jsonl"):
        lines = [json.loads(line) for line in (self.root / journal).read_text().splitlines()]
        return [(line["part"], line["item"]) for line in lines if "item" in line]

    def test_every_kernel_is_compiled_for_each_architecture(self):
        status, text, result = self.run_tool("compile")
        self.assertEqual(status, 0, text)
        nodes, models = result["parts"]
        self.assertEqual((nodes["tests"], nodes["passed"], nodes["kernels"], nodes["on_the_host"]), (2, 2, 2, []))
        self.assertGreater(models["rows"][0]["programs"], 4)
        self.assertEqual(result["architectures"], "sm_80,sm_90a")

    def test_a_model_that_does_not_compile_fails(self):
        (self.root / "models/digits/model.onnx").write_bytes(b"no model")
        status, text, result = self.run_tool("compile")
        self.assertEqual(status, 1, text)
        self.assertIn("models at -O 2: digits: ", result["failures"][0])

    def test_without_a_compiler_data_or_a_device_nothing_is_a_success(self):
        for variable, value, command, words in (("DOVETAIL_NVRTC", "/none.so", "compile", "run-time compiler"), ("DOVETAIL_LIBCUDA", "/none.so", "run", "a GPU: "),
                                                ("EMULATED_GPU_DEVICES", "0", "run", "the driver sees no device")):
            status, text, result = self.run_tool(command, **{variable: value})
            self.assertEqual((status, result), (2, None), text)
            self.assertIn("gpu_tests: missing: ", text)
            self.assertIn(words, text)

    def test_a_run_is_compared_with_the_reference_and_sanitized(self):
        if not (CLI.parent / "test_property_compiler").exists():
            self.skipTest("test_property_compiler is not built")
        tools = self.root / "bin"
        tools.mkdir()
        # Runs its arguments, as compute-sanitizer does, and prints the given lines.
        (tools / "compute-sanitizer").write_text('#!/bin/sh\n[ "$1" = --version ] && echo Version 1 && exit\nwhile [ "${1#--}" != "$1" ]; do shift 2; done\n'
                                                 '"$@"\necho "========= ERROR SUMMARY: $ERRORS errors"\n')
        (tools / "compute-sanitizer").chmod(0o755)
        # Random programs on the "device" take minutes here: one file of them.
        path = {"PATH": f"{tools}:/usr/bin:/bin"}
        kinds = ["--what", "nodes", "models", "random", "sanitizers", "--random", "vendor: products of bytes*"]
        status, text, result = self.run_tool("run", *kinds, **path, ERRORS="0")
        self.assertEqual(status, 0, text)
        parts = {part["part"]: part for part in result["parts"]}
        self.assertEqual(parts["node tests on cuda at -O 2"]["passed"], 1)  # of both, one is wrong on the host too
        self.assertEqual(parts["node tests on cudnn,cublas,cuda at -O 2"]["passed"], 1)
        self.assertEqual(parts["models on cuda at -O 2"]["equal"], 1)
        self.assertEqual(parts["compute-sanitizer racecheck"]["programs"], 1)
        self.assertGreater(parts["random programs"]["assertions"], 3)
        self.assertEqual((result["device"], result["compute_sanitizer"]), ("emulated GPU, sm_90", ["Version 1"]))
        status, text, result = self.run_tool("run", *kinds, "--nodes-only", "test_twice", "--models-only", "--commit", "c2", **path, ERRORS="3")
        self.assertEqual(status, 1, text)
        self.assertEqual(sum("compute-sanitizer" in failure for failure in result["failures"]), 3)

    def test_parts_are_all_once_and_merged_they_are_the_whole(self):
        for number in (1, 2, 3):
            status, text, result = self.run_tool("run", "--part", f"{number}/3", "--journal", self.root / f"{number}.jsonl")
            self.assertEqual((status, result), (0, None), text)
        parts = [self.items(f"{number}.jsonl") for number in (1, 2, 3)]
        together = [item for part in parts for item in part]
        self.assertEqual(len(together), len(set(together)))
        self.assertEqual(self.run_tool("run")[0], 0)
        self.assertEqual(sorted(together), sorted(self.items()))
        self.assertTrue(parts[0] and parts[1])
        whole = json.loads((self.root / "result.json").read_text())
        status, text, merged = self.merge(*(self.root / f"{number}.jsonl" for number in (1, 2, 3)), "--models", self.root / "models", "--models-only", "digits")
        self.assertEqual(status, 0, text)

        def without_times(document):
            return [{key: value for key, value in part.items() if key != "seconds"} for part in document["parts"]], document["failures"], document["missing"]

        self.assertEqual(without_times(merged), without_times(whole))

    def test_merge_names_what_is_missing(self):
        self.run_tool("run", "--part", "2/2")
        (self.root / "models/second").mkdir()
        shutil.copy(self.root / "models/digits/model.onnx", self.root / "models/second/model.onnx")
        status, text, merged = self.merge(self.root / "journal.jsonl", "--models", self.root / "models", "--models-only", "digits", "second")
        self.assertEqual(status, 3, text)
        self.assertEqual(merged["missing"]["node tests on cuda at -O 2"], ["test_not_the_reference_either"])
        self.assertEqual(merged["missing"]["models on cuda at -O 2"], ["digits", "second"])
        self.assertIn("missing: models on cuda at -O 2: 2: digits, second", text)
        status, text, merged = self.merge(self.root / "journal.jsonl", "--models", self.root / "none")
        self.assertEqual((status, merged["missing"]["models on cuda at -O 2"]), (3, ["digits"]))
        self.assertIn("so it is unknown whether the journals have all of them", text)

    def test_what_is_in_the_journal_is_not_run_again(self):
        self.assertEqual(self.run_tool("run")[0], 0)
        before = self.items()
        status, text, result = self.run_tool("run")
        self.assertEqual((status, self.items()), (0, before), text)
        self.assertEqual(result["parts"][0]["tests"], 2)
        # An item of another commit is run again.
        self.assertEqual(self.run_tool("run", "--commit", "c2")[0], 0)
        self.assertEqual(len(self.items()), 2 * len(before))

    def test_a_run_that_was_killed_continues(self):
        journal = self.root / "journal.jsonl"
        with subprocess.Popen(self.command("run"), stdout=subprocess.DEVNULL, env={**os.environ, **EMULATED}) as process:
            for _ in range(600):
                if journal.exists() and self.items():
                    break
                time.sleep(0.1)
            process.kill()
        before = self.items()
        self.assertTrue(before)
        # As if the last write had been cut short.
        text = journal.read_text().rstrip("\n")
        journal.write_text(text[:-5])
        status, text, result = self.run_tool("run")
        self.assertEqual((status, result["missing"]), (0, {}), text)
        whole = [line for line in journal.read_text().splitlines() if line.endswith("}")]
        items = [(line["part"], line["item"]) for line in map(json.loads, whole) if "item" in line]
        self.assertEqual(len(items), len(set(items)))
        self.assertEqual(items[:len(before) - 1], before[:-1])

    def test_after_its_minutes_nothing_starts_and_the_status_says_so(self):
        status, text, result = self.run_tool("run", "--minutes", "0")
        self.assertEqual((status, result, self.items()), (3, None, []), text)
        self.assertIn("8 items of this share are still to run", text)  # both tests on three targets, and the model on two

    def test_commits_and_devices_are_not_mixed(self):
        self.run_tool("run", "--models-only")
        self.run_tool("run", "--models-only", "--commit", "c2")
        status, text, result = self.merge(self.root / "journal.jsonl", "--models", self.root / "models", "--models-only")
        self.assertEqual((status, result), (2, None), text)
        self.assertIn("one commit: the journals have c1, c2; --commit chooses one", text)
        status, text, result = self.merge(self.root / "journal.jsonl", "--models", self.root / "models", "--models-only", "--commit", "c2")
        self.assertEqual((status, result["commit"]), (0, "c2"), text)
        journal = self.root / "journal.jsonl"
        journal.write_text(journal.read_text() + journal.read_text().replace("emulated GPU, sm_90", "another"))
        status, text, result = self.merge(journal, "--commit", "c2")
        self.assertEqual((status, result), (2, None), text)
        self.assertIn("one device: ", text)

    def test_where_an_item_ran_twice_its_failure_counts(self):
        self.run_tool("run", "--models-only")
        lines = (self.root / "journal.jsonl").read_text().splitlines()
        failed = next(line for line in lines if "node tests on cuda at" in line and '"test_twice"' in line and '"item"' in line)
        for second in (lines + [failed.replace('"passed"', '"failed"')], [failed.replace('"passed"', '"failed"')] + lines):
            (self.root / "journal.jsonl").write_text("\n".join(second) + "\n")
            status, text, result = self.merge(self.root / "journal.jsonl", "--models", self.root / "models", "--models-only")
            self.assertEqual(status, 1, text)
            self.assertEqual(len(result["failures"]), 1)

    def test_bench_cuda_is_a_part_in_separate_commands(self):
        if not (CLI.parent / "bench_cuda").exists():
            self.skipTest("bench_cuda is not built")
        # The seventh of 35 commands: a product.
        tiny = "--samples 2 --warm 0 --sizes 32"
        status, text, _ = self.run_tool("run", "--what", "bench", "--part", "7/35", "--bench", tiny)
        self.assertEqual(status, 0, text)
        self.assertEqual(self.items(), [("bench_cuda", "product 1024, float32")])
        status, text, result = self.merge(self.root / "journal.jsonl", "--models", self.root / "models", "--models-only")
        self.assertEqual((status, len(result["missing"]["bench_cuda"])), (3, 34), text)
        bench = result["parts"][0]
        self.assertEqual((bench["part"], bench["measured"], bench["rows"][0]["name"]), ("bench_cuda", 1, "product 32"))
        self.assertTrue(bench["commands"]["product 1024, float32"].endswith(f"--number float32 {tiny}"))
        self.assertIn("product float32 against vendor, kernels", bench["summary"])


if __name__ == "__main__":
    unittest.main()
