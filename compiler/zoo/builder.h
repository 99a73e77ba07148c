// Layers of the zoo's models, with weights scaled so that signals neither vanish nor explode. The builder estimates the
// mean square of every value as it goes: weights are drawn so that a layer's outputs have about unit variance (He et
// al., "Delving Deep into Rectifiers", ICCV 2015, section 2.2: Var w = 2 / fan-in after a ReLU), running variances of
// batch normalizations are those of their inputs, within about 10 %.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/zoo/weights.h"
#include "compiler/zoo/zoo.h"

namespace dovetail::zoo {

struct Window {
  std::int64_t rows = 1, columns = 1;
  std::vector<std::int64_t> strides = {1, 1};
  std::vector<std::int64_t> pads = {0, 0, 0, 0};  // top, left, bottom, right
  std::vector<std::int64_t> dilations = {1, 1};   // of convolutions
};
Window square(std::int64_t size, std::int64_t stride = 1, std::int64_t pad = 0);
// TensorFlow's padding "SAME": ceil(extent / stride) outputs, the odd row and column at the end.
Window same(std::int64_t rows, std::int64_t columns, std::int64_t stride, const Shape& input);

enum class Bias : std::uint8_t { none, present };
enum class Gelu : std::uint8_t { exact, tanh };

class Builder {
 public:
  using Value = graph::ValueId;

  Builder(std::string_view model, const Choices& choices);

  // The expected statistics of a value's elements.
  struct Statistics {
    double mean_square = 0;
    double negative_share = 0.5;  // of the mean square: 1/2 about zero, 0 after a ReLU
  };
  const Statistics& expected(Value value) const { return statistics_[static_cast<std::size_t>(value.index)]; }
  const std::vector<Statistics>& statistics() const { return statistics_; }  // by value

  // [batch, ...]. Inputs are assumed to have about unit variance.
  Value input(const std::string& name, const Shape& shape_without_batch);
  Value input_of(const std::string& name, Shape shape);  // whatever the batch
  void output(Value value);

  const Shape& shape(Value value) const { return model_.graph.value(value).type.shape; }

  // `group`: 1, or the number of channels for a depthwise convolution.
  Value conv(const std::string& name, Value x, std::int64_t outputs, const Window& window, Bias bias,
             std::int64_t group = 1);
  // `branch_scale`: the outputs' deviation; below 1 for the last normalization of a residual branch.
  Value batch_norm(const std::string& name, Value x, double branch_scale = 1);
  Value relu(const std::string& name, Value x);
  Value relu6(const std::string& name, Value x);
  Value add(const std::string& name, Value a, Value b);
  Value concat_channels(const std::string& name, const std::vector<Value>& parts);
  Value max_pool(const std::string& name, Value x, const Window& window);
  Value average_pool(const std::string& name, Value x, const Window& window);
  Value global_average_pool(const std::string& name, Value x);
  Value flatten(const std::string& name, Value x);
  // x Wᵀ + b on [batch, inputs].
  Value dense(const std::string& name, Value x, std::int64_t outputs);

  // x W + b on the last axis, as in transformers; the outputs' deviation is `branch_scale`.
  Value linear(const std::string& name, Value x, std::int64_t outputs, double branch_scale = 1,
               Bias bias = Bias::present);
  Value layer_norm(const std::string& name, Value x, float epsilon);
  Value rms_norm(const std::string& name, Value x, float epsilon);
  Value gelu(const std::string& name, Value x, Gelu form);
  Value silu(const std::string& name, Value x);  // x * sigmoid(x)
  Value multiply(const std::string& name, Value a, Value b);
  Value reshape(const std::string& name, Value x, const Shape& shape);
  Value transpose(const std::string& name, Value x, const std::vector<std::int64_t>& permutation);
  std::vector<Value> split_last_axis(const std::string& name, Value x, int parts);
  // Two activations.
  Value matmul(const std::string& name, Value a, Value b);
  Value divide(const std::string& name, Value x, float divisor);
  // Position j of the last axis is hidden from position i of the preceding one if j > i.
  Value hide_future(const std::string& name, Value x);
  Value softmax(const std::string& name, Value x);
  // A decoder that gets one position at a time: an input int64 [batch], and how many positions its caches have.
  struct Decoding {
    Value position;
    std::int64_t positions = 0;
  };
  // On [batch, heads, positions, features]: rotary position embedding of features i and i + features / 2, and each head
  // `times` times, next to itself. `decoding`: x has one position, that of the input.
  Value rotate(const std::string& name, Value x, const std::optional<Decoding>& decoding = {});
  Value repeat_heads(const std::string& name, Value x, std::int64_t times);
  Decoding decode(std::int64_t positions);
  // The past values [batch, heads, positions, features], an input, with those of this position written: an output.
  Value cache(const std::string& name, Value x, const Decoding& decoding);
  // On scores [batch, heads, 1, positions]: hides the positions after the input's.
  Value hide_unwritten(const std::string& name, Value x, const Decoding& decoding);
  // On [batch, positions, features]: a learned position before the others, learned numbers added to all, one position.
  Value prepend_token(const std::string& name, Value x);
  Value add_positions(const std::string& name, Value x);
  Value take_position(const std::string& name, Value x, std::int64_t position);

  Model finish() &&;

 private:
  Value node(const std::string& op, const std::string& name, std::vector<Value> inputs, graph::Attributes attributes,
             Statistics expected);
  Value value(const std::string& name, graph::TensorType type, Statistics expected);
  Value parameter(const std::string& name, NdArray array);  // adds to the count of parameters
  Value constant(const std::string& name, NdArray array);
  Random random(const std::string& name) const { return Random(choices_.seed, name); }
  void count_macs(const graph::Node& node);

  Choices choices_;
  Model model_;
  std::vector<Statistics> statistics_;  // by value
};

}  // namespace dovetail::zoo
