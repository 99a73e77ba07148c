#!/usr/bin/env python3
"""Drives an accelerator on a board over its UART (docs/howto/place-and-route.md describes the bytes).

usage: host.py (--port DEVICE [--baud N] | --exec PROGRAM) COMMAND

  info                          identity, version and design point of the accelerator
  load FILE ADDRESS             write a file into the memory
  dump ADDRESS BYTES FILE       read memory into a file
  register NAME [VALUE]         read a register, or write it
  launch BASE BEGIN COUNT       run instructions of the program at BASE, and print the cycles
  run FOLDER                    run a region that `dovetail compile --emit` wrote, with its sample inputs, and compare its outputs with those expected

--exec starts a program that takes and gives the bytes of the UART on its standard streams, for example a simulation of the board. Numbers may be
hexadecimal. Exit status: 1 if outputs differ or the launch has an error, 2 if the board does not answer.
"""

import argparse
import ast
import json
import os
import pathlib
import select
import shlex
import struct
import subprocess
import sys
import termios
import time

# Byte offsets of isa/spec/registers.h.
REGISTERS = {"CONTROL": 0x00, "STATUS": 0x04, "ERROR_INSTRUCTION": 0x08, "INTERRUPT_ENABLE": 0x0C, "INTERRUPT_STATUS": 0x10, "PROGRAM_BASE_LO": 0x14,
             "PROGRAM_BASE_HI": 0x18, "INSTRUCTION_BEGIN": 0x1C, "INSTRUCTION_COUNT": 0x20, "CYCLES_LO": 0x24, "CYCLES_HI": 0x28, "ID": 0x2C,
             "VERSION": 0x30, "CONFIG": 0x34, "TOKENS_LOAD": 0x38, "TOKENS_STORE": 0x3C, "OFFSET_LO": 0x40, "OFFSET_HI": 0x44}
ID = 0x4C545644
BUSY, ERROR = 1, 4
MOST_WORDS = 1024  # of a command, though the protocol allows 65535: an answer then comes at least every half a second at 115200 baud


class BoardError(Exception):
    """The board does not answer, or refuses an access."""


class Board:
    """An accelerator with a UART. `files`: descriptors to read from and write to."""

    def __init__(self, files, timeout=10.0):
        self.reader, self.writer = files
        self.timeout = timeout

    @classmethod
    def on_port(cls, device, baud=115200, timeout=10.0):
        """A serial device, 8 data bits, no parity, one stop bit."""
        speed = getattr(termios, f"B{baud}", None)
        if speed is None:
            raise BoardError(f"{baud} baud is not a speed of this system")
        try:
            file = os.open(device, os.O_RDWR | os.O_NOCTTY)
            attributes = termios.tcgetattr(file)
        except (OSError, termios.error) as error:
            raise BoardError(f"{device}: {error}") from error
        attributes[0] = attributes[1] = attributes[3] = 0
        attributes[2] = termios.CS8 | termios.CREAD | termios.CLOCAL
        attributes[4] = attributes[5] = speed
        termios.tcsetattr(file, termios.TCSANOW, attributes)
        termios.tcflush(file, termios.TCIOFLUSH)
        return cls((file, file), timeout)

    def send(self, data):
        while data:
            data = data[os.write(self.writer, data):]

    def receive(self, count):
        data = b""
        end = time.monotonic() + self.timeout
        while len(data) < count:
            ready, _, _ = select.select([self.reader], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self.reader, count - len(data)) if ready else b""
            if not part:
                raise BoardError(f"no answer within {self.timeout:g} s ({len(data)} of {count} bytes)")
            data += part
            end = time.monotonic() + self.timeout
        return data

    def synchronize(self):
        """Ends a command that was cut off: its missing bytes are filled until the board answers that a command is unknown."""
        for count in (1, 8, 64, 6 + 4 * MOST_WORDS):
            self.send(bytes(count))
            last = b""
            while select.select([self.reader], [], [], 0.5)[0]:
                part = os.read(self.reader, 4096)
                if not part:
                    raise BoardError("no answer: the program has ended")
                last = part[-1:]
            if last == b"?":
                return
        raise BoardError("no answer: is the bitstream loaded, and the port the board's?")

    def access(self, command, address, words, data=b""):
        if address % 4:
            raise BoardError(f"address {address:#x} is not a multiple of 4")
        self.send(command + struct.pack("<IH", address, words) + data)
        answer = self.receive(1 if data else 4 * words + 1)
        if answer[-1:] != b"K":
            raise BoardError(f"an access at {address:#x} was answered with an error: it is outside the {'registers' if command in b'rw' else 'RAM'}")
        return answer[:-1]

    def read(self, address, size):
        """Bytes of the memory. Not while a launch runs."""
        begin, end = address & ~3, (address + size + 3) & ~3
        data = b"".join(self.access(b"R", at, min(MOST_WORDS, (end - at) // 4)) for at in range(begin, end, 4 * MOST_WORDS))
        return data[address - begin:address - begin + size]

    def write(self, address, data):
        """Not while a launch runs: the accelerator's accesses would hold those of the host back, and bytes be lost."""
        begin, end = address & ~3, (address + len(data) + 3) & ~3
        if address != begin or address + len(data) != end:
            head, tail = self.read(begin, address - begin), self.read(address + len(data), end - address - len(data))
            data = head + data + tail
        for at in range(0, len(data), 4 * MOST_WORDS):
            part = data[at:at + 4 * MOST_WORDS]
            self.access(b"W", begin + at, len(part) // 4, part)

    def register(self, name):
        return struct.unpack("<I", self.access(b"r", REGISTERS[name], 1))[0]

    def set_register(self, name, value):
        self.access(b"w", REGISTERS[name], 1, struct.pack("<I", value))

    def launch(self, base, begin, count, seconds=60.0):
        """Runs instructions to completion. Returns the cycles. Error: the launch was stopped, or does not end in time."""
        for name, value in (("PROGRAM_BASE_LO", base & 0xFFFFFFFF), ("PROGRAM_BASE_HI", base >> 32), ("INSTRUCTION_BEGIN", begin), ("INSTRUCTION_COUNT", count),
                            ("CONTROL", 1)):
            self.set_register(name, value)
        end = time.monotonic() + seconds
        while (status := self.register("STATUS")) & BUSY:
            if time.monotonic() > end:
                raise BoardError(f"the launch has not ended after {seconds:g} s")
        if status & ERROR:
            raise BoardError(f"the launch was stopped at instruction {self.register('ERROR_INSTRUCTION')}, error {status >> 4 & 15}")
        return self.register("CYCLES_LO") | self.register("CYCLES_HI") << 32


def npy_bytes(path):
    """The elements of a .npy file as they are in it, and its type and shape."""
    data = path.read_bytes()
    if data[:6] != b"\x93NUMPY":
        raise BoardError(f"{path} is not a .npy file")
    size, begin = struct.unpack_from("<H", data, 8)[0] if data[6] == 1 else struct.unpack_from("<I", data, 8)[0], 10 if data[6] == 1 else 12
    header = ast.literal_eval(data[begin:begin + size].decode())
    return data[begin + size:], header["descr"], header["shape"]


def run_region(board, folder):
    """Runs the region; the names of the outputs that differ."""
    described = json.loads((folder / "map.json").read_text())
    places = {symbol["name"]: symbol for symbol in described["symbols"] if symbol["kind"] == "address"}
    board.write(described["image"]["base"], (folder / "image.bin").read_bytes())
    board.write(described["program_base"], (folder / "program.bin").read_bytes())
    for name in described["inputs"]:
        board.write(places[name]["value"], npy_bytes(folder / f"input_{name}.npy")[0])
    cycles = sum(board.launch(described["program_base"], launch["begin"], launch["count"]) for launch in described["launches"])
    print(f"{described['instructions']} instructions, {cycles} cycles")
    wrong = []
    for name in described["outputs"]:
        expected = npy_bytes(folder / f"expected_{name}.npy")[0]
        found = board.read(places[name]["value"], len(expected))
        print(f"{name}: {len(expected)} bytes, {'equal' if found == expected else 'DIFFERENT'}")
        if found != expected:
            wrong.append(name)
    return wrong


def execute(board, arguments):
    command, words = arguments.command, arguments.words

    def number(at):
        return int(words[at], 0)

    if command == "info":
        if board.register("ID") != ID:
            raise BoardError(f"register ID is {board.register('ID'):#x}, not {ID:#x}: not a Dovetail accelerator")
        version, config = board.register("VERSION"), board.register("CONFIG")
        print(f"Dovetail accelerator, registers {version >> 16}.{version & 0xffff}, "
              f"{1 << (config & 15)}x{1 << (config >> 4 & 15)}x{1 << (config >> 8 & 15)}, CONFIG {config:#010x}")
    elif command == "load":
        board.write(number(1), pathlib.Path(words[0]).read_bytes())
    elif command == "dump":
        pathlib.Path(words[2]).write_bytes(board.read(number(0), number(1)))
    elif command == "register" and len(words) == 1:
        print(f"{board.register(words[0]):#010x}")
    elif command == "register":
        board.set_register(words[0], number(1))
    elif command == "launch":
        print(f"{board.launch(number(0), number(1), number(2))} cycles")
    else:
        return 1 if run_region(board, pathlib.Path(words[0])) else 0
    return 0


WORDS = {"info": (0,), "load": (2,), "dump": (3,), "register": (1, 2), "launch": (3,), "run": (1,)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port")
    parser.add_argument("--baud", type=int, default=115200)
    parser.add_argument("--exec", dest="program")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds without an answer (10)")
    parser.add_argument("command", choices=WORDS)
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    if (arguments.port is None) == (arguments.program is None):
        parser.error("name --port or --exec")
    if len(arguments.words) not in WORDS[arguments.command]:
        parser.error(f"{arguments.command} takes {' or '.join(map(str, WORDS[arguments.command]))} arguments")
    if arguments.command == "register" and arguments.words[0] not in REGISTERS:
        parser.error(f"the registers are {', '.join(REGISTERS)}")
    process = None
    try:
        if arguments.program:
            process = subprocess.Popen(shlex.split(arguments.program), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            board = Board((process.stdout.fileno(), process.stdin.fileno()), arguments.timeout)
        else:
            board = Board.on_port(arguments.port, arguments.baud, arguments.timeout)
        board.synchronize()
        return execute(board, arguments)
    except (BoardError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1 if str(error).startswith("the launch") else 2
    finally:
        if process:
            process.stdin.close()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
