// dovetail.qadd: the sum of two int8 tensors of different scales (docs/reference/quantization.md). t = requantize(a -
// za, ma) + requantize(b - zb, mb), y = clamp(requantize(t, scale, zy), y_min, y_max); a negative multiplier subtracts.
// With integer multipliers t is exact. Others include a factor 2^k, and scale is 2^-k, so that rounding twice costs no
// accuracy.
#include <cmath>

#include <fmt/format.h>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/ops/requantize.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_qadd(const Operands& operands) {
  DOVETAIL_TRY(check_quantized_attributes(operands));
  DOVETAIL_TRY(check_scale_attribute(operands));
  Diagnostics errors;
  double reach = 0;
  for (const char side : {'a', 'b'}) {
    const std::string name = fmt::format("{}_multiplier", side);
    const double multiplier = graph::float_attribute(operands.node, name, 0);
    if (multiplier == 0 || !std::isfinite(multiplier) ||
        static_cast<double>(static_cast<float>(multiplier)) != multiplier)
      errors.push_back(
          refuse(operands,
                 fmt::format("{} is {}, expected a nonzero number that float32 represents exactly", name, multiplier),
                 "round it to float32 when the graph is lowered"));
    reach += 255 * std::abs(multiplier) + 1;
  }
  if (errors.empty() && reach >= 0x1p31)
    errors.push_back(refuse(operands, fmt::format("the sum may reach {:.0f} >= 2^31", reach),
                            "use smaller multipliers and a larger scale"));
  if (!errors.empty()) return errors;
  DOVETAIL_ASSIGN(Shape shape, broadcast_inputs(operands));
  return Types{{DType::int8, std::move(shape)}};
}

Result<loops::Program> define_qadd(const Operands& operands) {
  Naive program(operands);
  const auto term = [&](std::size_t position, char side, const Indices& i) {
    const loops::Expr value = centered(load_broadcast(program.in(position), i),
                                       graph::int_attribute(operands.node, fmt::format("{}_zero_point", side), 0));
    const double multiplier = graph::float_attribute(operands.node, fmt::format("{}_multiplier", side), 0);
    if (multiplier == 1) return value;
    if (multiplier == std::trunc(multiplier))
      return value * loops::int_imm(static_cast<std::int64_t>(multiplier), DType::int32);
    return loops::call(loops::Function::requantize,
                       {value, loops::float_imm(multiplier), loops::int_imm(0, DType::int32)});
  };
  const double scale = graph::float_attribute(operands.node, "scale", 1);
  return program.map([&](const Indices& i) {
    return requantized(operands, term(0, 'a', i) + term(1, 'b', i), loops::float_imm(scale));
  });
}

}  // namespace

std::vector<OpDef> qadd_ops() {
  constexpr auto real = AttributeKind::real, integer = AttributeKind::integer;
  return {{"dovetail.qadd",
           Category::injective,
           infer_qadd,
           define_qadd,
           {},
           {{{"a", kInt8}, {"b", kInt8}},
            quantized_attributes({{"a_multiplier", real, Presence::required},
                                  {"b_multiplier", real, Presence::required},
                                  {"scale", real, Presence::required},
                                  {"a_zero_point", integer},
                                  {"b_zero_point", integer}})}}};
}

}  // namespace dovetail::ops
