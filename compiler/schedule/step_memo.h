// What steps make of programs, kept for many schedules: a step is a pure function of the program, the step's words and
// the intrinsics. Schedules of one task that begin alike, as those for machines that differ in sizes of buffers or in
// their port do, share what their first steps make, whatever it is in the machine that decided the steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "compiler/schedule/step.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::schedule {

// All that steps read of intrinsics.
std::string text_of(const loops::IntrinsicTable& intrinsics);

// May be used by several threads at once.
class StepMemo {
 public:
  // States that are kept at least, and twice as many at most: those used longest ago are forgotten. A state takes about
  // 10 KiB, a layer's schedule about a hundred states.
  static constexpr std::size_t kStates = 32768;
  explicit StepMemo(std::size_t states = kStates);
  ~StepMemo();
  StepMemo(const StepMemo&) = delete;
  StepMemo& operator=(const StepMemo&) = delete;

  // A program on the way from a task's to a scheduled one.
  struct State {
    std::uint64_t id;
    loops::Program program;
    bool kinds_hold;  // known to have no loop that breaks its kind (loop_kinds.h)
  };
  using StatePointer = std::shared_ptr<const State>;

  // The state of an operator's program: one for all programs of equal text, name and intrinsics (text_of). Its program
  // has their text; schedules begin with it, so that what a step made is never mixed with another program's buffers.
  StatePointer begin(const loops::Program& program, std::string_view intrinsics);

  // What a step was found to do: `state`, or `errors` where it is refused.
  struct Outcome {
    Step step;  // with the names and arguments that were left to it
    StatePointer state = nullptr;
    Diagnostics errors = {};
  };
  // `step`: with its references to decisions resolved.
  std::optional<Outcome> find(const State& from, const Step& step);
  // Of several threads that found the same the first one's.
  Outcome keep(const State& from, const Step& step, Step done, loops::Program program, bool kinds_hold);
  void keep_refusal(const State& from, const Step& step, const Diagnostics& errors);

  // Steps that were looked for, and those of them that were found.
  std::uint64_t asked() const;
  std::uint64_t found() const;

 private:
  struct Store;
  std::unique_ptr<Store> store_;
};

}  // namespace dovetail::schedule
