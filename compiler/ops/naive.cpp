#include "compiler/ops/naive.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace dovetail::ops {
namespace {

bool is_compile_time(const Operands& operands, std::size_t position) {
  const OpDef* def = find(operands.node.op);
  DOVETAIL_CHECK(def != nullptr, operands.node.op);
  const std::vector<int>& positions = def->compile_time_inputs;
  return std::find(positions.begin(), positions.end(), static_cast<int>(position)) != positions.end();
}

}  // namespace

Naive::Naive(const Operands& operands)
    : Definition(block_name(operands.node.op)), operands_(operands), block_(block_name(operands.node.op)) {
  for (std::size_t i = 0; i < operands.count(); ++i) {
    if (!operands.has(i) || is_compile_time(operands, i)) continue;
    const graph::TensorType& type = operands.type(i);
    const std::string name = fmt::format("in{}", i);
    inputs_[i] =
        operands.constant(i) != nullptr ? constant(name, type.dtype, type.shape) : input(name, type.dtype, type.shape);
  }
}

const loops::Buffer& Naive::in(std::size_t position) const {
  const auto found = inputs_.find(position);
  DOVETAIL_CHECK(found != inputs_.end(), fmt::format("{} has no run-time input {}", operands_.node.name, position));
  return found->second;
}

loops::Expr Naive::scalar(std::size_t position) const {
  if (const NdArray* value = operands_.constant(position)) return immediate(*value, 0);
  return loops::load(in(position), Indices(in(position)->shape.size(), loops::int_imm(0)));
}

loops::Program Naive::map(const std::function<loops::Expr(const Indices&)>& body) {
  const graph::TensorType& type = operands_.output(0);
  return finish({compute(block_, type.dtype, tensor_axes(type.shape), body)});
}

loops::Program Naive::finish(const std::vector<loops::Buffer>& outputs) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const graph::TensorType& type = operands_.output(i);
    DOVETAIL_CHECK(outputs[i]->dtype == type.dtype && outputs[i]->shape == type.shape,
                   fmt::format("{}: output {} is {}, computed is {}{}", operands_.node.name, i, graph::to_string(type),
                               name(outputs[i]->dtype), dovetail::to_string(outputs[i]->shape)));
    names.push_back(fmt::format("out{}", i));
  }
  return build(outputs, names);
}

std::string block_name(std::string_view op) {
  const std::size_t dot = op.rfind('.');
  if (dot != std::string_view::npos) op.remove_prefix(dot + 1);
  std::string text;
  for (std::size_t i = 0; i < op.size(); ++i) {
    const auto letter = static_cast<unsigned char>(op[i]);
    const bool begins_word = i > 0 && std::isupper(letter) && !std::isupper(static_cast<unsigned char>(op[i - 1]));
    if (begins_word) text += '_';
    text += static_cast<char>(std::tolower(letter));
  }
  return text;
}

Axes tensor_axes(const Shape& shape) {
  Axes axes;
  for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back({fmt::format("d{}", i), shape[i]});
  return axes;
}

Axes spatial_axes(const Shape& extents, std::string_view prefix) {
  static constexpr std::string_view kNames = "xyz";
  Axes axes;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::size_t from_last = extents.size() - 1 - i;
    axes.push_back({from_last < kNames.size() ? fmt::format("{}{}", prefix, kNames[from_last])
                                              : fmt::format("{}s{}", prefix, from_last),
                    extents[i]});
  }
  return axes;
}

Axes image_axes(const Shape& shape) {
  Axes axes{{"n", shape.at(0)}, {"c", shape.at(1)}};
  for (Axis& axis : spatial_axes(Shape(shape.begin() + 2, shape.end()))) axes.push_back(std::move(axis));
  return axes;
}

DType accumulator(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16 ? DType::float32 : dtype; }

loops::Expr immediate(const NdArray& array, std::int64_t position) {
  return is_floating(array.dtype()) ? loops::float_imm(array.as_double(position), array.dtype())
                                    : loops::int_imm(array.as_int64(position), array.dtype());
}

}  // namespace dovetail::ops
