// Quantizing within a limit of memory, and continuing an interrupted work.
#include "compiler/quantize/runs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/quantize/quantize.h"
#include "compiler/zoo/weights.h"
#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail::quantize {
namespace {

using Catch::Matchers::ContainsSubstring;
using graph::ValueId;

NdArray drawn_array(const Shape& shape, const std::string& name, double deviation = 0.3) {
  return zoo::normal_array(shape, deviation, zoo::Random(23, name));
}

// Convolutions of several extents, a sum over a branch, and a product.
graph::Graph network() {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {1, 4, 12, 12});
  ValueId value = x;
  for (int i = 0; i < 10; ++i) {
    const std::string name = "conv" + std::to_string(i);
    value = make.node("Conv", name,
                      {value, make.constant("w" + name, drawn_array({4, 4, 1, 1}, name)),
                       make.constant("b" + name, drawn_array({4}, "b" + name))});
    value = make.node("Relu", name + "_relu", {value});
  }
  value = make.node("Add", "sum", {value, x});
  value = make.node("GlobalAveragePool", "mean", {value});
  value = make.node("Flatten", "flat", {value});
  make.output(make.node("MatMul", "product", {value, make.constant("m", drawn_array({4, 5}, "m"))}));
  return make.graph;
}

std::vector<Values> some_samples() {
  std::vector<Values> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back({{"x", drawn_array({1, 4, 12, 12}, "x" + std::to_string(i), 1)}});
  return inputs;
}

Options all_parts() {
  Options options;
  options.correct_biases = true;
  options.layer_samples = 2;
  return options;
}

// Keeps the sums of every run.
struct Memory {
  std::map<std::string, Json, std::less<>> parts;
  Keeper keeper() {
    return {.find = [this](std::string_view part) { return parts.contains(part) ? parts.find(part)->second : Json(); },
            .keep =
                [this](std::string_view part, const std::function<Json()>& sums) {
                  // As a file would keep them.
                  parts[std::string(part)] = Json::from_cbor(Json::to_cbor(sums()));
                  return Result<void>{};
                }};
  }
};

Json reported(const Options& options, const MakeForward& make_forward = reference_forward()) {
  const std::vector<Values> samples = some_samples();
  const auto result = quantize(network(), samples, options, make_forward);
  if (!result.ok()) FAIL(to_string(result.errors()));
  return result->to_json();
}

}  // namespace

TEST_CASE("runs: within a limit of memory, tensors are worked on in groups, with the same result") {
  const Json expected = reported(all_parts());
  const std::uint64_t tensor = 4 * 12 * 12 * sizeof(float);
  for (const std::uint64_t tensors : {9, 11}) {
    Options options = all_parts();
    options.memory = {.limit = 1000 + tensors * tensor, .used = 1000};
    std::map<std::string, int> compiled;
    std::string now;
    options.progress = [&](const Step& step) -> Result<void> {
      if (step.compiling) ++compiled[std::string(step.what)];
      CHECK(step.bytes <= options.memory.limit);
      CHECK(step.done < step.all);
      now = step.what;
      return {};
    };
    std::map<std::string, std::uint64_t> most;
    const Json got = reported(options, [&](const graph::Graph& graph) {
      const std::uint64_t bytes = peak_bytes(graph, {});
      most[now] = now == "comparison" ? most[now] + bytes : std::max(most[now], bytes);
      return reference_forward()(graph);
    });
    INFO(tensors);
    CHECK(got == expected);
    CHECK(compiled["ranges"] > 1);
    CHECK(compiled["comparison"] >= compiled["ranges"]);
    for (const char* part : {"ranges", "biases", "layers"}) CHECK(most[part] <= options.memory.limit);
    // Two graphs at a time.
    CHECK(most["comparison"] <= options.memory.limit * static_cast<std::uint64_t>(compiled["comparison"]));
  }
}

TEST_CASE("runs: a limit below the memory of one tensor is refused with the least that suffices") {
  Options options = all_parts();
  options.memory = {.limit = (std::uint64_t{8} << 20) + 2000, .used = std::uint64_t{8} << 20};
  const std::vector<Values> samples = some_samples();
  const auto refused = quantize(network(), samples, options, reference_forward());
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(to_string(refused.errors()), ContainsSubstring("9 MiB of memory are needed, 8 of them for the kit") &&
                                              ContainsSubstring("set the limit to at least 9MiB (--memory-limit)"));
}

TEST_CASE("runs: interrupted anywhere, the work continues where it was, with the same result") {
  const Json expected = reported(all_parts());
  std::int64_t all = 0;
  Options counting = all_parts();
  counting.progress = [&](const Step& step) -> Result<void> {
    all += step.compiling ? 0 : 1;
    return {};
  };
  CHECK(reported(counting) == expected);
  for (std::int64_t stop = 0; stop < all; ++stop) {
    Memory memory;
    Options options = all_parts();
    options.keeper = memory.keeper();
    std::int64_t runs = 0;
    options.progress = [&](const Step& step) -> Result<void> {
      if (!step.compiling && runs++ == stop) return Diagnostic{"stopped", "here", "enough", "continue"};
      return {};
    };
    const std::vector<Values> samples = some_samples();
    REQUIRE_FALSE(quantize(network(), samples, options, reference_forward()).ok());
    std::int64_t more = 0;
    options.progress = [&](const Step& step) -> Result<void> {
      more += step.compiling ? 0 : 1;
      return {};
    };
    INFO("stopped before run " << stop);
    CHECK(reported(options) == expected);
    // Layers are compared with float outputs, which are computed again, and the samples of one layer are one unit.
    CHECK(more <= all - stop + 2 * all_parts().layer_samples);
  }
}

TEST_CASE("runs: kept sums that are damaged are computed again") {
  const Json expected = reported(all_parts());
  Memory memory;
  Options options = all_parts();
  options.keeper = memory.keeper();
  CHECK(reported(options) == expected);
  for (const Json& damage : {Json("text"), Json(3), Json::array(), Json::object()}) {
    for (auto& [part, sums] : memory.parts) {
      for (auto& [name, sum] : sums.items()) sum = part == "ranges" ? Json{{"samples", 2}, {"sum", damage}} : damage;
    }
    CHECK(reported(options) == expected);
  }
}

TEST_CASE("runs: the peak of a graph's memory") {
  const graph::Graph graph = network();
  const std::uint64_t tensor = 4 * 12 * 12 * sizeof(float);
  // The input, and operand and result of a node; the rest is small.
  CHECK(peak_bytes(graph, {}) == 3 * tensor);
  const ValueId first = *graph.find_value("conv0"), second = *graph.find_value("conv1");
  const std::vector<ValueId> kept{first, second};
  CHECK(peak_bytes(graph, kept) == 5 * tensor);
}

}  // namespace dovetail::quantize
