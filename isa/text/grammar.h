// The words of the assembly language, shared by printer, parser and documentation.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "isa/instruction.h"
#include "isa/spec/alu_ops.h"

namespace dovetail::isa::text {

inline constexpr std::array<std::string_view, 8> kMemoryNames{"uop", "wgt", "inp", "acc", "out", "acc8", "tab", "wgt4"};

// The operand name of the immediate field if use_imm is 0: the bits are a parameter, or without meaning.
constexpr std::string_view word_without_use_imm(AluOp op) {
  return spec::takes_immediate(op) ? "unused_imm" : spec::info(op).immediate.word;
}

// grammar() replaces ALU_OPERATIONS and ALU_PARAMETERS.
inline constexpr std::string_view kGrammar = R"(line        = [label] [directive | instruction | macro-use] [comment]
label       = name ":"                          marks the next instruction, or place in the image; unique in a file
comment     = ("#" | ";" | "//") to the end of the line
directive   = ".config" [named-configuration] {parameter "=" value}
            | ".equ" name N                     a constant
            | ".uop" dst "," src "," wgt        a micro-op, in the image; wgt of a step of window that only pushes: uop.push
            | ".data" name ( '"' file '"' | type ["[" N {"," N} "]"] value {value} ) ["align=" N]
            | ".space" name ( N | type "[" N {"," N} "]" ) ["align=" N]
            | ".org" N | ".align" N             address of the next item of the image
            | ".launch"                         the next instruction begins another launch
            | ".repeat" N [name] ... ".endr"    the lines between, N times; \name is the round, from 0
            | ".macro" name {parameter ["=" preset]} ... ".endm"    \parameter and \@ in the lines between
macro-use   = macro {argument | parameter "=" argument}
type        = "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32" | "float32"
instruction = mnemonic {operand} {flag}         operands and flags in any order, each once
flag        = "pop_prev" | "pop_next" | "push_prev" | "push_next"
mnemonic    = "load." memory | "store." memory | "nop." memory | "gemm" | "gemmq" | "window"
            | "alu." operation | "finish"
memory      = "uop" | "wgt" | "inp" | "acc" | "out" | "acc8" | "tab" | "wgt4"
operation   = ALU_OPERATIONS
N           = number, or an expression of numbers and names: brackets, | ^ & << >> + - * / %, unary - + ~,
              min(a,b) max(a,b) ceildiv(a,b) align(a,b); without blanks outside of brackets
name        = letters, digits, "_" and "."; of an item of the image also name.bytes .end .count .dim0 ...; of the
              configuration its parameters, and memory.bytes and memory.depth of each memory
number      = decimal, or hexadecimal after "0x"; "_" may separate digits

operands of load and store:
  sram=N dram=N       first element on chip, and in DRAM (physical byte address / element bytes; the name of a
                      place in the image is divided by itself); 0 where missing
  size=YxX            rows and elements of a row, or size=Y,X where they are names; required
  stride=N            elements from row to row in DRAM; X where missing
  pad=T,B,L,R         rows above and below, elements left and right; 0 where missing
  saturate            store, extension `saturate`
  offset              extension `offset`: the register OFFSET is added to the DRAM address
operands of gemm, gemmq, window and alu:
  uop=B:E             micro-ops B up to E, exclusive; required. With an epilogue, micro-op E names its parameters
  iter=OUTxIN         trips of the two loops, or iter=OUT,IN; 1x1 where missing
  dst=OUT,IN src=OUT,IN wgt=OUT,IN    index factors (wgt: not alu); 0,0 where missing
  reset               gemm: clear acc[dst]; alu: kept, without effect
  overwrite           gemm, gemmq and window, extension `overwrite`
  requant             window, extension `epilogue`: ends with the epilogue, as gemmq does
  imm=N               alu: the second operand is N, signed, in the range of the field `imm`
ALU_PARAMETERS  unused_imm=N        alu without imm: the bits of the immediate field, which have no effect

`nop.M` is `load.M` (`nop.out`: `store.out`) with every operand 0: it only moves tokens, in the queue of its
memory; nop.wgt4, in that of compute. Without `.config` the default configuration holds, or the one of the command line; a file that has the
line and disagrees with the command line is refused. `.config` comes before every line that depends on it.)";

// The whole grammar, including the entries from the table of ALU operations.
std::string grammar();

// One tile product with bias: y = inp . wgt^T + bias. Shown in the reference and assembled by its tests.
inline constexpr std::string_view kExample = R"(.config 1x16x16
        # The kernel: micro-op 0 of DRAM.
kernel: .uop 0, 0, 0

        load.uop sram=0 dram=0x400 size=1x1
        load.acc sram=0 dram=0x80 size=1x1
        load.inp sram=0 dram=0x200 size=1x1
        load.wgt sram=0 dram=0x30 size=1x1 push_next
        gemm uop=0:1 iter=1x1 pop_prev
        alu.shr uop=0:1 imm=4
        alu.max uop=0:1 imm=-128
        alu.min uop=0:1 imm=127 push_next
        store.out sram=0 dram=0x600 size=1x1 pop_prev push_prev
        finish pop_next
)";

}  // namespace dovetail::isa::text
