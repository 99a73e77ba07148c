// Random layers of every kind on large tensors, whose extents reach the limits of instructions: images of few channels,
// up to 4,096 pixels wide and high, 1x1 layers of thousands of channels, batches of 64. On the accelerator they give
// the values of the CPU back end, bit for bit.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "compiler/pipeline.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/property/compiler/random_int8_graph.h"
#include "tests/targets.h"

using namespace dovetail;
using graph::ValueId;
using test::RandomInt8Graph;

namespace {

// Elements of the operand; more with DOVETAIL_TEST_SCALE.
constexpr std::int64_t kMostElements = std::int64_t{1} << 20;
constexpr std::uint64_t kLayers = 12;  // for each kind of shape; more with DOVETAIL_TEST_SCALE

std::int64_t times_as_many() {
  const char* scale = std::getenv("DOVETAIL_TEST_SCALE");
  return scale ? std::max(1, std::atoi(scale)) : 1;
}

enum class Extent : std::uint8_t { pixels, channels, batch };

Shape draw_shape(test::Draw& draw, Extent large, std::int64_t most_elements) {
  if (large == Extent::channels) return {1, draw.between(1000, 8192), draw.between(1, 3), draw.between(1, 3)};
  if (large == Extent::batch)
    return {draw.between(33, 64), draw.between(1, 40), draw.between(8, 20), draw.between(8, 20)};
  const std::int64_t channels = draw.between(1, 36), pixels = most_elements / channels;
  // Planes and rows near the 65,535 elements of a stride are drawn often.
  const std::int64_t width = draw.one_in(3) ? 256 : draw.between(2, std::min<std::int64_t>(4096, pixels / 2)),
                     most_height = std::clamp<std::int64_t>(pixels / width, 1, 4096),
                     height = draw.one_in(2) ? std::min(most_height, 65536 / width + draw.between(0, 1))
                                             : draw.between(1, most_height);
  return draw.coin() ? Shape{1, channels, height, width} : Shape{1, channels, width, height};
}

ValueId draw_layer(RandomInt8Graph& random, ValueId x, Extent large) {
  const std::int64_t choices = large == Extent::channels ? 2 : 5;
  switch (random.draw.between(0, choices)) {
    case 0: return random.conv(x);
    case 1: return random.residual(x, x);
    case 2: return random.clip(x);
    case 3: return random.max_pool(random.clip(x));
    case 4: return random.depthwise(x);
    default: return random.movement(x, x);
  }
}

Result<std::map<std::string, NdArray>> run(const graph::Graph& graph, const isa::HardwareConfig& config,
                                           const std::string& target, const NdArray& input, bool& accelerated) {
  CompileOptions options;
  options.available = test::kit_targets(config);
  options.targets = {target};
  options.offload = Offload::always;
  DOVETAIL_ASSIGN(Compiled compiled, compile({graph, {}}, options));
  for (const NodePlacement& node : compiled.placement) accelerated |= node.target == "accel";
  DOVETAIL_ASSIGN(const auto factory, runtime::simulator_factory("functional"));
  DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(std::move(compiled.bundle), factory));
  DOVETAIL_ASSIGN(runtime::RunResult result, executor.run({{"x", input}}));
  return std::move(result.outputs);
}

}  // namespace

TEST_CASE("accelerator: large layers compile, and give the values of the CPU back end") {
  const std::int64_t scale = times_as_many();
  std::uint64_t layers = 0, accelerated_layers = 0;
  for (const Extent large : {Extent::pixels, Extent::channels, Extent::batch})
    for (const char* name : {"1x16x16-ext", "1x16x16", "1x16x16-wide", "4x8x8"})
      for (std::uint64_t seed = 1; seed <= kLayers * static_cast<std::uint64_t>(scale) / 4; ++seed) {
        const isa::HardwareConfig config = *isa::load_config(name);
        RandomInt8Graph random(seed + 1000 * static_cast<std::uint64_t>(large), seed % 2 == 0);
        const Shape shape = draw_shape(random.draw, large, kMostElements * std::min<std::int64_t>(scale, 16));
        const ValueId y = draw_layer(random, random.input(shape), large);
        random.graph.outputs = {y};
        INFO("seed " << seed << " on " << name << "\n" << graph::to_string(random.graph));
        const NdArray input = test::Draw(seed).int8(shape);
        bool accelerated = false, none = false;
        const auto got = run(random.graph, config, "accel", input, accelerated);
        INFO((got.ok() ? "" : to_string(got.errors())));
        REQUIRE(got.ok());
        const auto expected = run(random.graph, config, "cpu", input, none);
        INFO((expected.ok() ? "" : to_string(expected.errors())));
        REQUIRE(expected.ok());
        CHECK((got->begin()->second == expected->begin()->second));
        ++layers;
        accelerated_layers += accelerated ? 1 : 0;
      }
  INFO(accelerated_layers << " of " << layers << " layers ran on the accelerator");
  CHECK(10 * accelerated_layers > 8 * layers);
}
