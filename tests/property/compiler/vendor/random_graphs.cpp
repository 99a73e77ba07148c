// Steps of cuBLAS and cuDNN, on the emulated GPU, compared with the reference on naive loop programs: bit for bit, as
// no sum is rounded. Wrong arguments to the libraries are detected.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "base/json.h"
#include "bundle/code/library.h"
#include "bundle/code/text.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "compiler/target/cublas/target.h"
#include "compiler/target/cuda/target.h"
#include "compiler/target/cudnn/target.h"
#include "compiler/target/host/target.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/gpu_under_test.h"
#include "tests/property/compiler/random_float_graph.h"
#include "tests/text/compiler/passes/make_graph.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using graph::ValueId;
using test::RandomFloatGraph;

namespace {

using Ints = std::vector<std::int64_t>;
using Inputs = std::map<std::string, NdArray>;

Compiled compiled_for_libraries(const graph::Graph& graph, bool tf32 = false) {
  CompileOptions options;
  options.available = {cublas::make_target(tf32), cudnn::make_target(tf32), host::make_target()};
  options.targets = {"cublas", "cudnn"};
  options.offload = Offload::always;
  auto compiled = compile({graph, {}}, options);
  REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
  return *std::move(compiled);
}

// Zeros of the same shapes and types.
Inputs zeros_like(const Inputs& inputs) {
  Inputs zeros;
  for (const auto& [name, array] : inputs) zeros.emplace(name, NdArray(array.dtype(), array.shape()));
  return zeros;
}

// Describes the first difference; empty: none. Runs step by step, captured and launched again, each time with other
// inputs. `launched`: how the last run was launched.
std::string difference(const bundle::Bundle& bundle, const Inputs& inputs,
                       const std::map<std::string, NdArray>& expected, std::string* launched = nullptr) {
  auto executor = runtime::Executor::make(bundle, *runtime::simulator_factory("functional"), {1});
  if (!executor.ok()) return to_string(executor.errors());
  const Inputs zeros = zeros_like(inputs);
  for (int again = 0; again < 5; ++again) {
    const auto run = executor->run(again % 2 == 0 ? inputs : zeros, {.time_steps = again < 3});
    if (!run.ok()) return to_string(run.errors());
    if (launched != nullptr) *launched = run->launched;
    if (again % 2 != 0) continue;
    for (const auto& [output, array] : run->outputs) {
      const NdArray& expected_array = expected.at(output);
      if (array.shape() != expected_array.shape()) return output + " has another shape";
      for (std::int64_t i = 0; i < array.count(); ++i)
        if (array.as_double(i) != expected_array.as_double(i))
          return fmt::format("run {}: {} differs at {}: {}, expected {}", again, output, i, array.as_double(i),
                             expected_array.as_double(i));
    }
  }
  return {};
}

// The number of nodes that ended matches of each row of the tables, and of nodes on other targets.
std::map<std::string, int> check_libraries(const graph::Graph& graph, const Inputs& inputs) {
  INFO(to_string(graph));
  const auto expected = Reference::make(graph).value().run(inputs);
  REQUIRE((expected.ok() ? "" : to_string(expected.errors())) == "");
  const Compiled compiled = compiled_for_libraries(graph);
  std::map<std::string, int> rows;
  for (const auto& node : compiled.placement) {
    UNSCOPED_INFO(node.node << " on " << node.target << ": " << node.why);
    if (node.target != "folded") rows[node.target == "cublas" || node.target == "cudnn" ? node.row : "elsewhere"] += 1;
  }
  CHECK(difference(compiled.bundle, inputs, *expected) == "");
  return rows;
}

// Random integers from -most to most in that type, whose sums are exact.
NdArray integers(test::Draw& draw, DType type, const Shape& shape, std::int64_t most) {
  NdArray array(type, shape);
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_double(i, static_cast<double>(draw.between(-most, most)));
  return array;
}

// A few attributes of a convolution or a pool, with pads that are mostly equal on both sides of a pool.
struct RandomWindows {
  Shape shape, kernel;
  graph::Attributes attributes;

  RandomWindows(test::Draw& draw, std::int64_t channels, bool dilates) {
    const auto rank = static_cast<std::size_t>(draw.between(1, 3));
    shape = {draw.between(1, 3), channels};
    Ints strides, dilations, pads;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      kernel.push_back(draw.between(1, 3));
      strides.push_back(draw.between(1, 3));
      dilations.push_back(dilates ? draw.between(1, 2) : 1);
      pads.push_back(draw.between(0, kernel.back() - 1));
      shape.push_back((kernel.back() - 1) * dilations.back() + 1 + draw.between(0, 6));
    }
    attributes = {{"strides", strides}, {"dilations", dilations}};
    if (draw.between(0, 5) == 0) attributes["auto_pad"] = std::string(draw.coin() ? "SAME_UPPER" : "SAME_LOWER");
    else {
      for (const std::int64_t pad : Ints(pads)) pads.push_back(pad);
      if (draw.between(0, 5) == 0) pads.back() = 0;
      if (dilates)
        for (std::int64_t& pad : pads) pad += draw.between(0, 3) == 0 ? draw.between(1, 2) : 0;
      attributes["pads"] = pads;
    }
  }
};

}  // namespace

TEST_CASE("vendor: random float graphs equal the reference", "[gpu]") {
  const test::GpuUnderTest gpu;
  std::map<std::string, int> all;
  for (int seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    RandomFloatGraph random(static_cast<std::uint64_t>(1700 + seed));
    random.build(5);
    for (const auto& [row, count] : check_libraries(
             random.graph, {{"x", random.halves(random.graph.value(random.graph.inputs[0]).type.shape, -3, 3)}}))
      all[row] += count;
  }
  for (const char* row : {"convolution", "dense layer", "pool", "elsewhere"}) {
    INFO(row);
    CHECK(all[row] >= 5);
  }
}

TEST_CASE("vendor: convolutions and pools with every attribute equal the reference, or their pads are refused",
          "[gpu]") {
  const test::GpuUnderTest gpu;
  int taken = 0, elsewhere = 0, unequal = 0;
  for (int seed = 0; seed < 180; ++seed) {
    INFO("seed " << seed);
    RandomFloatGraph random(static_cast<std::uint64_t>(seed));
    test::Draw& draw = random.draw;
    const DType type = seed % 5 == 3 ? DType::float16 : seed % 5 == 4 ? DType::bfloat16 : DType::float32;
    const std::int64_t channels = random.pick({1, 2, 4, 6});
    RandomWindows windows(draw, channels, seed % 2 == 0);
    const ValueId x = random.graph.add_value("x", {type, windows.shape});
    random.graph.inputs = {x};
    if (seed % 2 == 0) {
      const std::int64_t groups = random.pick(RandomFloatGraph::divisors_of(channels)),
                         outputs = groups * random.pick({1, 3});
      Shape weights{outputs, channels / groups};
      weights.insert(weights.end(), windows.kernel.begin(), windows.kernel.end());
      windows.attributes["group"] = groups;
      std::vector<ValueId> operands{x, random.graph.add_constant("w", integers(draw, type, weights, 1))};
      if (draw.coin()) operands.push_back(random.graph.add_constant("b", integers(draw, type, {outputs}, 2)));
      ValueId y = random.add("Conv", operands, windows.attributes);
      if (draw.coin()) y = random.add("Relu", {y});
      else if (type == DType::float32 && draw.coin())
        y = random.add("Clip", {y, random.graph.add_constant("low", NdArray::scalar(0.0F)),
                                random.graph.add_constant("high", NdArray::scalar(4.0F))});
      random.graph.outputs = {y};
    } else {
      windows.attributes["kernel_shape"] = windows.kernel;
      if (!windows.attributes.contains("auto_pad")) windows.attributes["ceil_mode"] = draw.between(0, 1);
      const bool largest = draw.coin();
      if (!largest) windows.attributes.erase("dilations");
      random.graph.outputs = {random.add(largest ? "MaxPool" : "AveragePool", {x}, windows.attributes)};
      // Averages round, except over powers of two.
      if (!largest && (windows.kernel[0] == 3 || windows.kernel.back() == 3 || windows.kernel.size() == 3)) continue;
      if (!largest) windows.attributes["count_include_pad"] = std::int64_t{1};
    }
    const auto rows = check_libraries(random.graph, {{"x", integers(draw, type, windows.shape, 3)}});
    if (seed % 2 == 0) {
      // With three axes the first may have pads that no copy makes.
      CHECK((rows.contains("convolution") || windows.shape.size() == 5));
      const auto pads = windows.attributes.find("pads");
      if (pads == windows.attributes.end() || !rows.contains("convolution")) continue;
      const Ints& both = std::get<Ints>(pads->second);
      unequal += !std::equal(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(both.size() / 2),
                             both.begin() + static_cast<std::ptrdiff_t>(both.size() / 2))
                     ? 1
                     : 0;
    }
    rows.contains("elsewhere") ? ++elsewhere : ++taken;
  }
  CHECK(taken > 90);
  CHECK(elsewhere > 5);
  CHECK(unequal > 20);
}

TEST_CASE("vendor: products of any shapes and types, broadcast, transposed, scaled, with addends, equal the reference",
          "[gpu]") {
  const test::GpuUnderTest gpu;
  RandomFloatGraph random(1);
  const std::vector<std::pair<Shape, Shape>> shapes{{{4, 5}, {5, 3}},
                                                    {{2, 4, 5}, {5, 3}},
                                                    {{4, 5}, {2, 5, 3}},
                                                    {{3, 1, 4, 5}, {1, 2, 5, 3}},
                                                    {{1, 5}, {5, 1}},
                                                    {{2, 1, 8}, {2, 8, 17}},
                                                    {{2, 3, 4, 5}, {3, 5, 2}},
                                                    {{2, 1, 3, 4, 5}, {2, 1, 5, 3}},
                                                    {{2, 3, 2, 4, 5}, {2, 1, 2, 5, 3}},
                                                    {{6, 6}, {6, 6}}};
  for (const auto& [a, b] : shapes)
    for (const DType type : {DType::float32, DType::float16, DType::bfloat16})
      for (const int form : {0, 1, 2}) {
        INFO(to_string(a) << " " << to_string(b) << " form " << form << " " << name(type));
        test::GraphMaker make;
        Inputs inputs{{"a", integers(random.draw, type, a, 2)}};
        const ValueId left = make.input("a", type, a);
        ValueId right;
        if (form == 0) {
          right = make.input("b", type, b);
          inputs.emplace("b", integers(random.draw, type, b, 2));
        } else {
          right = make.constant("b", integers(random.draw, type, b, 2));
        }
        ValueId y = make.node("MatMul", "p", {left, right});
        if (form == 2)
          y = make.node("Relu", "r",
                        {make.node("Add", "s", {y, make.constant("c", integers(random.draw, type, {b.back()}, 2))})});
        make.output(y);
        CHECK(!check_libraries(make.graph, inputs).contains("elsewhere"));
      }
  // The addend: a row, a constant or variable matrix, a column, a number; times 1 or 2.
  for (const int form : {0, 1, 2, 3})
    for (const Shape& third : {Shape{3}, Shape{4, 3}, Shape{4, 1}, Shape{}, Shape{1, 3}})
      for (const bool known : {true, false})
        for (const double beta : {1.0, 2.0}) {
          const bool left = form % 2 != 0, right = form / 2 != 0;
          INFO("transposed " << left << right << ", adds " << beta << " times " << to_string(third) << known);
          test::GraphMaker make;
          const Shape a = left ? Shape{6, 4} : Shape{4, 6}, b = right ? Shape{3, 6} : Shape{6, 3};
          Inputs inputs{{"a", random.halves(a, -2, 2)}, {"b", random.halves(b, -2, 2)}};
          if (!known) inputs.emplace("c", random.halves(third, -2, 2));
          const ValueId c =
              known ? make.constant("c", random.halves(third, -2, 2)) : make.input("c", DType::float32, third);
          ValueId y = make.node(
              "Gemm", "y", {make.input("a", DType::float32, a), make.input("b", DType::float32, b), c},
              {{"transA", std::int64_t{left}}, {"transB", std::int64_t{right}}, {"alpha", 0.5}, {"beta", beta}});
          if (known) y = make.node("Relu", "r", {y});
          make.output(y);
          const bool takes = known || third == Shape{4, 3} || (beta == 1 && element_count(third) == 3);
          CHECK(check_libraries(make.graph, inputs).contains("elsewhere") == !takes);
        }
}

TEST_CASE("vendor: a matrix that follows a product and its bias is added in the same call", "[gpu]") {
  const test::GpuUnderTest gpu;
  RandomFloatGraph random(6);
  constexpr DType kFloat = DType::float32;
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16})
    for (const bool has_bias : {false, true})
      for (const bool clamps : {false, true})
        for (const bool first : {false, true}) {
          INFO(name(type) << " bias " << has_bias << " clamps " << clamps << " first " << first);
          test::GraphMaker make;
          ValueId y =
              make.node("MatMul", "p",
                        {make.input("a", type, {2, 4, 5}), make.constant("b", integers(random.draw, type, {5, 3}, 2))});
          if (has_bias) y = make.node("Add", "s", {y, make.constant("c", integers(random.draw, type, {3}, 2))});
          const ValueId r = make.input("r", type, {2, 4, 3});
          y = make.node("Add", "t", first ? std::vector{r, y} : std::vector{y, r});
          if (clamps) y = make.node("Relu", "u", {y});
          make.output(y);
          const auto rows = check_libraries(make.graph, {{"a", integers(random.draw, type, {2, 4, 5}, 2)},
                                                         {"r", integers(random.draw, type, {2, 4, 3}, 9)}});
          CHECK(rows.size() == 1);
          CHECK(rows.contains(has_bias ? "product with bias and residual" : "product with residual"));
        }
  // Gemm whose third operand is a row or not; the first of two products adds the second.
  for (const Shape& third : {Shape{3}, Shape{}, Shape{4, 3}})
    for (const double beta : {1.0, 2.0}) {
      INFO(to_string(third) << " times " << beta);
      test::GraphMaker make;
      const ValueId x = make.input("x", kFloat, {4, 6});
      const ValueId left = make.node(
          "Gemm", "g",
          {x, make.constant("b", random.halves({6, 3}, -2, 2)), make.constant("c", random.halves(third, -2, 2))},
          {{"beta", beta}});
      const ValueId other = make.node("MatMul", "m", {x, make.constant("d", random.halves({6, 3}, -2, 2))});
      make.output(make.node("Add", "t", {left, make.node("Relu", "r", {other})}));
      const auto rows = check_libraries(make.graph, {{"x", random.halves({4, 6}, -2, 2)}});
      CHECK(rows.contains("dense layer with residual") == (third != Shape{4, 3}));
    }
  // An addend of another shape, or a product with other readers, is not fused.
  test::GraphMaker make;
  const ValueId p =
      make.node("MatMul", "p", {make.input("a", kFloat, {4, 5}), make.constant("b", random.halves({5, 3}, -2, 2))});
  make.output(make.node("Add", "t", {p, make.input("r", kFloat, {2, 4, 3})}));
  make.output(make.node("Add", "u", {p, make.input("v", kFloat, {4, 3})}));
  CHECK(check_libraries(make.graph, {{"a", random.halves({4, 5}, -2, 2)},
                                     {"r", random.halves({2, 4, 3}, -2, 2)},
                                     {"v", random.halves({4, 3}, -2, 2)}})["product"] == 1);
}

TEST_CASE("vendor: a tensor that follows a convolution and its bias is added in the same call", "[gpu]") {
  const test::GpuUnderTest gpu;
  RandomFloatGraph random(7);
  const Shape x{2, 4, 5, 6}, y{2, 6, 3, 6};
  const auto convolution = [&](test::GraphMaker& make, const std::string& stem, DType type, bool has_bias,
                               std::int64_t groups) {
    std::vector<ValueId> operands{make.input("x" + stem, type, x),
                                  make.constant("w" + stem, integers(random.draw, type, {6, 4 / groups, 3, 3}, 2))};
    if (has_bias) operands.push_back(make.constant("c" + stem, integers(random.draw, type, {6}, 2)));
    return make.node("Conv", "conv" + stem, operands,
                     {{"strides", Ints{2, 1}}, {"pads", Ints{1, 1, 1, 1}}, {"group", groups}});
  };
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16})
    for (const bool has_bias : {false, true})
      for (const bool clamps : {false, true})
        for (const bool first : {false, true}) {
          INFO(name(type) << " bias " << has_bias << " clamps " << clamps << " first " << first);
          test::GraphMaker make;
          const ValueId sum = convolution(make, "", type, has_bias, first ? 2 : 1), r = make.input("r", type, y);
          ValueId result = make.node("Add", "t", first ? std::vector{r, sum} : std::vector{sum, r});
          if (clamps) result = make.node("Relu", "u", {result});
          make.output(result);
          const auto rows = check_libraries(
              make.graph, {{"x", integers(random.draw, type, x, 2)}, {"r", integers(random.draw, type, y, 9)}});
          CHECK(rows.contains("convolution with residual") == (has_bias && clamps));
          CHECK(rows.contains("elsewhere") != (has_bias && clamps));
        }
  // One of two convolutions adds the other's results. A row is not a tensor of the result's shape.
  test::GraphMaker make;
  const ValueId left = convolution(make, "", DType::float32, true, 1),
                right = convolution(make, "2", DType::float32, true, 2);
  make.output(make.node("Relu", "r", {make.node("Add", "t", {left, right})}));
  make.output(
      make.node("Relu", "q",
                {make.node("Add", "s",
                           {convolution(make, "3", DType::float32, true, 1), make.input("v", DType::float32, {6})})}));
  Inputs inputs{{"v", integers(random.draw, DType::float32, {6}, 9)}};
  for (const char* name : {"x", "x2", "x3"}) inputs.emplace(name, integers(random.draw, DType::float32, x, 2));
  const auto rows = check_libraries(make.graph, inputs);
  CHECK(rows.at("convolution with residual") == 1);
  CHECK(rows.at("convolution") == 2);
}

TEST_CASE("vendor: a GELU in the tanh form is fused with its product, the exact form is not", "[gpu]") {
  const test::GpuUnderTest gpu;
  RandomFloatGraph random(7);
  for (const char* form : {"tanh", "none"})
    for (const int addends : {0, 1, 2, 3}) {  // a product, with a bias, with a matrix, with both
      INFO(form << " " << addends);
      test::GraphMaker make;
      Inputs inputs{{"a", random.halves({4, 5}, -2, 2)}};
      ValueId y = make.node(
          "MatMul", "p", {make.input("a", DType::float32, {4, 5}), make.constant("b", random.halves({5, 3}, -1, 1))});
      if (addends % 2 != 0) y = make.node("Add", "s", {y, make.constant("c", random.halves({3}, -2, 2))});
      if (addends >= 2) {
        y = make.node("Add", "t", {y, make.input("r", DType::float32, {4, 3})});
        inputs.emplace("r", random.halves({4, 3}, -2, 2));
      }
      make.output(make.node("Gelu", "y", {y}, {{"approximate", std::string(form)}}));
      const Compiled compiled = compiled_for_libraries(make.graph);
      std::map<std::string, int> steps;
      for (const bundle::Step& step : compiled.bundle.steps) ++steps[step.target];
      CHECK(steps["cublas"] == 1);
      CHECK((steps.size() == 1) == (std::string_view(form) == "tanh"));
      auto executor = runtime::Executor::make(compiled.bundle, *runtime::simulator_factory("functional"), {1});
      REQUIRE(executor.ok());
      const NdArray got = executor->run(inputs)->outputs.at("y"),
                    expected_array = Reference::make(make.graph).value().run(inputs)->at("y");
      const double most = test::tests_device() ? 1e-5 : 2e-6;  // cuBLAS has its own function
      for (std::int64_t i = 0; i < got.count(); ++i)
        CHECK(std::abs(got.as_double(i) - expected_array.as_double(i)) <=
              most * (1 + std::abs(expected_array.as_double(i))));
    }
}

TEST_CASE("vendor: products of bytes give their 32-bit sums, where the library multiplies bytes", "[gpu]") {
  const test::GpuUnderTest gpu;
  RandomFloatGraph random(3);
  for (const auto& [a, b, takes] : {std::tuple<Shape, Shape, bool>{{5, 8}, {8, 12}, true},
                                    {{2, 3, 4}, {4, 4}, true},
                                    {{5, 8}, {8, 3}, false},
                                    {{5, 7}, {7, 4}, false}}) {
    INFO(to_string(a) << " " << to_string(b));
    test::GraphMaker make;
    make.output(
        make.node("MatMulInteger", "y",
                  {make.input("a", DType::int8, a), make.constant("b", integers(random.draw, DType::int8, b, 127))}));
    CHECK(check_libraries(make.graph, {{"a", integers(random.draw, DType::int8, a, 128)}}).contains("elsewhere") ==
          !takes);
  }
}

TEST_CASE("vendor: float32 keeps all of its bits, and softmax is the reference's within rounding", "[gpu]") {
  const test::GpuUnderTest gpu;
  RandomFloatGraph random(4);
  // 15 bits of an operand and 2 of the other: TF32 would lose 4.
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {1, 4, 6, 6});
  make.output(make.node("Conv", "y", {x, make.constant("w", integers(random.draw, DType::float32, {4, 4, 3, 3}, 1))}));
  make.output(make.node("MatMul", "p", {x, make.constant("m", integers(random.draw, DType::float32, {6, 5}, 1))}));
  const Inputs wide{{"x", integers(random.draw, DType::float32, {1, 4, 6, 6}, 32767)}};
  CHECK(!check_libraries(make.graph, wide).contains("elsewhere"));
  // Where TF32 is allowed, both products lose them, within the stated tolerance.
  const Compiled rounding = compiled_for_libraries(make.graph, true);
  auto rounded = runtime::Executor::make(rounding.bundle, *runtime::simulator_factory("functional"), {1});
  REQUIRE(rounded.ok());
  const auto rounded_run = rounded->run(wide);
  const auto exact = Reference::make(make.graph).value().run(wide);
  for (const auto& [output, got] : rounded_run->outputs) {
    const NdArray& expected_array = exact->at(output);
    double largest = 0, apart = 0;
    for (std::int64_t i = 0; i < got.count(); ++i) {
      largest = std::max(largest, std::abs(expected_array.as_double(i)));
      apart = std::max(apart, std::abs(got.as_double(i) - expected_array.as_double(i)));
    }
    INFO(output);
    CHECK((apart > 0 || test::tests_device()));  // cuDNN may use an exact algorithm
    CHECK(apart <= rounding.tolerance * largest);
  }
  for (const char* op : {"Softmax", "LogSoftmax"})
    for (const std::int64_t axis : {-1, 0, 1, 2}) {
      INFO(op << " along " << axis);
      test::GraphMaker rows;
      rows.output(rows.node(op, "y", {rows.input("x", DType::float32, {3, 4, 5})}, {{"axis", axis}}));
      const Inputs inputs{{"x", random.halves({3, 4, 5}, -6, 6)}};
      const Compiled compiled = compiled_for_libraries(rows.graph);
      REQUIRE(compiled.placement.front().target == "cudnn");
      auto executor = runtime::Executor::make(compiled.bundle, *runtime::simulator_factory("functional"), {1});
      REQUIRE(executor.ok());
      const NdArray got = executor->run(inputs)->outputs.begin()->second,
                    expected_array = Reference::make(rows.graph).value().run(inputs)->begin()->second;
      for (std::int64_t i = 0; i < got.count(); ++i)
        CHECK(std::abs(got.as_double(i) - expected_array.as_double(i)) <=
              1e-6 * (1 + std::abs(expected_array.as_double(i))));
    }
}

TEST_CASE("vendor: with our kernels between library calls, a program is one graph, which accepts other inputs") {
  const test::EmulatedGpu gpu;
  int graphs = 0;
  for (int seed = 0; seed < 3; ++seed) {
    INFO("seed " << seed);
    RandomFloatGraph random(static_cast<std::uint64_t>(2100 + seed));
    random.build(4);
    CompileOptions options;
    options.available = {cublas::make_target(), cudnn::make_target(), cuda::make_target({.architectures = {"sm_90a"}}),
                         host::make_target()};
    options.targets = {"cudnn", "cublas", "cuda"};
    const auto compiled = compile({random.graph, {}}, options);
    REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
    const Inputs inputs{{"x", random.halves(random.graph.value(random.graph.inputs[0]).type.shape, -3, 3)}};
    const auto expected = Reference::make(random.graph).value().run(inputs);
    std::string launched;
    CHECK(difference(compiled->bundle, inputs, *expected, &launched) == "");
    INFO(launched);
    graphs += launched == fmt::format("a graph of {} steps", compiled->bundle.steps.size()) ? 1 : 0;
    // If the driver refuses, the steps are launched one by one, and the report says why.
    const test::Environment refused("EMULATED_GPU_NO_CAPTURE", "900");
    CHECK(difference(compiled->bundle, inputs, *expected, &launched) == "");
    CHECK_THAT(launched, ContainsSubstring("step by step: "));
  }
  CHECK(graphs >= 2);
}

TEST_CASE("vendor: a wrong transposition, stride between matrices or pad changes the values") {
  const test::EmulatedGpu gpu;
  RandomFloatGraph random(5);
  const auto shows = [&](const graph::Graph& graph, const Inputs& inputs, const char* fault) {
    INFO(fault);
    const auto expected = Reference::make(graph).value().run(inputs);
    const Compiled compiled = compiled_for_libraries(graph);
    CHECK(difference(compiled.bundle, inputs, *expected) == "");
    const test::Environment planted("EMULATED_GPU_PLANT", fault);
    CHECK_THAT(difference(compiled.bundle, inputs, *expected), ContainsSubstring("differs at"));
  };
  test::GraphMaker square;
  square.output(square.node(
      "MatMul", "y", {square.input("a", DType::float32, {6, 6}), square.constant("b", random.halves({6, 6}, -2, 2))}));
  shows(square.graph, {{"a", random.halves({6, 6}, -2, 2)}}, "transposition");
  test::GraphMaker batched;
  batched.output(batched.node(
      "MatMul", "y", {batched.input("a", DType::float32, {3, 4, 5}), batched.input("b", DType::float32, {3, 5, 2})}));
  shows(batched.graph, {{"a", random.halves({3, 4, 5}, -2, 2)}, {"b", random.halves({3, 5, 2}, -2, 2)}},
        "batch stride");
  test::GraphMaker padded;
  padded.output(padded.node(
      "Conv", "y",
      {padded.input("x", DType::float32, {1, 2, 5, 5}), padded.constant("w", random.halves({3, 2, 3, 3}, -2, 2))},
      {{"pads", Ints{1, 1, 1, 1}}}));
  shows(padded.graph, {{"x", random.halves({1, 2, 5, 5}, -2, 2)}}, "pad side");
  test::GraphMaker unequal;
  unequal.output(unequal.node(
      "Conv", "y",
      {unequal.input("x", DType::float32, {1, 2, 6, 6}), unequal.constant("w", random.halves({3, 2, 3, 3}, -2, 2))},
      {{"pads", Ints{0, 1, 1, 0}}, {"strides", Ints{2, 2}}}));
  shows(unequal.graph, {{"x", random.halves({1, 2, 6, 6}, -2, 2)}}, "plane distance");
}

TEST_CASE("vendor: changed code is refused or computes something, whatever the change") {
  const test::EmulatedGpu gpu;
  int refused = 0, ran = 0;
  for (int seed = 0; seed < 12; ++seed) {
    RandomFloatGraph random(static_cast<std::uint64_t>(1900 + seed));
    random.build(4);
    const bundle::Bundle bundle = compiled_for_libraries(random.graph).bundle;
    const NdArray x = random.halves(random.graph.value(random.graph.inputs[0]).type.shape, -3, 3);
    for (int change = 0; change < 25; ++change) {
      bundle::Bundle changed = bundle;
      std::vector<bundle::Step*> steps;
      for (bundle::Step& step : changed.steps)
        if (step.target == bundle::kCublasTarget || step.target == bundle::kCudnnTarget) steps.push_back(&step);
      if (steps.empty()) continue;
      bundle::Step& step =
          *steps[static_cast<std::size_t>(random.draw.between(0, static_cast<std::int64_t>(steps.size()) - 1))];
      Json flat = parse_json(bundle::code_text(step), "code").value().flatten();
      const auto at = std::next(flat.begin(), random.draw.between(0, static_cast<std::int64_t>(flat.size()) - 1));
      if (at->is_number()) *at = random.pick({0, 1, 2, 3, 5, 16, 1 << 20, at->get<std::int64_t>() + 1});
      Json code = flat.unflatten();
      code["inner"] = Json::array();  // an empty list is lost when it is flattened
      step.code = bundle::json_bytes(code);
      auto executor = runtime::Executor::make(changed, *runtime::simulator_factory("functional"), {1});
      const bool runs = executor.ok() && executor->run({{"x", x}}).ok();
      runs ? ++ran : ++refused;
    }
  }
  CHECK(refused > 50);
  CHECK(ran > 20);
}

TEST_CASE("vendor: a refusal names the violated rule") {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {1, 2, 6, 6});
  const auto why = [&](const TargetPointer& target, ValueId value) {
    return to_string(select(*target, make.graph, make.graph.value(value).producer).errors());
  };
  CHECK_THAT(why(cudnn::make_target(),
                 make.node("MaxPool", "c", {x},
                           {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{0, 0, 1, 1}}, {"strides", Ints{2, 2}}})),
             ContainsSubstring("spatial axis 0 has pads of 0 and 1 elements") &&
                 ContainsSubstring("would compute 2 results instead of 3"));
  const ValueId v = make.input("v", DType::float32, {1, 2, 6, 6, 6}),
                u = make.constant("u", NdArray(DType::float32, {2, 2, 3, 3, 3}));
  CHECK_THAT(why(cudnn::make_target(),
                 make.node("Conv", "deep", {v, u}, {{"pads", Ints{0, 1, 1, 1, 1, 1}}, {"strides", Ints{2, 2, 2}}})),
             ContainsSubstring("spatial axis 0 has pads of 0 and 1 elements"));
  CHECK_THAT(why(cudnn::make_target(),
                 make.node("MaxPool", "m", {x}, {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 2}}})),
             ContainsSubstring("windows have a dilation of 2"));
  CHECK_THAT(why(cublas::make_target(), make.node("Erf", "e", {x})),
             ContainsSubstring("the library's operations do not cover Erf"));
  const ValueId wide = make.input("wide", DType::float64, {2, 2});
  CHECK_THAT(why(cublas::make_target(), make.node("MatMul", "d", {wide, wide})),
             ContainsSubstring("wide is float64, but only float32 or float16 or bfloat16 is supported"));
  const ValueId square = make.input("square", DType::float32, {2, 2});
  CHECK_THAT(why(cublas::make_target(), make.node("Gelu", "g", {make.node("MatMul", "s", {square, square})})),
             ContainsSubstring("the GELU is exact, but the vendor library has only the tanh approximation"));
  const ValueId a = make.input("a", DType::float32, {65, 1, 2, 1, 3}),
                b = make.input("b", DType::float32, {1, 66, 1, 3, 4});
  CHECK_THAT(why(cublas::make_target(), make.node("MatMul", "many", {a, b})),
             ContainsSubstring("calls of cuBLAS, but at most 64 are allowed"));
}
