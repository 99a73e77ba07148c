"""The installed kit that the tests of this folder share.  usage, as the fixture: kit.py

It is installed into one folder and moved to another: no file of it may depend on the first folder. No test changes it.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"]).resolve()
BINARY = pathlib.Path(os.environ["DOVETAIL_BINARY_DIR"]).resolve()
WORK = BINARY / "tests" / "install"
FIRST, PREFIX = WORK / "installed", WORK / "moved" / "elsewhere"
PROGRAM = PREFIX / "bin" / "dovetail"
PAGE = SOURCE / "docs" / "howto" / "installing.md"


def environment(**changes):
    """The environment of a user who has set no variables. A value of None removes a variable."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("DOVETAIL_", "XDG_"))}
    plain |= {"XDG_CACHE_HOME": str(WORK / "cache"), "XDG_STATE_HOME": str(WORK / "state"), **changes}
    return {name: str(value) for name, value in plain.items() if value is not None}


def run(*command, status=0, cwd=None, **changes):
    """The output on both channels; fails where the exit status is not `status`."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, env=environment(**changes), check=False)
    if done.returncode != status:
        raise AssertionError(f"{' '.join(map(str, command))} left with {done.returncode}, not {status}:\n{done.stdout}")
    return done.stdout


def configure(source, build, *options, status=0):
    """Configures a user's project from scratch against the moved kit with the compiler and flags of the kit's own build. Returns the output of CMake."""
    shutil.rmtree(build, ignore_errors=True)
    return run("cmake", "-S", source, "-B", build, "-G", os.environ["DOVETAIL_GENERATOR"], f"-DCMAKE_CXX_COMPILER={os.environ['DOVETAIL_CXX']}",
               f"-DCMAKE_CXX_FLAGS={os.environ.get('DOVETAIL_CXX_FLAGS', '')}", f"-DCMAKE_PREFIX_PATH={PREFIX}", *options, status=status)


def exported():
    """The names of the libraries that the package exports."""
    text = "".join(file.read_text() for file in (PREFIX / "lib/cmake/dovetail").glob("dovetail*_targets.cmake"))
    return set(re.findall(r"^add_library\(dovetail::(\w+) ", text, re.MULTILINE))


def main():
    for folder in (FIRST, WORK / "moved"):
        shutil.rmtree(folder, ignore_errors=True)
    run("cmake", "--install", BINARY, "--prefix", FIRST)
    PREFIX.parent.mkdir()
    FIRST.rename(PREFIX)


if __name__ == "__main__":
    main()
    sys.exit(0)
