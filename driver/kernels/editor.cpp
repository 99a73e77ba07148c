#include "driver/kernels/editor.h"

#include <string>
#include <utility>

namespace dovetail::driver {

Result<StepEffect> LoopEditor::apply(std::string_view step) {
  DOVETAIL_ASSIGN(const std::vector<schedule::Step> trace, schedule::parse_trace(step, "step"));
  if (trace.size() != 1)
    return Diagnostic{"cannot apply a step", std::string(step), "it is not one line of a schedule",
                      "write a step, for example split LOOP 16"};
  LoopProgram after = program();
  DOVETAIL_TRY(after.apply(step));
  states_.resize(at_ + 1, after);
  states_.push_back(std::move(after));
  ++at_;
  return effect_of(&states_[at_ - 1], program());
}

bool LoopEditor::undo() {
  if (at_ == 0) return false;
  --at_;
  return true;
}

bool LoopEditor::redo() {
  if (at_ + 1 == states_.size()) return false;
  ++at_;
  return true;
}

std::vector<StepEffect> LoopEditor::effects() const {
  std::vector<StepEffect> all;
  for (std::size_t i = 1; i <= at_; ++i) all.push_back(effect_of(&states_[i - 1], states_[i]));
  return all;
}

}  // namespace dovetail::driver
