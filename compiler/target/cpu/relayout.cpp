#include "compiler/target/cpu/relayout.h"

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/schedule/schedule.h"
#include "compiler/tensor/tensor.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

Program relayout_program(const graph::TensorType& type, const std::string& from, const std::string& to) {
  tensor::Definition definition("relayout");
  const Buffer in = definition.input("in0", type.dtype, type.shape);
  tensor::Axes axes;
  for (std::size_t d = 0; d < type.shape.size(); ++d) axes.push_back({fmt::format("d{}", d), type.shape[d]});
  const Buffer out = definition.compute("copy", type.dtype, axes, [&](const tensor::Indices& i) { return load(in, i); });
  static const IntrinsicTable none;
  schedule::Schedule result(definition.build({out}, {"out0"}), none);
  if (!from.empty()) result.transform_layout("in0", from);
  if (!to.empty()) result.transform_layout("out0", to);
  DOVETAIL_CHECK(result.status().ok(), "a copy takes any layout");
  return result.program();
}

Operations count_operations(const Program& program) {
  Operations total;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    const auto* block = std::get_if<Block>(&stmt->node);
    if (block == nullptr) return;
    std::uint64_t points = 1;
    Operations each;
    for (const Iterator& iterator : block->iterators) points *= static_cast<std::uint64_t>(iterator.extent);
    visit_stmts(block->body, [&](const Stmt& inner) {
      if (const auto* store = std::get_if<Store>(&inner->node))
        for (const StoreTarget& target : store->targets)
          visit_exprs(target.value, [&](const Expr& e) {
            if (const auto* n = std::get_if<Binary>(&e->node); n && n->op <= BinaryOp::max && e->dtype != DType::int64 && e->dtype != DType::boolean) ++(is_floating(e->dtype) ? each.floating : each.integer);
            if (const auto* n = std::get_if<Unary>(&e->node); n && n->op >= UnaryOp::sqrt && n->op <= UnaryOp::erf) ++each.floating;
          });
    });
    total.floating += points * each.floating;
    total.integer += points * each.integer;
  });
  return total;
}

}  // namespace dovetail::cpu
