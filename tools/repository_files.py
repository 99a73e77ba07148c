"""The files that belong to a source tree, for the checks of this folder."""

import os
import pathlib
import subprocess


def repository_files(root):
    """Paths relative to `root`, sorted: files that git tracks or would track; without git all files except build folders."""
    if (root / ".git").exists():
        listing = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True, text=True).stdout
        names = {name for name in listing.split("\0") if name}
    else:
        names = set()
        for folder, subfolders, files in os.walk(root):
            subfolders[:] = [name for name in subfolders if name not in ("build", "__pycache__")]
            names.update(os.path.relpath(os.path.join(folder, name), root) for name in files)
    return sorted(path for path in map(pathlib.Path, names) if (root / path).is_file() and not (root / path).is_symlink())
