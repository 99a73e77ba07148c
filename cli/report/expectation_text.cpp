#include "cli/report/expectation_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "cli/report/text.h"

namespace dovetail::cli {

std::string expectation_text(const driver::Expectation& expectation, Amount amount) {
  std::string text;
  if (amount == Amount::details) {
    TextTable table({"tensor", "step", ">elements", ">beyond", ">largest difference", ">largest expected"});
    for (const driver::ComparedTensor& tensor : expectation.tensors)
      table.add({tensor.name, tensor.step, with_separators(static_cast<std::uint64_t>(tensor.elements)),
                 with_separators(static_cast<std::uint64_t>(tensor.beyond)), fmt::format("{:.6g}", tensor.largest),
                 fmt::format("{:.6g}", tensor.largest_expected)});
    text = fmt::format("\n{}\n", table.to_string());
  }
  const auto beyond = std::ranges::count_if(expectation.tensors,
                                            [](const driver::ComparedTensor& tensor) { return !tensor.why.empty(); });
  text += entry(
      "expected",
      fmt::format("{} tensors, {} beyond the tolerance: floats {:g} of a tensor's largest, integers {}",
                  expectation.tensors.size(), beyond, expectation.tolerance.floating, expectation.tolerance.integer));
  if (!expectation.missing.empty())
    text += entry("not compared",
                  fmt::format("{}: the run has no tensors of these names", fmt::join(expectation.missing, ", ")));
  return text;
}

Json expectation_json(const driver::Expectation& expectation) {
  Json rows = Json::array();
  for (const driver::ComparedTensor& tensor : expectation.tensors)
    rows.push_back({{"name", tensor.name},
                    {"step", tensor.step},
                    {"elements", tensor.elements},
                    {"beyond", tensor.beyond},
                    {"largest_difference", std::isfinite(tensor.largest) ? Json(tensor.largest) : Json(nullptr)},
                    {"largest_expected", tensor.largest_expected},
                    {"why", tensor.why}});
  const driver::ComparedTensor* first = expectation.first();
  return {{"tolerance", {{"floating", expectation.tolerance.floating}, {"integer", expectation.tolerance.integer}}},
          {"tensors", rows},
          {"missing", expectation.missing},
          {"first", first != nullptr ? Json(first->name) : Json(nullptr)}};
}

}  // namespace dovetail::cli
