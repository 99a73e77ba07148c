#include "loops/intrinsic.h"

#include <algorithm>

namespace dovetail::loops {

const Intrinsic* find_intrinsic(const IntrinsicTable& table, std::string_view name) {
  const auto row = std::find_if(table.begin(), table.end(), [&](const Intrinsic& intrinsic) { return intrinsic.name == name; });
  return row == table.end() ? nullptr : &*row;
}

}  // namespace dovetail::loops
