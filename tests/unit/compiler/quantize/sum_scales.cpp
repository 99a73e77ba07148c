// Scales of sums become ratios of integers.
#include "compiler/quantize/sum_scales.h"

#include <cmath>

#include "compiler/passes/list.h"
#include "compiler/quantize/quantize.h"
#include "compiler/reference/reference.h"
#include "compiler/zoo/weights.h"
#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail::quantize {
namespace {

using graph::ValueId;
using passes::qdq::Quantization;
using Ranges = std::map<ValueId, Quantization>;

bool are_related(const Quantization& a, const Quantization& b) {
  const auto sum = passes::qdq::addition(a, b, 2 * std::max(a.scale, b.scale), false);
  return sum && std::abs(sum->a_multiplier) <= passes::qdq::kMostFactor;
}

struct Sums {
  test::GraphMaker make;
  Places places;
  Ranges ranges;

  ValueId tensor(const std::string& name, float scale, int zero_point = -128) {
    const ValueId value = make.input(name, DType::float32, {4});
    ranges[value] = {scale, zero_point};
    return value;
  }
  void add(ValueId a, ValueId b, const char* op = "Add") {
    make.output(make.node(op, "sum" + std::to_string(make.graph.outputs.size()), {a, b}));
  }
  Ranges related() {
    Ranges result = ranges;
    relate_sums(make.graph, places, result);
    return result;
  }
};

}  // namespace

TEST_CASE("relate_sums: one operand's scale grows by at most a 64th, and its range stays included") {
  zoo::Random random(5, "scales");
  for (int round = 0; round < 300; ++round) {
    Sums sums;
    const auto scale = [&] { return static_cast<float>(std::exp2(random.uniform(-6000, -2000))); };
    const ValueId a = sums.tensor("a", scale()),
                  b = sums.tensor("b", scale(), static_cast<int>(random.next() % 256) - 128);
    sums.add(a, b, round % 2 == 0 ? "Add" : "Sub");
    const Ranges after = sums.related();
    CHECK(are_related(after.at(a), after.at(b)));
    int grown = 0;
    for (const ValueId value : {a, b}) {
      const Quantization &was = sums.ranges.at(value), &is = after.at(value);
      CAPTURE(was.scale, was.zero_point, is.scale, is.zero_point);
      grown += is.scale != was.scale;
      CHECK(is.scale >= was.scale);
      CHECK(is.scale <= was.scale * 65 / 64);
      CHECK((-128.5f - static_cast<float>(is.zero_point)) * is.scale <=
            (-128 - static_cast<float>(was.zero_point)) * was.scale);
      CHECK((127.5f - static_cast<float>(is.zero_point)) * is.scale >=
            (127 - static_cast<float>(was.zero_point)) * was.scale);
    }
    CHECK(grown <= 1);
  }
}

TEST_CASE("relate_sums: a value that other nodes read too keeps its scale") {
  Sums sums;
  const ValueId a = sums.tensor("a", 0.0317f), b = sums.tensor("b", 0.0291f);
  sums.add(a, b);
  sums.make.output(sums.make.node("Relu", "reader", {b}));
  const Ranges after = sums.related();
  CHECK(after.at(b) == sums.ranges.at(b));
  CHECK(after.at(a).scale > 0.0317f);
}

TEST_CASE("relate_sums: sums that share operands are all related, but for one of a cycle") {
  Sums sums;
  const ValueId a = sums.tensor("a", 0.0317f), b = sums.tensor("b", 0.0291f), c = sums.tensor("c", 0.0101f),
                d = sums.tensor("d", 0.0233f);
  sums.add(a, b), sums.add(c, d), sums.add(b, c);
  for (const bool cycle : {false, true}) {
    if (cycle) sums.add(a, d);
    const Ranges after = sums.related();
    CHECK(are_related(after.at(a), after.at(b)));
    CHECK(are_related(after.at(c), after.at(d)));
    CHECK(are_related(after.at(b), after.at(c)));
    CHECK_FALSE(are_related(after.at(a), after.at(d)));
  }
}

TEST_CASE("relate_sums: scales that are related, equal, or too far apart stay") {
  Sums sums;
  const ValueId a = sums.tensor("a", 0.75f), b = sums.tensor("b", 0.5f), c = sums.tensor("c", 200),
                d = sums.tensor("d", 200);
  sums.add(a, b), sums.add(a, c), sums.add(c, d), sums.add(a, a);
  CHECK(sums.related() == sums.ranges);
}

TEST_CASE("relate_sums: a quantized model's sums are sums of integers") {
  const auto random = [](const Shape& shape, const std::string& name, double deviation = 1) {
    return zoo::normal_array(shape, deviation, zoo::Random(3, name));
  };
  for (const Scales scales : {Scales::any, Scales::power_of_two})
    for (const ZeroPoint zero_point : {ZeroPoint::anywhere, ZeroPoint::middle}) {
      test::GraphMaker make;
      ValueId x = make.input("x", DType::float32, {1, 4, 6, 6});
      for (int block = 0; block < 3; ++block) {
        const std::string name = "b" + std::to_string(block);
        const ValueId conv = make.node("Conv", name, {x, make.constant(name + "_w", random({4, 4, 1, 1}, name))});
        x = make.node("Relu", name + "_relu", {make.node("Add", name + "_sum", {x, conv})});
      }
      make.output(x);
      std::vector<Values> inputs;
      for (int i = 0; i < 4; ++i) inputs.push_back({{"x", random({1, 4, 6, 6}, "x" + std::to_string(i))}});
      Options options;
      options.grid = {zero_point, scales};
      auto result = quantize(make.graph, inputs, options, reference_forward());
      REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
      REQUIRE(passes::lower_qdq(result->graph).ok());
      int sums = 0;
      for (const graph::NodeId id : result->graph.live_nodes()) {
        const graph::Node& node = result->graph.node(id);
        if (node.op != "dovetail.qadd") continue;
        ++sums;
        for (const char* side : {"a_multiplier", "b_multiplier"})
          CHECK(std::abs(graph::float_attribute(node, side, 0)) <= passes::qdq::kMostFactor);
      }
      CHECK(sums == 3);
    }
}

}  // namespace dovetail::quantize
