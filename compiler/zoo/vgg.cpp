// VGG-16: Simonyan, Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition", ICLR 2015, table
// 1, configuration D. The first dense layer's inputs follow the image's size. Dropout has no effect at inference and is
// left out.
#include <fmt/format.h>

#include "compiler/zoo/families.h"

namespace dovetail::zoo {

void vgg16(Builder& b, std::int64_t size) {
  struct Stage {
    std::int64_t channels;
    int layers;
  };
  Builder::Value x = b.input("image", {3, size, size});
  int stage = 0;
  for (const auto& [channels, layers] : {Stage{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    ++stage;
    for (int i = 1; i <= layers; ++i) {
      const std::string name = fmt::format("conv{}_{}", stage, i);
      x = b.relu(name + ".relu", b.conv(name, x, channels, square(3, 1, 1), Bias::present));
    }
    x = b.max_pool(fmt::format("pool{}", stage), x, square(2, 2));
  }
  x = b.flatten("features", x);
  x = b.relu("fc6.relu", b.dense("fc6", x, 4096));
  x = b.relu("fc7.relu", b.dense("fc7", x, 4096));
  b.output(b.dense("logits", x, 1000));
}

}  // namespace dovetail::zoo
