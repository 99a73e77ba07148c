#include "compiler/ops/value_dependent.h"

#include <fmt/format.h>

namespace dovetail::ops {
namespace {

Result<Types> infer_by_evaluation(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::vector<NdArray> results, find(operands.node.op)->evaluate(operands));
  Types types;
  for (const NdArray& result : results) types.push_back({result.dtype(), result.shape()});
  return types;
}

Result<loops::Program> no_program(const Operands& operands) {
  return refuse(operands, "the number of elements of the result depends on data, so no program can compute them",
                "enable constant folding (fold_constants)");
}

}  // namespace

OpDef value_dependent(std::string_view op, Result<std::vector<NdArray>> (*evaluate)(const Operands&),
                      Signature signature) {
  OpDef row{.op = op,
            .category = Category::opaque,
            .infer = infer_by_evaluation,
            .define = no_program,
            .signature = std::move(signature),
            .evaluate = evaluate};
  for (std::size_t i = 0; i < row.signature.inputs.size(); ++i) row.compile_time_inputs.push_back(static_cast<int>(i));
  return row;
}

}  // namespace dovetail::ops
