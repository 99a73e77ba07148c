// Operators with values that random tests seldom reach, through compiler and functional simulator, compared with the
// reference.
#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"

using namespace dovetail;

namespace {

// Weights 18, 36, ..., 126, repeated; one bias and scale for all channels.
struct FixedMaker : test::Int8GraphMaker {
  graph::ValueId weighted(const std::string& op, const std::string& name, graph::ValueId x, Shape weights,
                          std::int32_t bias, float scale, graph::Attributes attributes) {
    const std::int64_t channels = weights[0];
    NdArray w(DType::int8, std::move(weights)), b(DType::int32, {channels}), s(DType::float32, {channels});
    for (std::int64_t i = 0; i < w.count(); ++i) w.set_int64(i, 18 * (1 + i % 7));
    for (auto& value : b.data<std::int32_t>()) value = bias;
    for (auto& value : s.data<float>()) value = scale;
    return Int8GraphMaker::weighted(op, name, x, std::move(w), std::move(b), std::move(s), std::move(attributes));
  }
};

}  // namespace

TEST_CASE("accumulators far beyond the output's range saturate") {
  // Sums reach 1024 * 72 * 127 = 9.4 million; times a 24-bit significand, this exceeds the ALU's passes.
  constexpr std::int64_t kTerms = 1024;
  NdArray x(DType::int8, {3, kTerms});
  for (std::int64_t i = 0; i < kTerms; ++i) {
    x.set_int64(i, 127);
    x.set_int64(kTerms + i, -128);
    x.set_int64(2 * kTerms + i, i % 2);
  }
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    FixedMaker maker;
    maker.weighted("dovetail.qgemm", "gemm", maker.input(x.shape()), {5, kTerms}, -36000, 0.3f,
                   {{"y_zero_point", std::int64_t{3}}});
    test::run_on_accelerator(maker.graph, config, {{"x", x}});
  }
}

TEST_CASE("a border of zero points may have rows without columns, and columns without rows") {
  NdArray x(DType::int8, {1, 5, 6, 6});
  for (std::int64_t i = 0; i < x.count(); ++i) x.set_int64(i, (i * 37) % 251 - 125);
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const bool rows : {true, false}) {
      FixedMaker maker;
      const graph::ValueId middle = maker.weighted("dovetail.qconv", "first", maker.input(x.shape()), {8, 5, 1, 1}, 10,
                                                   0.0078125f, {{"y_zero_point", std::int64_t{5}}});
      const std::int64_t top = rows ? 1 : 0, left = 1 - top;
      maker.weighted("dovetail.qconv", "second", middle, {3, 8, 1 + 2 * top, 1 + 2 * left}, -10, 0.001953125f,
                     {{"x_zero_point", std::int64_t{5}}, {"pads", std::vector<std::int64_t>{top, left, top, left}}});
      test::run_on_accelerator(maker.graph, config, {{"x", x}});
    }
}
