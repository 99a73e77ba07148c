// MobileNets: Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications", 2017
// (arXiv 1704.04861), table 1; Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", CVPR 2018,
// table 2. Width 1, paddings of one on all sides.
#include <array>

#include <fmt/format.h>

#include "compiler/zoo/families.h"

namespace dovetail::zoo {
namespace {

using Value = Builder::Value;
using Activation = Value (Builder::*)(const std::string& name, Value x);

constexpr double kResidualScale = 0.5;  // deviation of a residual block's branch

Value layer(Builder& b, const std::string& name, Value x, std::int64_t channels, const Window& window,
            Activation activation, std::int64_t group = 1) {
  return (b.*activation)(name + ".relu",
                         b.batch_norm(name + ".norm", b.conv(name, x, channels, window, Bias::none, group)));
}

Value depthwise(Builder& b, const std::string& name, Value x, std::int64_t stride, Activation activation) {
  const std::int64_t channels = b.shape(x)[1];
  return layer(b, name, x, channels, square(3, stride, 1), activation, channels);
}

void classify(Builder& b, Value x) {
  b.output(b.dense("logits", b.flatten("features", b.global_average_pool("pool", x)), 1000));
}

}  // namespace

void mobilenet_v1(Builder& b, std::int64_t size) {
  struct Block {
    std::int64_t channels, stride;
  };
  constexpr std::array<Block, 13> kBlocks{{{64, 1},
                                           {128, 2},
                                           {128, 1},
                                           {256, 2},
                                           {256, 1},
                                           {512, 2},
                                           {512, 1},
                                           {512, 1},
                                           {512, 1},
                                           {512, 1},
                                           {512, 1},
                                           {1024, 2},
                                           {1024, 1}}};
  Value x = layer(b, "conv1", b.input("image", {3, size, size}), 32, square(3, 2, 1), &Builder::relu);
  for (std::size_t i = 0; i < kBlocks.size(); ++i) {
    x = depthwise(b, fmt::format("block{}.depthwise", i + 1), x, kBlocks[i].stride, &Builder::relu);
    x = layer(b, fmt::format("block{}.pointwise", i + 1), x, kBlocks[i].channels, square(1), &Builder::relu);
  }
  classify(b, x);
}

void mobilenet_v2(Builder& b, std::int64_t size) {
  struct Stage {
    std::int64_t expansion, channels, blocks, stride;
  };
  constexpr std::array<Stage, 7> kStages{
      {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};
  Value x = layer(b, "conv1", b.input("image", {3, size, size}), 32, square(3, 2, 1), &Builder::relu6);
  int block = 0;
  for (const Stage& stage : kStages)
    for (std::int64_t i = 0; i < stage.blocks; ++i) {
      const std::string name = fmt::format("block{}", ++block);
      const std::int64_t inputs = b.shape(x)[1], stride = i == 0 ? stage.stride : 1;
      const bool residual = stride == 1 && inputs == stage.channels;
      Value y = x;
      if (stage.expansion != 1) y = layer(b, name + ".expand", y, stage.expansion * inputs, square(1), &Builder::relu6);
      y = depthwise(b, name + ".depthwise", y, stride, &Builder::relu6);
      y = b.conv(name + ".project", y, stage.channels, square(1), Bias::none);
      y = b.batch_norm(name + ".project.norm", y, residual ? kResidualScale : 1);
      x = residual ? b.add(name + ".add", x, y) : y;
    }
  classify(b, layer(b, "conv_last", x, 1280, square(1), &Builder::relu6));
}

}  // namespace dovetail::zoo
