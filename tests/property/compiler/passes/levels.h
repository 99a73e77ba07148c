// Random graphs, and the check that passes and kernels keep their values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/property/compiler/random_int8_graph.h"
#include "tests/targets.h"

namespace dovetail::test {

using graph::ValueId;

inline int scaled(int count) {
  const char* text = std::getenv("DOVETAIL_TEST_SCALE");
  return static_cast<int>(count * (text ? std::max(1.0, std::atof(text)) : 1.0));
}

// A graph under construction, with its random draws.
struct DrawnGraph {
  graph::Graph graph;
  Draw draw;

  explicit DrawnGraph(std::uint64_t seed) : draw(seed) { graph.name = fmt::format("random{}", seed); }

  using Ints = std::vector<std::int64_t>;
  std::int64_t pick(const Ints& from) { return draw.one_of(from); }
  NdArray reals(const Shape& shape, double low, double high) {
    NdArray array(DType::float32, shape);
    for (auto& value : array.data<float>())
      value = static_cast<float>(low + (high - low) * static_cast<double>(draw.between(0, 1 << 20)) / (1 << 20));
    return array;
  }
  ValueId constant(NdArray array) { return graph.add_constant("c", std::move(array)); }
  ValueId number(float value) { return constant(NdArray::scalar(value)); }
  ValueId ints(const Ints& values) {
    return constant(NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  const Shape& shape(ValueId value) const { return graph.value(value).type.shape; }
  // Returns the first of that many outputs; the others have the following ids.
  ValueId add(const std::string& op, std::vector<ValueId> inputs, graph::Attributes attributes = {}, int outputs = 1) {
    graph::Node node;
    node.name = graph.unique_node_name(op);
    node.op = op;
    while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.origins = {node.name};
    for (int i = 0; i < outputs; ++i) node.outputs.push_back(graph.add_value(node.name + "_out", {}));
    const ValueId output = node.outputs[0];
    const graph::NodeId id = graph.add_node(std::move(node));
    const auto status = ops::infer(graph, id);
    REQUIRE((status.ok() ? "" : to_string(status.errors())) == "");
    return output;
  }
};

using Values = std::map<std::string, NdArray>;

// `tolerance` is relative to a tensor's largest value; `slack` is absolute and is added to it.
inline void compare(const Values& expected, const Values& actual, const std::vector<std::string>& names,
                    double tolerance, double slack = 0) {
  for (const std::string& name : names) {
    const NdArray &expected_array = expected.at(name), &actual_array = actual.at(name);
    REQUIRE(expected_array.shape() == actual_array.shape());
    double largest = 1;
    for (std::int64_t i = 0; i < expected_array.count(); ++i)
      if (std::isfinite(expected_array.as_double(i)))
        largest = std::max(largest, std::abs(expected_array.as_double(i)));
    for (std::int64_t i = 0; i < expected_array.count(); ++i) {
      const double a = expected_array.as_double(i), b = actual_array.as_double(i);
      if (!(a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance * largest + slack))
        FAIL(name << " differs at " << i << ": " << b << ", expected " << a);
    }
  }
}

// The graph after the passes, or the kernels, must give the values of the original graph. `step`: that of its quantized
// tensors, where the integer form may take a neighbor; the integer form itself must be within the tolerance of floats.
inline void check(const graph::Graph& graph, const Values& inputs, const std::function<void(CompileOptions&)>& set,
                  bool kernels, double step = 0) {
  auto reference = Reference::make(graph);
  REQUIRE(reference.ok());
  const auto expected = reference->run(inputs);
  REQUIRE((expected.ok() ? "" : to_string(expected.errors())) == "");
  CompileOptions options;
  options.available = test::kit_targets();
  options.targets = {"cpu"};
  if (!kernels) options.stop_after = "graph";
  set(options);
  const auto compiled = compile({graph, {}}, options);
  REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
  INFO("optimized to\n" << to_string(compiled->optimized));
  std::vector<std::string> names;
  for (const ValueId id : graph.outputs) names.push_back(graph.value(id).name);
  // Functions that amplify rounding errors follow each other here.
  const double tolerance = compiled->tolerance * 10;
  const auto hold = [&](const Values& actual, double within) {
    if (step == 0) return compare(*expected, actual, names, within);
    const auto integer = Reference::make(compiled->integer).value().run(inputs);
    REQUIRE((integer.ok() ? "" : to_string(integer.errors())) == "");
    compare(*expected, *integer, names, within, 2 * step);
    compare(*integer, actual, names, within);
  };
  if (!kernels) {
    const auto actual = Reference::make(compiled->optimized).value().run(inputs);
    REQUIRE((actual.ok() ? "" : to_string(actual.errors())) == "");
    return hold(*actual, tolerance);
  }
  for (const auto& group : compiled->report["groups"])
    for (const auto& note : group["notes"]) FAIL_CHECK(note.get<std::string>());
  auto executor = runtime::Executor::make(compiled->bundle, *runtime::simulator_factory("functional"), {1});
  REQUIRE((executor.ok() ? "" : to_string(executor.errors())) == "");
  const auto run = executor->run(inputs);
  REQUIRE((run.ok() ? "" : to_string(run.errors())) == "");
  hold(run->outputs, std::max(tolerance, 1e-3));
}

}  // namespace dovetail::test
