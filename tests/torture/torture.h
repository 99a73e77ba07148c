// The torture test: random legal programs on the RTL engine, against the functional simulator (every DRAM byte) and
// isa/semantics (every defined SRAM element), under random memories, random power-up contents and, every fourth time,
// with one of the slaves that AXI4 allows in the place of the memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/config.h"
#include "simulator/memory/memory.h"
#include "simulator/rtl/axi_slave.h"
#include "simulator/trace/trace.h"
#include "tests/generator/generator.h"

namespace dovetail::test {

struct TortureCase {
  std::uint64_t seed = 0;
  GeneratorOptions program;
  simulator::MemorySpec memory;
  std::uint64_t power_up_seed = 1;
  std::optional<simulator::AxiSlave> slave = std::nullopt;  // in the place of the memory
};
// A function of the seed.
TortureCase torture_case(std::uint64_t seed);
std::string describe(const TortureCase& torture);

// What is wrong, or nothing. `trace` receives what the RTL reported, launch by launch; empty with a slave. `model`: the
// RTL model; default: the one that is found.
std::optional<std::string> torture(const GeneratedProgram& program, const TortureCase& how,
                                   const std::optional<std::filesystem::path>& model = std::nullopt,
                                   std::vector<simulator::LaunchTrace>* trace = nullptr);

// A failure's program made small, with what is wrong with it and its assembly.
std::string minimised(const GeneratedProgram& program, const TortureCase& how,
                      const std::optional<std::filesystem::path>& model = std::nullopt);

// What a set of runs has exercised besides the generator's own bins: bursts, stalls, forwarding, interlock.
class TortureCoverage {
 public:
  void add(const GeneratedProgram& program, const std::vector<simulator::LaunchTrace>& trace);
  std::vector<std::string> missing() const;
  std::string report() const;
  std::size_t instructions() const { return programs_.instructions(); }
  std::uint64_t cycles() const { return cycles_; }

 private:
  void add_transfer(const isa::HardwareConfig& config, const isa::Instruction& instruction);
  void add_loop(const isa::HardwareConfig& config, const isa::UopLoop& loop, bool alu, bool is_long, bool vector,
                const std::vector<isa::Uop>& uops);

  Coverage programs_;
  std::map<std::string, std::size_t> bins_;
  std::uint64_t cycles_ = 0;
};

}  // namespace dovetail::test
