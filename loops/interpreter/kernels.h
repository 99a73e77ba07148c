// The kernels of the bytecode, looked up by operation and type. Null: the operation is not defined on the type.
#pragma once

#include "loops/interpreter/bytecode.h"

namespace dovetail::loops {

// d = op(a, b), operands of `dtype`. Integer division by zero in an active lane stops the run.
Kernel binary_kernel(BinaryOp op, DType dtype);
Kernel unary_kernel(UnaryOp op, DType dtype);
Kernel cast_kernel(DType from, DType to);
Kernel bitcast_kernel(DType from,
                      DType to);  // only if one of them is float16 or bfloat16; other registers hold the bits unchanged
// d = a ? b : c for registers of `dtype`.
Kernel select_kernel(DType dtype);
Kernel requantize_kernel();  // d = requantize(a: int32, b: float32, c: int32)

// memory[base] = memory[base] op a, lane by lane. Null if op is not an accumulation.
Kernel reduce_kernel(BinaryOp op, DType dtype);

Kernel load_kernel(DType storage, Addressing addressing);
Kernel store_kernel(DType storage, Addressing addressing);  // value in b
Kernel alias_kernel(DType storage);  // unit-stride load without a copy: the register aliases the memory
Kernel check_defined_kernel(Addressing addressing);
Kernel mark_defined_kernel(Addressing addressing);
Kernel forget_kernel();
Kernel check_index_kernel();  // 0 <= a < imm in every active lane

Kernel affine_kernel();                // d[lane] = base + tables[table][lane] (table -1: base + lane * imm), int64
Kernel broadcast_kernel(DType dtype);  // d[lane] = a[0]
Kernel move_kernel();                  // register d aliases the same memory as register a
Kernel mask_kernel(bool negated);      // d = mask && (negated ? !a : a)

Kernel jump_kernel();
Kernel jump_if_false_kernel();           // on a[0]
Kernel set_lanes_kernel();               // number of lanes of the following wide instructions: imm
Kernel loop_begin_kernel(bool trimmed);  // loop d
Kernel loop_end_kernel();
Kernel halt_kernel();

}  // namespace dovetail::loops
