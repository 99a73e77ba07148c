// ReverseSequence: reverses the first sequence_lens[batch] elements of each batch along the time axis.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

struct SequenceAxes {
  std::int64_t batch, time;
};
SequenceAxes sequence_axes(const Operands& operands) {
  return {graph::int_attribute(operands.node, "batch_axis", 1), graph::int_attribute(operands.node, "time_axis", 0)};
}

Result<Types> infer_reverse_sequence(const Operands& operands) {
  const auto [batch, time] = sequence_axes(operands);
  const Shape &x = operands.type(0).shape, &lengths = operands.type(1).shape;
  const bool first_two = (batch == 0 && time == 1) || (batch == 1 && time == 0);
  if (!first_two || x.size() < 2)
    return refuse(operands, fmt::format("batch_axis is {} and time_axis {}, for {}", batch, time, to_string(x)),
                  "they must be the first two axes");
  if (const std::int64_t sequences = x[static_cast<std::size_t>(batch)]; lengths != Shape{sequences})
    return refuse(operands, fmt::format("sequence_lens has shape {}, expected [{}]", to_string(lengths), sequences),
                  "give one length per batch");
  return Types{operands.type(0)};
}

Result<loops::Program> define_reverse_sequence(const Operands& operands) {
  const SequenceAxes axes = sequence_axes(operands);
  const auto batch = static_cast<std::size_t>(axes.batch), time = static_cast<std::size_t>(axes.time);
  Naive program(operands);
  return program.map([&](const Indices& i) {
    const loops::Expr length = loops::cast(DType::int64, loops::load(program.in(1), {i[batch]}));
    return loops::load(
        program.in(0),
        with_index(i, time, loops::select(tensor::less(i[time], length), length - 1 - i[time], i[time])));
  });
}

}  // namespace

std::vector<OpDef> reverse_sequence_ops() {
  constexpr auto integer = AttributeKind::integer;
  return {{"ReverseSequence",
           Category::injective,
           infer_reverse_sequence,
           define_reverse_sequence,
           {},
           {{{"input"}, {"sequence_lens", kInt64}}, {{"batch_axis", integer}, {"time_axis", integer}}}}};
}

}  // namespace dovetail::ops
