// sample NAME among CANDIDATES = VALUE
//
//   sample tile among 4,8,16 = 8
//   split y $tile -> yo yi                    means: split y 8 -> yo yi
//
// Decides a number among candidates; later steps write $NAME for it, in any place of a word. Without "= VALUE" the
// first candidate is taken and recorded. The program stays as it is. A tuner varies the decisions of a trace
// (decisions.h) and replays it. Legal where NAME is new, and VALUE one of the candidates.
#include <fmt/format.h>

#include "compiler/schedule/decisions.h"
#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_sample(const Program& program, Step& step, const IntrinsicTable&) {
  const std::string& name = step.arguments[0];
  const bool decided = step.arguments.size() == 5;
  if (step.arguments[1] != "among" || step.arguments.size() == 4 || (decided && step.arguments[3] != "="))
    return refuse("sample", name, fmt::format("`{}` is not of its form", to_string(step)),
                  "write `sample NAME among 4,8,16 = 8`");
  if (!is_decision_name(name))
    return refuse("sample", name, fmt::format("«{}» is no name", name), "names are letters, digits and _");
  DOVETAIL_ASSIGN(const std::vector<std::int64_t> candidates, parse_candidates(name, step.arguments[2]));
  if (!decided) {
    step.arguments.push_back("=");
    step.arguments.push_back(std::to_string(candidates.front()));
    return program;
  }
  DOVETAIL_TRY(require_candidate(name, candidates, step.arguments[4]));
  return program;
}

}  // namespace dovetail::schedule
