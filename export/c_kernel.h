// A loop program as one C function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "export/c_expressions.h"
#include "loops/ir.h"

namespace dovetail::exporting {

// A buffer that the caller of the kernel provides, with undefined contents.
struct KernelWorkspace {
  std::string name;
  DType dtype = DType::float32;
  std::uint64_t bytes = 0;
};

struct CKernel {
  std::string body;                // statements, indented
  std::vector<bool> uses;          // by parameter of the program: the function has it
  std::vector<std::string> names;  // of all parameters of the program
  std::vector<KernelWorkspace> workspace;
  std::uint64_t stack_bytes = 0;  // of local arrays
  bool fails = false;             // the function has a parameter `int* failure`

  // "DOVETAIL_KERNEL net_conv(const int8_t* in0, ...)"
  std::string signature(const std::string& function, const loops::Program& program) const;
};

// Local buffers of at most this size, all together, are on the stack; others are workspace.
inline constexpr std::uint64_t kMostStackBytes = 256;

// `names`: identifiers of the program's parameters, all distinct. Error: the program does not verify, or an index
// without data in it is not proven in bounds.
Result<CKernel> print_kernel(const loops::Program& program, std::vector<std::string> names, FailureSites& sites,
                             Needs& needs);

}  // namespace dovetail::exporting
