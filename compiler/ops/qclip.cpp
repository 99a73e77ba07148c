// dovetail.qclip: int8 clamp by y_min and y_max.
#include "compiler/ops/list.h"
#include "compiler/ops/requantize.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_qclip(const Operands& operands) {
  DOVETAIL_TRY(check_quantized_attributes(operands));
  return Types{operands.type(0)};
}

Result<loops::Program> define_qclip(const Operands& operands) {
  Naive program(operands);
  return program.map([&](const Indices& i) { return clamped(operands, loops::load(program.in(0), i)); });
}

}  // namespace

std::vector<OpDef> qclip_ops() {
  return {{"dovetail.qclip",
           Category::injective,
           infer_qclip,
           define_qclip,
           {},
           {{{"x", kInt8}}, {{"y_min", AttributeKind::integer}, {"y_max", AttributeKind::integer}}}}};
}

}  // namespace dovetail::ops
