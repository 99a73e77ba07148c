#include "base/processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdint>
#include <string>

#include "base/text_stream.h"

namespace dovetail {

#if defined(__x86_64__)
namespace {

// Features that are newer than the compiler's own list: Intel 64 and IA-32 Architectures Software Developer's Manual,
// volume 2A, CPUID.
enum class Register : std::uint8_t { eax, edx };
bool has_feature(unsigned subleaf, Register where, unsigned bit) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, subleaf, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (((where == Register::eax ? eax : edx) >> bit) & 1U) != 0;
}

// Linux saves tile registers only for processes that asked for them (arch/x86/include/uapi/asm/prctl.h); threads that
// are made later have the permission as well.
bool tiles_are_granted() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
}

}  // namespace
#endif

bool runs_here(std::string_view processor) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (processor == "baseline") return __builtin_cpu_supports("sse4.2") != 0;
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  if (processor == "avx2") return avx2;
  if (processor == "avx2-vnni") return avx2 && has_feature(1, Register::eax, 4);
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512cd");
  if (processor == "avx512") return avx512;
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  if (processor == "avx512-vnni") return vnni;
  if (processor == "avx512-amx")
    return vnni && has_feature(0, Register::edx, 24) && has_feature(0, Register::edx, 25) && tiles_are_granted();
#endif
  return false;
}

std::string processor_model() {
  TextFile file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    TextStream words(line.substr(line.find(':') + 1));  // some are padded with spaces
    std::string model;
    for (std::string word; words >> word;) model += (model.empty() ? "" : " ") + word;
    if (!model.empty()) return model;
  }
  return "unknown processor";
}

}  // namespace dovetail
