// Additions and poolings whose operands come through INP, and additions fused with the preceding product, compared with
// the reference.
#include "tests/catch.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/property/compiler/random_int8_graph.h"

using namespace dovetail;
using test::RandomInt8Graph;

namespace {

// A convolution that keeps the image's size.
graph::ValueId same_size(RandomInt8Graph& random, graph::ValueId x, std::int64_t outputs, std::int64_t kernel) {
  graph::Attributes attributes = random.epilogue(x);
  attributes["pads"] = std::vector<std::int64_t>(4, kernel / 2);
  std::vector<graph::ValueId> inputs{x};
  random.weights(inputs, {outputs, random.graph.value(x).type.shape[1], kernel, kernel});
  const graph::ValueId y = random.add("dovetail.qconv", std::move(inputs), attributes);
  random.remember(y, attributes);
  return y;
}

test::Ran run(RandomInt8Graph& random, const isa::HardwareConfig& config, graph::ValueId y,
              std::vector<graph::ValueId> others = {}) {
  others.push_back(y);
  random.graph.outputs = others;
  const graph::ValueId x = random.graph.inputs[0];
  const NdArray image = random.draw.int8(random.graph.value(x).type.shape);
  return test::run_on_accelerator(random.graph, config, {{"x", image}}, test::Demand::none);
}

// A sum is fused with its product, except where the store's clamps would have to be passes of the ALU, and where a
// stored result is widened by a step of GEMM.
void check_fusion(const isa::HardwareConfig& config, const test::Ran& ran, const std::string& row) {
  const std::uint64_t together = ran.by_row.count(row), apart = ran.by_row.count("addition");
  CHECK(together + apart == 1);
  if (!config.saturate) CHECK(apart == 0);
}

}  // namespace

TEST_CASE("a sum is computed from the accumulators of the preceding product") {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    DYNAMIC_SECTION(config.name) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        RandomInt8Graph random(seed, seed % 2 == 0);
        const std::int64_t channels = random.draw.between(1, config.address_bits < 32 ? 6 : 24);
        const graph::ValueId x =
            random.input({random.draw.between(1, 2), channels, random.draw.between(3, 7), random.draw.between(3, 7)});
        const graph::ValueId shortcut = random.draw.coin() ? x : same_size(random, x, channels, 1),
                             product = same_size(random, x, channels, 3);
        INFO("seed " << seed);
        const bool first = random.draw.coin();
        const test::Ran ran =
            run(random, config, first ? random.residual(product, shortcut) : random.residual(shortcut, product));
        if (config.name == "tiny") continue;  // some of them do not fit its buffers
        check_fusion(config, ran, "convolution and addition");
        if (ran.by_row.count("addition") == 0) CHECK((ran.by_row.count("convolution") == 1) == (shortcut != x));
      }
      RandomInt8Graph random(9, true);
      const graph::ValueId x = random.input({3, 20});
      graph::ValueId y = random.gemm(x);
      while (random.graph.value(y).type.shape[1] != 20) y = random.gemm(x);
      const test::Ran ran = run(random, config, random.residual(x, y));
      if (config.name != "tiny") check_fusion(config, ran, "dense layer and addition");
    }
  }
}

TEST_CASE("a sum is computed from accumulators where their clamps cost less than storing and widening them") {
  struct Case {
    const char* hardware;
    double a_multiplier, b_multiplier, scale;
    std::int64_t least;
    std::uint64_t apart;
  };
  // Apart, scaled operands take 6 cycles of the ALU and GEMM, and products 2; loads of both take 4 at a port of 8
  // bytes.
  for (const Case& each : {Case{"1x16x16-ext", 40000.5, 30000.5, 0x1p-16, -128, 1},
                           {"1x16x16-ext", 40000.5, 30000.5, 0x1p-16, -3, 0},
                           {"1x16x16-ext", 83, 47, 0x1p-7, -128, 1},
                           {"1x16x16-ext", 83, 47, 0x1p-7, -3, 0},
                           {"1x16x16-ext,bus_bytes=16", 83, 47, 0x1p-7, -128, 1},
                           {"1x16x16-ext,bus_bytes=16", 83, 47, 0x1p-7, -3, 1},
                           {"1x16x16-ext,bus_bytes=16", 1, 1, 0x1p-1, -3, 1},
                           {"1x16x16-g2", 83, 1, 0x1p-7, -3, 1},
                           {"1x16x16-g2", 83, 1, 0x1p-7, -128, 1}}) {
    const isa::HardwareConfig config = *isa::load_config(each.hardware);
    INFO(each.hardware << ", " << each.a_multiplier << ", from " << each.least);
    RandomInt8Graph random(1, false);
    const graph::ValueId x = random.input({1, 6, 5, 5});
    graph::Attributes attributes{{"y_zero_point", std::int64_t{-3}}, {"y_min", each.least}};
    std::vector<graph::ValueId> inputs{x};
    random.weights(inputs, {6, 6, 1, 1});
    const graph::ValueId y = random.add("dovetail.qconv", std::move(inputs), attributes);
    random.remember(y, attributes);
    const graph::ValueId sum = random.add("dovetail.qadd", {y, x},
                                          {{"b_zero_point", std::int64_t{7}},
                                           {"a_multiplier", each.a_multiplier},
                                           {"b_multiplier", each.b_multiplier},
                                           {"scale", each.scale}});
    CHECK(run(random, config, sum).by_row.count("addition") == each.apart);
  }
}

TEST_CASE("a product with other readers, or added to itself, is not fused with a sum") {
  const isa::HardwareConfig config = *isa::load_config("1x16x16-ext");
  RandomInt8Graph random(1, false);
  const graph::ValueId x = random.input({1, 6, 5, 5}), y = same_size(random, x, 6, 3);
  SECTION("read twice") {
    const graph::ValueId pooled = random.max_pool(y), sum = random.residual(x, y);
    const test::Ran ran = run(random, config, sum, {pooled});
    CHECK(ran.by_row == std::map<std::string, std::uint64_t>{{"addition", 1}, {"convolution", 1}, {"max pooling", 1}});
  }
  SECTION("added to itself") {
    CHECK(run(random, config, random.residual(y, y)).by_row ==
          std::map<std::string, std::uint64_t>{{"addition", 1}, {"convolution", 1}});
  }
}

TEST_CASE("sums and maxima of tensors that come through INP equal the reference") {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    DYNAMIC_SECTION(config.name) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        RandomInt8Graph random(seed, seed % 2 == 0);
        const graph::ValueId x = random.input({random.draw.between(1, 2), random.draw.between(1, 20),
                                               random.draw.between(2, 8), random.draw.between(2, 8)});
        INFO("seed " << seed);
        run(random, config, random.residual(x, random.draw.coin() ? x : random.residual(x, x)));
      }
      for (std::uint64_t seed = 11; seed <= 14; ++seed) {
        RandomInt8Graph random(seed, true);
        const graph::ValueId x = random.input({random.draw.between(1, 2), random.draw.between(1, 20),
                                               random.draw.between(2, 8), random.draw.between(2, 8)});
        INFO("seed " << seed);
        run(random, config, random.max_pool(x));
      }
    }
  }
}
