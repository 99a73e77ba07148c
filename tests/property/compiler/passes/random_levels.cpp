// Random graphs through the passes at every level, and with each pass left out, compared with the original graph, node
// by node: bit for bit for integers, within the compiler's stated tolerance for floats. And through fusion to kernels.
#include "tests/property/compiler/passes/levels.h"

using namespace dovetail;
using graph::ValueId;
using test::check;
using test::scaled;
using test::Values;

namespace {

// Random combinations of patterns that passes match: chains with constants, operations that cancel, operators written
// out.
struct RandomGraph : test::DrawnGraph {
  std::vector<ValueId> values;

  using DrawnGraph::DrawnGraph;

  ValueId scalar_step(ValueId x) {
    static const std::vector<float> kNumbers{0, 1, -1, 2, 0.5, 3, 6, -0.0F, 0.25F};
    const float c = kNumbers[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(kNumbers.size()) - 1))];
    const bool left = draw.coin();
    switch (draw.between(0, 6)) {
      case 0: return left ? add("Add", {number(c), x}) : add("Add", {x, number(c)});
      case 1: return left ? add("Sub", {number(c), x}) : add("Sub", {x, number(c)});
      case 2: return left ? add("Mul", {number(c), x}) : add("Mul", {x, number(c)});
      case 3: return add("Div", {x, number(c == 0 ? 4 : c)});
      case 4: return add("Pow", {x, number(left ? 2 : 1)});
      case 5: return left ? add("Min", {x, number(c)}) : add("Max", {number(c), x});
      default: return add("Clip", {x, number(std::min(c, 0.0F)), number(6)});
    }
  }
  ValueId unary(ValueId x) {
    static const std::vector<std::string> kOps{"Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Identity", "Erf"};
    return add(kOps[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(kOps.size()) - 1))], {x});
  }
  ValueId written_out(ValueId x) {
    const ValueId last = ints({-1});
    switch (draw.between(0, 4)) {
      case 0: return add("Mul", {x, add("Sigmoid", {x})});
      case 1:
        return add("Mul", {add("Mul", {x, number(0.5F)}),
                           add("Add", {add("Erf", {add("Div", {x, number(1.41421356F)})}), number(1)})});
      case 2: {
        const ValueId d = add("Sub", {x, add("ReduceMean", {x, last})});
        const ValueId v = add("ReduceMean", {add("Mul", {d, d}), last});
        const ValueId h = add("Div", {d, add("Sqrt", {add("Add", {v, number(1e-2F)})})});
        return draw.coin() ? h
                           : add("Add", {add("Mul", {h, constant(reals({shape(x).back()}, -1, 1))}),
                                         constant(reals({shape(x).back()}, -1, 1))});
      }
      case 3: {
        const ValueId e = add("Exp", {add("Sub", {x, add("ReduceMax", {x, last})})});
        return add("Div", {e, add("ReduceSum", {e, last})});
      }
      default:
        return add("Div",
                   {add("Mul", {x, add("Clip", {add("Add", {x, number(3)}), number(0), number(6)})}), number(6)});
    }
  }
  ValueId movement(ValueId x) {
    const Shape s = shape(x);
    const auto rank = static_cast<std::int64_t>(s.size());
    switch (draw.between(0, 4)) {
      case 0: {
        Ints perm(s.size());
        for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
        for (std::size_t i = perm.size(); i-- > 2;)
          std::swap(perm[i], perm[static_cast<std::size_t>(draw.between(1, static_cast<std::int64_t>(i)))]);
        const ValueId moved = add("Transpose", {x}, {{"perm", perm}});
        if (draw.coin()) return moved;
        Ints back(perm.size());
        for (std::size_t i = 0; i < perm.size(); ++i)
          back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
        return add("Transpose", {draw.coin() ? unary(moved) : moved}, {{"perm", back}});
      }
      case 1: {
        const std::int64_t axis = draw.between(0, rank);
        const ValueId wide = add("Unsqueeze", {x, ints({axis})});
        return draw.coin() ? add("Squeeze", {wide, ints({axis})}) : add("Reshape", {wide, ints(s)});
      }
      case 2: {
        const ValueId joined = add("Concat", {x, unary(x)}, {{"axis", std::int64_t{1}}});
        return add("Slice", {joined, ints({draw.coin() ? 0 : s[1]}), ints({draw.coin() ? s[1] : 2 * s[1]}), ints({1})});
      }
      case 3:
        return add("Slice",
                   {x, ints({0}), ints({std::max<std::int64_t>(1, s.back() - draw.between(0, 1))}), ints({rank - 1})});
      default: {
        Ints pads(2 * s.size(), 0);
        for (std::size_t i = 2; i < s.size(); ++i)
          pads[i] = draw.between(0, 1), pads[i + s.size()] = draw.between(0, 1);
        return add("Pad", {x, ints(pads)});
      }
    }
  }
  ValueId image_step(ValueId x) {
    const Shape s = shape(x);
    const auto norm = [&](ValueId input) {
      const std::int64_t c = shape(input)[1];
      return add("BatchNormalization", {input, constant(reals({c}, -2, 2)), constant(reals({c}, -1, 1)),
                                        constant(reals({c}, -1, 1)), constant(reals({c}, 0.2, 2))});
    };
    const auto conv = [&](ValueId input) {
      const Shape i = shape(input);
      const std::int64_t outputs = pick({1, 3, 4, 8, 16}), kh = draw.between(1, std::min<std::int64_t>(3, i[2])),
                         kw = draw.between(1, std::min<std::int64_t>(3, i[3]));
      const Ints pads = draw.coin() ? Ints{0, 0, 0, 0} : Ints{kh / 2, kw / 2, kh / 2, kw / 2};
      std::vector<ValueId> inputs{input, constant(reals({outputs, i[1], kh, kw}, -0.5, 0.5))};
      if (draw.coin()) inputs.push_back(constant(reals({outputs}, -1, 1)));
      return add("Conv", inputs, {{"pads", pads}});
    };
    switch (draw.between(0, 5)) {
      case 0: return conv(draw.coin() ? norm(x) : x);
      case 1: return add("Relu", {norm(conv(x))});
      case 2: {
        const ValueId y = conv(x);
        return add(draw.coin() ? "Mul" : "Add", {y, constant(reals({shape(y)[1], 1, 1}, 0.5, 2))});
      }
      case 3:
        return s[2] > 1 && s[3] > 1
                   ? add("MaxPool", {add("Relu", {x})}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{1, 1}}})
                   : norm(x);
      case 4: {
        const ValueId y = conv(x);
        return add("Add", {unary(y), unary(norm(y))});
      }
      default: return norm(x);
    }
  }

  void build(int steps) {
    graph.inputs = {graph.add_value(
        "x", {DType::float32, draw.coin() ? Shape{1, pick({3, 4, 8, 16}), draw.between(1, 7), draw.between(2, 9)}
                                          : Shape{draw.between(1, 3), pick({4, 8, 12})}})};
    values = {graph.inputs[0]};
    for (int i = 0; i < steps; ++i) {
      const ValueId x = values[values.size() - 1 -
                               static_cast<std::size_t>(draw.between(
                                   0, std::min<std::int64_t>(1, static_cast<std::int64_t>(values.size()) - 1)))];
      ValueId y;
      switch (draw.between(0, 5)) {
        case 0: y = scalar_step(x); break;
        case 1: y = unary(x); break;
        case 2: y = written_out(x); break;
        case 3: y = movement(x); break;
        case 4:
          if (shape(x).size() == 4) y = image_step(x);
          else if (shape(x).size() == 2)
            y = add("Add",
                    {add("MatMul", {x, constant(reals({shape(x)[1], 8}, -0.5, 0.5))}), constant(reals({8}, -1, 1))});
          else y = unary(x);
          break;
        default:  // both branches of a sum
          y = add("Add", {unary(x), scalar_step(unary(x))});
      }
      // Far from the ends of the type, and from functions that saturate there.
      values.push_back(add("Clip", {y, number(-8), number(8)}));
    }
    graph.outputs = {values.back()};
    if (values[values.size() / 2] != values.back() && values.size() > 3)
      graph.outputs.push_back(values[values.size() / 2]);
  }
};

}  // namespace

TEST_CASE("random float graphs keep their values at every level, and with each pass left out") {
  for (int seed = 0; seed < scaled(60); ++seed) {
    INFO("seed " << seed);
    RandomGraph random(static_cast<std::uint64_t>(seed));
    random.build(6);
    INFO(to_string(random.graph));
    const Values inputs{{"x", random.reals(random.shape(random.graph.inputs[0]), -2, 2)}};
    for (const passes::Level level :
         {passes::Level::needed, passes::Level::exact, passes::Level::tolerant, passes::Level::trading}) {
      INFO("level " << static_cast<int>(level));
      check(
          random.graph, inputs, [&](CompileOptions& options) { options.context.level = level; }, false);
    }
    const passes::Row& row = passes::kPasses[static_cast<std::size_t>(seed) % passes::kPasses.size()];
    INFO("without " << row.name);
    check(
        random.graph, inputs, [&](CompileOptions& options) { options.without_passes = {std::string(row.name)}; },
        false);
  }
}

TEST_CASE("random float graphs keep their values as fused kernels") {
  for (int seed = 1000; seed < 1000 + scaled(25); ++seed) {
    INFO("seed " << seed);
    RandomGraph random(static_cast<std::uint64_t>(seed));
    random.build(5);
    INFO(to_string(random.graph));
    const Values inputs{{"x", random.reals(random.shape(random.graph.inputs[0]), -2, 2)}};
    check(
        random.graph, inputs, [](CompileOptions&) {}, true);
  }
}

TEST_CASE("random int8 graphs keep every bit at every level, and with each pass left out") {
  for (int seed = 0; seed < scaled(12); ++seed) {
    INFO("seed " << seed);
    test::RandomInt8Graph random(static_cast<std::uint64_t>(seed), false);
    random.build(4);
    const ValueId input = random.graph.inputs[0];
    const Values inputs{{random.graph.value(input).name, random.draw.int8(random.graph.value(input).type.shape)}};
    std::vector<std::string> names;
    for (const ValueId id : random.graph.outputs) names.push_back(random.graph.value(id).name);
    const auto expected = Reference::make(random.graph).value().run(inputs).value();
    const auto hold = [&](const CompileOptions& options) {
      const auto compiled = compile({random.graph, {}}, options);
      REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
      const auto actual = Reference::make(compiled->optimized).value().run(inputs).value();
      for (const std::string& name : names) REQUIRE(actual.at(name) == expected.at(name));
    };
    CompileOptions options;
    options.stop_after = "graph";
    for (int level = 0; level <= 3; ++level) {
      options.context.level = static_cast<passes::Level>(level);
      hold(options);
    }
    for (const passes::Row& row : passes::kPasses) {
      if (row.name == "lower_qdq" || row.name == "fold_constants") continue;
      options.without_passes = {std::string(row.name)};
      hold(options);
    }
  }
}
