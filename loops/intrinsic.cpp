#include "loops/intrinsic.h"

#include <algorithm>

namespace dovetail::loops {

const Intrinsic* find_intrinsic(const IntrinsicTable& table, std::string_view name) {
  const auto row =
      std::find_if(table.begin(), table.end(), [&](const Intrinsic& intrinsic) { return intrinsic.name == name; });
  return row == table.end() ? nullptr : &*row;
}

std::string_view name(ExecutionScope scope) {
  switch (scope) {
    case ExecutionScope::thread: return "thread";
    case ExecutionScope::warp: return "warp";
    case ExecutionScope::warpgroup: return "warpgroup";
    case ExecutionScope::machine_queue: return "machine queue";
  }
  return "";
}

std::string_view name(Completion completion) {
  return completion == Completion::immediate ? "immediate" : "commit and wait";
}

}  // namespace dovetail::loops
