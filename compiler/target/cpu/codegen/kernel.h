// A scheduled loop program to an object file, through LLVM. No LLVM type crosses this border: its headers cost seconds
// per source.
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
  std::int64_t shared_bytes = 0;      // workspace of the kernel
  std::int64_t local_bytes = 0;       // workspace of each thread
  std::vector<std::string> failures;  // what each site of KernelServices::fail means
  std::vector<std::string>
      notes;  // register buffers that had to stay in memory, loops that were not vectorized: why it may be slow
};

inline constexpr std::array kLoopKinds{loops::ForKind::parallel, loops::ForKind::vectorized, loops::ForKind::unrolled};
inline constexpr LoopSupport kLoopSupport{"the CPU back end", kLoopKinds, {}, kWidestVectorBytes};

// What an accumulator, and its product with a scale, are proven to be decides how it is requantized, always exactly.
// Below kSmallAccumulator, or of any size where the processor fuses, binary64 rounds the product with the 24 bits of a
// scale once. Where the product is below 2^31 as well, adding a large number rounds it. An accumulator of at most
// kFloatAccumulator is a binary32; where its product is below kFloatProduct, one fused multiply-add rounds it.
inline constexpr std::int64_t kSmallAccumulator = std::int64_t{1} << 29;
inline constexpr std::int64_t kFloatAccumulator = std::int64_t{1} << 24, kFloatProduct = std::int64_t{1} << 22;

// The scheduled program's kinds of loops become threads, vectors and copies; "register" buffers live in SSA values.
// `intrinsics`: those that the program calls. Errors: loops that kLoopSupport does not hold, and
// tiles that have no registers (tile_registers.h).
Result<KernelObject> compile_kernel(const loops::Program& program, const loops::IntrinsicTable& intrinsics,
                                    const std::string& symbol, const Cpu& cpu);

// The same up to LLVM's text form before and after its passes, for --dump=llvm.
Result<std::string> kernel_ir(const loops::Program& program, const loops::IntrinsicTable& intrinsics,
                              const std::string& symbol, const Cpu& cpu);

}  // namespace dovetail::cpu
