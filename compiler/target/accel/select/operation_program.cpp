#include "compiler/target/accel/select/operation_program.h"

namespace dovetail::accel {

namespace {

const Kind& kind_of_body(const ConvOperation& conv) { return conv.pushes() > 0 ? kWindow : kConvolution; }
const Kind& kind_of_body(const AddOperation&) { return kAddition; }
const Kind& kind_of_body(const ProductOperation&) { return kAddition; }
const Kind& kind_of_body(const MaxPoolOperation&) { return kMaxPooling; }
const Kind& kind_of_body(const LinesOperation&) { return kLines; }
const Kind& kind_of_body(const TableOperation&) { return kTable; }
const Kind& kind_of_body(const SoftmaxOperation&) { return kSoftmax; }
const Kind& kind_of_body(const NormalizationOperation&) { return kNormalization; }
const Kind& kind_of_body(const MoveOperation&) { return kMove; }
const Kind& kind_of_body(const TransposeOperation&) { return kMatMul; }
const Kind& kind_of_body(const MatMulOperation&) { return kMatMul; }

struct Layouts {
  std::span<const TensorLayout> inputs;
  const TensorLayout& output;
  const Core& config;
};

std::vector<loops::Program> programs_of(const ConvOperation& conv, const Layouts& layouts) {
  ConvSpec spec = conv.spec;
  spec.x = layouts.inputs[0];
  spec.y = layouts.output;
  spec.pushes = conv.pushes();
  if (conv.pooling) return {conv_program(spec, layouts.config, nullptr, &*conv.pooling)};
  if (!conv.addition) return {conv_program(spec, layouts.config)};
  AddSpec addition = conv.addition->spec;
  if (!addition.constant_b) addition.b = layouts.inputs[1];
  addition.y = layouts.output;
  return {conv_program(spec, layouts.config, &addition)};
}
std::vector<loops::Program> programs_of(const AddOperation& add, const Layouts& layouts) {
  AddSpec spec = add.spec;
  spec.a = layouts.inputs[0];
  if (!spec.constant_b) spec.b = layouts.inputs[1];
  spec.y = layouts.output;
  return {add_program(spec, layouts.config)};
}
std::vector<loops::Program> programs_of(const ProductOperation& product, const Layouts& layouts) {
  ProductSpec spec = product.spec;
  spec.a = layouts.inputs[0];
  spec.y = layouts.output;
  spec.b = product.constant ? layouts.output : layouts.inputs[1];
  if (product.constant) spec.b.border = {};
  return {product_program(spec, layouts.config)};
}
std::vector<loops::Program> programs_of(const MaxPoolOperation& pool, const Layouts& layouts) {
  MaxPoolSpec spec = pool.spec;
  spec.x = layouts.inputs[0];
  spec.y = layouts.output;
  return {max_pool_program(spec, layouts.config)};
}
std::vector<loops::Program> programs_of(const LinesOperation& lines, const Layouts& layouts) {
  LinesSpec spec = lines.spec;
  spec.x = layouts.inputs[0];
  spec.y = layouts.output;
  return {lines_program(spec, layouts.config)};
}
std::vector<loops::Program> programs_of(const TableOperation& table, const Layouts& layouts) {
  TableSpec spec = table.spec;
  spec.x = layouts.inputs[0];
  spec.y = layouts.output;
  return {table_program(spec, layouts.config)};
}
std::vector<loops::Program> programs_of(const SoftmaxOperation& softmax, const Layouts& layouts) {
  SoftmaxSpec spec = softmax.spec;
  spec.x = layouts.inputs[0];
  spec.y = layouts.output;
  return {softmax_program(spec, layouts.config)};
}
std::vector<loops::Program> programs_of(const NormalizationOperation& normalization, const Layouts& layouts) {
  NormalizationSpec spec = normalization.spec;
  spec.x = layouts.inputs[0];
  spec.y = layouts.output;
  return {normalization_program(spec, layouts.config)};
}
std::vector<loops::Program> programs_of(const MoveOperation& move, const Layouts& layouts) {
  std::vector<loops::Program> parts;
  for (MoveSpec part : move.parts) {
    for (MoveSpec::Term& term : part.terms) term.x = layouts.inputs[term.input];
    part.y = layouts.output;
    parts.push_back(move_program(part, layouts.config));
  }
  return parts;
}
// The matrix for programs that read it as elements of WGT, after programs that arrange it if it must be.
TensorLayout as_elements(const std::string& name, const TensorLayout& matrix,
                         const std::optional<ArrangedMatrix>& arranged, const Layouts& layouts,
                         std::vector<loops::Program>& programs) {
  if (!arranged) return matrix;
  for (loops::Program& program : arrange_programs(name, matrix, *arranged, layouts.config))
    programs.push_back(std::move(program));
  return arranged_matrix(matrix, *arranged);
}
std::vector<loops::Program> programs_of(const TransposeOperation& transpose, const Layouts& layouts) {
  std::vector<loops::Program> parts;
  const TensorLayout x =
      as_elements(transpose.parts.front().name, layouts.inputs[0], transpose.arranged, layouts, parts);
  for (TransposeSpec part : transpose.parts) {
    part.x = x;
    part.y = layouts.output;
    parts.push_back(transpose_program(part, layouts.config));
  }
  return parts;
}
std::vector<loops::Program> programs_of(const MatMulOperation& matmul, const Layouts& layouts) {
  const std::string& name = matmul.products.front().name;
  std::vector<loops::Program> programs;
  TensorLayout b = as_elements(name, layouts.inputs[1], matmul.arranged, layouts, programs);
  if (!matmul.transposes.empty()) {
    const TensorLayout transposed = transposed_layout(matmul, layouts.config);
    for (TransposeSpec spec : matmul.transposes) {
      spec.x = b;
      spec.y = transposed;
      programs.push_back(transpose_program(spec, layouts.config));
    }
    b = as_elements(name, transposed, arranged_transposed(matmul, layouts.config), layouts, programs);
  }
  for (MatMulSpec spec : matmul.products) {
    spec.a = layouts.inputs[0];
    spec.b = b;
    spec.y = layouts.output;
    programs.push_back(matmul_program(spec, layouts.config));
  }
  return programs;
}

}  // namespace

const Kind& kind_of(const Operation& operation) {
  return std::visit([](const auto& body) -> const Kind& { return kind_of_body(body); }, operation.body);
}

std::vector<loops::Program> operation_programs(const Operation& operation, std::span<const TensorLayout> inputs,
                                               const TensorLayout& output, const Core& config) {
  return std::visit(
      [&](const auto& body) {
        return programs_of(body, Layouts{inputs, output, config});
      },
      operation.body);
}

std::vector<loops::Program> operation_programs(const graph::Graph& graph, const Operation& operation,
                                               const Core& config) {
  std::vector<TensorLayout> inputs;
  for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
    inputs.push_back(input_layout(graph, operation, i, config));
    inputs.back().border = operation.borders[i].border;
  }
  return operation_programs(operation, inputs, make_layout(config, image_shape(graph, operation.output, config)),
                            config);
}

}  // namespace dovetail::accel
