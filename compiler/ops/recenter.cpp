// dovetail.recenter: uint8 to int8 by -128 and back by +128; the only operator of the integer form with uint8 data.
#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_recenter(const Operands& operands) {
  const DType from = operands.type(0).dtype, to = from == DType::uint8 ? DType::int8 : DType::uint8;
  if (const std::int64_t number = graph::int_attribute(operands.node, "to", 0); number != info(to).onnx)
    return refuse(
        operands,
        fmt::format("attribute to is {}, but {} is recentered to {} ({})", number, name(from), name(to), info(to).onnx),
        "fix the pass that made the node");
  return Types{{to, operands.type(0).shape}};
}

Result<loops::Program> define_recenter(const Operands& operands) {
  Naive program(operands);
  const DType to = operands.output(0).dtype;
  return program.map([&](const Indices& i) {
    const loops::Expr wide = loops::cast(DType::int32, loops::load(program.in(0), i));
    return loops::cast(to, to == DType::int8 ? wide - 128 : wide + 128);
  });
}

}  // namespace

std::vector<OpDef> recenter_ops() {
  return {{"dovetail.recenter",
           Category::injective,
           infer_recenter,
           define_recenter,
           {},
           {{{"x", kByte}}, {{"to", AttributeKind::integer, Presence::required}}}}};
}

}  // namespace dovetail::ops
