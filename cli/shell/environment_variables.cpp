#include "cli/shell/environment_variables.h"

#include <array>

namespace dovetail::cli {

std::span<const EnvironmentVariable> environment_variables() {
  static constexpr auto kVariables = std::to_array<EnvironmentVariable>({
      {"DOVETAIL_PROCESSOR",
       "the processor class to use, at most that of the machine: baseline, avx2, avx2-vnni, avx512, avx512-vnni, "
       "avx512-amx"},
      {"DOVETAIL_MEMORY_LIMIT",
       "the memory that inputs may need: 512MiB, 8GiB (default: three quarters of the machine's)"},
      {"DOVETAIL_CERTIFICATES", "the folder of certificates, for --on, `dovetail queue` and `dovetail serve`"},
      {"DOVETAIL_MACHINE_CODE",
       "forbidden: models, bundles and engines that need machine code are refused (a board sets it for clients "
       "without the role run-code)"},
      {"DOVETAIL_BOARD",
       "the name of the board and its facts, one per line, which JSON reports repeat (a board sets it)"},
      {"DOVETAIL_FILES", "below: files are below the working folder (a board sets it)"},
      {"DOVETAIL_MESSAGES", "the descriptor of messages to the client (a board sets it)"},
      {"DOVETAIL_ONE_OF_SEVERAL", "the process measures for a client (a board sets it)"},
      {"DOVETAIL_PREFIX", "the folder where the kit is installed"},
      {"DOVETAIL_HW", "the folder of the design in SystemVerilog"},
      {"DOVETAIL_RTL_MODELS", "a folder of Verilated models, searched first"},
      {"DOVETAIL_PICORV32",
       "the file picorv32.v for `dovetail soc` (default: that of Python's package pythondata-cpu-picorv32)"},
      {"DOVETAIL_AXI",
       "the device of engine axi: /dev/uioN:/dev/udmabufN, or rtl (default: the only one of this machine)"},
      {"DOVETAIL_ONEDNN", "the shared object of oneDNN"},
      {"DOVETAIL_NVRTC", "the shared object of NVIDIA's run-time compiler"},
      {"DOVETAIL_LIBCUDA", "the shared object of NVIDIA's driver"},
      {"DOVETAIL_NVML", "the shared object that counts a GPU's energy"},
      {"DOVETAIL_CUBLAS", "the shared object of cuBLAS"},
      {"DOVETAIL_CUDNN", "the shared object of cuDNN"},
  });
  return kVariables;
}

}  // namespace dovetail::cli
