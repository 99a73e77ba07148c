#!/usr/bin/python3
"""Writes the .npy and .npz files of this folder with numpy: which tests/unit/base/npy.cpp and npz.cpp read."""
import pathlib

import numpy as np

here = pathlib.Path(__file__).resolve().parent
ramp = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

np.save(here / "row_major.npy", ramp)
np.save(here / "fortran.npy", np.asfortranarray(ramp))
np.save(here / "big_endian.npy", ramp.astype(">i4"))
np.save(here / "big_endian_fortran.npy", np.asfortranarray(ramp.astype(">f8")))
np.save(here / "scalar.npy", np.int64(-7))
np.save(here / "vector.npy", np.array([True, False, True]))
np.save(here / "empty.npy", np.zeros((3, 0, 2), dtype=np.uint16))
np.save(here / "structured.npy", np.zeros(2, dtype=[("a", "<i4"), ("b", "<f4")]))
np.save(here / "complex.npy", np.zeros(2, dtype=np.complex64))
for version in [(2, 0), (3, 0)]:
    with open(here / f"version_{version[0]}.npy", "wb") as file:
        np.lib.format.write_array(file, ramp, version=version)

members = {
    "ramp": ramp,
    "half": np.array([1.0, -2.5, 65504.0], dtype=np.float16),
    "labels": (np.arange(1000) % 10).astype(np.uint8),
    "empty": np.zeros((0,), dtype=np.int32),
}
np.savez(here / "stored.npz", **members)
np.savez_compressed(here / "deflated.npz", **members)
