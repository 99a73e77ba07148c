// Residual networks: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", CVPR 2016, table 1 (18 and 50
// layers) and section 4.2 (CIFAR-10). Projection shortcuts where the shape changes (option B); the 50-layer net has its
// strides in the 3x3 convolutions ("v1.5", the version that frameworks ship and that the usual figures of 25.56 M
// parameters and 4.1 GMAC refer to). resnet8 is the net of MLPerf Tiny's image classification (Banbury et al., NeurIPS
// 2021 Datasets and Benchmarks, section 4): three basic blocks of 16, 32 and 64 channels, biases in addition to the
// normalizations, TensorFlow's padding; its final softmax is left to the user.
#include <fmt/format.h>

#include "compiler/zoo/families.h"

namespace dovetail::zoo {
namespace {

using Value = Builder::Value;

// Deviation of a branch's last normalization: a block's contribution is small compared with its input.
constexpr double kBranchScale = 0.5;

Value conv_norm(Builder& b, const std::string& name, Value x, std::int64_t channels, const Window& window,
                double scale = 1) {
  return b.batch_norm(name + ".norm", b.conv(name, x, channels, window, Bias::none), scale);
}

Value join(Builder& b, const std::string& name, Value x, Value branch, std::int64_t stride) {
  if (b.shape(x) != b.shape(branch)) x = conv_norm(b, name + ".shortcut", x, b.shape(branch)[1], square(1, stride));
  return b.relu(name + ".relu", b.add(name + ".add", x, branch));
}

Value basic_block(Builder& b, const std::string& name, Value x, std::int64_t channels, std::int64_t stride) {
  Value y = b.relu(name + ".relu1", conv_norm(b, name + ".conv1", x, channels, square(3, stride, 1)));
  return join(b, name, x, conv_norm(b, name + ".conv2", y, channels, square(3, 1, 1), kBranchScale), stride);
}

Value bottleneck(Builder& b, const std::string& name, Value x, std::int64_t channels, std::int64_t stride) {
  Value y = b.relu(name + ".relu1", conv_norm(b, name + ".conv1", x, channels, square(1)));
  y = b.relu(name + ".relu2", conv_norm(b, name + ".conv2", y, channels, square(3, stride, 1)));
  return join(b, name, x, conv_norm(b, name + ".conv3", y, 4 * channels, square(1), kBranchScale), stride);
}

using Block = Value (*)(Builder& b, const std::string& name, Value x, std::int64_t channels, std::int64_t stride);

void imagenet(Builder& b, std::int64_t size, Block block, const std::vector<int>& blocks_of_stage) {
  Value x = b.input("image", {3, size, size});
  x = b.relu("conv1.relu", conv_norm(b, "conv1", x, 64, square(7, 2, 3)));
  x = b.max_pool("pool1", x, square(3, 2, 1));
  std::int64_t channels = 64;
  for (std::size_t stage = 0; stage < blocks_of_stage.size(); ++stage, channels *= 2)
    for (int i = 0; i < blocks_of_stage[stage]; ++i)
      x = block(b, fmt::format("stage{}.block{}", stage + 1, i + 1), x, channels, stage > 0 && i == 0 ? 2 : 1);
  x = b.flatten("features", b.global_average_pool("pool5", x));
  b.output(b.dense("logits", x, 1000));
}

}  // namespace

void resnet18(Builder& b, std::int64_t size) { imagenet(b, size, basic_block, {2, 2, 2, 2}); }
void resnet50(Builder& b, std::int64_t size) { imagenet(b, size, bottleneck, {3, 4, 6, 3}); }

void resnet8(Builder& b, std::int64_t size) {
  const auto conv = [&](const std::string& name, Value x, std::int64_t channels, std::int64_t taps,
                        std::int64_t stride) {
    return b.conv(name, x, channels, same(taps, taps, stride, b.shape(x)), Bias::present);
  };
  Value x = b.input("image", {3, size, size});
  x = b.relu("conv1.relu", b.batch_norm("conv1.norm", conv("conv1", x, 16, 3, 1)));
  for (const std::int64_t channels : {16, 32, 64}) {
    const std::string name = fmt::format("stage{}", channels / 32 + 1);
    const std::int64_t stride = channels == 16 ? 1 : 2;
    Value y =
        b.relu(name + ".relu1", b.batch_norm(name + ".conv1.norm", conv(name + ".conv1", x, channels, 3, stride)));
    y = b.batch_norm(name + ".conv2.norm", conv(name + ".conv2", y, channels, 3, 1), kBranchScale);
    if (stride != 1) x = conv(name + ".shortcut", x, channels, 1, stride);
    x = b.relu(name + ".relu", b.add(name + ".add", x, y));
  }
  x = b.flatten("features", b.global_average_pool("pool", x));
  b.output(b.dense("logits", x, 10));
}

}  // namespace dovetail::zoo
