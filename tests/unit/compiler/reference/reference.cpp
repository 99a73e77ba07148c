#include "compiler/reference/reference.h"

#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using graph::ValueId;

namespace {

NdArray pair(float a, float b) { return NdArray::from<float>({2}, {a, b}); }

}  // namespace

TEST_CASE("reference: every node's value by name") {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {2});
  const ValueId sum = make.node("Add", "sum", {x, make.constant("k", pair(1, -9))});
  make.output(make.node("Relu", "y", {sum}));
  make.output(x);
  const auto reference = Reference::make(make.graph);
  if (!reference) FAIL(to_string(reference.errors()));
  const auto values = reference->run({{"x", pair(1, 2)}});
  if (!values) FAIL(to_string(values.errors()));
  CHECK(values->at("sum") == pair(2, -7));
  CHECK(values->at("y") == pair(2, 0));
  CHECK(values->at("x") == pair(1, 2));
}

TEST_CASE("reference: missing, superfluous and wrong inputs are reported together") {
  test::GraphMaker make;
  make.output(make.node("Add", "y", {make.input("a", DType::float32, {2}), make.input("b", DType::float32, {2})}));
  const auto reference = Reference::make(make.graph);
  if (!reference) FAIL(to_string(reference.errors()));
  const auto values = reference->run({{"b", NdArray::scalar(1.0f)}, {"c", pair(1, 2)}});
  REQUIRE_FALSE(values.ok());
  const std::string text = to_string(values.errors());
  CHECK_THAT(text, ContainsSubstring("input a): the input is missing"));
  CHECK_THAT(text, ContainsSubstring("the given tensor is float32[], but the graph expects float32[2]"));
  CHECK_THAT(text, ContainsSubstring("input c): the graph has no input of this name"));
  CHECK_THAT(text, ContainsSubstring("the inputs are a: float32[2], b: float32[2]"));
}

TEST_CASE("reference: an unknown operator is named with its node") {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {2}), y = make.graph.add_value("y", {DType::float32, {2}});
  make.graph.add_node({"odd", "Mystery", {x}, {y}, {}, {"odd"}, false});
  make.output(y);
  const auto reference = Reference::make(make.graph);
  REQUIRE_FALSE(reference.ok());
  CHECK_THAT(to_string(reference.errors()), ContainsSubstring("odd") && ContainsSubstring("Mystery"));
}

}  // namespace dovetail
