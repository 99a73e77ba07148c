// The graphs that passes match, with every optional operand and attribute absent, at its default and odd: at every
// level, and with one pass alone, the values stay those of the original graph. A pass that adds an operand which was
// absent must give it the weight that the node's attributes imply.
#include "tests/property/compiler/passes/drawn_patterns.h"

using namespace dovetail;
using graph::ValueId;
using test::check;
using test::make_pattern;
using test::Pattern;
using test::random_inputs;
using test::scaled;
using test::Values;

TEST_CASE(
    "passes keep the values of graphs with operands and attributes absent, default and odd: at every level, each "
    "alone") {
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
          false, pattern.step);
    }
    const std::string_view alone =
        passes::kPasses[static_cast<std::size_t>(seed) / std::size(test::kPatterns) % passes::kPasses.size()].name;
    INFO(alone << " alone");
    check(
        pattern.graph, inputs,
        [&](CompileOptions& options) {
          options.with_passes = {std::string(alone)};
          for (const passes::Row& row : passes::kPasses)
            if (row.name != alone) options.without_passes.emplace_back(row.name);
        },
        false, pattern.step);
  }
}

TEST_CASE(
    "passes keep the values of graphs with operands and attributes absent, default and odd: as kernels of every "
    "target") {
  for (int seed = 5000; seed < 5000 + scaled(40); ++seed) {
    INFO("seed " << seed);
    Pattern pattern = make_pattern(seed);
    INFO(to_string(pattern.graph));
    const Values inputs = random_inputs(pattern);
    for (const char* target : {"cpu", "host"})
      check(
          pattern.graph, inputs, [&](CompileOptions& options) { options.targets = {target}; }, true, pattern.step);
  }
}
