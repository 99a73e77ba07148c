// What the processor's packages use, by their own counters (RAPL, which Linux shows below /sys/class/powercap). It is
// all that runs on them meanwhile, not only what is measured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace dovetail::explore {

class PackageEnergy {
 public:
  // Error: why there is nothing to read: no such folder, no package in it, or no permission.
  static Result<PackageEnergy> open(const std::filesystem::path& folder = "/sys/class/powercap");

  // Since open(), of all packages. To be called before a counter has gone round twice, which takes minutes. Error: a
  // counter cannot be read any more.
  Result<double> joules();
  std::size_t packages() const { return counters_.size(); }

 private:
  struct Counter {
    std::filesystem::path file;
    std::uint64_t range_uj = 0, last_uj = 0;  // goes back to 0 after its range
  };
  std::vector<Counter> counters_;
  double joules_ = 0;
};

}  // namespace dovetail::explore
