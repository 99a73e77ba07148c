// Which steps of a schedule a program accepts, found by trying them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/loop_counts.h"
#include "driver/loop_program.h"

namespace dovetail::driver {

// The steps `vectorize LOOP`, `parallel LOOP` and `tensorize LOOP INTRINSIC` that the program accepts, in the order of
// its loops.
std::vector<std::string> legal_kinds(const LoopProgram& program);

// What a step did.
struct StepEffect {
  std::string step;  // with what it filled in; empty: no step, `after` alone counts
  LoopCounts before, after;
  std::vector<std::string> now_legal, no_longer_legal;  // of legal_kinds()
};
// `before`: null for the program as written.
StepEffect effect_of(const LoopProgram* before, const LoopProgram& after);

struct Suggestion {
  std::string step;
  LoopCounts counts;  // of the program after it
};
// The steps that the program accepts at a loop, a block or a buffer, with a few values for each argument: factors and
// stages of powers of two, the other loops and blocks, the memories and the intrinsics that the targets have. Steps of
// any program (annotate, sample) are not listed. Error: the program has nothing of that name.
Result<std::vector<Suggestion>> suggest(const LoopProgram& program, const std::string& name);

}  // namespace dovetail::driver
