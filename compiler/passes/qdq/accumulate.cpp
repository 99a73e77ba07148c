// Bias and scale of an accumulation, and the proof that it fits int32.
#include <cmath>

#include <fmt/format.h>

#include "base/int8_sums.h"
#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes::qdq {
namespace {

constexpr double kInt32Limit = 0x1p31;

// A summand of the bias: the real value of channel o, or exact steps if the model's bias already has the accumulator's
// scale.
struct Summand {
  const NdArray* values;  // float, or integer steps
  const NdArray* scale = nullptr;
  const NdArray* zero_point = nullptr;

  static double at(const NdArray& array, std::int64_t o) { return array.as_double(array.count() == 1 ? 0 : o); }
  std::int64_t steps(std::int64_t o) const {
    const std::int64_t step = values->as_int64(values->count() == 1 ? 0 : o);
    return step - (zero_point ? zero_point->as_int64(zero_point->count() == 1 ? 0 : o) : 0);
  }
  double real(std::int64_t o) const { return scale ? static_cast<double>(steps(o)) * at(*scale, o) : at(*values, o); }
};

Refusal read_summand(const Graph& graph, ValueId value, std::int64_t channels, Summand& summand) {
  const auto fits = [&](const NdArray& array) { return array.count() == 1 || array.count() == channels; };
  const std::string& name = graph.value(value).name;
  if (graph.is_constant(value)) {
    summand.values = &*graph.value(value).constant;
    if (!is_floating(summand.values->dtype()) || !fits(*summand.values))
      return fmt::format("bias %{} is {}, not one float or {}", name, to_string(graph.value(value).type), channels);
    return "";
  }
  const NodeId producer = graph.value(value).producer;
  if (!producer.valid() || graph.node(producer).op != "DequantizeLinear")
    return fmt::format("bias %{} is not a constant", name);
  const Node& node = graph.node(producer);
  for (ValueId input : node.inputs)
    if (input.valid() && !graph.is_constant(input)) return fmt::format("bias %{} is not a constant", name);
  summand.values = &*graph.value(node.inputs[0]).constant;
  summand.scale = &*graph.value(node.inputs[1]).constant;
  if (node.inputs.size() > 2 && node.inputs[2].valid()) summand.zero_point = &*graph.value(node.inputs[2]).constant;
  if (!fits(*summand.values) || !fits(*summand.scale))
    return fmt::format("bias %{} is {}, not one value or {}", name, to_string(graph.value(value).type), channels);
  return "";
}

}  // namespace

Refusal accumulate(const Lowering& lowering, const Operand& x, const Weight& weight, const std::vector<ValueId>& biases,
                   const Quantization& y, Accumulation& result) {
  const auto channels = static_cast<std::int64_t>(weight.scales.size());
  std::vector<Summand> summands(biases.size());
  for (std::size_t i = 0; i < biases.size(); ++i)
    if (Refusal refusal = read_summand(lowering.graph, biases[i], channels, summands[i]); !refusal.empty())
      return refusal;

  result.bias = NdArray(DType::int32, {channels});
  result.scale = NdArray(DType::float32, {channels});
  const std::int64_t per_channel = channels ? weight.steps.count() / channels : 0;
  for (std::int64_t o = 0; o < channels; ++o) {
    const auto at = static_cast<std::size_t>(o);
    const float sw = weight.scales[at];
    double steps = 0;
    if (summands.size() == 1 && summands[0].scale &&
        is_product_scale(static_cast<float>(Summand::at(*summands[0].scale, o)), x.q.scale, sw)) {
      steps = static_cast<double>(summands[0].steps(o));
    } else {
      double real = 0;
      for (const Summand& summand : summands) real += summand.real(o);
      steps = bias_steps(real, x.q.scale, sw);
    }
    const auto own = weight.steps.data<std::int8_t>().subspan(static_cast<std::size_t>(o * per_channel),
                                                              static_cast<std::size_t>(per_channel));
    const auto zero_point = static_cast<std::int8_t>(weight.zero_points[at]);
    const double reach =
        std::abs(steps) + static_cast<double>(sum_of_distances(own, zero_point) * largest_centered(x.q.zero_point));
    if (!(reach < kInt32Limit))
      return fmt::format("channel {}: the accumulator may reach {:.0f}, but must stay below {:.0f} in int32", o, reach,
                         kInt32Limit);
    result.bias.data<std::int32_t>()[at] = static_cast<std::int32_t>(steps);
    const float scale = requantization_scale(x.q.scale, sw, y.scale);
    if (!std::isnormal(scale))
      return fmt::format("channel {}: scale {} * {} / {} is not a normal binary32", o, x.q.scale, sw, y.scale);
    result.scale.data<float>()[at] = scale;
  }
  return "";
}

}  // namespace dovetail::passes::qdq
