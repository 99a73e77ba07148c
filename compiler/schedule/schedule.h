// Schedules: checked rewrites of loop programs that keep their meaning (float reductions may be reassociated, nothing
// else). A schedule is its trace: a list of steps in text that names loops, blocks and buffers, and names what each
// step creates. The tuner's records, users' scripts and tests' inputs have the same form.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/schedule/decisions.h"
#include "compiler/schedule/form.h"
#include "compiler/schedule/primitives/list.h"
#include "compiler/schedule/step.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::schedule {

std::string to_string(std::span<const Step> trace);
Result<std::vector<Step>> parse_trace(std::string_view text, std::string_view where);  // '#' begins a comment

// A line of primitives/list.h. `apply` receives a verified program and a step whose argument count the form allows; it
// returns the rewritten program or the rule that forbids the step. It fills in step.results that were left open.
struct Primitive : Form {
  Result<loops::Program> (*apply)(const loops::Program& program, Step& step, const loops::IntrinsicTable& intrinsics);
};
std::span<const Primitive> all_primitives();
const Primitive* find_primitive(std::string_view name);

// The effect of a schedule's first steps, cached to be applied again without the steps.
struct KeptSteps {
  loops::Program program;  // after the steps, of any name
  bool kinds_hold = false;
  std::vector<Step> steps;
  std::map<std::string, std::string> layouts;  // of parameters, index maps
  std::set<std::string> follows;
};

// A program under transformation and its trace so far. A refused step leaves both unchanged.
class Schedule {
 public:
  // `intrinsics` must outlive the schedule; the intrinsics that tensorize may name.
  Schedule(loops::Program program, const loops::IntrinsicTable& intrinsics);

  const loops::Program& program() const { return program_; }
  const std::vector<Step>& trace() const { return trace_; }

  Result<void> apply(Step step);
  Result<void> replay(std::span<const Step> trace);

  // Shorthands for apply, one for each line of primitives/list.h: `split LOOP FACTOR -> OUTER INNER` is
  // split("i", 4, "io", "ii") here. The words of the form in its order, results too; names are strings, numbers may be
  // integers, and repeated words a list. After the first rejected step the others have no effect, and status() reports
  // which step and why, so that schedule functions read as a list of steps.
#define DOVETAIL_SHORTHAND(name, form)                                                       \
  template <typename... Values>                                                              \
  requires(form_of(form).takes(sizeof...(Values))) Schedule& name(const Values&... values) { \
    return step(form_of(form), {words_of(values)...});                                       \
  }
  DOVETAIL_PRIMITIVES(DOVETAIL_SHORTHAND)
#undef DOVETAIL_SHORTHAND
  // The decisions of the sample steps of the trace, in order.
  std::span<const Decision> decisions() const { return decisions_; }

  // The effect of all steps so far, without layouts; and its application in place of the steps, after steps that only
  // decided. The program keeps its name. Precondition of kept(): no step decides.
  KeptSteps kept() const;
  void take(const KeptSteps& kept);

  // Records an error as a refused step would.
  void fail(Diagnostics errors);
  Result<void> status() const { return errors_; }

 private:
  // The words of a step, one element for each value of a shorthand.
  Schedule& step(const Form& form, const std::vector<std::vector<std::string>>& values);

  loops::Program program_;
  const loops::IntrinsicTable* intrinsics_;
  std::vector<Step> trace_;
  std::vector<Decision> decisions_;
  bool kinds_hold_ = false;  // no loop of program_ violates its kind; checked once, then kept by every step
  Diagnostics errors_;
};

}  // namespace dovetail::schedule
