#!/usr/bin/env python3
"""Removes the paths of build folders from installed programs and libraries.  usage: shorten_paths.py FOLDER/... --below PATH...

The compiler writes the names of sources into messages of internal errors (__FILE__), whole. Each FOLDER is replaced by "dovetail" followed by slashes, so that
its length is kept: sections may share the ends of their strings, so nothing may move. (-ffile-prefix-map would do it while compiling, but then a compiler
cache would work for only one folder.)
"""

import argparse
import os
import pathlib
import sys


def substitute(folder):
    """The replacement, as long as `folder`, which ends with a slash."""
    name = b"dovetail" if len(folder) > len(b"dovetail") else b"."
    return name + b"/" * (len(folder) - len(name))


def shorten(path, folders):
    before = path.read_bytes()
    after = before
    for folder in folders:
        after = after.replace(folder, substitute(folder))
    if after != before:
        mode, times = path.stat().st_mode, path.stat()
        path.write_bytes(after)
        path.chmod(mode)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER/")
    parser.add_argument("--below", nargs="+", required=True, type=pathlib.Path, metavar="PATH", help="a file, or a folder with .a and .so files")
    options = parser.parse_args()
    # The longest first, since a folder may be in another one.
    folders = sorted((os.fsencode(folder) for folder in options.folders), key=len, reverse=True)
    if not all(folder.endswith(b"/") and len(folder) > 2 for folder in folders):
        sys.exit("shorten_paths.py: a folder ends with a slash, and is not the root")
    for place in options.below:
        files = [place] if place.is_file() else [file for end in ("*.a", "*.so", "*.so.*") for file in place.glob(end) if "dovetail" in file.name]
        for file in files:
            if file.is_symlink():  # to a library of the same folder, or of another component
                continue
            shorten(file, folders)


if __name__ == "__main__":
    main()
