// Coverage of a set of runs in addition to the generator's bins: bursts, stalls, forwarding, interlock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isa/config.h"
#include "simulator/trace/trace.h"
#include "tests/generator/generator.h"

namespace dovetail::test {

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
