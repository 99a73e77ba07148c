#include "base/processor.h"

#include <fstream>
#include <sstream>

namespace dovetail {

bool runs_here(std::string_view processor) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (processor == "baseline") return __builtin_cpu_supports("sse4.2") != 0;
  if (processor == "avx2")
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512cd");
  if (processor == "avx512") return avx512;
  if (processor == "avx512-vnni") return avx512 && __builtin_cpu_supports("avx512vnni");
#endif
  return false;
}

std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));  // some are padded with spaces
    std::string model;
    for (std::string word; words >> word;) model += (model.empty() ? "" : " ") + word;
    if (!model.empty()) return model;
  }
  return "unknown processor";
}

}  // namespace dovetail
