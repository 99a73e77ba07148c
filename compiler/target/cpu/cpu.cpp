#include "compiler/target/cpu/cpu.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/processor.h"

namespace dovetail::cpu {

namespace {

// Caches: the smallest first- and second-level caches among the processors of each class.
// clang-format off
const std::array<Cpu, 6> kCpus{{
    {"baseline", "x86-64-v2", "", 16, 16, false, 0, 32 << 10, 256 << 10},
    {"avx2", "x86-64-v3", "", 32, 16, false, 0, 32 << 10, 256 << 10},
    {"avx2-vnni", "x86-64-v3", "+avxvnni,+fast-dpwssd", 32, 16, true, 0, 32 << 10, 1 << 20},
    {"avx512", "x86-64-v4", "+prfchw,-prefer-256-bit", 64, 32, false, 0, 32 << 10, 1 << 20},
    {"avx512-vnni", "x86-64-v4", "+avx512vnni,+fast-dpwssd,+prfchw,-prefer-256-bit", 64, 32, true, 0, 32 << 10, 1 << 20},
    {"avx512-amx", "x86-64-v4", "+avx512vnni,+fast-dpwssd,+amx-tile,+amx-int8,+prfchw,-prefer-256-bit", 64, 32, true, 8, 48 << 10, 2 << 20, 12},
}};
// clang-format on

}  // namespace

std::span<const Cpu> cpus() { return kCpus; }

Cpu with_checked_bounds(Cpu cpu) {
  cpu.check_bounds = true;
  if (cpu.tile_registers == 0) return cpu;
  cpu.tiles_in_software = true;
  const auto without = std::find_if(kCpus.rbegin(), kCpus.rend(), [](const Cpu& c) { return c.tile_registers == 0; });
  cpu.name = without->name, cpu.llvm_cpu = without->llvm_cpu, cpu.llvm_features = without->llvm_features;
  return cpu;
}

Result<Cpu> find_cpu(std::string_view name) {
  const Cpu* native = nullptr;
  if (name == "native") DOVETAIL_TRY(processor_cap());
  std::vector<std::string> names{"native"};
  for (const Cpu& cpu : kCpus) {
    if (cpu.name == name) return cpu;
    if (runs_here(cpu.name)) native = &cpu;
    names.push_back(cpu.name);
  }
  if (name == "native" && native != nullptr) return *native;
  if (name == "native")
    return Diagnostic{"no code for this processor", "--cpu native",
                      "the CPU back end generates code for x86-64 with SSE 4.2 or more",
                      "name a processor with --cpu, or run with --target accel"};
  return Diagnostic{fmt::format("unknown processor \"{}\"", name), "--cpu",
                    "the CPU back end has no processor of this name",
                    fmt::format("choose one of {}", fmt::join(names, ", "))};
}

}  // namespace dovetail::cpu
