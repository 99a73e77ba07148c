#include "compiler/target/accel/cores.h"

#include <algorithm>

#include "base/check.h"

namespace dovetail::accel {

Cores::Cores(const isa::HardwareConfig& first, const Division& division) : configs_(first, division.others) {
  std::int64_t block = 0;
  for (std::size_t i = 0; i < configs_.size(); ++i) block = std::max(block, Core(configs_[i]).dram_block);
  const auto accelerators = static_cast<std::size_t>(division.accelerators);
  DOVETAIL_CHECK(configs_.same() || configs_.size() == accelerators, "each accelerator has a configuration");
  for (std::size_t i = 0; i < accelerators; ++i) {
    const Core core(configs_[i], block);
    const auto known = std::ranges::find(cores_, core);
    kinds_.push_back(static_cast<std::size_t>(known - cores_.begin()));
    if (known == cores_.end()) cores_.push_back(core);
  }
}

std::size_t Cores::first_of_kind(std::size_t kind) const {
  return static_cast<std::size_t>(std::ranges::find(kinds_, kind) - kinds_.begin());
}

}  // namespace dovetail::accel
