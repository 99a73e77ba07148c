// A schedule under construction: steps are tried, taken back and repeated.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/kernels/legal_steps.h"
#include "driver/loop_program.h"

namespace dovetail::driver {

class LoopEditor {
 public:
  explicit LoopEditor(LoopProgram program) { states_.push_back(std::move(program)); }

  const LoopProgram& program() const { return states_[at_]; }

  // Error: the step is not one line of a trace, or is rejected; then nothing changes. A step that is applied ends what
  // could be repeated.
  Result<StepEffect> apply(std::string_view step);
  // The program before the last step, and the next again. False: there is none.
  bool undo();
  bool redo();

  // What each step since the construction did, in their order.
  std::vector<StepEffect> effects() const;

 private:
  std::vector<LoopProgram> states_;  // after each step; they share immutable data
  std::size_t at_ = 0;
};

}  // namespace dovetail::driver
