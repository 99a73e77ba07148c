// Int8 models: the integer form compared with the float evaluation of the same QDQ graph, node by node, and whole
// networks by their first choice.
#include <cmath>

#include "compiler/import/onnx.h"
#include "compiler/ops/op.h"
#include "compiler/passes/evaluate_node.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/list.h"
#include "compiler/reference/reference.h"
#include "loops/interpreter.h"
#include "tests/e2e/models/sample.h"

namespace dovetail {
namespace {

using graph::NodeId;
using graph::ValueId;
using test::fs::path;
using Values = std::map<std::string, NdArray>;

struct Int8Case {
  const char* model;
  const char* near_tie;  // a sample whose first choice depends on rounding
  std::size_t samples;   // without DOVETAIL_TEST_SCALE
};
constexpr Int8Case kInt8Cases[] = {
    {"resnet8_int8", "dog", 2},          {"kws_dscnn_int8", "", 3}, {"kws_dscnn_int8_qoperator", "", 1},
    {"ad_autoencoder_int8", "", 2},      {"vww96_int8", "", 1},     {"vww96_int8_qoperator", "", 1},
    {"mobilenetv2_035_160_int8", "", 1},
};

Values run(const Reference& reference, const Values& inputs) {
  auto outputs = reference.run(inputs);
  if (!outputs) FAIL(to_string(outputs.errors()));
  return *std::move(outputs);
}

std::vector<NdArray> evaluate(const graph::Graph& graph, NodeId id, const Values& values) {
  const graph::Node& node = graph.node(id);
  const auto program = ops::define(graph, id);
  if (!program) FAIL(to_string(program.errors()));
  std::vector<NdArray> arguments;
  for (std::size_t position : passes::operand_positions(*program)) {
    const graph::Value& value = graph.value(node.inputs[position]);
    arguments.push_back(value.constant ? *value.constant : values.at(value.name));
  }
  auto outputs = loops::evaluate(*program, arguments);
  if (!outputs) FAIL(to_string(outputs.errors()));
  return *std::move(outputs);
}

// The share of a node's values that may differ by a step. Floats sum and scale with several roundings, so they differ
// at exact ties of the integer form: these are rare, except in averages of few values, and where mobilenetv2 subtracts
// 127.5 steps (1.0 at a scale of 2/255) from its input.
double tolerated_share(const graph::Graph& imported, const graph::Node& node) {
  for (const std::string& origin : node.origins) {
    const auto found = imported.find_node(origin);
    if (found && imported.node(*found).op == "AveragePool") return 0.05;
    if (found && imported.node(*found).op == "Sub") return 0.10;
  }
  return 0.005;
}

// Each int8 result that both graphs name, computed from the float graph's int8 operands: at most one step away, and
// rarely that.
void check_nodes(const graph::Graph& imported, const graph::Graph& integer, Values values) {
  std::int64_t nodes = 0;
  for (NodeId id : integer.topological_order()) {
    const graph::Node& node = integer.node(id);
    std::vector<NdArray> results = evaluate(integer, id, values);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string& name = integer.value(node.outputs[i]).name;
      const auto expected = values.find(name);
      if (expected == values.end() || results[i].dtype() != DType::int8) {
        values.insert_or_assign(name, results[i]);
        continue;
      }
      std::int64_t different = 0, furthest = 0;
      for (std::int64_t k = 0; k < results[i].count(); ++k) {
        const std::int64_t apart = std::abs(results[i].as_int64(k) - expected->second.as_int64(k));
        different += apart != 0;
        furthest = std::max(furthest, apart);
      }
      INFO(node.name << " (" << node.op << "): " << different << " of " << results[i].count() << " differ");
      CHECK(furthest <= 1);
      // One more value, for results of a handful of values.
      CHECK(static_cast<double>(different) <=
            tolerated_share(imported, node) * static_cast<double>(results[i].count()) + 1);
      ++nodes;
    }
  }
  CHECK(nodes > 5);
}

}  // namespace

TEST_CASE("int8 models in integers are one step from float QDQ per node, and choose the same class") {
  const Int8Case& each = GENERATE(from_range(std::begin(kInt8Cases), std::end(kInt8Cases)));
  INFO(each.model);
  const path file = test::model_file(each.model);
  if (file.empty()) return;
  auto imported = import::import_onnx_file(file);
  if (!imported) FAIL(to_string(imported.errors()));
  graph::Graph integer = imported->graph;
  const auto lowered = passes::lower_qdq(integer);
  if (!lowered) FAIL(to_string(lowered.errors()));
  // Only Softmax stays float.
  for (const std::string& note : lowered->notes)
    CHECK_THAT(note, Catch::Matchers::ContainsSubstring("(Softmax) stays float"));
  for (NodeId id : integer.live_nodes()) CHECK(integer.node(id).op != "Conv");

  const auto float_reference = Reference::make(imported->graph), integer_reference = Reference::make(integer);
  if (!float_reference) FAIL(to_string(float_reference.errors()));
  if (!integer_reference) FAIL(to_string(integer_reference.errors()));
  const auto samples = test::samples_of(file);
  for (std::size_t i = 0; i < (test::test_scale() < 2 ? std::min(each.samples, samples.size()) : samples.size()); ++i) {
    INFO(samples[i].filename().string());
    const Values inputs = test::read_arrays(samples[i], integer, integer.inputs, "in");
    const Values expected = test::read_arrays(samples[i], integer, integer.outputs, "out");
    Values values = run(*float_reference, inputs);
    const Values results = run(*integer_reference, inputs);
    if (samples[i].filename() != each.near_tie)
      for (const auto& [name, array] : expected) CHECK(test::arg_max(results.at(name)) == test::arg_max(array));
    values.insert(inputs.begin(), inputs.end());
    check_nodes(imported->graph, integer, std::move(values));
  }
}

}  // namespace dovetail
