// Coverage of the space of configurations, memories and wrong programs by a campaign.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "isa/config.h"
#include "tests/generator/generator.h"
#include "tests/generator/mutate.h"
#include "tests/torture/case.h"
#include "tests/torture/engines.h"
#include "tests/torture/wrong.h"

namespace dovetail::test {

class SpaceCoverage {
 public:
  // Expects both ends of every parameter within the limits, encodings, subsets of the extensions, memories, kinds of
  // mutations, verdicts, and with RTL its error codes. `wrong`: whether there are wrong programs.
  SpaceCoverage(const DesignLimits& limits, const Engines& engines, bool wrong);

  void add(const isa::HardwareConfig& config);
  void add(const isa::HardwareConfig& config, const TortureCase& how);
  void add(Mutation mutation, const Observed& observed);
  void add_slave_error();

  std::vector<std::string> missing() const;
  std::string report() const;

 private:
  DesignLimits limits_;
  bool rtl_;
  std::map<std::string, std::size_t> bins_;
};

}  // namespace dovetail::test
