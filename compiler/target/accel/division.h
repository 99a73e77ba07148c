// What several accelerators divide between them when a model is compiled.
#pragma once

#include <cstdint>

#include "isa/system.h"

namespace dovetail::accel {

struct Division {
  std::int64_t accelerators = 1;
  isa::Split split = isa::Split::samples;

  // Whether programs have launches for several accelerators.
  bool divides() const { return accelerators > 1 && split != isa::Split::samples; }
};

}  // namespace dovetail::accel
