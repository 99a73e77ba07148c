// DS-CNN for keyword spotting: Zhang, Suda, Lai, Chandra, "Hello Edge: Keyword Spotting on Microcontrollers", 2017
// (arXiv 1711.07128), section 3.6, in the size of MLPerf Tiny (Banbury et al., NeurIPS 2021 Datasets and Benchmarks,
// section 4): 49 frames of 10 MFCC coefficients, four separable layers of 64 channels, 12 words; biases in addition to
// the normalizations, TensorFlow's padding. Dropout and the final softmax are left out.
#include <fmt/format.h>

#include "compiler/zoo/families.h"

namespace dovetail::zoo {

void ds_cnn(Builder& b, std::int64_t) {
  constexpr std::int64_t kFrames = 49, kCoefficients = 10, kChannels = 64, kWords = 12;
  using Value = Builder::Value;
  const auto layer = [&](const std::string& name, Value x, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                         std::int64_t group) {
    const Value y = b.conv(name, x, kChannels, same(rows, columns, stride, b.shape(x)), Bias::present, group);
    return b.relu(name + ".relu", b.batch_norm(name + ".norm", y));
  };
  Value x = layer("conv1", b.input("mfcc", {1, kFrames, kCoefficients}), 10, 4, 2, 1);
  for (int i = 1; i <= 4; ++i) {
    x = layer(fmt::format("block{}.depthwise", i), x, 3, 3, 1, kChannels);
    x = layer(fmt::format("block{}.pointwise", i), x, 1, 1, 1, 1);
  }
  b.output(b.dense("logits", b.flatten("features", b.global_average_pool("pool", x)), kWords));
}

}  // namespace dovetail::zoo
