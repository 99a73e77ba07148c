#!/usr/bin/env python3
"""numpy reads the .npz that base/npy.h writes."""

import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("numpy is not installed (package python3-numpy)")
    sys.exit(77)

source = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"])
writer = pathlib.Path(os.environ["DOVETAIL_BINARY_DIR"]) / "bin/test_unit_base"
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "written.npz"
    subprocess.run([writer, "write an npz file for numpy"], check=True, env={**os.environ, "DOVETAIL_NPZ_PATH": str(path)})
    written, expected = np.load(path), np.load(source / "tests/unit/base/data/stored.npz")
    assert sorted(written.files) == sorted(expected.files), written.files
    for name in expected.files:
        assert written[name].dtype == expected[name].dtype, name
        np.testing.assert_array_equal(written[name], expected[name], strict=True)
