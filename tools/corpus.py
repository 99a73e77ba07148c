#!/usr/bin/env python3
"""Packs a libFuzzer corpus in one archive, and unpacks it.

usage: corpus.py pack FOLDER ARCHIVE.zip [LIMIT_BYTES]
       corpus.py unpack ARCHIVE.zip FOLDER

Equal corpora give equal archives: members are sorted by name, dates are fixed. If the archive would exceed the limit (900000 bytes), the
largest files are left out, and reported.
"""
import pathlib
import sys
import zipfile

LIMIT_BYTES = 900_000


def pack(folder: pathlib.Path, archive: pathlib.Path, limit: int) -> None:
    files = sorted((path for path in folder.iterdir() if path.is_file()), key=lambda path: (path.stat().st_size, path.name))
    kept, dropped = files, []
    while True:
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
            for path in sorted(kept, key=lambda path: path.name):
                member = zipfile.ZipInfo(path.name, date_time=(1980, 1, 1, 0, 0, 0))
                member.compress_type = zipfile.ZIP_DEFLATED
                file.writestr(member, path.read_bytes())
        if archive.stat().st_size <= limit or not kept:
            break
        cut = max(1, len(kept) // 20)
        dropped += kept[-cut:]
        kept = kept[:-cut]
    print(f"{archive}: {len(kept)} files, {archive.stat().st_size} bytes" + (f"; {len(dropped)} larger ones left out" if dropped else ""))


def unpack(archive: pathlib.Path, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not archive.exists():
        return
    with zipfile.ZipFile(archive) as file:
        for name in file.namelist():
            # Only the name without folders: an archive never writes outside of the folder.
            (folder / pathlib.PurePosixPath(name).name).write_bytes(file.read(name))


def main(arguments: list[str]) -> int:
    if len(arguments) in (3, 4) and arguments[0] == "pack":
        pack(pathlib.Path(arguments[1]), pathlib.Path(arguments[2]), int(arguments[3]) if len(arguments) == 4 else LIMIT_BYTES)
    elif len(arguments) == 3 and arguments[0] == "unpack":
        unpack(pathlib.Path(arguments[1]), pathlib.Path(arguments[2]))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
