#include "compiler/target/accel/memo.h"

#include <fmt/format.h>

namespace dovetail::accel {

namespace {

// Forms are few: kinds of operations with their stages, for each size of blocks.
constexpr std::size_t kMostForms = 4096;

}  // namespace

std::string PlacesMemo::key(const std::string& form, const isa::HardwareConfig& config) {
  return fmt::format("{} {} {} {}", config.batch, config.block_in, config.block_out, form);
}

std::optional<std::vector<OnChip>> PlacesMemo::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto known = places_.find(key);
  return known == places_.end() ? std::nullopt : std::optional(known->second);
}

void PlacesMemo::keep(const std::string& key, const std::vector<OnChip>& places) {
  const std::lock_guard lock(mutex_);
  if (places_.size() >= kMostForms) places_.clear();
  places_.emplace(key, places);
}

}  // namespace dovetail::accel
