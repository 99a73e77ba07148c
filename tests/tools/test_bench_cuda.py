#!/usr/bin/env python3
"""bench_cuda on the emulated GPU, at tiny sizes: its rows, its contenders, and the comparison of their values. Its times are meaningless there."""

import datetime
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", ".")).resolve()
BUILD = pathlib.Path(os.environ.get("DOVETAIL_BINARY_DIR", SOURCE / "build/release"))
PROGRAM = BUILD / "bin/bench_cuda"
EMULATED = {f"DOVETAIL_{variable}": str(BUILD / f"emulated_gpu/libemulated_{part}.so")
            for variable, part in (("NVRTC", "nvrtc"), ("LIBCUDA", "driver"), ("CUBLAS", "cublas"), ("CUDNN", "cudnn"))}
TINY = ["--samples", "2", "--warm", "0", "--sizes", "32", "--batches", "2", "--image", "32", "--sequence", "4", "--rows", "4"]
NETWORK = ["--filter", "network", "--networks", "ds_cnn", "--batches", "1", "--onnxruntime", sys.executable]


class BenchCuda(unittest.TestCase):
    def run_bench(self, *arguments, **environment):
        done = subprocess.run([PROGRAM, *TINY, *arguments], capture_output=True, text=True, env={**os.environ, **EMULATED, **environment})
        return done.returncode, done.stderr, json.loads(done.stdout) if done.stdout else None

    def test_products_of_each_type_are_compared_with_the_library(self):
        with tempfile.TemporaryDirectory() as folder:
            status, text, report = self.run_bench("--filter", "product", "--results", folder)
            self.assertEqual(status, 0, text)
            today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
            self.assertEqual([path.name for path in pathlib.Path(folder).iterdir()], [f"{today}-cuda-emulated-gpu.json"])
        self.assertEqual([row["number"] for row in report["rows"]], ["float32", "tf32", "float16", "bfloat16", "int8"])
        for row in report["rows"]:
            self.assertEqual(row["name"], "product 32")
            self.assertEqual(row["checked"], "elements against the definition")
            self.assertEqual(list(row["contenders"]), ["cuda", "vendor"])
            for contender in row["contenders"].values():
                self.assertEqual((contender["samples"], contender["steps"], contender["steps_elsewhere"]), (2, 1, 0))
                self.assertGreater(contender["kernel_ms"], 0)
                self.assertGreater(contender["latency_ms"], 0)
                self.assertGreaterEqual(contender["device_bytes"], 32 * 32)
            self.assertGreater(row["faster_than"]["vendor"]["kernels"], 0)
        self.assertEqual(report["machine"]["device"], "emulated GPU")
        self.assertIn("product float32 against vendor, kernels", report["summary"])
        self.assertIn("onnxruntime", report["missing"])

    def test_a_library_may_round_a_sum_before_it_adds_the_bias(self):
        status, text, report = self.run_bench("--filter", "convolution 7 x 7", "--number", "float16", "--batches", "1")
        self.assertEqual(status, 0, text)
        self.assertEqual(list(report["rows"][0]["contenders"]), ["cuda", "vendor"])

    def test_a_convolution_a_chain_and_a_network(self):
        status, text, report = self.run_bench("--filter", "convolution 1 x 1, 256 to 64", "--number", "float32", "--batches", "1")
        self.assertEqual(status, 0, text)
        self.assertEqual([row["count"] for row in report["rows"]], [2])  # twice in ResNet-50
        status, text, report = self.run_bench("--filter", "bias, residual sum and layer norm")
        self.assertEqual(status, 0, text)
        for row in report["rows"]:  # ours fused, the peer a step for each operator
            self.assertLess(row["contenders"]["cuda"]["steps"], row["contenders"]["vendor"]["steps"])
        status, text, report = self.run_bench(*NETWORK, "--provider", "NoSuchProvider")
        self.assertEqual(status, 0, text)
        self.assertIn("against the reference", report["rows"][0]["checked"])
        self.assertIn("ONNX Runtime cannot run the model", report["rows"][0]["missing"]["onnxruntime"])

    def test_a_wrong_result_fails_and_is_named(self):
        status, text, report = self.run_bench("--filter", "product", "--number", "float32", EMULATED_GPU_PLANT="transposition")
        self.assertEqual(status, 1, text)
        self.assertIn("wrong result (vendor, a product of [32, 32] by [32, 32])", report["rows"][0]["failure"])
        self.assertNotIn("contenders", report["rows"][0])

    def test_missing_parts_are_reported(self):
        status, text, report = self.run_bench("--filter", "product", "--number", "float32", DOVETAIL_CUDNN="/none.so")
        self.assertEqual(status, 0, text)
        self.assertEqual(list(report["rows"][0]["contenders"]), ["cuda"])
        self.assertIn("/none.so", report["missing"]["cudnn"])
        for environment, words in (({"DOVETAIL_LIBCUDA": "/none.so"}, "/none.so"), ({"EMULATED_GPU_DEVICES": "0"}, "the driver sees no device"),
                                   ({"DOVETAIL_NVRTC": "/none.so"}, "run-time compiler")):
            status, text, report = self.run_bench(**environment)
            self.assertEqual((status, report), (2, None), text)
            self.assertIn(words, text)

    def test_mistyped_options_are_refused(self):
        for arguments, words in ((["--sizes", "0"], '"0" must be a number >= 1'), (["--smaples", "3"], "unknown option"), (["--filter"], "missing value"),
                                 (["--filter", "nothing"], "no case has this name"), (["--networks", "resnet51"], "no network of this name"),
                                 (["--provider", "CPU"], "--onnxruntime")):
            status, text, report = self.run_bench(*arguments)
            self.assertEqual((status, report), (2, None), text)
            self.assertIn(words, text)

    def test_onnx_runtime_is_a_contender_where_it_is_installed(self):
        if not importlib.util.find_spec("onnxruntime"):
            self.skipTest("onnxruntime is not installed")
        status, text, report = self.run_bench(*NETWORK, "--provider", "CPUExecutionProvider")
        self.assertEqual(status, 0, text)
        row = report["rows"][0]
        self.assertEqual(list(row["contenders"]), ["cuda", "vendor", "onnxruntime"])
        self.assertNotIn("kernels", row["faster_than"]["onnxruntime"])
        self.assertGreater(row["contenders"]["onnxruntime"]["latency_ms"], 0)


if __name__ == "__main__":
    if not PROGRAM.exists():
        print(f"skipped: {PROGRAM} is not built (target dovetail_bench)")
        sys.exit(77)
    unittest.main()
