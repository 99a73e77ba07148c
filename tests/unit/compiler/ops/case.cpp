#include "tests/unit/compiler/ops/case.h"

#include <cmath>

#include "loops/interpreter.h"
#include "loops/print.h"

namespace dovetail::ops {

Case::Case(std::string op, int outputs) : outputs_(outputs) {
  node_.name = "node";
  node_.op = std::move(op);
}

Case& Case::input(NdArray value) {
  const graph::ValueId id = graph_.add_value("x", {value.dtype(), value.shape()});
  node_.inputs.push_back(id);
  graph_.inputs.push_back(id);
  arguments_.push_back(std::move(value));
  return *this;
}

Case& Case::constant(NdArray value) {
  arguments_.push_back(value);
  node_.inputs.push_back(graph_.add_constant("c", std::move(value)));
  return *this;
}

Case& Case::omitted() {
  arguments_.emplace_back();
  node_.inputs.emplace_back();
  return *this;
}

Case& Case::with(std::string attribute, graph::Attribute value) {
  node_.attributes[std::move(attribute)] = std::move(value);
  return *this;
}

void Case::add_node() {
  if (id_.valid()) return;
  for (int i = 0; i < outputs_; ++i) node_.outputs.push_back(graph_.add_value("y", {}));
  graph_.outputs = node_.outputs;
  id_ = graph_.add_node(node_);
}

const graph::Graph& Case::graph() {
  add_node();
  const Result<void> inferred = infer(graph_, id_);
  INFO(to_string(inferred.errors()));
  REQUIRE(inferred.ok());
  return graph_;
}

loops::Program Case::program() {
  static_cast<void>(graph());
  Result<loops::Program> program = define(graph_, id_);
  if (!program) FAIL(to_string(program.errors()));
  return *std::move(program);
}

std::map<std::string, NdArray> Case::named_inputs() const {
  std::map<std::string, NdArray> inputs;
  const graph::Node& node = graph_.node(id_);
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i].valid() && !graph_.is_constant(node.inputs[i]))
      inputs[graph_.value(node.inputs[i]).name] = arguments_[i];
  return inputs;
}

std::vector<NdArray> Case::run() {
  const loops::Program naive = program();
  std::vector<NdArray> arguments;
  std::size_t outputs = 0;
  for (const loops::Parameter& parameter : naive.parameters) {
    if (parameter.role == loops::ParameterRole::output) {
      REQUIRE(parameter.buffer->name == "out" + std::to_string(outputs++));
      continue;
    }
    REQUIRE(parameter.buffer->name.substr(0, 2) == "in");
    arguments.push_back(arguments_.at(static_cast<std::size_t>(std::stoi(parameter.buffer->name.substr(2)))));
  }
  const Result<std::vector<NdArray>> results = loops::evaluate(naive, arguments);
  if (!results) FAIL(to_string(results.errors()) << "\n" << loops::to_string(naive));
  for (std::size_t i = 0; i < results->size(); ++i) {
    const graph::TensorType& type = graph_.value(graph_.node(id_).outputs[i]).type;
    REQUIRE((*results)[i].dtype() == type.dtype);
    REQUIRE((*results)[i].shape() == type.shape);
  }
  return *results;
}

std::string Case::refusal() {
  add_node();
  const Result<void> inferred = infer(graph_, id_);
  REQUIRE_FALSE(inferred.ok());
  return to_string(inferred.errors());
}

NdArray list(const std::vector<std::int64_t>& values) {
  return NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

NdArray random_whole(std::mt19937& rng, DType dtype, const Shape& shape, int low, int high) {
  std::uniform_int_distribution<int> draw(low, high);
  NdArray array(dtype, shape);
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, draw(rng));
  return array;
}

void require_close(const NdArray& actual, const NdArray& expected, double tolerance) {
  REQUIRE(actual.dtype() == expected.dtype());
  REQUIRE(actual.shape() == expected.shape());
  for (std::int64_t i = 0; i < actual.count(); ++i) {
    const double a = actual.as_double(i), e = expected.as_double(i);
    INFO("element " << i << ": " << a << ", expected " << e);
    REQUIRE(((std::isnan(a) && std::isnan(e)) || a == e || std::abs(a - e) <= tolerance * std::max(1.0, std::abs(e))));
  }
}

std::int64_t flat(const Shape& shape, const Shape& position) {
  std::int64_t index = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) index = index * shape[i] + position[i];
  return index;
}

}  // namespace dovetail::ops
