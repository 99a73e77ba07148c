// Compiles a scheduled loop program to an object file, through LLVM. LLVM types are not exposed: its headers cost
// seconds per source.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/support/loop_support.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::cpu {

struct KernelObject {
  std::vector<std::byte> object;      // relocatable ELF with one global function, the symbol, and its signature
  std::int64_t code_bytes = 0;        // machine instructions
  std::int64_t shared_bytes = 0;      // size of the kernel's workspace
  std::int64_t local_bytes = 0;       // size of each thread's workspace
  std::int64_t stack_bytes = 0;       // of buffers on the stack
  std::vector<std::string> failures;  // message of each site of KernelServices::fail
  std::vector<std::string> notes;  // reasons for slow code: register buffers in memory, loops that were not vectorized
};

inline constexpr std::array kLoopKinds{loops::ForKind::parallel, loops::ForKind::vectorized, loops::ForKind::unrolled};
inline constexpr LoopSupport kLoopSupport{"the CPU back end", kLoopKinds, {}, kWidestVectorBytes};

// The proven bounds of an accumulator, and of its product with a scale, select the requantization code, which is always
// exact. Below kSmallAccumulator, or for any size if the processor has FMA, binary64 rounds the product with a 24-bit
// scale only once. If the product is also below 2^31, adding a large number rounds it. An accumulator of at most
// kFloatAccumulator is exact in binary32; if its product is below kFloatProduct, one fused multiply-add rounds it.
inline constexpr std::int64_t kSmallAccumulator = std::int64_t{1} << 29;
inline constexpr std::int64_t kFloatAccumulator = std::int64_t{1} << 24, kFloatProduct = std::int64_t{1} << 22;

// The loop kinds of the scheduled program become threads, vectors and unrolled copies; "register" buffers become SSA
// values. `intrinsics`: those that the program calls. Errors: loops not supported by kLoopSupport, and tiles without
// registers (tile_registers.h).
Result<KernelObject> compile_kernel(const loops::Program& program, const loops::IntrinsicTable& intrinsics,
                                    const std::string& symbol, const Cpu& cpu);

// The LLVM IR as text, before and after LLVM's passes, for --dump=llvm.
Result<std::string> kernel_ir(const loops::Program& program, const loops::IntrinsicTable& intrinsics,
                              const std::string& symbol, const Cpu& cpu);

}  // namespace dovetail::cpu
