// Every operator with operands that have no elements, on every target: the right shape and the reference's values, or a
// diagnostic, before the run or in it.
#include <cmath>
#include <set>

#include "compiler/graph/parse.h"
#include "compiler/ops/control_flow.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/generator_graphs/random_node.h"
#include "tests/packed_product.h"
#include "tests/targets.h"

using namespace dovetail;

namespace {

using Values = std::map<std::string, NdArray>;

constexpr std::uint64_t kTries = 3000;
constexpr std::size_t kMostWithout = 8;

struct Case {
  graph::Graph graph;
  Values inputs;
};

bool is_empty(const graph::Graph& graph, graph::ValueId value) {
  return element_count(graph.value(value).type.shape) == 0;
}

// Positions of the operands that are read as data and have no elements.
std::vector<std::size_t> empty_operands(const graph::Graph& graph, const ops::OpDef& def) {
  std::vector<std::size_t> positions;
  const std::vector<graph::ValueId>& inputs = graph.node(graph.topological_order().front()).inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].valid() && is_empty(graph, inputs[i]) &&
        std::find(def.compile_time_inputs.begin(), def.compile_time_inputs.end(), static_cast<int>(i)) ==
            def.compile_time_inputs.end())
      positions.push_back(i);
  return positions;
}

// For each operand without elements a node whose result has elements, and one whose result has none, as far as the
// operator accepts them.
std::vector<Case> cases_of(const ops::OpDef& def) {
  std::map<std::pair<std::size_t, bool>, Case> cases;
  for (std::uint64_t seed = 0; seed < kTries; ++seed) {
    test::RandomNode random(def, seed, {0, 0, 1, 2, 3});
    graph::Graph graph;
    graph.name = "empty";
    if (!random.add_to(graph, "n")) continue;
    for (const std::size_t position : empty_operands(graph, def)) {
      const std::pair key{position, is_empty(graph, graph.outputs[0])};
      if (cases.count(key)) continue;
      Values inputs;
      for (const graph::ValueId id : graph.inputs)
        inputs.emplace(graph.value(id).name, random.values(graph.value(id).type));
      cases.emplace(key, Case{graph, std::move(inputs)});
    }
  }
  std::vector<Case> found;
  for (auto& [key, one] : cases) found.push_back(std::move(one));
  return found;
}

Result<Values> run(const Case& one, const char* target, passes::Level level) {
  CompileOptions options;
  options.available = test::kit_targets();
  options.targets = {target};
  options.context.level = level;
  DOVETAIL_ASSIGN(const Compiled compiled, compile({one.graph, {}}, options));
  DOVETAIL_ASSIGN(runtime::Executor executor,
                  runtime::Executor::make(compiled.bundle, *runtime::simulator_factory("functional"), {1}));
  DOVETAIL_ASSIGN(runtime::RunResult result, executor.run(one.inputs));
  return std::move(result.outputs);
}

void compare(const NdArray& expected, const NdArray& actual) {
  REQUIRE(graph::TensorType{expected.dtype(), expected.shape()} == graph::TensorType{actual.dtype(), actual.shape()});
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const double a = expected.as_double(i), b = actual.as_double(i);
    INFO("element " << i << ": " << b << ", expected " << a);
    REQUIRE((a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-4 * std::max(1.0, std::abs(a))));
  }
}

}  // namespace

TEST_CASE("every operator with operands that have no elements, on every target") {
  std::set<std::string_view> without;
  int compared = 0, refused = 0;
  for (const ops::OpDef& def : ops::all()) {
    if (def.op == ops::kIf || def.op == ops::kLoop) continue;  // no draw makes subgraphs: control_flow.cpp
    if (def.op == "dovetail.packed_gemm") continue;            // draws of its operands do not match: the case below
    const std::vector<Case> cases = cases_of(def);
    const bool has_data = def.signature.inputs.size() > def.compile_time_inputs.size();
    if (cases.empty() && has_data) without.insert(def.op);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Case& one = cases[i];
      INFO(to_string(one.graph));
      const auto reference = Reference::make(one.graph);
      REQUIRE((reference.ok() ? "" : to_string(reference.errors())) == "");
      const auto expected = reference->run(one.inputs);
      for (const char* target : {"cpu", "host", "accel"}) {
        if (target == std::string_view("accel") && !def.op.starts_with("dovetail.")) continue;
        const passes::Level level = i % 2 == 0 ? passes::Level::tolerant : passes::Level::needed;
        INFO("target " << target << ", level " << static_cast<int>(level));
        const auto actual = run(one, target, level);
        if (!expected.ok()) {
          CHECK(!actual.ok());
          ++refused;
          continue;
        }
        REQUIRE((actual.ok() ? "" : to_string(actual.errors())) == "");
        for (const graph::ValueId id : one.graph.outputs)
          compare(expected->at(one.graph.value(id).name), actual->at(one.graph.value(id).name));
        ++compared;
      }
    }
  }
  std::string names;
  for (const std::string_view op : without) names += fmt::format("{} ", op);
  // Operators that the draws miss, because they refuse such operands or need many matching ones.
  INFO("without a case: " << names);
  CHECK(without.size() <= kMostWithout);
  WARN(compared << " runs compared, " << refused << " ended in a diagnostic");
}

TEST_CASE("a product of packed weights with no rows or no columns has no elements, on every target") {
  for (const test::PackedProduct& product : {test::PackedProduct{.rows = 0, .columns = 3, .depth = 8, .block = 4},
                                             test::PackedProduct{.rows = 2, .columns = 0, .depth = 8, .block = 4}}) {
    SplitMix64 random(3);
    const auto values = [&](auto, const graph::TensorType& type) { return product.values(type, random); };
    const auto graph = graph::parse(product.text(), "packed", values);
    REQUIRE((graph.ok() ? "" : to_string(graph.errors())) == "");
    const Case one{*graph, {{"x", NdArray(DType::float32, {product.rows, product.depth})}}};
    for (const char* target : {"cpu", "host"}) {
      INFO(target << "\n" << product.text());
      const auto actual = run(one, target, passes::Level::tolerant);
      REQUIRE((actual.ok() ? "" : to_string(actual.errors())) == "");
      CHECK(actual->at("y").shape() == Shape{product.rows, product.columns});
    }
  }
}
