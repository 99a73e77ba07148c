// The host CPU instructions that the functional simulator uses. Chosen at run time, among those that the processor
// class allows (base/processor.h): one portable binary.
#pragma once

#include <cstdint>
#include <string_view>

namespace dovetail::simulator {

enum class KernelLevel : std::uint8_t {
  baseline,    // plain C++; any CPU
  avx2,        // 16-bit multiply-add on 256-bit vectors; class avx2
  avx512vnni,  // 8-bit dot products on 512-bit vectors; class avx512-vnni
};

std::string_view name(KernelLevel level);
bool is_supported(KernelLevel level);
KernelLevel best_kernel_level();

}  // namespace dovetail::simulator
