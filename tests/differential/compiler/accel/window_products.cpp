// Depthwise convolutions by WINDOW, compared with the reference: kernels at the limits of the window, strides, edges of
// tiles and stripes, borders, and the operators that join them.
#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator_graphs/draw.h"

using namespace dovetail;

namespace {

struct Case {
  std::int64_t channels, kernel_h, kernel_w, stride_h, stride_w, pad, batch, height, width;
  std::int32_t zero_point = 0;
};
// clang-format off
constexpr Case kCases[] = {
    {32, 3, 3, 1, 1, 1, 1, 9,  7},
    {40, 3, 3, 2, 2, 1, 1, 11, 8, -5},   // channels beyond a block, a border of zero points
    {20, 3, 3, 2, 1, 1, 2, 7,  9, 7},
    {16, 3, 3, 1, 1, 1, 1, 1,  5},       // stripes of one row
    {16, 3, 3, 1, 1, 0, 1, 3,  3},       // one result
    {24, 1, 3, 1, 1, 0, 1, 7,  9},
    {24, 3, 1, 1, 2, 0, 1, 9,  6},
    {16, 1, 16, 1, 1, 0, 1, 2, 20},      // the window is one row
    {16, 16, 1, 1, 1, 0, 1, 20, 3},
    {16, 4, 4, 1, 1, 0, 3, 6,  9},       // the window is one kernel
    {16, 2, 5, 3, 2, 1, 1, 10, 11, 3},
    {16, 5, 5, 1, 1, 2, 1, 8,  9},       // fits the window of block 32
    {64, 3, 3, 1, 1, 1, 1, 40, 50},      // many tiles
};
// clang-format on

std::string text(const Case& each) {
  return fmt::format("{} channels, {}x{} kernel, strides {}, {}, {}x{}x{}", each.channels, each.kernel_h, each.kernel_w,
                     each.stride_h, each.stride_w, each.batch, each.height, each.width);
}

std::vector<isa::HardwareConfig> machines() {
  std::vector<isa::HardwareConfig> all;
  for (const char* name : {"1x16x16", "1x16x16-ext", "1x16x16-wide", "2x16x16", "1x32x32", "tiny"}) {
    all.push_back(*isa::load_config(name));
    all.back().window = true;
    all.back().name += "-window";
  }
  // Few micro-ops: stripes are cut. Without `overwrite`, results are reset.
  all.push_back(all[1]);
  all.back().uop_buffer_bytes = 256;
  all.push_back(all[1]);
  all.back().overwrite = false;
  return all;
}

graph::ValueId convolution(test::Int8GraphMaker& maker, const Case& each, graph::ValueId from, test::Draw& draw) {
  const Shape weights{each.channels, 1, each.kernel_h, each.kernel_w};
  NdArray bias(DType::int32, {each.channels}), scale(DType::float32, {each.channels});
  for (auto& value : bias.data<std::int32_t>()) value = static_cast<std::int32_t>(draw.between(-900, 900));
  for (auto& value : scale.data<float>()) value = 0.005f + 0.00001f * static_cast<float>(draw.between(0, 500));
  return maker.weighted("dovetail.qconv", "conv", from, draw.int8(weights), std::move(bias), std::move(scale),
                        {{"group", each.channels},
                         {"strides", std::vector<std::int64_t>{each.stride_h, each.stride_w}},
                         {"pads", std::vector<std::int64_t>(4, each.pad)},
                         {"x_zero_point", std::int64_t{each.zero_point}},
                         {"y_zero_point", std::int64_t{9}},
                         {"y_min", std::int64_t{-100}}});
}

Shape input_shape(const Case& each) { return {each.batch, each.channels, each.height, each.width}; }

}  // namespace

TEST_CASE("accel: depthwise convolutions by WINDOW equal the reference") {
  test::Draw draw(11);
  for (const isa::HardwareConfig& config : machines())
    for (const Case& each : kCases) {
      INFO(text(each));
      test::Int8GraphMaker maker;
      convolution(maker, each, maker.input(input_shape(each)), draw);
      const test::Ran ran =
          test::run_on_accelerator(maker.graph, config, {{"x", draw.int8(input_shape(each))}}, test::Demand::what_fits);
      const bool fits = each.kernel_h * each.kernel_w <= config.block_in;
      CHECK((ran.windows > 0) == (fits && ran.cycles > 0));
    }
}

TEST_CASE("accel: steps of WINDOW for each result") {
  const isa::HardwareConfig config = machines()[1];
  const auto steps = [&](const Case& each) {
    test::Draw draw(12);
    test::Int8GraphMaker maker;
    convolution(maker, each, maker.input(input_shape(each)), draw);
    return test::run_on_accelerator(maker.graph, config, {{"x", draw.int8(input_shape(each))}}).windows;
  };
  // Stripes of four rows push six, of which four have products; GEMM takes nine steps for each result.
  CHECK(steps({16, 3, 3, 1, 1, 1, 1, 4, 8}) == 6 * 10);
  CHECK(steps({16, 3, 3, 1, 1, 1, 1, 8, 4}) == 2 * 6 * 6);
  // Two stripes of three rows push fewer pixels than one of four and one of two.
  CHECK(steps({16, 3, 3, 1, 1, 1, 1, 6, 8}) == 2 * 5 * 10);
  // The pixels of a last stripe of two rows are pushed at the distance of the others.
  CHECK(steps({16, 3, 3, 1, 1, 1, 1, 5, 8}) == 2 * 5 * 10);
  CHECK(steps({16, 3, 3, 2, 2, 0, 1, 9, 7}) == 2 * 5 * 7);
  // A kernel of one column: a column is pushed once.
  CHECK(steps({16, 9, 1, 1, 1, 0, 1, 20, 2}) == 2 * 20);
}

TEST_CASE("accel: a sum and a pooling after a depthwise convolution by WINDOW") {
  test::Draw draw(13);
  const Case each{32, 3, 3, 1, 1, 1, 1, 12, 10};
  for (const isa::HardwareConfig& config : machines()) {
    {
      test::Int8GraphMaker maker;
      const graph::ValueId x = maker.input(input_shape(each));
      maker.node("dovetail.qadd", "sum", {convolution(maker, each, x, draw), x},
                 {{"a_zero_point", std::int64_t{9}},
                  {"a_multiplier", 45875.0},
                  {"b_multiplier", 26214.0},
                  {"scale", 0x1p-16}});
      test::run_on_accelerator(maker.graph, config, {{"x", draw.int8(input_shape(each))}}, test::Demand::what_fits);
    }
    test::Int8GraphMaker maker;
    maker.node("MaxPool", "pool", {convolution(maker, each, maker.input(input_shape(each)), draw)},
               {{"kernel_shape", std::vector<std::int64_t>{2, 2}}, {"strides", std::vector<std::int64_t>{2, 2}}});
    test::run_on_accelerator(maker.graph, config, {{"x", draw.int8(input_shape(each))}}, test::Demand::what_fits);
  }
}
