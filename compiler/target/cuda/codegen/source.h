// Translates kernels (loops/threads) to CUDA C++. The text is self-contained except for loops/scalar/operations.h,
// which defines every operation as in the interpreter, and the declarations of prelude().
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

// A kernel's operand: a parameter of the program, or a buffer in the workspace.
struct KernelOperand {
  bool workspace = false;
  std::size_t index = 0;     // index of the parameter
  std::uint64_t offset = 0;  // byte offset in the workspace
};
// A tensor in the device's memory from which a kernel copies boxes; passed as a parameter after the operands.
struct BoxedTensor {
  KernelOperand operand;
  DType type = DType::float16;
  Shape extents, box;        // outermost first
  std::int64_t swizzle = 0;  // bytes
};
struct Launch {
  std::string symbol;
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::int64_t shared_bytes = 0;        // per block, provided by the launch; 0: declared in the kernel
  std::vector<KernelOperand> operands;  // in the order of the kernel's parameters
  std::vector<BoxedTensor> boxes;       // parameters after these
  bool reports = false;                 // its last parameter is the address of a failure
};
struct Source {
  std::string text;              // text of all kernels of the program
  std::vector<Launch> launches;  // in order
  std::uint64_t workspace_bytes = 0;
  std::vector<std::string> failures;  // message of each site
};

// Kernels are named SYMBOL_0, SYMBOL_1, ...
Source emit_source(const loops::ThreadProgram& program, const std::vector<loops::Parameter>& parameters,
                   const std::string& symbol);

// The start of a text, once before its kernels.
std::string_view prelude();

// The header group_products.cuh, which a function generates.
std::string_view group_products();

// Headers that the text includes: headers of this tree, embedded in the program (compiler/CMakeLists.txt), and the part
// of the standard library that they use.
struct Header {
  std::string_view name, text;
};
std::vector<Header> headers();
std::vector<Header> standard_headers();

}  // namespace dovetail::cuda
