// Random graphs through the whole compiler to machine code, compared with the reference on naive loop programs: bit for
// bit. Floats are small multiples of a half, so that every order of summation gives the same value. On every class of
// processor that this machine belongs to, with one and two threads, and once with checked bounds.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/processor.h"
#include "base/random.h"
#include "compiler/graph/parse.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "compiler/target/cpu/cpu.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/packed_product.h"
#include "tests/property/compiler/drawn_schedules.h"
#include "tests/property/compiler/random_float_graph.h"
#include "tests/property/compiler/random_int8_graph.h"
#include "tests/targets.h"
#include "tests/tier.h"

using namespace dovetail;
using dovetail::test::RandomFloatGraph;
using dovetail::test::RandomInt8Graph;

namespace {

int scaled(int count) {
  const char* text = std::getenv("DOVETAIL_TEST_SCALE");
  const double usual = dovetail::test::judges_everything() ? 1.0 : 0.5;
  return static_cast<int>(count * (text ? std::atof(text) : usual));
}
// More than `number` of the cases; with fewer cases than usual there may be none.
int more_than(int number) { return scaled(100) < 100 ? 0 : scaled(number) + 1; }

// The classes of this machine, and the highest class of all as far as it can be checked here: with kernels that check
// their bounds it needs no tile registers.
std::vector<cpu::Cpu> processors() {
  std::vector<cpu::Cpu> all(cpu::cpus().begin(), cpu::cpus().end());
  const cpu::Cpu checked = cpu::with_checked_bounds(all.back());
  std::erase_if(all, [](const cpu::Cpu& one) { return !runs_here(one.name); });
  all.push_back(runs_here(checked.name) ? checked : cpu::with_checked_bounds(all.back()));
  return all;
}

// Counts of the kernels compiled for one processor.
struct Count {
  std::map<std::string, int> kinds;
  int drawn = 0;
};
struct Tally {
  std::map<std::string, Count> processors;
  std::vector<std::string> refusals;

  // The least count over the processors: the number of classes that this machine runs must not matter.
  int least(const std::string& kind) const {
    return least_of([&](const Count& count) { return count.kinds.contains(kind) ? count.kinds.at(kind) : 0; });
  }
  int least_drawn() const {
    return least_of([](const Count& count) { return count.drawn; });
  }

 private:
  template <typename Number>
  int least_of(const Number& number) const {
    int least = std::numeric_limits<int>::max();
    for (const auto& [name, count] : processors) least = std::min(least, number(count));
    return least;
  }
};

// `drawn`: the seed of its schedules; nullopt: the compiler's schedules.
void check(const graph::Graph& graph, const NdArray& input, Tally& tally,
           std::optional<std::uint64_t> drawn = std::nullopt, std::optional<passes::Level> level = std::nullopt) {
  const std::string name = graph.value(graph.inputs[0]).name;
  auto reference = Reference::make(graph);
  REQUIRE(reference.ok());
  const auto expected = reference->run({{name, input}});
  REQUIRE((expected.ok() ? "" : to_string(expected.errors())) == "");
  for (const cpu::Cpu& processor : processors()) {
    INFO("processor " << processor.name << (processor.check_bounds ? " with checked bounds" : "") << "\n"
                      << to_string(graph));
    Count& count = tally.processors[processor.name + (processor.check_bounds ? " with checked bounds" : "")];
    CompileOptions options;
    options.available = {cpu::make_target(processor), host::make_target()};
    options.targets = {"cpu"};
    if (drawn) options.recorded = test::drawn_schedules(*drawn);
    if (level) options.context.level = *level;
    auto compiled = compile({graph, {}}, options);
    REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
    for (const auto& group : compiled->report["groups"]) {
      ++count.kinds[group["schedule"].get<std::string>()];
      for (const auto& note : group["notes"]) tally.refusals.push_back(note.get<std::string>());
    }
    for (const ScheduleReport& schedule : compiled->schedules) {
      UNSCOPED_INFO(schedule.kind << " " << schedule.origin.text);
      count.drawn += schedule.origin.recorded;
    }
    for (const int threads : {1, 2}) {
      INFO(threads << " threads");
      auto executor = runtime::Executor::make(compiled->bundle, *runtime::simulator_factory("functional"), {threads});
      REQUIRE((executor.ok() ? "" : to_string(executor.errors())) == "");
      const auto run = executor->run({{name, input}});
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
}

}  // namespace

TEST_CASE("random float graphs on the CPU equal the reference") {
  Tally tally;
  for (int seed = 0; seed < scaled(25); ++seed) {
    INFO("seed " << seed);
    RandomFloatGraph random(static_cast<std::uint64_t>(seed));
    random.build(4);
    check(random.graph, random.halves(random.graph.value(random.graph.inputs[0]).type.shape, -3, 3), tally);
  }
  for (const char* kind : {"convolution", "window", "matmul", "generic"}) CHECK(tally.least(kind) >= more_than(1));
  for (const std::string& refusal : tally.refusals) UNSCOPED_INFO(refusal);
  CHECK(tally.refusals.empty());
}

TEST_CASE("random graphs of halves on the CPU equal the reference") {
  const auto as = [](DType dtype, const NdArray& array) {
    NdArray halves(dtype, array.shape());
    for (std::int64_t i = 0; i < array.count(); ++i) halves.set_double(i, array.as_double(i));
    return halves;
  };
  Tally tally;
  for (int seed = 0; seed < scaled(24); ++seed) {
    INFO("seed " << seed);
    const DType half = seed % 2 == 0 ? DType::float16 : DType::bfloat16;
    RandomFloatGraph random(static_cast<std::uint64_t>(seed));
    random.build(4);
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(random.graph.values.size()); ++i) {
      graph::Value& value = random.graph.value(graph::ValueId{i});
      if (value.type.dtype != DType::float32) continue;
      value.type.dtype = half;
      if (value.constant) value.constant = as(half, *value.constant);
    }
    // Some of the kit's own operators accept only float32.
    const auto takes = [&](graph::NodeId node) { return ops::infer(random.graph, node).ok(); };
    if (!std::ranges::all_of(random.graph.topological_order(), takes)) continue;
    const NdArray input = random.halves(random.graph.value(random.graph.inputs[0]).type.shape, -3, 3);
    // Values that level 2 folds into weights and biases may be rounded fewer times.
    check(random.graph, as(half, input), tally, std::nullopt, passes::Level::exact);
  }
  for (const char* kind : {"convolution", "matmul", "generic"}) CHECK(tally.least(kind) >= more_than(1));
  for (const auto& [name, count] : tally.processors) CHECK_FALSE(count.kinds.contains("interpreted"));
}

TEST_CASE("random int8 graphs on the CPU equal the reference") {
  Tally tally;
  for (int seed = 0; seed < scaled(25); ++seed) {
    INFO("seed " << seed);
    RandomInt8Graph random(static_cast<std::uint64_t>(seed), false);
    random.build(4);
    check(random.graph, random.draw.int8(random.graph.value(random.graph.inputs[0]).type.shape), tally);
  }
  // With tile registers the products of bytes have separate kinds.
  for (const auto& [name, count] : tally.processors) {
    const auto of = [&](const std::string& kind) { return count.kinds.contains(kind) ? count.kinds.at(kind) : 0; };
    CAPTURE(name);
    CHECK(of("convolution") + of("tile_convolution") >= more_than(1));
    CHECK(of("matmul") + of("tile_matmul") >= more_than(1));
  }
  for (const std::string& refusal : tally.refusals) UNSCOPED_INFO(refusal);
  CHECK(tally.refusals.empty());
}

TEST_CASE("int8 products on the CPU equal the reference at the bounds of their types and extents") {
  // Activations and weights of the greatest magnitudes, so that a product that saturates differs.
  const auto extreme = [](const graph::TensorType& type, std::uint64_t seed) {
    SplitMix64 random(seed);
    NdArray array(type.dtype, type.shape);
    for (std::int64_t i = 0; i < array.count(); ++i)
      array.set_double(i, type.dtype == DType::int8    ? (random.next() % 4 == 0 ? 127 : -128)
                          : type.dtype == DType::int32 ? static_cast<double>(random.next() % 2000) - 1000
                                                       : 1.0 / static_cast<double>(40000 + random.next() % 90000));
    return array;
  };
  Tally tally;
  std::uint64_t seed = 0;
  for (const std::int64_t channels : {1, 2, 3, 5, 16, 17})
    for (const std::int64_t outputs : {1, 4, 7, 8, 9, 17, 33}) {
      if (++seed % 4 != 0 && !test::judges_everything()) continue;
      const std::int64_t zero = std::array<std::int64_t, 4>{-128, 0, 127, 5}[seed % 4];
      const bool convolves = seed % 3 != 0;
      const std::string body =
          convolves
              ? fmt::format("graph g(%x: int8[1, {0}, 6, 9]) -> (%y)\n  constant %w: int8[{1}, {0}, 3, 2]\n", channels,
                            outputs)
              : fmt::format("graph g(%x: int8[7, {0}]) -> (%y)\n  constant %w: int8[{1}, {0}]\n", channels, outputs);
      const std::string result =
          convolves
              ? fmt::format("%y: int8[1, {}, 6, 9] = dovetail.qconv(%x, %w, %b, %s) {{pads=[1, 0, 1, 1], ", outputs)
              : fmt::format("%y: int8[7, {}] = dovetail.qgemm(%x, %w, %b, %s) {{", outputs);
      const std::string text = fmt::format(
          "{0}  constant %b: int32[{1}]\n  constant %s: float32[{1}]\n  {2}x_zero_point={3}, "
          "y_zero_point=1}}\n",
          body, outputs, result, zero);
      CAPTURE(text);
      auto graph = graph::parse(text, "bounds", [&](auto, const graph::TensorType& t) { return extreme(t, seed); });
      REQUIRE((graph.ok() ? "" : to_string(graph.errors())) == "");
      check(*graph, extreme(graph->value(graph->inputs[0]).type, seed + 1000), tally);
    }
  for (const std::string& refusal : tally.refusals) UNSCOPED_INFO(refusal);
  CHECK(tally.refusals.empty());
}

TEST_CASE("float products on the CPU equal the reference where their columns are extended") {
  Tally tally;
  for (const std::int64_t columns : {131, 257, 1031})
    for (const bool convolves : {false, true}) {
      const std::string text = convolves ? fmt::format(
                                               "graph g(%x: float32[1, 3, 40]) -> (%y)\n  constant %w: "
                                               "float32[{0}, 3, 36]\n  %y: float32[1, {0}, 3] = Conv(%x, %w) "
                                               "{{strides=[4], pads=[2, 2]}}\n",
                                               columns)
                                         : fmt::format(
                                               "graph g(%x: float32[5, 7]) -> (%y)\n  constant %w: float32[7, "
                                               "{0}]\n  %y: float32[5, {0}] = MatMul(%x, %w)\n",
                                               columns);
      CAPTURE(text);
      SplitMix64 random(static_cast<std::uint64_t>(columns));
      const auto halves = [&](const Shape& shape) {
        NdArray array(DType::float32, shape);
        for (std::int64_t i = 0; i < array.count(); ++i)
          array.set_double(i, static_cast<double>(random.next() % 13) / 2 - 3);
        return array;
      };
      auto graph = graph::parse(text, "columns", [&](auto, const graph::TensorType& t) { return halves(t.shape); });
      REQUIRE((graph.ok() ? "" : to_string(graph.errors())) == "");
      check(*graph, halves(graph->value(graph->inputs[0]).type.shape), tally);
    }
  CHECK(tally.least("matmul") >= 3);
  for (const std::string& refusal : tally.refusals) UNSCOPED_INFO(refusal);
  CHECK(tally.refusals.empty());
}

TEST_CASE("products of packed weights on the CPU equal the reference") {
  using test::PackedProduct;
  Tally tally;
  const auto check_one = [&](const PackedProduct& product, std::uint64_t seed) {
    const std::string text = product.text();
    CAPTURE(text);
    SplitMix64 random(seed);
    const auto graph =
        graph::parse(text, "packed", [&](auto, const graph::TensorType& type) { return product.values(type, random); });
    REQUIRE((graph.ok() ? "" : to_string(graph.errors())) == "");
    const NdArray x = product.values(graph->value(graph->inputs[0]).type, random);
    check(*graph, x, tally, seed % 3 == 0 ? std::optional(seed) : std::nullopt);
  };
  // Few rows and many, columns that are vectors or not, blocks that divide the depth or not.
  std::uint64_t seed = 0;
  for (const std::int64_t rows : {1, 3, 8, 9, 40})
    for (const std::int64_t columns : {3, 64, 129}) {
      if (++seed % 2 != 0 && !test::judges_everything()) continue;
      check_one({.rows = rows, .columns = columns, .depth = seed % 4 < 2 ? 96 : 75, .block = 32}, seed);
    }
  for (int i = 0; i < scaled(16); ++i) check_one(PackedProduct::drawn(static_cast<std::uint64_t>(900 + i)), ++seed);
  CHECK(tally.least("packed_product") >= more_than(4));
  CHECK(tally.least("matmul") >= more_than(2));
  for (const std::string& refusal : tally.refusals) UNSCOPED_INFO(refusal);
  CHECK(tally.refusals.empty());
}

TEST_CASE("random graphs of every integer form on the CPU equal the reference") {
  Tally tally;
  for (int seed = 0; seed < scaled(40); ++seed) {
    INFO("seed " << seed);
    RandomInt8Graph random(static_cast<std::uint64_t>(5000 + seed), false, test::Forms::all);
    random.build(4);
    check(random.graph, random.draw.int8(random.graph.value(random.graph.inputs[0]).type.shape), tally);
  }
  CHECK(tally.least("generic") >= more_than(4));
  for (const std::string& refusal : tally.refusals) UNSCOPED_INFO(refusal);
  CHECK(tally.refusals.empty());
}

TEST_CASE("random graphs on the CPU equal the reference, whatever their schedules are") {
  Tally tally;
  for (int seed = 0; seed < scaled(15); ++seed) {
    INFO("seed " << seed);
    const auto number = static_cast<std::uint64_t>(9000 + seed);
    RandomFloatGraph floats(number);
    floats.build(4);
    check(floats.graph, floats.halves(floats.graph.value(floats.graph.inputs[0]).type.shape, -3, 3), tally, number);
    RandomInt8Graph integers(number, false);
    integers.build(4);
    check(integers.graph, integers.draw.int8(integers.graph.value(integers.graph.inputs[0]).type.shape), tally, number);
  }
  CHECK(tally.least_drawn() >= more_than(20));
}

TEST_CASE("random convolutions of few output channels on the CPU equal the reference") {
  Tally tally;
  for (int seed = 0; seed < scaled(16); ++seed) {
    SplitMix64 random(static_cast<std::uint64_t>(seed));
    const auto from = [&](std::int64_t least, std::int64_t most) {
      return least + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(most - least + 1));
    };
    const auto halves = [&](const Shape& shape) {
      NdArray array(DType::float32, shape);
      for (std::int64_t i = 0; i < array.count(); ++i) array.set_double(i, static_cast<double>(from(-6, 6)) / 2);
      return array;
    };
    // An image, a line or a volume with rows of up to five vectors; the preceding nodes leave its channels last or not.
    const std::size_t axes = std::array<std::size_t, 6>{2, 2, 2, 2, 1, 3}[static_cast<std::size_t>(from(0, 5))];
    Shape image{from(1, 2), from(1, 20)}, kernel{from(1, 9), image[1]}, result{image[0], kernel[0]};
    std::string begins, ends, strides, dilations;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const bool last = axis + 1 == axes;
      const std::int64_t size = last ? from(16, 80) : from(3, 9), window = from(1, 3), dilation = from(1, 2);
      const std::int64_t stride = last ? 1 : from(1, 2), begin = from(0, 2), end = from(0, 2);
      image.push_back(size), kernel.push_back(window);
      result.push_back((size + begin + end - dilation * (window - 1) - 1) / stride + 1);
      const char* comma = axis == 0 ? "" : ", ";
      begins += fmt::format("{}{}", comma, begin), ends += fmt::format(", {}", end);
      strides += fmt::format("{}{}", comma, stride), dilations += fmt::format("{}{}", comma, dilation);
    }
    const auto type = [](const Shape& shape) { return fmt::format("float32[{}]", fmt::join(shape, ", ")); };
    Shape point(kernel.size(), 1);
    point[0] = point[1] = image[1];
    const bool before = from(0, 1) == 1;
    const std::string text = fmt::format(R"(graph g(%x: {0}) -> (%y)
  constant %p: {1}
  constant %w: {2}
  constant %b: float32[{3}]
  constant %r: {4}
{5}  %c: {4} = Conv(%{6}, %w, %b) {{pads=[{7}{8}], strides=[{9}], dilations=[{10}]}}
  %s: {4} = Add(%c, %r)
  %y: {4} = Relu(%s)
)",
                                         type(image), type(point), type(kernel), kernel[0], type(result),
                                         before ? fmt::format("  %h: {} = Conv(%x, %p)\n", type(image)) : "",
                                         before ? "h" : "x", begins, ends, strides, dilations);
    CAPTURE(seed, text);
    auto graph = graph::parse(text, "few", [&](auto, const graph::TensorType& t) { return halves(t.shape); });
    REQUIRE((graph.ok() ? "" : to_string(graph.errors())) == "");
    check(*graph, halves(image), tally, seed % 3 == 2 ? std::optional<std::uint64_t>(seed) : std::nullopt);
  }
  // Fewer lanes are idle where vectors are shorter: 3 of 22 convolutions on baseline, 4 on avx2, 5 on avx512.
  CHECK(tally.least("pixel_convolution") >= more_than(2));
  for (const std::string& refusal : tally.refusals) UNSCOPED_INFO(refusal);
  CHECK(tally.refusals.empty());
}

TEST_CASE("kernels of several models are loaded at the same time") {
  std::vector<runtime::Executor> executors;
  std::vector<RandomFloatGraph> graphs;
  for (const std::uint64_t seed : {3, 4, 5}) {
    RandomFloatGraph random(seed);
    random.build(3);
    CompileOptions options;
    options.available = test::kit_targets();
    options.targets = {"cpu"};
    auto executor = runtime::Executor::make(compile({random.graph, {}}, options).value().bundle,
                                            *runtime::simulator_factory("functional"));
    REQUIRE((executor.ok() ? "" : to_string(executor.errors())) == "");
    executors.push_back(*std::move(executor));
    graphs.push_back(std::move(random));
  }
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const std::map<std::string, NdArray> inputs{
        {"x", graphs[i].halves(graphs[i].graph.value(graphs[i].graph.inputs[0]).type.shape, -3, 3)}};
    const auto run = executors[i].run(inputs);
    REQUIRE(run.ok());
    const auto expected = Reference::make(graphs[i].graph).value().run(inputs).value();
    for (const auto& [name, array] : run->outputs) CHECK(array == expected.at(name));
  }
}
