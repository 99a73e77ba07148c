// Patterns of tables: the nodes they match and cover, and the reason where they do not match.
#include "compiler/partition/pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using graph::ValueId;
using test::GraphMaker;

namespace {

NdArray row(std::vector<float> values) {
  return NdArray::from<float>({static_cast<std::int64_t>(values.size())}, values);
}

// "matmul_node add_node | inputs x | bias=b w=w", or the reason.
std::string matched(const GraphMaker& make, const std::string& root, const std::string& text) {
  const auto pattern = pattern::parse(text);
  if (!pattern) FAIL(to_string(pattern.errors()));
  CHECK(to_string(*pattern) == text);
  const auto id = make.graph.find_node(root + "_node");
  REQUIRE(id.has_value());
  const auto found = pattern::match(make.graph, *id, *pattern);
  if (!found) {
    CHECK(found.errors().size() == 1);
    return found.errors().front().why;
  }
  std::vector<std::string> nodes, inputs, values;
  for (const graph::NodeId node : found->nodes) nodes.push_back(make.graph.node(node).name);
  for (const ValueId input : found->inputs) inputs.push_back(make.graph.value(input).name);
  for (const auto& [name, value] : found->values)
    values.push_back(fmt::format("{}={}", name, make.graph.value(value).name));
  return fmt::format("{} | {} | {}", fmt::join(nodes, " "), fmt::join(inputs, " "), fmt::join(values, " "));
}

// y = Relu(MatMul(x, w) + b)
struct Dense : GraphMaker {
  ValueId x = input("x", DType::float32, {2, 3}), w = constant("w", NdArray(DType::float32, {3, 3})),
          b = constant("b", row({1, 2, 3}));
  ValueId product = node("MatMul", "product", {x, w}), sum = node("Add", "sum", {b, product}),
          y = node("Relu", "y", {sum});
  Dense() { output(y); }
};

std::string parse_error(const std::string& text) {
  const auto pattern = pattern::parse(text);
  return pattern.ok() ? "" : fmt::format("{}: {}", pattern.errors().front().where, pattern.errors().front().why);
}

}  // namespace

TEST_CASE("pattern: nodes, names, constants, exchanged operands, optional nodes") {
  const Dense dense;
  CHECK(matched(dense, "product", "MatMul(x=_, weights=#)") == "product_node | x | weights=w x=x");
  CHECK(matched(dense, "sum", "Add~(MatMul(_, #), bias=#)") == "product_node sum_node | x | bias=b");
  CHECK(matched(dense, "y", "Relu|Clip?(Add~(MatMul(_, #), #))") == "product_node sum_node y_node | x | ");
  CHECK(matched(dense, "sum", "Relu?(s=Add~(MatMul(_, #), #))") == "product_node sum_node | x | s=sum");
  CHECK(matched(dense, "y", "Relu(Sigmoid?(_))") == "y_node | sum | ");
  CHECK(matched(dense, "y", "Relu") == "y_node | sum | ");
  CHECK(matched(dense, "y", "*") == "y_node | sum | ");
  CHECK(matched(dense, "sum", "*(#, *)") == "product_node sum_node | x | ");
}

TEST_CASE("pattern: a failed match states what stopped it") {
  const Dense dense;
  CHECK(matched(dense, "sum", "Add(MatMul(_, #), bias=#)") == "operand 0 of sum_node is a constant, not MatMul");
  CHECK(matched(dense, "y", "Relu(Add~(Conv|Gemm(_, #, ...), #))") ==
        "operand 1 of sum_node is MatMul, not Conv or Gemm");
  CHECK(matched(dense, "product", "MatMul(weights=#, _)") == "the operand `weights` of product_node is not a constant");
  CHECK(matched(dense, "product", "MatMul(_)") == "product_node has 2 operands, but the pattern 1");
  CHECK(matched(dense, "product", "MatMul(_, #, #)") ==
        "operand 2 of product_node is omitted, but the pattern needs it");
  CHECK(matched(dense, "product", "Relu?(Relu(_))") == "product_node is MatMul, not Relu");
  // The longest attempt is reported, not the first.
  CHECK(matched(dense, "y", "Relu(Add~(MatMul(Relu(_), #), #))") ==
        "operand 0 of product_node is an input of the model, not Relu");
}

TEST_CASE("pattern: omitted operands, and lists of any length") {
  GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {4});
  make.output(make.node("Clip", "y", {x, ValueId{}, make.constant("six", NdArray::scalar(6.0f))}));
  CHECK(matched(make, "y", "Clip(_, -, max=#)") == "y_node | x | max=six");
  CHECK(matched(make, "y", "Clip(_, ...)") == "y_node | x | ");
  CHECK(matched(make, "y", "Clip(_, -)") == "y_node has 3 operands, but the pattern 2");
  CHECK(matched(make, "y", "Clip(_, min=#, _)") == "the operand `min` of y_node is omitted, but the pattern needs it");
  CHECK(matched(make, "y", "Clip(_, -, -)") == "operand 2 of y_node is given, but the pattern omits it");
}

TEST_CASE("pattern: a covered result must only be read inside; a name stands for one value") {
  GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {2, 3});
  const ValueId s = make.node("Sigmoid", "s", {x}), y = make.node("Mul", "y", {x, s});
  make.output(y);
  CHECK(matched(make, "y", "Mul~(v=_, Sigmoid(v=_))") == "s_node y_node | x | v=x");
  const ValueId twice = make.node("Mul", "twice", {s, s});
  make.output(twice);
  CHECK(matched(make, "y", "Mul~(v=_, Sigmoid(v=_))") == "the result of s_node is also read by twice_node");
  CHECK(matched(make, "y", "Mul~(v=_, Sigmoid?(v=_))") == "the result of s_node is also read by twice_node");
  CHECK(matched(make, "twice", "Mul(v=_, v=_)") == "twice_node | s | v=s");
  CHECK(matched(make, "y", "Mul(v=_, v=_)") == "v matches both x and s, which differ");
  // A value that two operands read is covered once.
  CHECK(matched(make, "twice", "Mul(Sigmoid(_), Sigmoid(_))") == "the result of s_node is also read by y_node");
  make.graph.outputs = {twice};
  make.graph.remove_node(*make.graph.find_node("y_node"));
  CHECK(matched(make, "twice", "Mul(Sigmoid(_), Sigmoid(_))") == "s_node twice_node | x | ");
  make.output(s);
  CHECK(matched(make, "twice", "Mul(Sigmoid(_), Sigmoid(_))") ==
        "the result of s_node is also read by the model's caller");
}

TEST_CASE("pattern: an optional node is not covered where covering it leads to no match") {
  GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {2, 3});
  const ValueId r = make.node("Relu", "r", {x});
  make.output(r);
  make.output(make.node("Add", "y", {make.node("Neg", "n", {r}), r}));
  CHECK(matched(make, "y", "Add(Neg(Relu?(_)), _)") == "n_node y_node | r | ");
}

TEST_CASE("pattern: invalid text is refused with its place") {
  CHECK(parse_error("Relu(") == "Relu(, character 6: expected a name, an operator, _, #, - or *");
  CHECK(parse_error("Relu(_") == "Relu(_, character 7: expected , or )");
  CHECK(parse_error("Relu(_) x") == "Relu(_) x, character 9: unexpected text after the pattern");
  CHECK(parse_error("Relu?") == "Relu?, character 6: ? needs an operand that replaces the missing node");
  CHECK(parse_error("Add~(_)") == "Add~(_), character 8: ~ needs two operands to swap");
  CHECK(parse_error("a=b=_") == "a=b=_, character 6: a value cannot have two names");
  CHECK(parse_error("F(a=-)") == "F(a=-), character 6: an omitted operand cannot have a name");
  CHECK(parse_error("A||B") == "A||B, character 3: expected an operator after |");
  CHECK(parse_error("") == ", character 1: expected a name, an operator, _, #, - or *");
}

}  // namespace dovetail
