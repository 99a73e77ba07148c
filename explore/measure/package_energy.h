// The energy that the processor's packages use, from their own counters (RAPL, in Linux below /sys/class/powercap). It
// includes everything that runs on them in that time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace dovetail::explore {

class PackageEnergy {
 public:
  // Error: there is no such folder, no package in it, or no permission to read.
  static Result<PackageEnergy> open(const std::filesystem::path& folder = "/sys/class/powercap");

  // The energy of all packages since open(). Call it before a counter wraps around twice, which takes minutes. Error: a
  // counter cannot be read any more.
  Result<double> joules();
  std::size_t packages() const { return counters_.size(); }

 private:
  struct Counter {
    std::filesystem::path file;
    std::uint64_t range_uj = 0, last_uj = 0;  // the counter wraps to 0 after its range
  };
  std::vector<Counter> counters_;
  double joules_ = 0;
};

}  // namespace dovetail::explore
