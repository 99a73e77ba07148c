// Whole models on run_threads: kernel after kernel, each on the results of the previous ones, in adversarial orders of
// threads. This test runs the digits; ./dev threads runs all models.
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/import/onnx.h"
#include "compiler/pipeline.h"
#include "compiler/target/host/target.h"
#include "tests/catch.h"
#include "tests/threads/layers.h"

using namespace dovetail;

namespace {

graph::Graph digits(const std::string& number) {
  auto imported =
      import::import_onnx_file(std::string(DOVETAIL_SOURCE_DIR) + "/examples/digits/digits_" + number + ".onnx");
  REQUIRE((imported.ok() ? "" : to_string(imported.errors())) == "");
  CompileOptions options;
  options.available = {host::make_target()};
  options.stop_after = "graph";
  auto compiled = compile(*imported, options);
  REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
  return std::move(compiled->optimized);
}

}  // namespace

TEST_CASE("cuda: whole models have the interpreter's values in adversarial orders of threads") {
  for (const char* number : {"int8", "float"}) {
    INFO(number);
    test::Schedules schedules;
    const auto walk = test::walk_graph(digits(number), test::configurations(), schedules, 5);
    REQUIRE((walk.ok() ? "" : to_string(walk.errors())) == "");
    CHECK(fmt::format("{}", fmt::join(walk->failures, "\n")) == "");
    CHECK(walk->groups >= 3);
    CHECK(walk->kernels > walk->groups);
    CHECK(walk->macs > 500'000);
  }
}

TEST_CASE("cuda: shrunk layers have schedules of the same kinds, and the interpreter's values") {
  constexpr std::uint64_t kMostSteps = 500'000;
  const auto configurations = test::configurations();
  const graph::Graph graph = digits("int8");
  test::Schedules schedules;
  const auto layers = test::layers_of(graph, configurations, schedules, kMostSteps);
  REQUIRE((layers.ok() ? "" : to_string(layers.errors())) == "");
  std::size_t smaller = 0;
  for (const test::Layer& layer : *layers) {
    INFO(layer.name << ": " << fmt::format("{}", fmt::join(layer.cuts, ", ")));
    const auto groups = fuse_groups(layer.graph, layer.graph.topological_order());
    REQUIRE(groups.ok());
    CHECK(test::work_of(*groups)->steps <= kMostSteps);
    CHECK(layer.kinds_kept);
    const auto walk = test::walk_graph(layer.graph, configurations, schedules, 5);
    REQUIRE((walk.ok() ? "" : to_string(walk.errors())) == "");
    CHECK(fmt::format("{}", fmt::join(walk->failures, "\n")) == "");
    smaller += layer.cuts.empty() ? 0 : 1;
  }
  CHECK(smaller > 0);
}

TEST_CASE("cuda: tensors differ by their bits, or by more than a fraction of the largest element") {
  const auto of = [](std::vector<float> values) {
    NdArray array(DType::float32, {static_cast<std::int64_t>(values.size())});
    for (std::size_t i = 0; i < values.size(); ++i) array.set_double(static_cast<std::int64_t>(i), values[i]);
    return array;
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  CHECK(test::difference(of({1, kNan, 0}), of({1, kNan, 0}), 0).empty());
  CHECK(test::difference(of({1, 100.005F, kNan}), of({1, 100, kNan}), test::kFreeSums).empty());
  CHECK(test::difference(of({1.009F, 100}), of({1, 100}), test::kFreeSums).empty());
  CHECK(test::difference(of({1, 100.005F}), of({1, 100}), 0) ==
        "1 of 2 elements differ, the first is 1: 100.00499725341797 instead of 100");
  CHECK(test::difference(of({1.011F, 100}), of({1, 100}), test::kFreeSums).starts_with("1 of 2 elements differ"));
  CHECK(test::difference(of({1, kNan}), of({1, 100}), test::kFreeSums).starts_with("1 of 2 elements differ"));
  CHECK(test::difference(of({0}), of({-0.0F}), 0).starts_with("1 of 1 elements differ"));
  CHECK(test::difference(of({1}), of({1, 1}), 0) == "another type or shape");
  NdArray integers(DType::int8, {1}), others(DType::int8, {1});
  others.set_int64(0, 1);
  CHECK(test::difference(integers, others, test::kFreeSums).starts_with("1 of 1 elements differ"));
  NdArray many(DType::int8, {200}), near(DType::int8, {200});
  near.set_int64(7, 1), near.set_int64(9, -1);
  CHECK(test::difference(many, near, test::kFreeSums).empty());
  CHECK(test::difference(many, near, 0) == "2 of 200 elements differ, the first is 7: 0 instead of 1");
  near.set_int64(9, 2);
  CHECK(test::difference(many, near, test::kFreeSums) == "2 of 200 elements differ, the first is 9: 0 instead of 2");
}
