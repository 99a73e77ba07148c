// Einsum of two tensors becomes a matrix product where possible, with the operator's values.
#include "compiler/reference/reference.h"
#include "tests/unit/compiler/import/onnx_writer.h"
#include "tests/unit/compiler/ops/case.h"

namespace dovetail {

using namespace test::onnx;

TEST_CASE("import: Einsum becomes a matrix product, or stays") {
  struct Row {
    const char* equation;
    Shape a, b;
    bool is_product;
  };
  const std::vector<Row> rows{
      {"ij,jk->ik", {2, 3}, {3, 4}, true},
      {"bij,bkj->bik", {2, 3, 4}, {2, 5, 4}, true},
      {"bqhd,bkhd->bhqk", {2, 3, 4, 5}, {2, 6, 4, 5}, true},
      {"abc,cde->eadb", {2, 3, 4}, {4, 5, 6}, true},  // several axes of rows and of columns
      {"ijk,jki->i", {2, 3, 4}, {3, 4, 2}, true},     // several axes summed over, none of rows or columns
      {"...ij,...jk->...ik", {2, 3, 4}, {2, 4, 5}, true},
      {"i,j->ij", {2}, {3}, false},          // nothing is summed over
      {"ij,jk->k", {2, 3}, {3, 4}, false},   // i is summed over in only one input
      {"ii,ij->j", {3, 3}, {3, 2}, false},   // a diagonal
      {"ij,jk->ik", {2, 1}, {3, 4}, false},  // broadcast
      {"ij,jk->ik", {2, 0}, {0, 4}, false},  // no elements
  };
  std::mt19937 rng(3);
  for (const Row& row : rows) {
    INFO(row.equation << to_string(row.a) << to_string(row.b));
    const NdArray a = ops::random_whole(rng, DType::float32, row.a), b = ops::random_whole(rng, DType::float32, row.b);
    const auto extents = [](const Shape& shape) {
      std::vector<Extent> extents;
      for (const std::int64_t extent : shape) extents.emplace_back(static_cast<int>(extent));
      return extents;
    };
    Model model;
    model.inputs = {value_info("a", DType::float32, extents(row.a)), value_info("b", DType::float32, extents(row.b))};
    model.outputs = {value_info("y", DType::float32, {})};
    model.nodes = {node("Einsum", {"a", "b"}, {"y"}, {attribute("equation", row.equation)})};
    const auto imported = model.import();
    REQUIRE((imported.ok() ? "" : to_string(imported.errors())) == "");
    bool has_product = false;
    for (const graph::NodeId id : imported->graph.live_nodes())
      has_product = has_product || imported->graph.node(id).op == "MatMul";
    CHECK(has_product == row.is_product);
    const auto reference = Reference::make(imported->graph);
    REQUIRE(reference.ok());
    const auto result = reference->run({{"a", a}, {"b", b}});
    REQUIRE(result.ok());
    ops::require_close(result->at("y"), ops::Case("Einsum").input(a).input(b).text("equation", row.equation).run1(), 0);
  }
}

}  // namespace dovetail
