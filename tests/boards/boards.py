"""The emulated boards: how an exported program is compiled, linked and run for each, and what it takes there.

A board is a row of BOARDS. Programs without an operating system end by a semihosting call, whose argument is QEMU's exit status.
As a program, it prints for the tests of objects, in JSON: [{name, processor, missing, compiler, emulator}] of the boards that have
code of the kit, with all words that compile and run a program.
"""

import dataclasses
import json
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
    objects_only: bool = False  # for code of the kit; exported C is the same as on another board

    def missing(self):
        """[(program or file, Debian package)] of what is not installed."""
        found = [] if shutil.which(self.emulator[0]) else [(self.emulator[0], self.emulator_package)]
        if not shutil.which(self.compiler):
            return [(self.compiler, self.compiler_package), (self.library, self.library_package)] + found
        path = run([self.compiler, *self.options, f"-print-file-name={self.library}"]).strip()
        return ([] if pathlib.Path(path).is_absolute() else [(self.library, self.library_package)]) + found


def cortex_m(name, about, processor, core, machine, code, data, timer, timer_ns):
    """A Cortex-M of an MPS2 board. `core`: options of the compiler; `code`, `data`: addresses of the board's memories; a step
    of its timer takes timer_ns."""
    script = ("-T", str(HERE / "cortex_m.ld"), f"-Wl,--defsym=CODE={code:#x},--defsym=DATA={data:#x}")
    return Board(
        name=name,
        about=f"{about} without an operating system, newlib (QEMU {machine})",
        processor=processor,
        compiler="arm-none-eabi-gcc",
        compiler_package="gcc-arm-none-eabi",
        library="rdimon.specs",
        library_package="libnewlib-arm-none-eabi",
        options=("-mthumb", *core),
        emulator=("qemu-system-arm", "-M", machine, *SEMIHOSTING),
        emulator_package="qemu-system-arm",
        linking=("--specs=rdimon.specs", "-nostartfiles", *script),
        flash=("-nostartfiles", *script),
        start=(HERE / "cortex_m.c",),
        measuring=(f"-DTIMER={timer:#x}", f"-DTIMER_NS={timer_ns}"),
    )


# Where QEMU's machine `virt` has its memory: half for code and constants, half for variables.
VIRT = (
    "-Wl,--defsym=__flash=0x80000000,--defsym=__flash_size=0x400000",
    "-Wl,--defsym=__ram=0x80400000,--defsym=__ram_size=0x400000",
)


def riscv32(name, about, processor, march, mabi):
    return Board(
        name=name,
        about=f"{about} without an operating system, picolibc (QEMU virt)",
        processor=processor,
        compiler="riscv64-unknown-elf-gcc",
        compiler_package="gcc-riscv64-unknown-elf",
        library="picolibc.specs",
        library_package="picolibc-riscv64-unknown-elf",
        options=("--specs=picolibc.specs", f"-march={march}", f"-mabi={mabi}"),
        emulator=("qemu-system-riscv32", "-M", "virt", "-bios", "none", *SEMIHOSTING),
        emulator_package="qemu-system-misc",
        linking=(*VIRT, "--oslib=semihost", "--crt0=hosted"),
        flash=(*VIRT, "-nostartfiles"),
        measuring=("-DRISCV",),
    )


def hosted(name, about, processor, triple, package, emulator, core=""):
    """A Linux program in QEMU's user mode. `core`: a processor of QEMU whose extensions only objects use."""
    return Board(
        name=name,
        about=f"{about}, Linux",
        processor=processor,
        compiler=f"{triple}-gcc",
        compiler_package=f"gcc-{triple}",
        library="libc.a",
        library_package=f"libc6-dev-{package}-cross",
        options=(),
        emulator=(f"qemu-{emulator}", *(("-cpu", core) if core else ())),
        emulator_package="qemu-user",
        objects_only=bool(core),
    )


M3, M33 = ("-mcpu=cortex-m3", "-mfloat-abi=soft"), ("-mcpu=cortex-m33+nodsp", "-mfloat-abi=soft")
M4F = ("-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
RVV = "rv64,v=true,vlen=128,vext_spec=v1.0"
BOARDS = (
    riscv32("riscv32", "RV32IMAC", "riscv32", "rv32imac", "ilp32"),
    riscv32("riscv32-fp", "RV32IMAFC", "riscv32-fp", "rv32imafc", "ilp32f"),
    cortex_m("cortex-m3", "Armv7-M", "armv7m", M3, "mps2-an385", 0, 0x20000000, 0x40000000, 40),
    cortex_m("cortex-m4", "Armv7E-M with floats", "armv7em-fp", M4F, "mps2-an386", 0, 0x20000000, 0x40000000, 40),
    cortex_m("cortex-m33", "Armv8-M", "armv8m", M33, "mps2-an505", 0x10000000, 0x38000000, 0x50000000, 50),
    hosted("aarch64", "64-bit Arm", "aarch64", "aarch64-linux-gnu", "arm64", "aarch64"),
    hosted("riscv64", "64-bit RISC-V", "riscv64", "riscv64-linux-gnu", "riscv64", "riscv64"),
    hosted("aarch64-i8mm", "64-bit Arm with FEAT_I8MM", "aarch64-i8mm", "aarch64-linux-gnu", "arm64", "aarch64", "max"),
    hosted("riscv64-v", "64-bit RISC-V with vectors", "riscv64-v", "riscv64-linux-gnu", "riscv64", "riscv64", RVV),
    hosted("powerpc", "32-bit PowerPC, big-endian", "", "powerpc-linux-gnu", "powerpc", "ppc"),
)


def run(words, status=0):
    """The output on both channels; raises Failure where the exit status is another one."""
    words = [str(word) for word in words]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        raise Failure(f"{' '.join(words)} ran for more than {LIMIT_S} s\n{expired.output or ''}") from expired
    if done.returncode != status:
        raise Failure(f"{' '.join(words)} left with {done.returncode}, not {status}\n{done.stdout}")
    return done.stdout


def sources_of(folder):
    """What an export has without its test: C sources, and an archive in the format `object`."""
    return sorted(path for path in folder.glob("*.c") if not path.name.startswith("test_")) + sorted(folder.glob("*.a"))


class Program:
    """Sources compiled for a board at an optimization level, in a folder of that name below the given one. `options`: for C
    sources, those of the export by default."""

    def __init__(self, board, folder, level, options=STRICT):
        self.board, self.level, self.options = board, level, options
        self.work = folder / f"{board.name}{level}"
        self.work.mkdir(exist_ok=True)

    def objects(self, sources, options):
        """What the linker gets of the sources: an archive is taken as it is."""
        made = []
        for source in sources:
            made.append(source if source.suffix == ".a" else self.work / f"{source.stem}.o")
            if source.suffix != ".a":
                words = [*self.board.options, *options, self.level, "-ffunction-sections", "-fdata-sections"]
                run([self.board.compiler, *words, "-c", source, "-o", made[-1]])
        return made

    def link(self, name, parts, options):
        program = self.work / name
        parts = sorted(parts, key=lambda part: part.suffix == ".a")  # archives after what calls them
        run([self.board.compiler, *self.board.options, self.level, *options, *parts, "-lm", "-o", program])
        return program

    def whole(self, sources, test, measured=""):
        """The program with a test; `measured`: the function whose calls measure.c measures, or none."""
        parts = self.objects([*sources, test], self.options) + self.objects(self.board.start, ("-Wall", "-Werror"))
        options = self.board.linking
        if measured:
            words = ("-Wall", "-Wextra", "-Werror", f"-DMEASURED={measured}", *self.board.measuring)
            parts += self.objects([HERE / "measure.c"], words)
            options = (*options, f"-Wl,--wrap={measured}")
        return self.link("measured" if measured else "test", parts, options)

    def run(self, program, options=(), status=0):
        """The output of a program on the board; `options` of QEMU."""
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
        options = (*self.board.flash, "-Wl,--gc-sections", f"-Wl,-e,{function}")
        linked = self.link("flash", self.objects(sources, self.options), options)
        listed = run([self.board.compiler.removesuffix("gcc") + "size", "-A", linked])
        size = {name: int(found) for name, found in re.findall(r"^(\.\S+) +(\d+)", listed, re.MULTILINE)}
        return {
            "flash_bytes": sum(size.get(name, 0) for name in FLASH + DATA),
            "ram_bytes": sum(size.get(name, 0) for name in DATA + ZEROED),
        }


def row_of(board):
    words = [board.compiler, *board.options, *board.linking, *board.start]
    return {
        "name": board.name,
        "processor": board.processor,
        "missing": [f"{program} (package {package})" for program, package in board.missing()],
        "compiler": [str(word) for word in words],
        "emulator": list(board.emulator),
    }


if __name__ == "__main__":
    print(json.dumps([row_of(board) for board in BOARDS if board.processor]))
