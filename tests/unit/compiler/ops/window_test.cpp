// Which windows contain only padding: the rule of compiler/ops/window.h, compared with visiting every tap.
#include "compiler/ops/window.h"

#include <random>

#include "tests/catch.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail::ops {
namespace {

using Ints = std::vector<std::int64_t>;

std::int64_t first_empty(std::int64_t input, std::int64_t output, std::int64_t kernel, std::int64_t stride,
                         std::int64_t dilation, std::int64_t pad) {
  for (std::int64_t p = 0; p < output; ++p) {
    bool filled = false;
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::int64_t element = p * stride + k * dilation - pad;
      filled = filled || (element >= 0 && element < input);
    }
    if (!filled) return p;
  }
  return -1;
}

TEST_CASE("windows that contain only padding are the same as by visiting every tap") {
  std::mt19937 random(7);
  int empty = 0, filled = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto draw = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 1));
    };
    const std::int64_t input = draw(1, 9), kernel = draw(1, 4), stride = draw(1, 6), dilation = draw(1, 6),
                       front = draw(0, 9), back = draw(0, 9);
    const std::int64_t slack = input + front + back - ((kernel - 1) * dilation + 1);
    if (slack < 0) continue;
    const std::int64_t expected = first_empty(input, slack / stride + 1, kernel, stride, dilation, front);
    using namespace test::onnx;
    Model model;
    model.inputs = {value_info("x", DType::float32, {1, 1, static_cast<int>(input)})};
    model.nodes = {node("MaxPool", {"x"}, {"y"},
                        {attribute("kernel_shape", Ints{kernel}), attribute("strides", Ints{stride}),
                         attribute("dilations", Ints{dilation}), attribute("pads", Ints{front, back})})};
    model.outputs = {Message().text(1, "y")};
    const auto imported = model.import();
    INFO("input " << input << ", kernel " << kernel << ", stride " << stride << ", dilation " << dilation << ", pads "
                  << front << " and " << back);
    const std::string text = imported ? "" : to_string(imported.errors());
    if (expected < 0) CHECK(text == "");
    else
      CHECK_THAT(text, Catch::Matchers::ContainsSubstring("window " + std::to_string(expected) +
                                                          " on spatial axis 0 covers only padding"));
    ++(expected < 0 ? filled : empty);
  }
  CHECK(empty > 300);
  CHECK(filled > 300);
}

// The elements of the input that the taps of each position read, in order.
std::vector<Ints> met(const Window& window) {
  std::vector<Ints> elements;
  for (std::int64_t p = 0; p < window.output[0]; ++p) {
    elements.emplace_back();
    for (std::int64_t k = 0; k < window.kernel[0]; ++k) {
      const std::int64_t element = p * window.strides[0] + k * window.dilations[0] - window.pad_begin[0];
      if (element >= 0 && element < window.input[0]) elements.back().push_back(element);
    }
  }
  return elements;
}

TEST_CASE("a clipped window reads the same elements, and each of its end taps reads one") {
  std::mt19937 random(11);
  int clipped = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto draw = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 1));
    };
    Window whole{{draw(1, 9)}, {draw(1, 30)}, {draw(1, 6)}, {draw(1, 6)}, {draw(0, 40)}, {0}, {draw(1, 6)}};
    const Window window = whole.clipped();
    INFO("input " << whole.input[0] << ", kernel " << whole.kernel[0] << ", stride " << whole.strides[0]
                  << ", dilation " << whole.dilations[0] << ", pad " << whole.pad_begin[0] << ", output "
                  << whole.output[0]);
    REQUIRE(window.kernel[0] >= 1);
    REQUIRE(window.pad_begin[0] >= 0);
    CHECK(met(window) == met(whole));
    // At most one leading tap more than is needed, so that no position begins after the padding.
    CHECK(window.kernel[0] <= (window.input[0] + (window.output[0] - 1) * window.strides[0]) / window.dilations[0] + 2);
    clipped += window.kernel[0] < whole.kernel[0];
  }
  CHECK(clipped > 5000);
}

}  // namespace
}  // namespace dovetail::ops
