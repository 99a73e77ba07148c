// The table of all operators: the rows of the files in list.h.
#include <algorithm>
#include <iterator>

#include "compiler/ops/list.h"
#include "compiler/ops/op.h"

namespace dovetail::ops {
namespace {

constexpr std::vector<OpDef> (*kFiles[])() = {
#define DOVETAIL_ENTRY(rows) rows,
    DOVETAIL_OPERATOR_FILES(DOVETAIL_ENTRY)
#undef DOVETAIL_ENTRY
};

std::vector<OpDef> sorted_rows() {
  std::vector<OpDef> rows;
  for (const auto file : kFiles) std::ranges::move(file(), std::back_inserter(rows));
  std::ranges::sort(rows, {}, &OpDef::op);
  for (std::size_t i = 1; i < rows.size(); ++i) DOVETAIL_CHECK(rows[i - 1].op != rows[i].op, std::string(rows[i].op));
  return rows;
}

}  // namespace

std::span<const OpDef> all() {
  static const std::vector<OpDef> rows = sorted_rows();
  return rows;
}

}  // namespace dovetail::ops
