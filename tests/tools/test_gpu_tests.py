#!/usr/bin/env python3
"""tools/gpu_tests.py on the emulated GPU: what passes and what fails is counted, what is missing is not a success, and compute-sanitizer is read."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
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

    def run_tool(self, command, *arguments, **environment):
        out = self.root / "result.json"
        out.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, SOURCE / "tools/gpu_tests.py", command, "--cli", CLI, "--nodes", self.root / "nodes", "--models",
                               self.root / "models", "--models-only", "digits", "--zoo", "--levels", "2", "--out", out, *arguments],
                              capture_output=True, text=True, env={**os.environ, **EMULATED, "PATH": "/usr/bin:/bin", **environment})
        return done.returncode, done.stdout + done.stderr, json.loads(out.read_text()) if out.exists() else None

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

    def test_a_run_is_held_against_the_reference_and_under_the_sanitizer(self):
        if not (CLI.parent / "test_property_compiler").exists():
            self.skipTest("test_property_compiler is not built")
        tools = self.root / "bin"
        tools.mkdir()
        # Runs what it is given, as compute-sanitizer does, and says what it is told to say.
        (tools / "compute-sanitizer").write_text('#!/bin/sh\n[ "$1" = --version ] && echo Version 1 && exit\nwhile [ "${1#--}" != "$1" ]; do shift 2; done\n'
                                                 '"$@"\necho "========= ERROR SUMMARY: $ERRORS errors"\n')
        (tools / "compute-sanitizer").chmod(0o755)
        # Random programs on the "device" take minutes here: one file of them.
        path = {"PATH": f"{tools}:/usr/bin:/bin"}
        status, text, result = self.run_tool("run", "--random", "vendor: products of bytes*", **path, ERRORS="0")
        self.assertEqual(status, 0, text)
        parts = {part["part"]: part for part in result["parts"]}
        self.assertEqual(parts["node tests on cuda at -O 2"]["passed"], 1)  # of both, one is wrong on the host as well
        self.assertEqual(parts["node tests on cudnn,cublas,cuda at -O 2"]["passed"], 1)
        self.assertEqual(parts["models on cuda at -O 2"]["equal"], 1)
        self.assertEqual(parts["compute-sanitizer racecheck"]["programs"], 1)
        self.assertGreater(parts["random programs"]["assertions"], 3)
        self.assertEqual((result["device"], result["compute_sanitizer"]), ("emulated GPU, sm_90", ["Version 1"]))
        status, text, result = self.run_tool("run", "--nodes-only", "test_twice", "--models-only", "--random", "vendor: products of bytes*", **path, ERRORS="3")
        self.assertEqual(status, 1, text)
        self.assertEqual(sum("compute-sanitizer" in failure for failure in result["failures"]), 3)


if __name__ == "__main__":
    unittest.main()
