// Selects the nodes of a graph that the accelerator runs: a table of patterns with predicates. Each row either makes an
// operation from the nodes that it covers, or gives the reason why it cannot, which the report shows.
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
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/programs/matmul.h"
#include "compiler/target/accel/programs/moves.h"
#include "compiler/target/accel/programs/normalization.h"
#include "compiler/target/accel/programs/programs.h"
#include "compiler/target/target.h"

namespace dovetail::accel {

// The border that a convolution needs around its input: pixels of the zero point.
struct BorderNeed {
  Border border;
  std::int8_t value = 0;
  bool operator==(const BorderNeed&) const = default;
};

struct AddOperation {
  AddSpec spec;
  std::int32_t a_zero_point = 0, b_zero_point = 0;
  float a_multiplier = 1, b_multiplier = 1, y_multiplier = 1;
  std::vector<std::int32_t> constant;  // if b is constant: its part of the sum, for each channel
};
struct ProductOperation {
  ProductSpec spec;
  std::int32_t a_zero_point = 0, b_zero_point = 0;
  float scale = 1;
  std::optional<NdArray> constant;  // operand b, int8 of the result's shape; else b is the operation's second input
};
struct ConvOperation {
  ConvSpec spec;                   // layouts not chosen yet
  NdArray weight;                  // int8 [o, c of a group, ky, kx], not padded
  std::vector<std::int32_t> bias;  // zero point folded in
  std::vector<float> scale;
  std::vector<Layout::Fold> folds;       // folds of its input (fold_window.h)
  std::optional<AddOperation> addition;  // adds its result as operand a, and the operation's second input or a constant
  std::optional<MaxPoolSpec> pooling;    // pools its result
  std::optional<NdArray> table;          // int8 [256], of its result; there is at most one of the three

  // ConvSpec::pushes; poolings reduce products of GEMM.
  std::int64_t pushes() const { return pooling ? 0 : spec.pushes; }
};
struct MaxPoolOperation {
  MaxPoolSpec spec;
};
struct TableOperation {
  TableSpec spec;
  NdArray table;  // int8 [256]
};
struct SoftmaxOperation {
  SoftmaxSpec spec;
  NdArray exponentials;  // uint16 [256], by the distance from the maximum
  float scale = 1;
  std::optional<NdArray> visible;  // a constant mask: bool, one for each element of a group
};
struct NormalizationOperation {
  NormalizationSpec spec;
  std::vector<float> scale;        // one, or one for each channel
  std::vector<std::int32_t> bias;  // likewise
};
struct LinesOperation {
  LinesSpec spec;
};
struct MoveOperation {
  std::vector<MoveSpec> parts;      // all parts together are the result
  std::vector<Layout::Fold> folds;  // for which the result has the memory of the operand (folds_of_move); else empty
  // If the parts are written over rows of the operation's first input, whose memory the result has: the position of the
  // first row, which is one int64 in the host's memory. The parts' rows are those at position 0.
  struct Position {
    graph::ValueId value;
    std::int64_t most = 0;  // the largest position
  };
  std::optional<Position> position = {};
};
struct TransposeOperation {
  std::optional<ArrangedMatrix> arranged;  // the operand, where matrices need arranging
  std::vector<TransposeSpec> parts;        // all parts together are the result
};
struct MatMulOperation {
  std::optional<ArrangedMatrix> arranged;  // of b, where matrices need arranging; the places of products and
                                           // transposes are those in the arranged channels
  std::vector<TransposeSpec>
      transposes;                    // transposes parts of b into a matrix of transposed_rows rows and `depth` channels
  std::int64_t transposed_rows = 0;  // 0: the products read b in place
  std::vector<MatMulSpec> products;
};

struct Operation {
  std::vector<graph::NodeId> nodes;    // covered nodes; the last one computes `output`
  std::vector<graph::ValueId> inputs;  // int8 tensors; a mask is of bool
  graph::ValueId output;
  std::vector<BorderNeed> borders;  // one per input
  std::variant<ConvOperation, AddOperation, ProductOperation, MaxPoolOperation, LinesOperation, MoveOperation,
               TransposeOperation, MatMulOperation, TableOperation, SoftmaxOperation, NormalizationOperation>
      body;
};

// The layout of an input for an operation alone, without a border.
TensorLayout input_layout(const graph::Graph& graph, const Operation& operation, std::size_t input, const Core& config);

// The layout of the transposed parts of a product's second operand. Precondition: there are transposed parts.
TensorLayout transposed_layout(const MatMulOperation& operation, const Core& config);
// What is arranged of them, if matrices need arranging: all channels.
std::optional<ArrangedMatrix> arranged_transposed(const MatMulOperation& operation, const Core& config);

// An operation for each kind of accelerator (Core) that can compute it. All have the same operands in memory, but may
// have other constants, and other programs.
struct OperationForms {
  std::vector<std::optional<Operation>> by_kind;  // at least one

  std::size_t first_kind() const;  // that can compute it
  const Operation& any() const { return *by_kind[first_kind()]; }
};
// Whether both read and write the same tensors in the same layouts, so that one may compute a part and the other the
// rest. Precondition: they cover the same nodes.
bool has_same_operands(const Operation& a, const Operation& b);

struct TakenOperation final : Taken {
  explicit TakenOperation(OperationForms forms) : forms(std::move(forms)) {}
  OperationForms forms;
};
// The table for these kinds of accelerators; its predicates make a TakenOperation from matches that one of them
// accepts. `memo`: as for sketch_of() (sketches.h).
std::vector<PatternRow> pattern_rows(std::vector<Core> kinds, std::shared_ptr<Memo> memo = nullptr);

}  // namespace dovetail::accel
