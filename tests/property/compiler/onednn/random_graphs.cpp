// oneDNN's part of random graphs, compared with the reference on naive loop programs: bit for bit, as no sum is rounded
// (random_float_graph.h). And operations with all of their attributes.
#include <algorithm>
#include <map>
#include <string>

#include "base/json.h"
#include "bundle/code/library.h"
#include "bundle/code/text.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "compiler/target/host/target.h"
#include "compiler/target/onednn/target.h"
#include "runtime/device/onednn/library.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/property/compiler/random_float_graph.h"
#include "tests/skip.h"
#include "tests/text/compiler/passes/make_graph.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using graph::ValueId;
using test::RandomFloatGraph;

namespace {

using Ints = std::vector<std::int64_t>;

bool is_missing() {
  const auto library = runtime::onednn::Library::find();
  if (!library.ok()) test::skip(to_string(library.errors()));
  return !library.ok();
}

Compiled compiled_for_onednn(const graph::Graph& graph) {
  CompileOptions options;
  options.available = {onednn::make_target(), host::make_target()};
  options.targets = {"onednn"};
  auto compiled = compile({graph, {}}, options);
  REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
  return *std::move(compiled);
}

// The number of nodes that ended matches of each row of the table, and of nodes on other targets.
std::map<std::string, int> check(const graph::Graph& graph, const std::map<std::string, NdArray>& inputs) {
  INFO(to_string(graph));
  const auto expected = Reference::make(graph).value().run(inputs);
  REQUIRE((expected.ok() ? "" : to_string(expected.errors())) == "");
  const Compiled compiled = compiled_for_onednn(graph);
  std::map<std::string, int> rows;
  for (const auto& node : compiled.placement) {
    UNSCOPED_INFO(node.node << " on " << node.target << ": " << node.why);
    if (node.target != "folded") rows[node.target == "onednn" ? node.row : "elsewhere"] += 1;
  }
  for (const int threads : {1, 2}) {
    INFO(threads << " threads");
    auto executor = runtime::Executor::make(compiled.bundle, *runtime::simulator_factory("functional"), {threads});
    REQUIRE((executor.ok() ? "" : to_string(executor.errors())) == "");
    for (int again = 0; again < 2; ++again) {
      const auto run = executor->run(inputs);
      REQUIRE((run.ok() ? "" : to_string(run.errors())) == "");
      for (const auto& [output, array] : run->outputs) {
        const NdArray& expected_array = expected->at(output);
        REQUIRE(array.shape() == expected_array.shape());
        for (std::int64_t i = 0; i < array.count(); ++i)
          if (array.as_double(i) != expected_array.as_double(i))
            FAIL(output << " differs at " << i << ": " << array.as_double(i) << ", expected "
                        << expected_array.as_double(i));
      }
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("onednn: random float graphs equal the reference") {
  if (is_missing()) return;
  std::map<std::string, int> all;
  for (int seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    RandomFloatGraph random(static_cast<std::uint64_t>(700 + seed));
    random.build(5);
    for (const auto& [row, count] :
         check(random.graph, {{"x", random.halves(random.graph.value(random.graph.inputs[0]).type.shape, -3, 3)}}))
      all[row] += count;
  }
  for (const char* row : {"convolution", "dense layer", "pool", "sum", "concatenation", "elsewhere"}) {
    INFO(row);
    CHECK(all[row] >= 5);
  }
}

TEST_CASE("onednn: convolutions and pools with every attribute equal the reference") {
  if (is_missing()) return;
  for (int seed = 0; seed < 120; ++seed) {
    INFO("seed " << seed);
    RandomFloatGraph random(static_cast<std::uint64_t>(seed));
    test::Draw& draw = random.draw;
    const auto rank = static_cast<std::size_t>(draw.between(1, 3));
    const std::int64_t channels = random.pick({1, 2, 4, 16, 24});
    Shape shape{draw.between(1, 3), channels};
    Ints kernel, strides, dilations, pads;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      kernel.push_back(draw.between(1, 3));
      strides.push_back(draw.between(1, 3));
      dilations.push_back(draw.between(1, 2));
      pads.push_back(draw.between(0, kernel.back() - 1));
      shape.push_back((kernel.back() - 1) * dilations.back() + 1 + draw.between(0, 8));
    }
    graph::Attributes attributes{{"strides", strides}, {"dilations", dilations}};
    switch (draw.between(0, 3)) {
      case 0: attributes["auto_pad"] = std::string(draw.coin() ? "SAME_UPPER" : "SAME_LOWER"); break;
      case 1: break;
      default:
        for (const std::int64_t pad : Ints(pads)) pads.push_back(draw.between(0, std::max<std::int64_t>(0, pad)));
        attributes["pads"] = pads;
    }
    const ValueId x = random.graph.add_value("x", {DType::float32, shape});
    random.graph.inputs = {x};
    if (seed % 2 == 0) {
      const std::int64_t groups = random.pick(RandomFloatGraph::divisors_of(channels)),
                         outputs = groups * random.pick({1, 3, 16});
      Shape weights{outputs, channels / groups};
      weights.insert(weights.end(), kernel.begin(), kernel.end());
      attributes["group"] = groups;
      std::vector<ValueId> operands{x, random.graph.add_constant("w", random.halves(weights, -2, 2))};
      if (draw.coin()) operands.push_back(random.graph.add_constant("b", random.halves({outputs}, -2, 2)));
      const ValueId y = random.add("Conv", operands, attributes);
      random.graph.outputs = {draw.coin() ? y : draw.coin() ? random.add("Relu", {y}) : random.clip(y)};
    } else {
      attributes["kernel_shape"] = kernel;
      if (!attributes.contains("auto_pad")) attributes["ceil_mode"] = draw.between(0, 1);
      random.graph.outputs = {random.add("MaxPool", {x}, attributes)};
    }
    const auto rows = check(random.graph, {{"x", random.halves(shape, -3, 3)}});
    CHECK(!rows.contains("elsewhere"));
  }
}

TEST_CASE("onednn: averages with and without their pads") {
  if (is_missing()) return;
  for (const bool counts : {false, true})
    for (const bool ceil : {false, true}) {
      INFO("counts " << counts << ", ceil " << ceil);
      test::GraphMaker make;
      const ValueId x = make.input("x", DType::float32, {1, 3, 7, 6});
      make.output(make.node("AveragePool", "y", {x},
                            {{"kernel_shape", Ints{2, 2}},
                             {"strides", Ints{2, 2}},
                             {"pads", Ints{1, 0, 0, 1}},
                             {"ceil_mode", std::int64_t{ceil}},
                             {"count_include_pad", std::int64_t{counts}}}));
      NdArray values(DType::float32, {1, 3, 7, 6});
      for (std::int64_t i = 0; i < values.count(); ++i) values.set_double(i, static_cast<double>(i % 11) - 5);
      const auto rows = check(make.graph, {{"x", values}});
      CHECK(rows.contains("elsewhere") == (counts && ceil));
    }
}

TEST_CASE("onednn: products of any shapes, broadcast, transposed, or with a bias, equal the reference") {
  if (is_missing()) return;
  RandomFloatGraph random(1);
  const std::vector<std::pair<Shape, Shape>> shapes{
      {{4, 5}, {5, 3}}, {{2, 4, 5}, {5, 3}},     {{4, 5}, {2, 5, 3}},    {{3, 1, 4, 5}, {1, 2, 5, 3}},
      {{1, 5}, {5, 1}}, {{2, 1, 8}, {2, 8, 17}}, {{1, 1000}, {1000, 10}}};
  for (const auto& [a, b] : shapes)
    for (const int form : {0, 1, 2}) {
      INFO(to_string(a) << " " << to_string(b) << " form " << form);
      test::GraphMaker make;
      std::map<std::string, NdArray> inputs{{"a", random.halves(a, -2, 2)}};
      const ValueId left = make.input("a", DType::float32, a);
      ValueId right;
      if (form == 0) {
        right = make.input("b", DType::float32, b);
        inputs.emplace("b", random.halves(b, -2, 2));
      } else {
        right = make.constant("b", random.halves(b, -2, 2));
      }
      ValueId y = make.node("MatMul", "p", {left, right});
      if (form == 2)
        y = make.node("Relu", "r", {make.node("Add", "s", {y, make.constant("c", random.halves({b.back()}, -2, 2))})});
      make.output(y);
      CHECK(!check(make.graph, inputs).contains("elsewhere"));
    }
  for (const int form : {0, 1, 2, 3}) {
    const bool left = form % 2 != 0, right = form / 2 != 0;
    INFO("transposed " << left << right);
    test::GraphMaker make;
    const Shape a = left ? Shape{6, 4} : Shape{4, 6}, b = right ? Shape{3, 6} : Shape{6, 3};
    make.output(make.node("Gemm", "y",
                          {make.input("a", DType::float32, a), make.constant("b", random.halves(b, -2, 2)),
                           make.constant("c", random.halves({3}, -2, 2))},
                          {{"transA", std::int64_t{left}}, {"transB", std::int64_t{right}}}));
    CHECK(!check(make.graph, {{"a", random.halves(a, -2, 2)}}).contains("elsewhere"));
  }
}

TEST_CASE("onednn: changed code is refused or computes something, whatever the change") {
  if (is_missing()) return;
  int refused = 0, ran = 0;
  for (int seed = 0; seed < 12; ++seed) {
    RandomFloatGraph random(static_cast<std::uint64_t>(900 + seed));
    random.build(4);
    const bundle::Bundle bundle = compiled_for_onednn(random.graph).bundle;
    const NdArray x = random.halves(random.graph.value(random.graph.inputs[0]).type.shape, -3, 3);
    for (int change = 0; change < 25; ++change) {
      bundle::Bundle changed = bundle;
      for (bundle::Step& step : changed.steps) {
        if (step.target != bundle::kOnednnTarget) continue;
        Json flat = parse_json(bundle::code_text(step), "code").value().flatten();
        const auto at = std::next(flat.begin(), random.draw.between(0, static_cast<std::int64_t>(flat.size()) - 1));
        if (at->is_number()) *at = random.pick({0, 1, 2, 3, 5, 16, 1 << 20, at->get<std::int64_t>() + 1});
        step.code = bundle::json_bytes(flat.unflatten());
      }
      auto executor = runtime::Executor::make(changed, *runtime::simulator_factory("functional"), {1});
      const bool runs = executor.ok() && executor->run({{"x", x}}).ok();
      runs ? ++ran : ++refused;
    }
  }
  CHECK(refused > 50);
  CHECK(ran > 20);
}

TEST_CASE("onednn: a refusal names the violated rule") {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {2, 3});
  make.output(make.node("Gemm", "y", {x, make.constant("w", NdArray(DType::float32, {3, 4}))}, {{"alpha", 0.5}}));
  make.output(make.node("Erf", "e", {x}));
  const auto node_of = [&](ValueId value) { return make.graph.value(value).producer; };
  const TargetPointer target = onednn::make_target();
  CHECK_THAT(to_string(select(*target, make.graph, node_of(make.graph.outputs[0])).errors()),
             ContainsSubstring("alpha and beta are 0.5 and 1, but must be 1"));
  CHECK_THAT(to_string(select(*target, make.graph, node_of(make.graph.outputs[1])).errors()),
             ContainsSubstring("the library's operations do not cover Erf"));
}
