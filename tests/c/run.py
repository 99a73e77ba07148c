"""Tests of the C interface (capi/).  usage: run.py CASE

runtime        the program runtime.c, on bundles that the command line made; all logits equal to the command line's
kit            the program kit.c, likewise
threads        the program threads.c: all kinds of calls in several threads at once
symbols        the libraries export dvt_* alone, those that the header declares, and load nothing that they should not
header         dovetail.h alone, and client.c, compile without a warning as C11, C17, C++11 and C++20, with gcc and clang
page           the programs in C of docs/howto/embedding-c.md
export         programs of `dovetail export` with an accelerator, on a machine of the library
cffi           its program in Python: bindings that cffi makes of the header
refusals       each file, mapping, thread and library that client.c asks for is refused in turn (tests/faults/refuse.cpp): a diagnostic, and
               no crash. Heap memory is not refused: the JSON library ends the process where it runs out
interface      what programs compiled with the header of version 1.0 rely on still holds: functions and structs (dovetail-1.0.abi, compared
               by abidiff), members and constants (interface-1.0.c). Planted changes that break them are found
write          writes dovetail-1.0.abi and interface-1.0.c anew: only before a release
an old object  client-1.0.o, which was compiled with the header of version 1.0, runs on the library of today

Exit status 0: all held; 77: skipped, and the last line says why.
"""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = pathlib.Path(os.environ["DOVETAIL_BINARY_DIR"]).resolve()
CLI, LIBRARIES, HEADERS = BINARY / "bin" / "dovetail", BINARY / "lib", SOURCE / "capi" / "include"
DIGITS = SOURCE / "examples" / "digits"
RUNTIME, KIT = LIBRARIES / "libdovetail_runtime.so.1", LIBRARIES / "libdovetail.so.1"
FLAGS = [flag for flag in os.environ.get("DOVETAIL_CXX_FLAGS", "").split() if flag.startswith("-fsanitize")]

# It leaves memory when it is unloaded, and ThreadSanitizer does not see that the loader initializes it before its use.
NO_NVRTC = {"DOVETAIL_NVRTC": "nonesuch"} if FLAGS else {}
ASAN_RUNTIME = os.environ.get("DOVETAIL_ASAN_RUNTIME", "")


def run(*command, status=0, folder, **variables):
    """The output on both channels; fails where the exit status is not `status`."""
    environment = os.environ | {"XDG_STATE_HOME": str(folder / "state"), "LD_LIBRARY_PATH": str(LIBRARIES)} | variables
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=environment, check=False)
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, command))} left with {done.returncode}, not {status}:\n{done.stdout}")
    return done.stdout


def digits(folder):
    """Bundles for the accelerator and for the CPU, and all logits of the command line, which both must have."""
    logits = []
    for name, options in (("accel", ["--target", "accel", "--hw", "1x16x16-ext"]), ("cpu", ["--target", "cpu", "--cpu", "baseline"])):
        bundle, out = folder / f"{name}.dvt", folder / f"{name}-out"
        run(CLI, "compile", DIGITS / "digits_int8.onnx", *options, "-o", bundle, folder=folder)
        run(CLI, "run", bundle, "--input", f"image={DIGITS / 'test_images.npy'}", "--output-dir", out, folder=folder)
        files = list(out.glob("*.npy"))
        assert len(files) == 1, files
        logits.append(files[0])
    assert logits[0].read_bytes() == logits[1].read_bytes()
    assert b"(360, 10)" in logits[0].read_bytes()[:128]
    return folder / "accel.dvt", folder / "cpu.dvt", logits[0]


def test_runtime(folder):
    accel, cpu, logits = digits(folder)
    print(run(BINARY / "bin" / "test_c_runtime", accel, cpu, DIGITS / "test_images.npy", logits, folder=folder))


def test_kit(folder):
    logits = digits(folder)[2]
    (folder / "made").mkdir()
    arguments = (DIGITS, SOURCE / "examples" / "assembly" / "matmul.s", logits, folder / "made")
    print(run(BINARY / "bin" / "test_c_kit", *arguments, folder=folder, **NO_NVRTC))


def test_threads(folder):
    logits = digits(folder)[2]
    (folder / "made").mkdir()
    arguments = (DIGITS, SOURCE / "examples" / "assembly" / "matmul.s", logits, folder / "made")
    print(run(BINARY / "bin" / "test_c_threads", *arguments, folder=folder, **NO_NVRTC))


def declared():
    """The functions that the header declares: for both libraries, and for the one with the compiler alone."""
    parts = (HEADERS / "dovetail.h").read_text().split("/* ==== With the compiler")
    assert len(parts) == 2
    return [set(re.findall(r"^DVT_API [^;(]*?(dvt_\w+)\(", part, re.MULTILINE)) for part in parts]


SINCE_1_1 = {"dvt_area_in", "dvt_explain", "dvt_machine_accelerators", "dvt_machine_create", "dvt_machine_free", "dvt_machine_memory", "dvt_machine_read",
             "dvt_machine_write", "dvt_model_of_layers", "dvt_model_part", "dvt_session_set_states", "dvt_session_states"}


def test_symbols(folder):
    runtime, compiler = declared()
    for library, functions in ((RUNTIME, runtime), (KIT, runtime | compiler)):
        lines = run("nm", "-D", "--defined-only", library, folder=folder).split("\n")
        exported = {line.split()[-1] for line in lines if line and not line.split()[-2].islower()} - {"DVT_1.0", "DVT_1.1"}  # lower case: local
        expected = {f"{name}@@DVT_1.{int(name in SINCE_1_1)}" for name in functions}
        assert exported == expected, exported ^ expected
    needed = {library: re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", library, folder=folder)) for library in (RUNTIME, KIT)}
    print(needed)
    for library, names in needed.items():
        for absent in ("libLLVM", "libsqlite3", "libpng", "libjpeg") if library == RUNTIME else ():
            assert not any(name.startswith(absent) for name in names), f"{library.name} loads {absent}"
    users = (SOURCE / "tests" / "c" / name for name in ("runtime.c", "kit.c", "check.h"))
    called = set(re.findall(r"\bdvt_\w+(?=\()", "".join(path.read_text() for path in users)))
    assert runtime | compiler <= called, f"no test calls {(runtime | compiler) - called}"


def test_header(folder):
    alone = folder / "alone.c"
    alone.write_text("#include <dovetail.h>\n#include <dovetail.h>\nint main(void) { return dvt_version() == 0; }\n")
    strict = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-fsyntax-only", f"-I{HEADERS}", f"-I{SOURCE}"]
    rows = re.findall(r'^    \{"([a-z-]+)", "(\w+)"\},$', (SOURCE / "capi" / "names.cpp").read_text(), re.MULTILINE)  # kMembers
    words = set(re.findall(r"\w+", (HEADERS / "dovetail.h").read_text()))
    assert len(rows) > 20 and all(member in words for _, member in rows), [row for row in rows if row[1] not in words]
    compilers = [name for name in ("gcc", "clang") if shutil.which(name)]
    for compiler in compilers:
        for language, standards in (("c", ("c11", "c17")), ("c++", ("c++11", "c++20"))):
            for standard in standards:
                run(compiler, "-x", language, f"-std={standard}", *strict, alone, folder=folder)
        run(compiler, "-std=c11", *strict, SOURCE / "tests" / "c" / "client.c", folder=folder)
    print(f"compiled with {', '.join(compilers)}")


def abi(folder, header):
    """The interface of a header, as libabigail reads it out of a library that defines each function."""
    functions = re.findall(r"^DVT_API ([^;]*\));", header, re.MULTILINE)
    (folder / "dovetail.h").write_text(header)
    (folder / "stub.c").write_text("#include <dovetail.h>\n" + "".join(f"{function} {{ __builtin_trap(); }}\n" for function in functions))
    run("cc", "-std=c11", "-g", "-shared", "-fPIC", f"-I{folder}", f"-I{HEADERS}", "stub.c", "-o", "libstub.so", folder=folder)
    return folder / "libstub.so"


def members(header):
    """[(struct, member, declaration of a pointer `p` to such a member)] of the structs that callers fill in."""
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    found = []
    for struct, body in re.findall(r"^typedef struct (\w+) \{(.*?)^\}", code, re.MULTILINE | re.DOTALL):
        for declaration in filter(None, map(str.strip, body.split(";"))):
            name = (re.search(r"\(\*(\w+)\)", declaration) or re.search(r"(\w+)(?:\[\w+\])?$", declaration)).group(1)
            found.append((struct, name, re.sub(rf"\b{name}\b", "(*p)", declaration, count=1)))
    return found


def test_interface(folder):
    header = (HEADERS / "dovetail.h").read_text()
    if not shutil.which("abidiff") or os.uname().machine != "x86_64":
        print("abidiff (abigail-tools) is not installed, or the machine is not an x86_64")
        sys.exit(77)
    # A struct may grow at its end, because of struct_size. This rule also hides changed types of members.
    (folder / "rules").write_text("[suppress_type]\ntype_kind = struct\nhas_data_member_inserted_at = end\n")

    def changes(new):
        library = abi(folder, new)
        commands = (["abidiff", "--no-added-syms", "--suppressions", folder / "rules", SOURCE / "tests" / "c" / "dovetail-1.0.abi", library],
                    ["cc", "-std=c11", "-Werror", "-fsyntax-only", f"-I{folder}", f"-I{HEADERS}", SOURCE / "tests" / "c" / "interface-1.0.c"])
        all_done = [subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False) for command in commands]
        return "".join(f"{done.args[0]} {done.returncode}: {done.stdout}" for done in all_done if done.returncode)

    def planted(old, new):
        assert header.count(old) == 1, (old, header.count(old))
        return header.replace(old, new)

    last, version = "  void (*release)(void* user, void* memory, size_t bytes);\n", "DVT_API uint32_t dvt_version(void);"
    for allowed in (header, planted(last, last + "  int32_t more;\n"), planted(version, version + "\nDVT_API void dvt_more(void);")):
        assert changes(allowed) == "", changes(allowed)
    for fault in (planted(last, "  int32_t more;\n" + last), planted(last, ""), planted(version, ""), planted(version, "DVT_API double dvt_version(void);"),
                  planted("int64_t done, int64_t all);", "int64_t done, int32_t all);"), planted("DVT_CAUSE_WORK = 2", "DVT_CAUSE_WORK = 5")):
        assert changes(fault) != ""


def test_write(folder):
    header = (HEADERS / "dovetail.h").read_text()
    run("abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--out-file", SOURCE / "tests" / "c" / "dovetail-1.0.abi", abi(folder, header), folder=folder)
    print_offsets = "".join(f'  printf("%zu\\n", offsetof({struct}, {name}));\n' for struct, name, _ in members(header))
    (folder / "offsets.c").write_text(f"#include <dovetail.h>\n#include <stdio.h>\nint main(void) {{\n{print_offsets}  return 0;\n}}\n")
    run("cc", "-std=c11", f"-I{HEADERS}", "offsets.c", "-o", "offsets", folder=folder)
    lines = [f'_Static_assert({name} == {value}, "{name}");' for name, value in re.findall(r"^  (DVT_\w+) = (\w+)", header, re.MULTILINE)]
    for (struct, name, pointer), offset in zip(members(header), run(folder / "offsets", folder=folder).split()):
        lines.append(f'_Static_assert(offsetof({struct}, {name}) == {offset}, "{struct}.{name}");')
        lines.append(f"static inline void {struct}_{name}({struct}* of) {{ {pointer} = &of->{name}; (void)p; }}")
    text = "/* Constants and members of version 1.0, written by run.py. */\n/* clang-format off */\n#include <dovetail.h>\n\n" + "\n".join(lines) + "\n"
    (SOURCE / "tests" / "c" / "interface-1.0.c").write_text(text)


def build(folder, source, program, library):
    run("cc", "-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", *FLAGS, f"-I{HEADERS}", source, f"-L{LIBRARIES}", f"-l{library}", "-o", program, folder=folder)


def test_page(folder):
    page = (SOURCE / "docs" / "howto" / "embedding-c.md").read_text()
    programs = {re.match(r"/\* (\w+)\.c", text).group(1): text for text in re.findall(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)}
    assert set(programs) == {"run", "build"}, programs.keys()
    for name, text in programs.items():
        (folder / f"{name}.c").write_text(text)
        build(folder, folder / f"{name}.c", folder / name, "dovetail_runtime" if name == "run" else "dovetail")
    said = run(folder / "build", DIGITS / "digits_int8.onnx", folder / "digits.dvt", folder=folder)
    assert "no race" in said and '"problems":[]' in said, said
    said = run(folder / "run", folder / "digits.dvt", folder=folder)
    assert len(re.findall(r"^run \d: class \d$", said, re.MULTILINE)) == 3, said
    assert "nonesuch.dvt" in run(folder / "run", "nonesuch.dvt", status=1, folder=folder)
    functions = set().union(*declared())
    assert set(re.findall(r"`(dvt_[a-z_]+)`", page)) - {"dvt_status", "dvt_callbacks", "dvt_target", "dvt_compile_options", "dvt_session_options"} <= functions


def test_export(folder):
    compiler = shutil.which("cc") or sys.exit("there is no C compiler")
    sanitizers = FLAGS or ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    for name, options in (("c", []), ("object", ["--format", "object", "--cpu", "baseline"])):
        out = folder / name
        said = run(CLI, "export", DIGITS / "digits_int8.onnx", "--target", "accel,cpu", "--hw", "1x16x16-ext", "--memory-base", "0x40000000",
                   *options, "-o", out, "--name", "digits", folder=folder)
        assert "its memory" in said and "from 0x40000000 to" in said, said
        archive = [out / "digits.a"] if options else []
        run(compiler, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off", *sanitizers, f"-I{HEADERS}", *sorted(out.glob("*.c")), *archive,
            f"-L{LIBRARIES}", "-ldovetail", "-lm", "-o", out / "test", folder=folder)
        for engine in ("functional", "cycle"):
            assert run(out / "test", "3", folder=out, DOVETAIL_ENGINE=engine) == "all outputs are as expected\n"
        assert "no engine" in run(out / "test", status=1, folder=out, DOVETAIL_ENGINE="nonesuch")
        hardware = (out / "hardware.json").read_text()
        (out / "hardware.json").write_text(hardware.replace('"requant": true', '"requant": false'))
        assert "the run returned -3" in run(out / "test", status=1, folder=out)


def test_cffi(folder):
    if not importlib.util.find_spec("cffi"):
        print("python3-cffi is not installed")
        sys.exit(77)
    if FLAGS and not ASAN_RUNTIME:
        print("the interpreter cannot load a library with a sanitizer other than AddressSanitizer")
        sys.exit(77)
    page = (SOURCE / "docs" / "howto" / "embedding-c.md").read_text()
    program = re.search(r"^```python\n(# client.py.*?)^```$", page, re.MULTILINE | re.DOTALL).group(1)
    (folder / "client.py").write_text(program)
    pkg_config = folder / "pkg-config"
    pkg_config.write_text(f"#!/bin/sh\necho -I{HEADERS}\n")
    pkg_config.chmod(0o755)
    # The interpreter frees little at its end.
    path = {"PATH": f"{folder}:{os.environ['PATH']}", "LD_PRELOAD": ASAN_RUNTIME, "ASAN_OPTIONS": "detect_leaks=0"}
    assert re.fullmatch(r"class \d\n", run(sys.executable, folder / "client.py", digits(folder)[0], folder=folder, **path))
    assert "nonesuch.dvt" in run(sys.executable, folder / "client.py", "nonesuch.dvt", status=1, folder=folder, **path)


def test_an_old_object(folder):
    if os.uname().machine != "x86_64":
        print("the object is for x86_64")
        sys.exit(77)
    accel = digits(folder)[0]
    for library in ("dovetail_runtime", "dovetail"):
        run("cc", *FLAGS, SOURCE / "tests" / "c" / "client-1.0.o", f"-L{LIBRARIES}", f"-l{library}", "-o", folder / library, folder=folder)
        assert "ran" in run(folder / library, accel, folder=folder)


def test_refusals(folder):
    library = os.environ.get("DOVETAIL_REFUSE_LIBRARY")
    if not library or (FLAGS and not ASAN_RUNTIME):
        print("requests are not refused to a sanitizer other than AddressSanitizer")
        sys.exit(77)
    cpu = digits(folder)[1]
    client, counted = folder / "client", folder / "counted"
    build(folder, SOURCE / "tests" / "c" / "client.c", client, "dovetail_runtime")
    environment = os.environ | {"XDG_STATE_HOME": str(folder / "state"), "LD_LIBRARY_PATH": str(LIBRARIES), "LD_PRELOAD": f"{ASAN_RUNTIME}{library}"}

    def refusing(request):
        return subprocess.run([client, cpu], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, env=environment | {"DOVETAIL_REFUSE": request}, check=False)

    assert refusing(f"count:{counted}").returncode == 0
    uses = {}
    for kind, _, number in map(str.split, counted.read_text().splitlines()):
        if kind != "heap":
            uses[kind] = uses.get(kind, 0) + int(number)
    assert set(uses) >= {"map", "write", "library"}, uses
    for kind, number in uses.items():
        for use in range(1, number + 1):
            for lasting in ("", "+"):
                done = refusing(f"{kind}:{use}{lasting}")
                assert done.returncode in (0, 1), f"{kind}:{use}{lasting} left with {done.returncode}: {done.stdout}"
                assert done.returncode == 0 or '"cause":"resource"' in done.stdout, done.stdout
    print(f"refused: {uses}")


def main():
    with tempfile.TemporaryDirectory() as name:
        globals()[f"test_{sys.argv[1].replace(' ', '_')}"](pathlib.Path(name))


if __name__ == "__main__":
    main()
