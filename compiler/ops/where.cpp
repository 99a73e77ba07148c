// Where: elementwise selection; only the selected side is evaluated.
#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_where(const Operands& operands) {
  DOVETAIL_ASSIGN(Shape shape, broadcast_inputs(operands));
  return Types{{operands.type(1).dtype, std::move(shape)}};
}

Result<loops::Program> define_where(const Operands& operands) {
  Naive program(operands);
  return program.map([&](const Indices& i) {
    return loops::select(load_broadcast(program.in(0), i), load_broadcast(program.in(1), i),
                         load_broadcast(program.in(2), i));
  });
}

}  // namespace

std::vector<OpDef> where_ops() {
  return {{"Where",
           Category::injective,
           infer_where,
           define_where,
           {},
           {{{"condition", kBool}, {"X", kAny, 'T'}, {"Y", kAny, 'T'}}}}};
}

}  // namespace dovetail::ops
