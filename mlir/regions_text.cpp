#include "mlir/regions_text.h"

#include <fmt/format.h>

#include "loops/print.h"
#include "loops/syntax.h"

namespace dovetail::mlir {

std::string regions_text(const std::vector<loops::Region>& regions) {
  std::string text;
  for (const loops::Region& region : regions) {
    std::string ranges;
    for (const loops::RangeExpr& range : region.ranges) {
      if (!ranges.empty()) ranges += ", ";
      ranges += loops::to_string(range.min);
      if (range.extent != 1) ranges += fmt::format(" +: {}", range.extent);
    }
    text += fmt::format("{}{}[{}]", text.empty() ? "" : ", ", loops::printed_name(region.buffer->name), ranges);
  }
  return text;
}

}  // namespace dovetail::mlir
