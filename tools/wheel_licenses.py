#!/usr/bin/env python3
"""Collects the licenses of what the shared libraries of a wheel contain, by the Debian packages that it comes from.

usage: wheel_licenses.py FOLDER_OF_DEPENDENCY_FILES OUTPUT_FOLDER

The linker's dependency files (capi/wheel.cmake) name the archives and shared libraries that it has read. Libraries of
which only headers are compiled in are listed below.
"""

import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ("libcli11-dev", "libfmt-dev", "libprotozero-dev", "nlohmann-json3-dev")
NOT_INSIDE = ("libc6", "libc6-dev", "libgcc-s1")  # every system's own


def linked(folder):
    """The files outside the build that went into the libraries, links resolved."""
    for file in folder.glob("*.d"):
        rule = file.read_text().split(":", 1)[1].split("\n\n")[0]
        for path in map(pathlib.Path, rule.replace("\\\n", " ").split()):
            if path.is_absolute() and not path.is_relative_to(SOURCE):
                yield path.resolve()


def packages_of(paths):
    command = ["dpkg-query", "-S", *map(str, sorted(set(paths)))]
    found = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return {line.split(":")[0] for line in found.stdout.splitlines()}


def main():
    folder, output = map(pathlib.Path, sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    shutil.copy(SOURCE / "LICENSE", output / "LICENSE")
    shutil.copy(SOURCE / "capi/include/dlpack.LICENSE", output / "dlpack.LICENSE")
    if shutil.which("dpkg-query") is None:
        sys.exit("wheel_licenses: this system has no dpkg, by which the licenses of what is linked in are found")
    texts = {}  # by content: packages of one source share it
    for package in sorted(packages_of(linked(folder)).union(HEADERS).difference(NOT_INSIDE)):
        copyright = pathlib.Path("/usr/share/doc", package, "copyright")
        if not copyright.exists():
            sys.exit(f"wheel_licenses: the package {package} has no {copyright}")
        texts.setdefault(copyright.read_bytes(), package)
    for text, package in texts.items():
        (output / f"{package}.txt").write_bytes(text)


if __name__ == "__main__":
    main()
