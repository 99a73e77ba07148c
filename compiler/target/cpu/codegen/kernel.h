// A scheduled loop program to an object file, through LLVM. No LLVM type crosses this border: its headers cost seconds
// per source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/target/cpu/cpu.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::cpu {

struct KernelObject {
  std::vector<std::byte> object;      // relocatable ELF with one global function, the symbol
  std::int64_t code_bytes = 0;        // machine instructions
  std::int64_t shared_bytes = 0;      // workspace of the kernel
  std::int64_t local_bytes = 0;       // workspace of each thread
  std::vector<std::string> failures;  // what each site of KernelServices::fail means
  std::vector<std::string>
      notes;  // register buffers that had to stay in memory, loops that were not vectorised: why it may be slow
};

// Whether the back end has arithmetic for all of the program: not float16, bfloat16, nor integers raised to a power.
Result<void> supported(const loops::Program& program);

// The scheduled program's kinds of loops become threads, vectors and copies; "register" buffers live in SSA values.
// `intrinsics`: those that the program calls. Errors: those of `supported`.
Result<KernelObject> compile_kernel(const loops::Program& program, const loops::IntrinsicTable& intrinsics,
                                    const std::string& symbol, const Cpu& cpu);

// The same up to LLVM's text form before and after its passes, for --dump=llvm.
Result<std::string> kernel_ir(const loops::Program& program, const loops::IntrinsicTable& intrinsics,
                              const std::string& symbol, const Cpu& cpu);

}  // namespace dovetail::cpu
