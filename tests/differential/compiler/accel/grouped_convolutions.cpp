// Grouped and depthwise convolutions and averages on every named configuration, compared with the reference.
#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator_graphs/draw.h"

using namespace dovetail;

namespace {

struct Case {
  const char* what;
  std::int64_t groups, inputs, outputs;  // channels of a group
  std::int64_t kernel, stride, dilation, pad;
  std::int32_t zero_point;  // of the input
  std::int64_t batch, height, width;
};
// clang-format off
constexpr Case kCases[] = {
    {"depthwise",                                    32, 1,  1,  3, 1, 1, 1, 0,   1, 6, 7},
    {"depthwise, stride 2, channels alongside a block", 40, 1,  1,  3, 2, 1, 1, -5,  1, 9, 8},
    {"depthwise, a batch",                           20, 1,  1,  2, 1, 1, 0, 7,   3, 5, 4},
    {"depthwise, dilated",                           16, 1,  1,  3, 1, 2, 2, 3,   1, 7, 6},
    {"two outputs for each input",                   32, 1,  2,  3, 1, 1, 1, 0,   1, 5, 5},
    {"two outputs, channels alongside a block",         24, 1,  2,  3, 1, 1, 1, -3,  1, 5, 4},
    {"groups of 4",                                  8,  4,  4,  3, 1, 1, 1, 12,  1, 5, 6},
    {"groups of 8",                                  6,  8,  8,  3, 2, 1, 1, 0,   1, 6, 6},
    {"groups of 24",                                  4,  24, 24, 1, 1, 1, 0, 1,   1, 2, 2},
    {"groups of 24, an odd number",                  3,  24, 24, 3, 1, 1, 1, 1,   1, 4, 3},
    {"groups of whole blocks",                       3,  32, 64, 3, 1, 1, 1, -7,  1, 4, 4},
    {"groups of unlike sides",                       4,  12, 20, 1, 1, 1, 0, 0,   1, 3, 3},
};
// clang-format on

// A scale of 2^-s needs only a short epilogue on hardware with nothing but shifts; other scales differ by channel.
void check(const Case& each, bool power_of_two, const isa::HardwareConfig& config) {
  INFO(each.what);
  test::Draw draw(3);
  test::Int8GraphMaker maker;
  const std::int64_t channels = each.groups * each.outputs, terms = each.inputs * each.kernel * each.kernel;
  NdArray bias(DType::int32, {channels}), scale(DType::float32, {channels});
  for (auto& value : bias.data<std::int32_t>())
    value = static_cast<std::int32_t>(draw.between(-50 * terms, 50 * terms));
  for (auto& value : scale.data<float>())
    value = power_of_two ? 0x1p-7f : 0.005f + 0.00001f * static_cast<float>(draw.between(0, 500));
  const Shape shape{each.batch, each.groups * each.inputs, each.height, each.width};
  const auto square = [](std::int64_t value) { return std::vector<std::int64_t>{value, value}; };
  maker.weighted("dovetail.qconv", "conv", maker.input(shape),
                 draw.int8({channels, each.inputs, each.kernel, each.kernel}), std::move(bias), std::move(scale),
                 {{"group", each.groups},
                  {"strides", square(each.stride)},
                  {"dilations", square(each.dilation)},
                  {"pads", std::vector<std::int64_t>(4, each.pad)},
                  {"x_zero_point", std::int64_t{each.zero_point}},
                  {"y_zero_point", std::int64_t{9}},
                  {"y_min", std::int64_t{-100}}});
  test::run_on_accelerator(maker.graph, config, {{"x", draw.int8(shape)}}, test::Demand::what_fits);
}

}  // namespace

TEST_CASE("grouped convolutions equal the reference on every named configuration") {
  int row = 0;
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const Case& each : kCases) check(each, ++row % 2 == 0, config);
}

TEST_CASE("averages equal the reference, and load one weight element") {
  test::Draw draw(5);
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const bool global : {false, true}) {
      test::Int8GraphMaker maker;
      const Shape shape{2, 37, 6, 5};
      const Shape window = global ? Shape{37, 1, 6, 5} : Shape{37, 1, 3, 2};
      NdArray ones(DType::int8, window), bias(DType::int32, {37}), scale(DType::float32, {37});
      for (auto& value : ones.data<std::int8_t>()) value = 1;
      for (auto& value : scale.data<float>()) value = 1.0f / static_cast<float>(window[2] * window[3]);
      maker.weighted("dovetail.qconv", "average", maker.input(shape), std::move(ones), std::move(bias),
                     std::move(scale),
                     {{"group", std::int64_t{37}},
                      {"strides", std::vector<std::int64_t>{global ? 1 : 2, 1}},
                      {"x_zero_point", std::int64_t{-20}},
                      {"y_zero_point", std::int64_t{-20}}});
      test::run_on_accelerator(maker.graph, config, {{"x", draw.int8(shape)}}, test::Demand::what_fits);
    }
}
