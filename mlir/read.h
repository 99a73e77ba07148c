// MLIR as loop programs: functions on memrefs of the operations that mlir/write.h writes, also when other tools have
// printed them, and hand-written ones. docs/howto/mlir.md lists the operations.
#pragma once

#include <string_view>

#include "base/result.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::mlir {

// Whether the text is a module or a function of MLIR, rather than a loop program.
bool looks_like_mlir(std::string_view text);

// The program of the only public function. read(write(program)) is the program; a store outside a block gets a block
// of its own, whose iterators are the loops around it. The program is complete, but not verified. Errors carry line
// and column: syntax, operations outside the subset, values without a form.
Result<loops::Program> read_mlir(std::string_view text, std::string_view where,
                                 const loops::IntrinsicTable& intrinsics);

}  // namespace dovetail::mlir
