// Additions whose multipliers are integers: products of GEMM that add up in ACC, compared with the reference.
#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator_graphs/draw.h"

using namespace dovetail;

namespace {

struct Numbers {
  double a, b, scale;
};
graph::Attributes attributes(const Numbers& numbers) {
  return {{"a_zero_point", std::int64_t{-128}},
          {"b_zero_point", std::int64_t{17}},
          {"a_multiplier", numbers.a},
          {"b_multiplier", numbers.b},
          {"scale", static_cast<double>(static_cast<float>(numbers.scale))},
          {"y_zero_point", std::int64_t{-5}},
          {"y_min", std::int64_t{-100}}};
}
constexpr Numbers kNumbers[] = {{83, 73, 0.011}, {1, 1, 0.5}, {127, -127, 0x1p-9}, {-1, 96, 0.0223}};

}  // namespace

TEST_CASE("accel: sums and differences of images and matrices by products") {
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const Numbers& numbers : kNumbers)
      for (const Shape& shape : {Shape{2, 20, 5, 7}, Shape{1, 48, 9, 4}, Shape{1, 6, 40}, Shape{5, 24}}) {
        test::Int8GraphMaker make;
        test::Draw draw{9};
        const graph::ValueId a = make.input(shape, "a"), b = make.input(shape, "b");
        make.node("dovetail.qadd", "add", {a, b}, attributes(numbers));
        test::run_on_accelerator(make.graph, config, {{"a", draw.int8(shape)}, {"b", draw.int8(shape)}},
                                 test::Demand::what_fits);
      }
}

TEST_CASE("accel: a sum of a tensor and itself, of a constant, and a change of scale by products") {
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const Numbers& numbers : kNumbers)
      for (const Shape& constant : {Shape{}, Shape{40, 1, 1}, Shape{1, 1, 1, 1}}) {
        const Shape shape{1, 40, 6, 5};
        test::Int8GraphMaker make;
        test::Draw draw{11};
        const graph::ValueId x = make.input(shape),
                             twice = make.node("dovetail.qadd", "twice", {x, x}, attributes(numbers));
        make.node("dovetail.qadd", "add", {make.graph.add_constant("k", draw.int8(constant)), twice},
                  attributes(numbers));
        test::run_on_accelerator(make.graph, config, {{"x", draw.int8(shape)}}, test::Demand::what_fits);
      }
}

TEST_CASE("accel: a sum takes a product for each operand, and no pass of the ALU with the extension `epilogue`") {
  const Shape shape{1, 64, 14, 14};
  const std::uint64_t results = 64 / 16 * 14 * 14;
  for (const char* hardware : {"1x16x16-g2", "1x16x16-ext,bus_bytes=16"}) {
    const isa::HardwareConfig config = *isa::load_config(hardware);
    test::Int8GraphMaker make;
    test::Draw draw{5};
    const graph::ValueId a = make.input(shape, "a"), b = make.input(shape, "b");
    make.node("dovetail.qadd", "add", {a, b}, attributes(kNumbers[0]));
    const test::Ran ran =
        test::run_on_accelerator(make.graph, config, {{"a", draw.int8(shape)}, {"b", draw.int8(shape)}});
    INFO(hardware);
    // A clamp that STORE does not include is a pass.
    CHECK(ran.epilogues == (config.epilogue ? results : 0));
    CHECK(ran.alu_uops == (config.epilogue ? 0 : 2 * results));
    CHECK(ran.resets == 0);
    const std::uint64_t bound = results * (config.epilogue ? 2 : 4);
    CHECK(ran.cycles < bound + bound / 4 + 200);
  }
}
