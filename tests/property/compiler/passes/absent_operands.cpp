// The graphs that passes match, with every optional operand and attribute absent, at its default and odd: at every
// level, and with one pass alone, the values stay those of the graph as it came. A pass that makes an operand which was
// absent must give it the weight that the node's attributes give it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/npy.h"
#include "compiler/export/onnx.h"
#include "tests/property/compiler/passes/drawn_patterns.h"

using namespace dovetail;
using graph::ValueId;
using test::check;
using test::make_pattern;
using test::Pattern;
using test::random_inputs;
using test::scaled;
using test::Values;

namespace {

// ONNX Runtime refuses SAME pads of a dilated convolution, and pads a dilated pool as if it were not dilated, though
// the standard says ceil(input / stride) windows.
bool pads_dilated_windows(const graph::Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const graph::Node& node) {
    const auto dilations = graph::ints_attribute(node, "dilations", {});
    return graph::string_attribute(node, "auto_pad", "").starts_with("SAME") &&
           std::ranges::any_of(dilations, [](std::int64_t dilation) { return dilation != 1; });
  });
}

}  // namespace

TEST_CASE("what passes match, operands and attributes absent, default and odd: at every level, and each pass alone") {
  const std::vector<PassRow> table = pass_table();
  for (int seed = 0; seed < scaled(400); ++seed) {
    INFO("seed " << seed);
    Pattern pattern = make_pattern(seed);
    INFO(to_string(pattern.graph));
    const Values inputs = random_inputs(pattern);
    for (const passes::Level level : {passes::Level::exact, passes::Level::tolerant, passes::Level::trading}) {
      INFO("level " << static_cast<int>(level));
      check(
          pattern.graph, inputs,
          [&](CompileOptions& options) {
            options.context.level = level;
            if (level > passes::Level::exact) options.with_passes = {"recognize_attention"};
          },
          false);
    }
    const std::string_view alone =
        table[static_cast<std::size_t>(seed) / std::size(test::kPatterns) % table.size()].name;
    INFO(alone << " alone");
    check(
        pattern.graph, inputs,
        [&](CompileOptions& options) {
          options.with_passes = {std::string(alone)};
          for (const PassRow& row : table)
            if (row.name != alone) options.without_passes.emplace_back(row.name);
        },
        false);
  }
}

TEST_CASE("what passes match, operands and attributes absent, default and odd: as kernels of every target") {
  for (int seed = 5000; seed < 5000 + scaled(40); ++seed) {
    INFO("seed " << seed);
    Pattern pattern = make_pattern(seed);
    INFO(to_string(pattern.graph));
    const Values inputs = random_inputs(pattern);
    for (const char* target : {"cpu", "host"})
      check(
          pattern.graph, inputs, [&](CompileOptions& options) { options.targets = {target}; }, true);
  }
}

// A second opinion on the reference itself: tests/tools/test_onnxruntime.py runs these files.
TEST_CASE("write what passes match for ONNX Runtime", "[.]") {
  const char* folder = std::getenv("DOVETAIL_TEST_MODELS");
  REQUIRE(folder != nullptr);
  const int count = scaled(200);
  for (int seed = 0; seed < count; ++seed) {
    INFO("seed " << seed);
    Pattern pattern = make_pattern(seed);
    if (pads_dilated_windows(pattern.graph)) continue;
    const Values inputs = random_inputs(pattern);
    const auto results = Reference::make(pattern.graph).value().run(inputs);
    REQUIRE((results.ok() ? "" : to_string(results.errors())) == "");
    Values expected;
    for (const ValueId id : pattern.graph.outputs) {
      const std::string& name = pattern.graph.value(id).name;
      expected.emplace(name, results->at(name));
    }
    const auto model = export_onnx(pattern.graph, "a random graph");
    REQUIRE((model.ok() ? "" : to_string(model.errors())) == "");
    const auto path = [&](const char* ending) {
      return std::filesystem::path(folder) / fmt::format("{}{}", seed, ending);
    };
    REQUIRE(write_file(path(".onnx"), *model).ok());
    REQUIRE(write_npz(path(".in.npz"), inputs).ok());
    REQUIRE(write_npz(path(".out.npz"), expected).ok());
  }
}
