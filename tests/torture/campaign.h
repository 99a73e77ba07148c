// Runs right and wrong random programs on all engines, for each named or random configuration.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "isa/config.h"
#include "tests/torture/coverage.h"
#include "tests/torture/engines.h"
#include "tests/torture/space_coverage.h"

namespace dovetail::test {

struct CampaignOptions {
  std::size_t instructions = 0;  // in right programs, for each configuration
  std::uint64_t seed = 1;        // of the first program of a named configuration, or of the first random configuration
  unsigned wrong_percent = 0;    // share of wrong programs
  Engines engines;
  std::optional<DesignLimits> limits = std::nullopt;  // of random configurations; default: those of the engines
  bool shrink = true;
  std::filesystem::path folder = {};  // for models of random configurations, each of which is removed when its
                                      // configuration is done, and for what failed
};

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options);

  // Runs one configuration, for which there is a model. Prints a line, or the difference. Returns false on a
  // difference.
  bool run(const isa::HardwareConfig& config);
  // Runs that many random configurations, each verilated where RTL is among the engines. Returns how many have a
  // difference.
  std::size_t run_random(std::size_t configs);

  const TortureCoverage& programs() const { return programs_; }
  const SpaceCoverage& space() const { return space_; }
  std::size_t wrong_programs() const { return wrong_programs_; }

 private:
  bool run(const isa::HardwareConfig& config, const Engines& engines, std::uint64_t first_seed);
  bool run_random(const isa::HardwareConfig& config, std::uint64_t seed);
  bool run_right(const isa::HardwareConfig& config, const Engines& engines, std::uint64_t seed);
  bool run_wrong(const isa::HardwareConfig& config, const Engines& engines, std::uint64_t seed);
  void report(const GeneratedProgram& program, const TortureCase& how, const std::string& said);

  CampaignOptions options_;
  DesignLimits limits_;
  TortureCoverage programs_;
  SpaceCoverage space_;
  std::size_t wrong_programs_ = 0;
};

}  // namespace dovetail::test
