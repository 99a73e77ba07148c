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

// With an operating system and vectors of 16 bytes. Medium processors of each class: Cortex-A72, Neoverse N2, SiFive
// P550 and X280.
Cpu hosted(std::string name, Architecture architecture, std::string features, std::string c_flags, int vector_bytes) {
  const bool arm = architecture == Architecture::aarch64;
  Cpu cpu{std::move(name), arm ? "generic" : "generic-rv64", std::move(features), vector_bytes, 32};
  cpu.architecture = architecture;
  cpu.triple = arm ? "aarch64-unknown-linux-gnu" : "riscv64-unknown-linux-gnu";
  if (!arm) cpu.abi = "lp64d";
  cpu.c_flags = std::move(c_flags);
  return cpu;
}

// A microcontroller: no caches that matter, little stack.
Cpu bare(std::string name, Architecture architecture, std::string triple, std::string llvm_cpu, std::string features,
         std::string abi, FloatUnit floats, std::string c_flags) {
  constexpr std::int64_t kStackBytes = 256;
  Cpu cpu{std::move(name), std::move(llvm_cpu), std::move(features), 0, 8};
  cpu.architecture = architecture;
  cpu.triple = std::move(triple);
  cpu.abi = std::move(abi);
  cpu.floats = floats;
  cpu.c_flags = std::move(c_flags);
  cpu.stack_bytes = kStackBytes;
  return cpu;
}

const std::vector<Cpu>& others() {
  using enum Architecture;
  using enum FloatUnit;
  static const std::vector<Cpu> rows = [] {
    std::vector<Cpu> all{
        hosted("aarch64", aarch64, "+neon", "-march=armv8-a", 16),
        hosted("aarch64-i8mm", aarch64, "+neon,+dotprod,+i8mm", "-march=armv8-a", 16),
        hosted("riscv64", riscv64, "+m,+a,+f,+d,+c", "-march=rv64gc -mabi=lp64d", 0),
        hosted("riscv64-v", riscv64, "+m,+a,+f,+d,+c,+v,+zvl128b", "-march=rv64gc -mabi=lp64d", 16),
        bare("armv7m", arm, "thumbv7m-unknown-none-eabi", "cortex-m3", "", "", none,
             "-mthumb -mcpu=cortex-m3 -mfloat-abi=soft"),
        bare("armv7em-fp", arm, "thumbv7em-unknown-none-eabihf", "cortex-m4", "", "", single,
             "-mthumb -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"),
        bare("armv8m", arm, "thumbv8m.main-unknown-none-eabi", "cortex-m33", "-fpregs,-dsp", "", none,
             "-mthumb -mcpu=cortex-m33+nodsp -mfloat-abi=soft"),
        bare("armv8m-fp", arm, "thumbv8m.main-unknown-none-eabihf", "cortex-m33", "-dsp", "", single,
             "-mthumb -mcpu=cortex-m33+nodsp -mfloat-abi=hard -mfpu=fpv5-sp-d16"),
        bare("riscv32", riscv32, "riscv32-unknown-elf", "generic-rv32", "+m,+a,+c", "ilp32", none,
             "-march=rv32imac -mabi=ilp32"),
        bare("riscv32-fp", riscv32, "riscv32-unknown-elf", "generic-rv32", "+m,+a,+f,+c", "ilp32f", single,
             "-march=rv32imafc -mabi=ilp32f"),
    };
    for (Cpu& cpu : all) cpu.byte_dots = cpu.name == "aarch64-i8mm";
    return all;
  }();
  return rows;
}

}  // namespace

std::span<const Cpu> cpus() { return kCpus; }
std::span<const Cpu> other_cpus() { return others(); }

std::vector<std::string> cpu_names() {
  std::vector<std::string> names{"native"};
  for (const Cpu& cpu : kCpus) names.push_back(cpu.name);
  for (const Cpu& cpu : others()) names.push_back(cpu.name);
  return names;
}

Cpu with_checked_bounds(Cpu cpu) {
  cpu.check_bounds = true;
  if (cpu.tile_registers == 0) return cpu;
  cpu.tiles_in_software = true;
  const auto without = std::find_if(kCpus.rbegin(), kCpus.rend(), [](const Cpu& c) { return c.tile_registers == 0; });
  cpu.name = without->name, cpu.llvm_cpu = without->llvm_cpu, cpu.llvm_features = without->llvm_features;
  return cpu;
}

Cpu exported(Cpu cpu) {
  constexpr std::int64_t kStackBytes = 16 << 10;
  cpu.is_exported = true;
  if (cpu.stack_bytes == 0) cpu.stack_bytes = kStackBytes;
  return cpu;
}

Result<Cpu> find_cpu(std::string_view name) {
  if (name == "native") DOVETAIL_TRY(processor_cap());
  const Cpu* native = nullptr;
  for (const auto& list : {cpus(), other_cpus()})
    for (const Cpu& cpu : list) {
      if (cpu.name == name) return cpu;
      if (runs_here(cpu.name)) native = &cpu;
    }
  if (name == "native" && native != nullptr) return *native;
  if (name == "native")
    return Diagnostic{"no code for this processor", "--cpu native",
                      "the CPU back end generates code for x86-64 with SSE 4.2 or more, AArch64 and RV64GC",
                      "name a processor with --cpu, or run with --target accel"};
  return Diagnostic{fmt::format("unknown processor \"{}\"", name), "--cpu",
                    "the CPU back end has no processor of this name",
                    fmt::format("choose one of {}", fmt::join(cpu_names(), ", "))};
}

}  // namespace dovetail::cpu
