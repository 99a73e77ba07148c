// What the accelerator takes of a graph: a table of patterns with predicates. Each row either makes an operation of the
// nodes it covers, or says in words why it cannot, which the report repeats.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/memo.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/target/accel/programs/matmul.h"
#include "compiler/target/accel/programs/moves.h"
#include "compiler/target/accel/programs/programs.h"
#include "compiler/target/target.h"
#include "isa/config.h"

namespace dovetail::accel {

// The border that a convolution needs around its input: pixels of the zero point.
struct BorderNeed {
  Border border;
  std::int8_t value = 0;
};

struct AddOperation {
  AddSpec spec;
  std::int32_t a_zero_point = 0, b_zero_point = 0;
  float a_multiplier = 1, b_multiplier = 1, y_multiplier = 1;
  std::vector<std::int32_t> constant;  // where b is one: its part of the sum, for each channel
};
struct ConvOperation {
  ConvSpec spec;                   // layouts still open
  NdArray weight;                  // int8 [o, c of a group, ky, kx], not padded
  std::vector<std::int32_t> bias;  // zero point folded in
  std::vector<float> scale;
  std::vector<Layout::Fold> folds;       // of its input (fold_window.h)
  std::optional<AddOperation> addition;  // of its result, operand a, and the operation's second input or a constant
  std::optional<MaxPoolSpec> pooling;    // of its result; there is one of both at most
};
struct MaxPoolOperation {
  MaxPoolSpec spec;
};
struct LinesOperation {
  LinesSpec spec;
};
struct MoveOperation {
  std::vector<MoveSpec> parts;      // which together are the result
  std::vector<Layout::Fold> folds;  // with which the result is stored as the operand does (folds_of_move); else empty
};
struct TransposeOperation {
  std::vector<TransposeSpec> parts;  // which together are the result
};
struct MatMulOperation {
  std::vector<TransposeSpec> transposes;  // of parts of b, into a matrix of so many rows and `depth` channels
  std::int64_t transposed_rows = 0;       // 0: the products read b where it is stored
  std::vector<MatMulSpec> products;
};

struct Operation {
  std::vector<graph::NodeId> nodes;    // covered, the last one yields `output`
  std::vector<graph::ValueId> inputs;  // int8 tensors
  graph::ValueId output;
  std::vector<BorderNeed> borders;  // one per input
  std::variant<ConvOperation, AddOperation, MaxPoolOperation, LinesOperation, MoveOperation, TransposeOperation,
               MatMulOperation>
      body;
};

// How an input is stored for an operation by itself, without a border.
TensorLayout input_layout(const graph::Graph& graph, const Operation& operation, std::size_t input,
                          const isa::HardwareConfig& config);

// How the transposed parts of a product's second operand are stored. Precondition: there are some.
TensorLayout transposed_layout(const MatMulOperation& operation, const isa::HardwareConfig& config);

struct TakenOperation final : Taken {
  explicit TakenOperation(Operation operation) : operation(std::move(operation)) {}
  Operation operation;
};
// The table for that hardware; its predicates make a TakenOperation of what they take.
// `memo`: as for sketch_of() (sketches.h).
std::vector<PatternRow> pattern_rows(const isa::HardwareConfig& config, std::shared_ptr<Memo> memo = nullptr);

}  // namespace dovetail::accel
