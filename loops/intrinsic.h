// Tensor intrinsics: an operation of the hardware that is its own specification. The semantics is a loop program over the operands as
// parameters (dense, in operand order); tensorize unifies scheduled loops with it, the interpreter runs it for an IntrinsicCall.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loops/ir.h"

namespace dovetail::loops {

struct Intrinsic {
  std::string name;                     // "accel.gemm"
  Program semantics;                    // one block nest; parameters are the operands. A parameter that is written may also be read (accumulation).
  std::vector<std::string> scopes;      // required memory scope of each operand; empty string: any
  std::vector<Var> immediates;          // free variables of `semantics`, given per call
  // Operand 0 (written) must share the storage of operand 1 (read). Buffers of a program may still differ: the target that places them gives both
  // one place, and checks that nothing reads operand 1 later.
  bool in_place = false;
};

// Looks up an intrinsic by name; null where unknown. A target hands its library in; there is no global registry.
using IntrinsicTable = std::vector<Intrinsic>;
const Intrinsic* find_intrinsic(const IntrinsicTable& table, std::string_view name);

}  // namespace dovetail::loops
