#include "base/check.h"
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
#if defined(__x86_64__)
  switch (level) {
    case KernelLevel::baseline: return true;
    case KernelLevel::avx2: return __builtin_cpu_supports("avx2");
    case KernelLevel::avx512vnni:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512vnni");
  }
#endif
  return level == KernelLevel::baseline;
}

KernelLevel best_kernel_level() {
  for (KernelLevel level : {KernelLevel::avx512vnni, KernelLevel::avx2})
    if (is_supported(level)) return level;
  return KernelLevel::baseline;
}

Kernels select_kernels(KernelLevel level, const TileLayout& layout) {
  DOVETAIL_CHECK(is_supported(level), "this CPU lacks the instructions of kernel level " + std::string(name(level)));
#if defined(__x86_64__)
  if (level == KernelLevel::avx512vnni) return avx512vnni_kernels(layout);
  if (level == KernelLevel::avx2) return avx2_kernels(layout);
#endif
  (void)layout;
  return baseline_kernels();
}

}  // namespace dovetail::simulator
