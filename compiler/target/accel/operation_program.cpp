#include "compiler/target/accel/operation_program.h"

#include <vector>

namespace dovetail::accel {

namespace {

const Kind& kind_of_body(const ConvOperation&) { return kConvolution; }
const Kind& kind_of_body(const AddOperation&) { return kAddition; }
const Kind& kind_of_body(const MaxPoolOperation&) { return kMaxPooling; }

struct Layouts {
  std::span<const TensorLayout> inputs;
  const TensorLayout& output;
  const isa::HardwareConfig& config;
};

loops::Program program_of(ConvOperation conv, const Layouts& layouts) {
  conv.spec.x = layouts.inputs[0];
  conv.spec.y = layouts.output;
  if (!conv.addition) return conv_program(conv.spec, layouts.config);
  AddSpec addition = conv.addition->spec;
  addition.b = layouts.inputs[1];
  addition.y = layouts.output;
  return conv_program(conv.spec, layouts.config, &addition);
}
loops::Program program_of(AddOperation add, const Layouts& layouts) {
  add.spec.a = layouts.inputs[0];
  add.spec.b = layouts.inputs[1];
  add.spec.y = layouts.output;
  return add_program(add.spec, layouts.config);
}
loops::Program program_of(MaxPoolOperation pool, const Layouts& layouts) {
  pool.spec.x = layouts.inputs[0];
  pool.spec.y = layouts.output;
  return max_pool_program(pool.spec, layouts.config);
}

}  // namespace

const Kind& kind_of(const Operation& operation) {
  return std::visit([](const auto& body) -> const Kind& { return kind_of_body(body); }, operation.body);
}

loops::Program operation_program(const Operation& operation, std::span<const TensorLayout> inputs,
                                 const TensorLayout& output, const isa::HardwareConfig& config) {
  return std::visit(
      [&](const auto& body) {
        return program_of(body, Layouts{inputs, output, config});
      },
      operation.body);
}

loops::Program operation_program(const graph::Graph& graph, const Operation& operation,
                                 const isa::HardwareConfig& config) {
  std::vector<TensorLayout> inputs;
  for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
    inputs.push_back(input_layout(graph, operation, i, config));
    inputs.back().border = operation.borders[i].border;
  }
  const ImageShape y = image_shape(graph.value(operation.output).type.shape);
  return operation_program(operation, inputs, make_layout(config, y.n, y.c, y.h, y.w), config);
}

}  // namespace dovetail::accel
