// Random schedules in place of recorded ones: a compiler that uses them must be as correct as with its own.
#pragma once

#include <cstdint>
#include <memory>

#include "base/random.h"
#include "compiler/schedule/recorded.h"
#include "compiler/tune/sketch_space.h"

namespace dovetail::test {

inline schedule::FindRecorded drawn_schedules(std::uint64_t seed) {
  return [random = std::make_shared<SplitMix64>(seed)](const schedule::Task& task, const schedule::Sketch& sketch) {
    tune::SketchSpace space(task, sketch);
    const auto drawn = space.complete({}, tune::Rest::random, *random);
    return drawn ? schedule::Recorded{drawn->decisions(), "drawn"} : schedule::Recorded{{}, "default, nothing fits"};
  };
}

}  // namespace dovetail::test
