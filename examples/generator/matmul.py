#!/usr/bin/env python3
"""Writes the program of examples/assembly/matmul.s for any number of rows and blocks: matmul.py ROWS BLOCKS PROGRAM.bin UOPS.bin

Needs the module of `dovetail isa --format python --hw 1x16x16 -o isa.py` in the current folder or on PYTHONPATH.
"""

import sys

sys.path.insert(0, "")
import isa  # noqa: E402

rows, blocks = int(sys.argv[1]), int(sys.argv[2])

# Addresses in memory, in bytes, each a multiple of the largest element; dram_base counts elements.
uops, x = 0x1000, 0x1100
w = x + (rows * blocks * 16 + 255) // 256 * 256
bias = w + blocks * 256
y = bias + 256


def dram(memory, address):
    return address // isa.ELEMENT_BYTES[memory]


over_rows = {"uop_begin": 0, "uop_end": 1, "iter_out": 1, "iter_in": rows, "dst_factor_in": 1}

program = isa.load(memory=isa.UOP, dram_base=dram(isa.UOP, uops), y_size=1, x_size=blocks, x_stride=blocks)
program += isa.load(memory=isa.ACC, dram_base=dram(isa.ACC, bias), y_size=rows, x_size=1, x_stride=0)
kernel = b""
for k in range(blocks):
    kernel += isa.uop(dst=0, src=k * rows, wgt=k)
    program += isa.load(memory=isa.INP, sram_base=k * rows, dram_base=dram(isa.INP, x) + k, y_size=rows, x_size=1,
                        x_stride=blocks)
    program += isa.load(memory=isa.WGT, sram_base=k, dram_base=dram(isa.WGT, w) + k, y_size=1, x_size=1, x_stride=1,
                        push_next=1)
    program += isa.gemm(**{**over_rows, "uop_begin": k, "uop_end": k + 1, "src_factor_in": 1}, pop_prev=1)
program += isa.alu(**over_rows, alu_opcode=isa.ALU_SHR, use_imm=1, imm=4)
program += isa.alu(**over_rows, alu_opcode=isa.ALU_MAX, use_imm=1, imm=-128)
program += isa.alu(**over_rows, alu_opcode=isa.ALU_MIN, use_imm=1, imm=127, push_next=1)
program += isa.store(memory=isa.OUT, dram_base=dram(isa.OUT, y), y_size=1, x_size=rows, x_stride=rows, pop_prev=1, push_prev=1)
program += isa.finish(pop_next=1)

for path, data in zip(sys.argv[3:], (program, kernel)):
    with open(path, "wb") as file:
        file.write(data)
count = len(program) // isa.INSTRUCTION_BYTES
print(f"{count} instructions; uops at {uops:#x}, x at {x:#x}, w at {w:#x}, bias at {bias:#x}, y at {y:#x}")
