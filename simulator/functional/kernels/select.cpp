#include "base/check.h"
#include "base/processor.h"
#include "simulator/functional/kernels/kernels.h"

namespace dovetail::simulator {

std::string_view name(KernelLevel level) {
  switch (level) {
    case KernelLevel::baseline: return "baseline";
    case KernelLevel::avx2: return "avx2";
    case KernelLevel::avx512vnni: return "avx512vnni";
  }
  return "unknown";
}

bool is_supported(KernelLevel level) {
  switch (level) {
    case KernelLevel::baseline: return true;
    case KernelLevel::avx2: return runs_here("avx2");
    case KernelLevel::avx512vnni: return runs_here("avx512-vnni");
  }
  return false;
}

KernelLevel best_kernel_level() {
  for (KernelLevel level : {KernelLevel::avx512vnni, KernelLevel::avx2})
    if (is_supported(level)) return level;
  return KernelLevel::baseline;
}

Kernels select_kernels(KernelLevel level, const TileLayout& layout) {
  DOVETAIL_CHECK(is_supported(level), "the CPU must have the instructions of kernel level " + std::string(name(level)));
#if defined(__x86_64__)
  if (level == KernelLevel::avx512vnni) return avx512vnni_kernels(layout);
  if (level == KernelLevel::avx2) return avx2_kernels(layout);
#endif
  (void)layout;
  return baseline_kernels();
}

}  // namespace dovetail::simulator
