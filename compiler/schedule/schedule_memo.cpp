#include "compiler/schedule/schedule_memo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/print.h"

namespace dovetail::schedule {

std::string text_of(const loops::IntrinsicTable& intrinsics) {
  std::string text;
  for (const loops::Intrinsic& row : intrinsics) {
    text += fmt::format("intrinsic {} {} {} scopes {} layouts {} immediates", row.name, name(row.execution),
                        name(row.completion), fmt::join(row.scopes, ","), fmt::join(row.layouts, ";"));
    for (const loops::Var& immediate : row.immediates) text += " " + immediate->name;
    text += fmt::format("{}\n{}\n", row.in_place ? " in place" : "", loops::to_string(row.semantics));
  }
  return text;
}

}  // namespace dovetail::schedule
