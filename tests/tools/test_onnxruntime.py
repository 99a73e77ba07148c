#!/usr/bin/env python3
"""ONNX Runtime's second opinion on some random graphs, at every level: tools/fuzz_graphs.py, for a few seconds. Any difference that it cannot explain
by name is a failure. Skipped without ONNX Runtime."""

import os
import pathlib
import subprocess
import sys

GRAPHS = 30 * int(os.environ.get("DOVETAIL_TEST_SCALE", "1"))

source, binary = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"]), pathlib.Path(os.environ["DOVETAIL_BINARY_DIR"])
done = subprocess.run([sys.executable, source / "tools/fuzz_graphs.py", "--require-onnxruntime", "--first", "1000", "--count", str(GRAPHS),
                       binary / "bin/test_fuzz_compiler"])
sys.exit(done.returncode)
