// The table of operators as a whole.
#include <algorithm>

#include "compiler/ops/naive.h"
#include "tests/catch.h"

namespace dovetail::ops {
namespace {

TEST_CASE("Operators are sorted, found by name, and have consistent signatures") {
  const std::span<const OpDef> rows = all();
  CHECK(std::ranges::is_sorted(rows, {}, &OpDef::op));
  for (const OpDef& row : rows) {
    INFO(row.op);
    CHECK(find(row.op) == &row);
    const std::vector<InputRule>& inputs = row.signature.inputs;
    for (const int i : row.compile_time_inputs) CHECK(static_cast<std::size_t>(i) < inputs.size());
    for (std::size_t i = 0; i + 1 < inputs.size(); ++i) CHECK(inputs[i].presence != Presence::variadic);
    CHECK((row.infer != nullptr && row.define != nullptr));
  }
  CHECK(find("Convolution") == nullptr);
  CHECK(find("") == nullptr);
}

TEST_CASE("Block names are the operators' names in lower case") {
  CHECK(block_name("LeakyRelu") == "leaky_relu");
  CHECK(block_name("dovetail.qconv") == "qconv");
  CHECK(block_name("ReduceL1") == "reduce_l1");
  CHECK(block_name("GRU") == "gru");
}

}  // namespace
}  // namespace dovetail::ops
