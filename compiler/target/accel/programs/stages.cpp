#include "compiler/target/accel/programs/stages.h"

#include "compiler/target/accel/programs/group_stages.h"
#include "compiler/target/accel/programs/intrinsics.h"
#include "isa/spec/memories.h"
#include "loops/verify.h"

namespace dovetail::accel {

using namespace loops;
using tensor::Indices;

Buffer Stages::stage(const std::string& step, const std::function<Expr(const Indices&)>& body) {
  return definition_.compute(prefix_ + step, DType::int32, axes_, body);
}

Expr Stages::constant(const Buffer& k, const Indices& i, std::int64_t word) const {
  const Expr channel = k->shape[1] == axes_[1].extent ? i[1] : floor_mod(i[1], k->shape[1]);
  return load(k, {floor_mod(i[0], k->shape[0]), channel, int_imm(word)});
}

Buffer Stages::copy(const std::string& step, const Buffer& a) {
  const Buffer zero = stage(step + "_zero", [&](const Indices&) { return int32(0); });
  return combine(step, BinaryOp::add, zero, a);
}
Buffer Stages::combine(const std::string& step, BinaryOp op, const Buffer& a, const Buffer& b) {
  return stage(step, [&](const Indices& i) { return binary(op, load(a, i), load(b, i)); });
}
Buffer Stages::with_constant(const std::string& step, BinaryOp op, const Buffer& a, const Buffer& k,
                             std::int64_t word) {
  return stage(step, [&](const Indices& i) { return binary(op, load(a, i), constant(k, i, word)); });
}
Buffer Stages::with_immediate(const std::string& step, BinaryOp op, const Buffer& a, std::int64_t imm) {
  return stage(step, [&](const Indices& i) { return binary(op, load(a, i), int32(imm)); });
}
Buffer Stages::shift_right(const std::string& step, const Buffer& a, const Buffer& k, std::int64_t word) {
  return stage(step, [&](const Indices& i) { return shr_expression(load(a, i), constant(k, i, word)); });
}
Buffer Stages::shift_right(const std::string& step, const Buffer& a, std::int64_t amount) {
  return stage(step, [&](const Indices& i) { return shr_expression(load(a, i), int32(amount)); });
}
Buffer Stages::requant(const std::string& step, const Buffer& a, const Buffer& k, std::int32_t zero_point,
                       std::int64_t word) {
  return stage(step, [&](const Indices& i) {
    return call(Function::requantize, {load(a, i) + constant(k, i, word + 1),
                                       bitcast(DType::float32, constant(k, i, word)), int32(zero_point)});
  });
}

Buffer Stages::look_up(const std::string& step, const Buffer& a, const Buffer& table, std::int64_t offset) {
  return stage(step, [&](const Indices& i) {
    return table_expression(table, offset == 0 ? load(a, i) : load(a, i) + int32(offset));
  });
}

Buffer Stages::requantized_products(const Buffer& acc, const Buffer& parameters, const Buffer& table) {
  return stage("epilogue", [&](const Indices& i) {
    const Expr channel = parameters->shape[0] == axes_[1].extent ? i[1] : floor_mod(i[1], parameters->shape[0]);
    const Expr value = epilogue_expression(load(acc, i), parameters->shape[1], [&](std::size_t byte) {
      return load(parameters, {channel, int_imm(static_cast<std::int64_t>(byte))});
    });
    return table ? table_expression(table, value) : value;
  });
}

Buffer Stages::fixed_point(const FixedPoint& plan, Buffer a, const Buffer& k) {
  a = with_constant("center", BinaryOp::add, a, k, 0);
  a = with_constant("floor", BinaryOp::max, a, k, 1);
  a = with_constant("ceiling", BinaryOp::min, a, k, 2);
  Buffer carried;
  for (int limb = 0; limb < plan.limbs; ++limb) {
    const bool last = limb + 1 == plan.limbs;
    const std::string number = std::to_string(limb);
    Buffer x =
        with_constant("product" + number, BinaryOp::mul, last ? a : copy("limb" + number, a), k, plan.limb_word(limb));
    x = carried ? combine("carry" + number, BinaryOp::add, x, carried)
                : with_constant("rounding", BinaryOp::add, x, k, plan.rounding_word());
    if (last) a = x;
    else if (plan.common) carried = shift_right("limb_shift" + number, x, plan.common->of_limb);
    else carried = shift_right("limb_shift" + number, x, k, plan.shift_word(limb));
  }
  if (plan.ties) {
    // A product that is a multiple of 2^e here was halfway, and was rounded up. This is undone if the result became
    // odd.
    Buffer odd = with_constant("parity", BinaryOp::mul, copy("tie", a), k, plan.parity_word());
    a = combine("to_even", BinaryOp::add, a, shift_right("odd", odd, 31));  // -1 if it is
  }
  if (plan.shifts && plan.common) a = shift_right("quotient", a, plan.common->last);
  else if (plan.shifts) a = shift_right("quotient", a, k, plan.last_shift_word());
  return plan.zero_point == 0 ? a : with_immediate("zero_point", BinaryOp::add, a, plan.zero_point);
}

Buffer Stages::epilogue(const Epilogue& e, Buffer a, const Buffer& k) {
  const bool requants = e.form == Epilogue::Form::requant;
  a = requants ? requant("requant", a, k, e.range.zero_point) : fixed_point(e.fixed_point, a, k);
  return requants || e.fixed_point.clamps ? clamped(a, e.range, e.saturate) : a;
}

Buffer Stages::clamped(Buffer a, const OutputRange& range, bool saturate) {
  if (!saturate || range.y_min > -128) a = with_immediate("max", BinaryOp::max, a, range.y_min);
  if (!saturate || range.y_max < 127) a = with_immediate("min", BinaryOp::min, a, range.y_max);
  return a;
}

// Words after -zero_point: the integer part or all of m, fraction, half, parity, 2^30. With x = a * m + half:
//   y = (x - (x >> bits & 1)) >> bits
// which subtracts 1 if a tie was rounded up to an odd number, and else has no effect. If x would not fit, only the
// fraction's part of x is computed this way.
Buffer Stages::multiplied(const SplitMultiplier& multiplier, Buffer a, const Buffer& k) {
  const int bits = multiplier.fraction_bits;
  if (bits == 0) return with_constant("scale", BinaryOp::mul, a, k, 1);
  Buffer odd;
  if (multiplier.has_ties()) {
    odd = with_constant("parity", BinaryOp::mul, copy("tie", a), k, 4);
    odd = shift_right("odd", with_constant("parity_half", BinaryOp::add, odd, k, 5), 31);  // -1 if it is
  }
  const auto rounded = [&](Buffer x) {
    x = with_constant("half", BinaryOp::add, x, k, 3);
    if (odd) x = combine("to_even", BinaryOp::add, x, odd);
    return shift_right("quotient", x, bits);
  };
  if (multiplier.in_one()) return rounded(with_constant("scale", BinaryOp::mul, a, k, 1));
  const Buffer fraction = rounded(with_constant("fraction_product", BinaryOp::mul, copy("fraction", a), k, 2));
  return combine("scaled", BinaryOp::add, with_constant("scale", BinaryOp::mul, a, k, 1), fraction);
}

const tensor::Reducer& max_of_int8() {
  static const tensor::Reducer reducer{"max_int8",
                                       [](const std::vector<DType>&) { return std::vector<Expr>{int32(INT8_MIN)}; },
                                       [](const std::vector<Expr>& a, const std::vector<Expr>& b) {
                                         return std::vector<Expr>{binary(BinaryOp::max, a[0], b[0])};
                                       }};
  return reducer;
}

Buffer on_chip(tensor::Definition& d, const std::string& name, const Buffer& k) {
  return d.compute(name, DType::int32, {{"n", k->shape[0]}, {"o", k->shape[1]}, {"word", k->shape[2]}},
                   [&](const Indices& i) { return load(k, i); });
}

Buffer on_chip_parameters(tensor::Definition& d, std::int64_t channels, const Core& config) {
  const Shape shape{channels, config.block_in};
  const Buffer p = d.constant("P", DType::int8, shape);
  return d.compute("parameters", DType::int8, {{"o", shape[0]}, {"byte", shape[1]}},
                   [&](const Indices& i) { return load(p, i); });
}

Buffer on_chip_table(tensor::Definition& d, DType entry) {
  const Buffer t = d.constant("T", entry, {1, isa::spec::kTableEntries});
  return d.compute("table", entry, {{"row", 1}, {"entry", isa::spec::kTableEntries}},
                   [&](const Indices& i) { return load(t, i); });
}

Program finish(tensor::Definition& definition, const Buffer& a, const Shape& shape, bool saturate,
               const std::function<Indices(const Indices&)>& place) {
  const Buffer y = make_buffer("Y", DType::int8, shape);
  Block block;
  block.name = "out";
  Indices i;
  std::vector<Var> loop_vars;
  const tensor::Axes axes{{"n", a->shape[0]}, {"o", a->shape[1]}, {"y", a->shape[2]}, {"x", a->shape[3]}};
  for (const tensor::Axis& axis : axes) {
    loop_vars.push_back(make_var("out." + axis.name));
    const Var iterator = make_var("v" + axis.name);
    block.iterators.push_back({iterator, axis.extent, IterKind::spatial, ref(loop_vars.back())});
    i.push_back(ref(iterator));
  }
  Expr value = load(a, i);
  if (saturate) value = binary(BinaryOp::min, binary(BinaryOp::max, value, int32(-128)), int32(127));
  block.body = store(y, place(i), cast(DType::int8, value));
  BlockRegions regions = infer_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  Stmt stmt = make_stmt(std::move(block));
  for (std::size_t d = axes.size(); d-- > 0;)
    stmt = make_stmt(For{loop_vars[d], axes[d].extent, ForKind::serial, "", {}, std::move(stmt)});
  definition.statement(stmt, {y});
  return group_stages(definition.build({y}));
}

}  // namespace dovetail::accel
