// What several accelerators divide between them when a model is compiled.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/target/accel/counting.h"
#include "isa/system.h"

namespace dovetail::accel {

struct Division {
  std::int64_t accelerators = 1;
  isa::Split split = isa::Split::samples;
  // Decides between ways to divide the layers of a region; null: estimates decide.
  CountCycles count = nullptr;
  // Expected cycles from the end of the launches that begin together to the first products of the next ones; absent:
  // several numbers are tried where cycles are counted (divide_region.cpp).
  std::optional<double> cycles_between_groups = std::nullopt;
  // The configurations of all accelerators after the first, where they differ; empty: all have one.
  std::vector<isa::HardwareConfig> others = {};

  // Whether programs have launches for several accelerators.
  bool divides() const { return accelerators > 1 && split != isa::Split::samples; }
};

}  // namespace dovetail::accel
