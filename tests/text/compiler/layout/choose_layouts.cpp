// choose_layouts: graph in, layouts and copies out.
#include "compiler/layout/choose_layouts.h"

#include <functional>

#include "compiler/graph/parse.h"
#include "compiler/partition/partition.h"
#include "tests/catch.h"
#include "tests/targets.h"

namespace dovetail {

namespace {

graph::Graph read(std::string_view text) {
  auto graph = graph::parse(
      text, "text", [](std::string_view, const graph::TensorType& type) { return NdArray(type.dtype, type.shape); });
  REQUIRE((graph.ok() ? "" : to_string(graph.errors())) == "");
  return *std::move(graph);
}

// The printed offers of the kernels.
std::string with_offers(const graph::Graph& graph, const std::string& target,
                        const std::function<std::string(const std::vector<KernelOffer>&)>& print) {
  const auto parts = partition(graph, {test::kit_targets({}, "avx2"), {target}, {"cpu", "host"}, {}, false});
  REQUIRE((parts.ok() ? "" : to_string(parts.errors())) == "");
  const auto plans = plan_regions(graph, *parts, {});
  REQUIRE((plans.ok() ? "" : to_string(plans.errors())) == "");
  return print(offers_of(*plans));
}

std::string laid_out(const std::string& text, const std::string& target = "cpu", LayoutOptions options = {}) {
  const graph::Graph graph = read(text);
  return with_offers(graph, target,
                     [&](const auto& offers) { return to_string(graph, choose_layouts(graph, offers, options)); });
}

}  // namespace

TEST_CASE("layouts: the offers of kernels, the best first") {
  const graph::Graph graph = read(R"(graph g(%x: float32[1, 16, 32, 32]) -> (%y)
  constant %w: float32[16, 16, 3, 3]
  %a: float32[1, 16, 32, 32] = Conv(%x, %w) {pads=[1, 1, 1, 1]}  // a_conv
  %y: float32[1, 16, 32, 32] = Softmax(%a) {axis=1}  // y_softmax
)");
  CHECK(with_offers(graph, "cpu", [&](const auto& offers) { return to_string(graph, offers); }) ==
        R"(kernel of a_conv
  reads x: i0,i2,i3,i1 or plain
  writes a: i0,i2,i3,i1
kernel of y_softmax
  reads a: plain or i0,i2,i3,i1
  writes y: plain or i0,i2,i3,i1
)");
}

TEST_CASE("layouts: between convolutions images stay channels-last, through kernels that accept either") {
  CHECK(laid_out(R"(graph g(%x: float32[1, 16, 32, 32]) -> (%y)
  constant %w: float32[16, 16, 3, 3]
  %a: float32[1, 16, 32, 32] = Conv(%x, %w) {pads=[1, 1, 1, 1]}  // a_conv
  %b: float32[1, 16, 32, 32] = Softmax(%a) {axis=1}  // b_softmax
  %y: float32[1, 16, 32, 32] = Conv(%b, %w) {pads=[1, 1, 1, 1]}  // y_conv
)") ==
        R"(y: float32[1, 16, 32, 32] has layout i0,i2,i3,i1
a: float32[1, 16, 32, 32] has layout i0,i2,i3,i1
b: float32[1, 16, 32, 32] has layout i0,i2,i3,i1
copy y: i0,i2,i3,i1 -> plain, 131072 bytes, for the model's output
)");
}

TEST_CASE("layouts: a kernel before a convolution writes the convolution's layout; alone it stays plain") {
  // No padding: the convolution reads its input in place. Neg reads the model's order and writes channels-last, at no
  // extra cost.
  CHECK(laid_out(R"(graph g(%x: float32[1, 16, 32, 32]) -> (%y)
  constant %w: float32[16, 16, 1, 1]
  %a: float32[1, 16, 32, 32] = Softmax(%x) {axis=1}  // a_softmax
  %y: float32[1, 16, 32, 32] = Conv(%a, %w)  // y_conv
)") ==
        R"(y: float32[1, 16, 32, 32] has layout i0,i2,i3,i1
a: float32[1, 16, 32, 32] has layout i0,i2,i3,i1
copy y: i0,i2,i3,i1 -> plain, 131072 bytes, for the model's output
)");
  CHECK(laid_out(R"(graph g(%x: float32[1, 16, 32, 32]) -> (%y)
  %a: float32[1, 16, 32, 32] = Softmax(%x) {axis=1}  // a_softmax
  %y: float32[1, 16, 32, 32] = Softmax(%a) {axis=2}  // y_softmax
)") == "all values have the model's layout\n");
}

TEST_CASE("layouts: free borders take the layouts that their kernels prefer") {
  const std::string text = R"(graph g(%x: float32[1, 16, 32, 32]) -> (%y)
  constant %w: float32[16, 16, 1, 1]
  %y: float32[1, 16, 32, 32] = Conv(%x, %w)  // y_conv
)";
  CHECK(laid_out(text, "cpu", {.free_borders = true, .choose = true}) ==
        "x: float32[1, 16, 32, 32] has layout i0,i2,i3,i1\ny: float32[1, 16, 32, 32] has layout i0,i2,i3,i1\n");
  CHECK(laid_out(text) ==
        "y: float32[1, 16, 32, 32] has layout i0,i2,i3,i1\ncopy x: plain -> i0,i2,i3,i1, 131072 bytes, for "
        "y_conv\ncopy y: "
        "i0,i2,i3,i1 -> plain, 131072 bytes, for the model's output\n");
}

TEST_CASE("layouts: from the accelerator's blocks to channels-last is one copy") {
  CHECK(laid_out(R"(graph g(%x: int8[1, 16, 8, 8]) -> (%y)
  %a: int8[1, 16, 4, 4] = MaxPool(%x) {kernel_shape=[2, 2], strides=[2, 2]}  // a_pool
  %y: float32[1, 16, 4, 4] = Cast(%a) {to=1}  // y_cast
)",
                 "accel") ==
        R"(a: int8[1, 16, 4, 4] has layout [1,16,4,4] pad 0+0,0+0,0+0,0+0 = 0 : i0/1,i1/16,i2,i3,i0%1,i1%16
copy x: plain -> [1,16,8,8] pad 0+0,0+0,0+0,0+0 = 0 : i0/1,i1/16,i2,i3,i0%1,i1%16, 2048 bytes, for a_pool
copy a: [1,16,4,4] pad 0+0,0+0,0+0,0+0 = 0 : i0/1,i1/16,i2,i3,i0%1,i1%16 -> plain, 512 bytes, for y_cast
)");
}

}  // namespace dovetail
