// Kernels (loops/threads) as CUDA C++. The text is self-contained but for loops/scalar/operations.h, which defines
// what every operation means, here as in the interpreter, and for what prelude() declares.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loops/ir.h"
#include "loops/threads/thread_program.h"

namespace dovetail::cuda {

// A kernel's operand: a parameter of the program, or a place in the workspace.
struct KernelOperand {
  bool workspace = false;
  std::size_t index = 0;     // of the parameter
  std::uint64_t offset = 0;  // in the workspace, bytes
};
// A tensor in the device's memory, of which a kernel copies boxes; it is told by a parameter after the operands.
struct BoxedTensor {
  KernelOperand operand;
  DType type = DType::float16;
  Shape extents, box;        // outermost first
  std::int64_t swizzle = 0;  // bytes
};
struct Launch {
  std::string symbol;
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::int64_t shared_bytes = 0;        // of a block, that the launch gives; 0: the kernel declares what it has
  std::vector<KernelOperand> operands;  // in the order of the kernel's parameters
  std::vector<BoxedTensor> boxes;       // parameters after these
  bool reports = false;                 // takes the place of a failure as its last parameter
};
struct Source {
  std::string text;              // of all kernels of the program
  std::vector<Launch> launches;  // in order
  std::uint64_t workspace_bytes = 0;
  std::vector<std::string> failures;  // what each site means
};

// Kernels are named SYMBOL_0, SYMBOL_1, ...
Source emit_source(const loops::ThreadProgram& program, const std::vector<loops::Parameter>& parameters,
                   const std::string& symbol);

// The beginning of a text, once before its kernels.
std::string_view prelude();

// The header group_products.cuh, which is written out by a function.
std::string_view group_products();

// Headers that the text includes, and their text: those of this tree, which are part of the program
// (compiler/CMakeLists.txt), and as much of the standard library as they use.
struct Header {
  std::string_view name, text;
};
std::vector<Header> headers();
std::vector<Header> standard_headers();

}  // namespace dovetail::cuda
