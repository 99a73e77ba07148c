#!/usr/bin/env python3
"""Makes a virtual environment whose ONNX Runtime and OpenVINO see a processor with AVX2 and nothing newer, for run.py.

usage: mask_cpuid.py VENV

VENV must be a separate copy: the libraries of both packages are changed in place, and run only with VENV/mask_cpuid.so in
LD_PRELOAD, as run.py starts them (mask_cpuid.c). Needs objdump and cc.
"""

import pathlib
import re
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CPUID, UD2 = b"\x0f\xa2", b"\x0f\x0b"


def segments(content):
    """(address, offset in the file, size) of the loaded segments of an ELF file (64 bits)."""
    table, size, count = struct.unpack_from("<Q", content, 0x20)[0], *struct.unpack_from("<HH", content, 0x36)
    for at in range(table, table + size * count, size):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", content, at)
        if kind == 1:
            yield address, offset, length


def mask(library):
    content = bytearray(library.read_bytes())
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], capture_output=True, text=True, check=True).stdout
    count = 0
    for match in re.finditer(r"^\s*([0-9a-f]+):\s+cpuid\b", listing, re.MULTILINE):
        address = int(match[1], 16)
        place = next(offset + address - start for start, offset, size in segments(content) if start <= address < start + size)
        if content[place:place + 2] != CPUID:
            raise SystemExit(f"{library}: no cpuid at {address:#x}")
        content[place:place + 2] = UD2
        count += 1
    if count:
        library.write_bytes(content)
    print(f"{library.name}: {count}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", folder / "mask_cpuid.so", HERE / "mask_cpuid.c"], check=True)
    for package in ("onnxruntime", "openvino"):
        for library in sorted(folder.glob(f"lib/python*/site-packages/{package}/**/*.so*")):
            if library.read_bytes()[:4] == b"\x7fELF" and CPUID in library.read_bytes():
                mask(library)


if __name__ == "__main__":
    main()
