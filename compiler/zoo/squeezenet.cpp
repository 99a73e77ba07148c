// SqueezeNet 1.1: Iandola et al., "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters", 2016 (arXiv
// 1602.07360), section 3 (fire modules), with the cheaper first layers and earlier pooling of the authors' release 1.1.
// Dropout has no effect at inference and is left out.
#include <fmt/format.h>

#include "compiler/zoo/families.h"

namespace dovetail::zoo {
namespace {

using Value = Builder::Value;

Value conv_relu(Builder& b, const std::string& name, Value x, std::int64_t channels, const Window& window) {
  return b.relu(name + ".relu", b.conv(name, x, channels, window, Bias::present));
}

Value fire(Builder& b, const std::string& name, Value x, std::int64_t squeezed, std::int64_t expanded) {
  x = conv_relu(b, name + ".squeeze", x, squeezed, square(1));
  return b.concat_channels(name + ".concat", {conv_relu(b, name + ".expand1x1", x, expanded, square(1)),
                                              conv_relu(b, name + ".expand3x3", x, expanded, square(3, 1, 1))});
}

}  // namespace

void squeezenet1_1(Builder& b, std::int64_t size) {
  Value x = conv_relu(b, "conv1", b.input("image", {3, size, size}), 64, square(3, 2));
  x = b.max_pool("pool1", x, square(3, 2));
  x = fire(b, "fire2", x, 16, 64);
  x = fire(b, "fire3", x, 16, 64);
  x = b.max_pool("pool3", x, square(3, 2));
  x = fire(b, "fire4", x, 32, 128);
  x = fire(b, "fire5", x, 32, 128);
  x = b.max_pool("pool5", x, square(3, 2));
  x = fire(b, "fire6", x, 48, 192);
  x = fire(b, "fire7", x, 48, 192);
  x = fire(b, "fire8", x, 64, 256);
  x = fire(b, "fire9", x, 64, 256);
  x = conv_relu(b, "conv10", x, 1000, square(1));
  b.output(b.flatten("logits", b.global_average_pool("pool10", x)));
}

}  // namespace dovetail::zoo
