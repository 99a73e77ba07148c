"""The emulated boards: how an exported program is compiled, linked and run for each, and what it takes there.

A board is a row of BOARDS. Programs without an operating system end by a semihosting call, whose argument is QEMU's exit status.
"""

import dataclasses
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")
SEMIHOSTING = ("-display", "none", "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on", "-kernel")
FLASH, DATA, ZEROED = (".init", ".text", ".fini", ".rodata", ".ARM.exidx"), (".data", ".sdata"), (".bss", ".sbss")  # sections
LIMIT_S = 300  # of one run, far above its time


class Failure(Exception):
    """A command failed: its words and its output."""


@dataclasses.dataclass(frozen=True)
class Board:
    name: str
    about: str
    processor: str  # the kit's name, for --cpu; empty: the kit has no machine code for it
    compiler: str
    compiler_package: str
    library: str  # a file that the compiler finds if the C library is there
    library_package: str
    options: tuple  # for compiling and linking
    emulator: tuple
    emulator_package: str
    linking: tuple = ("-static",)  # how to link the whole program
    flash: tuple = ()  # how to link only what the exported function needs; empty: sizes would be those of an operating system
    start: tuple = ()  # sources of the start
    measuring: tuple = ()  # options for measure.c; empty: it does not know this board

    def missing(self):
        """[(program or file, Debian package)] of what is not installed."""
        found = [] if shutil.which(self.emulator[0]) else [(self.emulator[0], self.emulator_package)]
        if not shutil.which(self.compiler):
            return [(self.compiler, self.compiler_package), (self.library, self.library_package)] + found
        path = run([self.compiler, *self.options, f"-print-file-name={self.library}"]).strip()
        return ([] if pathlib.Path(path).is_absolute() else [(self.library, self.library_package)]) + found


def cortex_m(name, about, processor, core, machine, code, data, timer, timer_ns):
    script = ("-T", str(HERE / "cortex_m.ld"), f"-Wl,--defsym=CODE={code:#x},--defsym=DATA={data:#x}")
    return Board(name, about, processor, "arm-none-eabi-gcc", "gcc-arm-none-eabi", "rdimon.specs", "libnewlib-arm-none-eabi",
                 ("-mthumb", f"-mcpu={core}", "-mfloat-abi=soft"), ("qemu-system-arm", "-M", machine, *SEMIHOSTING), "qemu-system-arm",
                 ("--specs=rdimon.specs", "-nostartfiles", *script), ("-nostartfiles", *script), (HERE / "cortex_m.c",),
                 (f"-DTIMER={timer:#x}", f"-DTIMER_NS={timer_ns}"))


PICOLIBC = ("-Wl,--defsym=__flash=0x80000000,--defsym=__flash_size=0x400000",
            "-Wl,--defsym=__ram=0x80400000,--defsym=__ram_size=0x400000")


def hosted(name, about, processor, triple, package, emulator):
    """A Linux program in QEMU's user mode."""
    return Board(name, about, processor, f"{triple}-gcc", f"gcc-{triple}", "libc.a", f"libc6-dev-{package}-cross", (),
                 (f"qemu-{emulator}",), "qemu-user")


BOARDS = (
    Board("riscv32", "RV32IMAC without an operating system, picolibc (QEMU virt)", "riscv32", "riscv64-unknown-elf-gcc",
          "gcc-riscv64-unknown-elf", "picolibc.specs", "picolibc-riscv64-unknown-elf", ("--specs=picolibc.specs", "-march=rv32imac", "-mabi=ilp32"),
          ("qemu-system-riscv32", "-M", "virt", "-bios", "none", *SEMIHOSTING), "qemu-system-misc",
          (*PICOLIBC, "--oslib=semihost", "--crt0=hosted"), (*PICOLIBC, "-nostartfiles"), measuring=("-DRISCV",)),
    cortex_m("cortex-m3", "Armv7-M without an operating system, newlib (QEMU mps2-an385)", "armv7m", "cortex-m3", "mps2-an385", 0, 0x20000000,
             0x40000000, 40),
    cortex_m("cortex-m33", "Armv8-M Mainline without an operating system, newlib (QEMU mps2-an505)", "armv8m", "cortex-m33+nodsp", "mps2-an505",
             0x10000000, 0x38000000, 0x50000000, 50),
    hosted("aarch64", "64-bit Arm, Linux", "aarch64", "aarch64-linux-gnu", "arm64", "aarch64"),
    hosted("riscv64", "64-bit RISC-V, Linux", "riscv64", "riscv64-linux-gnu", "riscv64", "riscv64"),
    hosted("powerpc", "32-bit PowerPC, big-endian, Linux", "", "powerpc-linux-gnu", "powerpc", "ppc"),
)


def run(words, status=0):
    """The output on both channels; raises Failure where the exit status is another one."""
    words = [str(word) for word in words]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired as expired:
        raise Failure(f"{' '.join(words)} ran for more than {LIMIT_S} s\n{expired.output or ''}") from expired
    if done.returncode != status:
        raise Failure(f"{' '.join(words)} left with {done.returncode}, not {status}\n{done.stdout}")
    return done.stdout


def sources_of(folder):
    """What an export has besides its test: C sources, and an archive in the format `object`."""
    return sorted(path for path in folder.glob("*.c") if not path.name.startswith("test_")) + sorted(folder.glob("*.a"))


class Program:
    """An exported folder, or another program's sources, compiled for a board."""

    def __init__(self, board, folder, level, strict=STRICT):
        self.board, self.level, self.strict = board, level, strict
        self.work = folder / f"{board.name}{level}"
        self.work.mkdir(exist_ok=True)

    def objects(self, sources, options=()):
        made = []
        for source in sources:
            if source.suffix == ".a":
                made.append(source)
                continue
            made.append(self.work / f"{source.stem}.o")
            run([self.board.compiler, *self.board.options, *options, self.level, "-ffunction-sections", "-fdata-sections", "-c", source, "-o", made[-1]])
        return made

    def link(self, name, parts, options=()):
        program = self.work / name
        run([self.board.compiler, *self.board.options, self.level, *options, *parts, "-lm", "-o", program])
        return program

    def whole(self, sources, test, measured=""):
        """The program with a test; `measured`: the function whose calls measure.c measures, or none."""
        parts = self.objects([*sources, test], self.strict) + self.objects(self.board.start, ("-Wall", "-Werror"))
        options = self.board.linking
        if measured:
            parts += self.objects([HERE / "measure.c"], ("-Wall", "-Wextra", "-Werror", f"-DMEASURED={measured}", *self.board.measuring))
            options = (*options, f"-Wl,--wrap={measured}")
        return self.link("measured" if measured else "test", parts, options)

    def run(self, program, options=(), status=0):
        emulator = list(self.board.emulator)
        return run([emulator[0], *options, *emulator[1:], program], status)

    def measure(self, sources, test, function):
        """{stack_bytes, instructions} of a call of the function."""
        output = self.run(self.whole(sources, test, function), ("-icount", "shift=0"))
        found = re.search(r"^stack (\d+) instructions (\d+)$", output, re.MULTILINE)
        if not found:
            raise Failure(f"measure.c printed no figures: {output}")
        return {"stack_bytes": int(found[1]), "instructions": int(found[2])}

    def sizes(self, sources, function):
        """{flash_bytes, ram_bytes} of all that the function needs, with the compiler's and the C library's functions."""
        linked = self.link("flash", self.objects(sources, self.strict), (*self.board.flash, "-Wl,--gc-sections", f"-Wl,-e,{function}"))
        listed = run([self.board.compiler.removesuffix("gcc") + "size", "-A", linked])
        size = {name: int(found) for name, found in re.findall(r"^(\.\S+) +(\d+)", listed, re.MULTILINE)}
        return {"flash_bytes": sum(size.get(name, 0) for name in FLASH + DATA), "ram_bytes": sum(size.get(name, 0) for name in DATA + ZEROED)}
