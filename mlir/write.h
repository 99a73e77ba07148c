// Loop programs as MLIR: one module of functions on memrefs. docs/howto/mlir.md describes the form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::mlir {

// affine: affine.for, affine.load and affine.if where loops/linear's forms allow it. scf: only scf, memref, arith,
// math, vector, cf and func, for tools that do not have affine.
enum class Dialects : std::uint8_t { affine, scf };
std::optional<Dialects> dialects_named(std::string_view name);

struct Options {
  Dialects dialects = Dialects::affine;
  bool vectors = true;                              // vectorized loops over elements as operations on vectors
  std::map<std::string, std::string> layouts = {};  // of parameters, as text (dovetail.layout)
};

// Preconditions: the programs verify with these intrinsics, and have different names. Error: an intrinsic that calls
// another one, or is not in the table.
Result<std::string> to_mlir(std::span<const loops::Program> programs, const loops::IntrinsicTable& intrinsics,
                            const Options& options);
Result<std::string> to_mlir(const loops::Program& program, const loops::IntrinsicTable& intrinsics,
                            const Options& options);

}  // namespace dovetail::mlir
