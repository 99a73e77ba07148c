// Which instructions of the host CPU the functional simulator uses. Chosen at run time: one portable binary.
#pragma once

#include <cstdint>
#include <string_view>

namespace dovetail::simulator {

enum class KernelLevel : std::uint8_t {
  baseline,    // plain C++; any CPU
  avx2,        // 16-bit multiply-add on 256-bit vectors
  avx512vnni,  // 8-bit dot products on 512-bit vectors (F, BW, DQ, VL, VNNI)
};

std::string_view name(KernelLevel level);
bool is_supported(KernelLevel level);
KernelLevel best_kernel_level();

}  // namespace dovetail::simulator
