// The loop-program interpreter: the executable semantics of loop programs. Programs are compiled to bytecode once and
// run many times. Float programs may be run in binary64 (`Precision::wide`), which gives the reference y64 of the error
// bound in docs/explanation/architecture.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "base/work.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::loops {

enum class Precision : std::uint8_t {
  native,  // every operation rounds to its type
  wide,    // float16/bfloat16/float32 values and intermediates are stored in binary64
};

class CompiledProgram;  // bytecode; immutable, may be shared between threads
struct CoreProgram;     // loops/core/core.h

// `intrinsics` must contain every intrinsic that the program calls. Error: the program does not verify
// (loops/verify.h).
Result<std::shared_ptr<const CompiledProgram>> compile(const Program& program, const IntrinsicTable& intrinsics = {},
                                                       Precision precision = Precision::native);

// The same for a core form of the program, after passes over the core form. Precondition: the program verifies.
std::shared_ptr<const CompiledProgram> compile(const Program& program, const CoreProgram& core,
                                               Precision precision = Precision::native);

// `arguments`: the input and constant parameters in parameter order. Returns the outputs in parameter order. Errors:
// dtype or shape mismatch, an index out of bounds (block, buffer, index and extent named), integer division by zero, a
// read of an element never written.
//
// `work` counts the run's steps (steps_of) and may stop it, which is also an error; null: not observed.
Result<std::vector<NdArray>> run(const CompiledProgram& program, std::span<const NdArray> arguments,
                                 Work* work = nullptr);

// The same on memory that the caller owns: `arguments` are the inputs and constants, `results` the outputs, in
// parameter order, each as large as its buffer and without overlaps. Nothing is copied. Preconditions: native
// precision, one span per parameter, correct sizes.
Result<void> run(const CompiledProgram& program, std::span<const std::span<const std::byte>> arguments,
                 std::span<const std::span<std::byte>> results, Work* work = nullptr);

// An upper bound of the work of one run: operations on single values, and their duration.
WorkEstimate estimate_work(const CompiledProgram& program);

// compile + run.
Result<std::vector<NdArray>> evaluate(const Program& program, std::span<const NdArray> arguments,
                                      const IntrinsicTable& intrinsics = {}, Precision precision = Precision::native);

}  // namespace dovetail::loops
