// Attention of Llama's form: rotary embeddings on heads, and heads of queries that share keys and values.
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator_graphs/draw.h"

using namespace dovetail;

namespace {

using graph::ValueId;

struct RotaryMaker : test::Int8GraphMaker {
  test::Draw draw{5};

  // A node whose name is made unique.
  ValueId node(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
               graph::Attributes attributes) {
    return Int8GraphMaker::node(op, graph.unique_node_name(name), std::move(inputs), std::move(attributes));
  }

  ValueId integers(const std::vector<std::int64_t>& values) {
    return graph.add_constant("k", NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  // [1, positions, heads * size] -> [1, heads, positions, size].
  ValueId by_head(ValueId x, std::int64_t heads) {
    const Shape shape = graph.value(x).type.shape;
    x = node("Reshape", "apart", {x, integers({1, shape[1], heads, shape[2] / heads})}, {});
    return node("Transpose", "by_head", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  }
  ValueId half(ValueId x, std::int64_t begin, std::int64_t end) {
    return node("Slice", "half", {x, integers({begin}), integers({end}), integers({3})}, {});
  }
  ValueId times(const char* name, ValueId x, Shape factors) {
    return node("dovetail.qmul", name, {x, graph.add_constant("k", draw.int8(std::move(factors)))},
                {{"a_zero_point", std::int64_t{3}}, {"scale", 0.0078125}, {"y_zero_point", std::int64_t{-2}}});
  }
  ValueId sum(ValueId a, ValueId b) {
    return node("dovetail.qadd", "rotated", {a, b},
                {{"a_zero_point", std::int64_t{-2}},
                 {"b_zero_point", std::int64_t{-2}},
                 {"a_multiplier", 40000.5},
                 {"b_multiplier", 50000.25},
                 {"scale", 0x1p-16}});
  }
  // [1, heads, positions, size]: halves are rotated.
  ValueId rotate(ValueId x) {
    const Shape shape = graph.value(x).type.shape, factors{shape[2], shape[3]};
    const std::int64_t size = shape[3];
    const ValueId turned =
        node("Concat", "turned", {half(x, size / 2, size), half(x, 0, size / 2)}, {{"axis", std::int64_t{-1}}});
    return sum(times("cos", x, factors), times("sin", turned, factors));
  }
  ValueId repeat(ValueId x, std::int64_t times) {
    const Shape shape = graph.value(x).type.shape;
    x = node("Reshape", "single", {x, integers({1, shape[1], 1, shape[2], shape[3]})}, {});
    x = node("Expand", "repeated", {x, integers({1, shape[1], times, shape[2], shape[3]})}, {});
    return node("Reshape", "heads", {x, integers({1, shape[1] * times, shape[2], shape[3]})}, {});
  }
  ValueId product(const char* name, ValueId a, ValueId b) {
    return node("dovetail.qmatmul", name, {a, b}, {{"b_zero_point", std::int64_t{4}}, {"scale", 0.0009765625}});
  }
};

}  // namespace

TEST_CASE("accel: rotary embeddings and shared keys and values leave nothing to the host") {
  struct Case {
    std::int64_t positions, size, heads, shared_by;
  };
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const Case& each : {Case{16, 48, 6, 1}, Case{32, 32, 4, 2}, Case{16, 16, 4, 4}}) {
      INFO(config.name << ": " << each.heads << " heads of " << each.size << ", shared by " << each.shared_by);
      RotaryMaker make;
      const std::int64_t pairs = each.heads / each.shared_by, width = (each.heads + 2 * pairs) * each.size;
      const Shape shape{1, each.positions, width};
      const ValueId x = make.input(shape);
      const auto part = [&](std::int64_t begin, std::int64_t heads) {
        const ValueId own = make.node(
            "Slice", "part",
            {x, make.integers({begin * each.size}), make.integers({(begin + heads) * each.size}), make.integers({2})},
            {});
        return make.by_head(own, heads);
      };
      const ValueId q = make.rotate(part(0, each.heads)), k = make.rotate(part(each.heads, pairs)),
                    v = part(each.heads + pairs, pairs);
      const auto shared = [&](ValueId of) { return each.shared_by == 1 ? of : make.repeat(of, each.shared_by); };
      const ValueId columns =
          make.node("Transpose", "columns", {shared(k)}, {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
      const ValueId context = make.product("context", make.product("scores", q, columns), shared(v));
      make.node("Reshape", "merged",
                {make.node("Transpose", "by_position", {context}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}}),
                 make.integers({1, each.positions, each.heads * each.size})},
                {});
      const bool whole = config.block_in == 16 && config.block_out == 16 && config.batch == 1;
      test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}},
                               whole ? test::Demand::all_on_accelerator : test::Demand::none);
    }
}
