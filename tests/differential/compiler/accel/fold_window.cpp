// First convolutions, whose few channels are filled up with kernel columns and rows, compared with the reference.
#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/property/compiler/random_int8_graph.h"

using namespace dovetail;
using test::RandomInt8Graph;

namespace {

// The folds of the input's layout, by their dimension: "3", "2", "32", or "" where there are none.
std::string folds_of(const Json& report) {
  std::string folds;
  for (const Json& relayout : report.at("relayouts")) {
    const std::string to = relayout.at("to").get<std::string>();
    if (relayout.at("value") != "x") continue;
    for (std::size_t at = to.find("fold i"); at != std::string::npos; at = to.find("fold i", at + 1))
      folds += to[at + 6];
  }
  return folds;
}

struct First {
  Shape x;
  std::int64_t outputs, kernel_h, kernel_w, stride, pad;
};

std::string folds_of(const First& first, const isa::HardwareConfig& config, bool two_readers = false) {
  RandomInt8Graph random(3, true);
  const graph::ValueId x = random.input(first.x);
  graph::Attributes attributes = random.epilogue(x);
  attributes["strides"] = std::vector<std::int64_t>{first.stride, first.stride};
  attributes["pads"] = std::vector<std::int64_t>(4, first.pad);
  std::vector<graph::ValueId> inputs{x};
  random.weights(inputs, {first.outputs, first.x[1], first.kernel_h, first.kernel_w});
  random.graph.outputs = {random.add("dovetail.qconv", inputs, attributes)};
  if (two_readers) random.graph.outputs.push_back(random.add("dovetail.qconv", inputs, attributes));
  return folds_of(test::run_on_accelerator(random.graph, config, {{"x", random.draw.int8(first.x)}}).report);
}

}  // namespace

TEST_CASE("fold_window: windows are folded where that takes fewer cycles") {
  const isa::HardwareConfig config = *isa::load_config("1x16x16");
  // Steps for each result and output block, in blocks of 16: 9 plain, 3 by columns (9 channels), 2 by both (27
  // channels).
  CHECK(folds_of({{1, 3, 12, 12}, 32, 3, 3, 2, 1}, config) == "32");
  // 49 plain, 14 by columns (2 blocks, 7 rows), 10 by both (147 channels).
  CHECK(folds_of({{1, 3, 20, 20}, 64, 7, 7, 2, 3}, config) == "32");
  // One output block: loading the folded input takes longer than the steps that both folds save.
  CHECK(folds_of({{1, 3, 40, 40}, 16, 7, 7, 1, 3}, config) == "3");
  // 10 of 16 channels, and 30 of 32.
  CHECK(folds_of({{1, 10, 8, 8}, 64, 3, 1, 1, 0}, config) == "2");
  CHECK(folds_of({{1, 16, 8, 8}, 16, 3, 3, 1, 1}, config).empty());
  CHECK(folds_of({{1, 3, 8, 8}, 16, 1, 1, 1, 0}, config).empty());
  // Both readers would need the layout, and the image is stored once.
  CHECK(folds_of({{1, 3, 12, 12}, 32, 3, 3, 2, 1}, config, true).empty());
}

TEST_CASE("fold_window: convolutions of few channels equal the reference") {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    DYNAMIC_SECTION(config.name) {
      int folded = 0;
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        RandomInt8Graph random(seed, seed % 2 == 0);
        const std::int64_t channels = random.draw.between(1, 4);
        const graph::ValueId x =
            random.input({random.draw.between(1, 3), channels, random.draw.between(2, 14), random.draw.between(2, 14)});
        random.graph.outputs = {random.conv(x)};
        INFO("seed " << seed);
        const Shape shape = random.graph.value(x).type.shape;
        const std::map<std::string, NdArray> inputs{{"x", random.draw.int8(shape)}};
        folded += !folds_of(test::run_on_accelerator(random.graph, config, inputs, test::Demand::none).report).empty();
      }
      CHECK(folded > 0);
    }
  }
}
