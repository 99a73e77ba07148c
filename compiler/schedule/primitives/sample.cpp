// sample NAME RULE SPACE = VALUE
//
//   sample tile among 4,8,16 = 8
//   split y $tile -> yo yi                    means: split y 8 -> yo yi
//
// Decides a word of a space (decisions.h has its rules); later steps may use it in place of any word. Without "= VALUE"
// the first of the space is chosen and recorded. The program does not change. A tuner varies the decisions and runs the
// sketch again (sketch.h). Legal if NAME is new, and VALUE is in the space.
#include <fmt/format.h>

#include "compiler/schedule/decisions.h"
#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_sample(const Program& program, Step& step, const IntrinsicTable&) {
  const std::string& name = step.arguments[0];
  const bool decided = step.arguments.size() == 5;
  if (step.arguments.size() == 4 || (decided && step.arguments[3] != "="))
    return refuse("sample", name, fmt::format("`{}` is not a sample step", to_string(step)),
                  "write `sample NAME among 4,8,16 = 8`");
  if (!is_decision_name(name))
    return refuse("sample", name, fmt::format("«{}» is not a name", name),
                  "use letters, digits and _; do not begin with a digit");
  DOVETAIL_ASSIGN(const Space space, Space::parse(name, step.arguments[1], step.arguments[2]));
  if (decided) {
    DOVETAIL_TRY(require_value(name, space, step.arguments[4]));
    return program;
  }
  step.arguments.push_back("=");
  step.arguments.push_back(space.values.front());
  return program;
}

}  // namespace dovetail::schedule
