// The engines that a random program runs on.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "base/result.h"
#include "simulator/rtl/rtl.h"
#include "simulator/simulator.h"
#include "tests/torture/case.h"

namespace dovetail::test {

// The engines that run in addition to the functional and the cycle simulator, which always run.
struct Engines {
  bool systemc = false;
  bool rtl = true;
  std::optional<std::filesystem::path> model = std::nullopt;  // RTL model; default: the one that is found
};

// The simulators of one program; null: not requested.
struct EngineSet {
  std::unique_ptr<simulator::Simulator> functional, cycle, systemc;
  std::unique_ptr<simulator::RtlSimulator> rtl;
};
// The engines record traces. Errors: a missing engine.
Result<EngineSet> make_engines(const isa::HardwareConfig& config, const TortureCase& how, const Engines& engines,
                               simulator::RtlOptions rtl_options = {});

void set_offset(EngineSet& engines, std::uint64_t offset);

}  // namespace dovetail::test
