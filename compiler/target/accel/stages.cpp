#include "compiler/target/accel/stages.h"

#include "compiler/target/accel/intrinsics.h"

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
Buffer Stages::requant(const std::string& step, const Buffer& a, const Buffer& k, std::int32_t zero_point) {
  return stage(step, [&](const Indices& i) {
    return call(Function::requantize,
                {load(a, i) + constant(k, i, 1), bitcast(DType::float32, constant(k, i, 0)), int32(zero_point)});
  });
}

// Words: s - 31, -2^(s-1), s. `a` holds the value plus 2^s, s >= 1.
//   t = (a << (31 - s)) >> 31        0 or -1: minus bit s of a, the inverse of the quotient's lowest bit
//   y = (a + t - 2^(s-1)) >> s       a tie goes to the even neighbour
Buffer Stages::shifted_half_even(Buffer a, const Buffer& k, std::int64_t word) {
  Buffer t = copy("tie", a);
  t = shift_right("tie_left", t, k, word);
  t = shift_right("tie_sign", t, 31);
  a = combine("to_even", BinaryOp::add, a, t);
  a = with_constant("half", BinaryOp::add, a, k, word + 1);
  return shift_right("shift", a, k, word + 2);
}

// a * m for a 24-bit significand m = m2 m1 m0 in 8-bit limbs, divided by 2^15 with everything below kept as a sticky
// bit. Words: m0, m1, m2. Low bytes are read as signed ((v << 24) >> 24) and squared: only whether they are zero
// matters.
Buffer Stages::multiplied_significand(Buffer a, const Buffer& k, std::int64_t word) {
  Buffer low = with_constant("low_product", BinaryOp::mul, copy("low", a), k, word);
  Buffer sticky = shift_right("sticky_sign", shift_right("sticky_left", copy("sticky", low), -24), 24);
  sticky = combine("sticky_square", BinaryOp::mul, sticky, sticky);
  low = shift_right("low_carry", low, 8);
  Buffer middle = with_constant("middle_product", BinaryOp::mul, copy("middle", a), k, word + 1);
  middle = combine("middle_sum", BinaryOp::add, middle, low);
  Buffer rest = shift_right("rest_sign", shift_right("rest_left", copy("rest", middle), -24), 24);
  rest = combine("rest_square", BinaryOp::mul, rest, rest);
  sticky = with_immediate("sticky_bit", BinaryOp::min, combine("sticky_sum", BinaryOp::add, sticky, rest), 1);
  middle = shift_right("middle_carry", middle, 8);
  a = with_constant("high_product", BinaryOp::mul, a, k, word + 2);
  a = shift_right("double", combine("product", BinaryOp::add, a, middle), -1);
  return combine("product_sticky", BinaryOp::add, a, sticky);
}

Buffer Stages::epilogue(const Epilogue& e, Buffer a, const Buffer& k) {
  if (e.form == Epilogue::Form::requant) {
    a = requant("requant", a, k, e.zero_point);
  } else {
    a = with_constant("bias", BinaryOp::add, a, k, 0);
    if (e.form == Epilogue::Form::shift) a = shifted_half_even(a, k, 1);
    if (e.form == Epilogue::Form::multiply) {
      a = with_constant("floor", BinaryOp::max, a, k, 1);
      a = with_constant("ceiling", BinaryOp::min, a, k, 2);
      a = multiplied_significand(a, k, 3);
      a = with_constant("quotient", BinaryOp::add, a, k, 6);
      a = shifted_half_even(a, k, 7);
    }
    if (e.zero_point != 0) a = with_immediate("zero_point", BinaryOp::add, a, e.zero_point);
  }
  if (!e.saturate || e.y_min > -128) a = with_immediate("max", BinaryOp::max, a, e.y_min);
  if (!e.saturate || e.y_max < 127) a = with_immediate("min", BinaryOp::min, a, e.y_max);
  return a;
}

// Words after -zero_point: integer, fraction, 2^(bits-1) - 1. With f = a * fraction, q = f >> bits, base = a * integer
// + q and the rest r = f - (q << bits):
//   y = base + ((r + 2^(bits-1) - 1 + (base & 1)) >> bits)
Buffer Stages::multiplied(const SplitMultiplier& multiplier, Buffer a, const Buffer& k) {
  if (multiplier.fraction_bits == 0) return with_constant("scale", BinaryOp::mul, a, k, 1);
  const int bits = multiplier.fraction_bits;
  Buffer rest = with_constant("fraction_product", BinaryOp::mul, copy("fraction", a), k, 2);
  a = with_constant("scale", BinaryOp::mul, a, k, 1);
  Buffer quotient = shift_right("quotient", copy("quotient_copy", rest), bits);
  a = combine("base", BinaryOp::add, a, quotient);
  quotient = with_immediate("whole", BinaryOp::mul, shift_right("whole_left", quotient, -bits), -1);
  rest = combine("rest", BinaryOp::add, rest, quotient);
  rest = with_constant("half", BinaryOp::add, rest, k, 3);
  Buffer odd = shift_right("odd_sign", shift_right("odd_left", copy("odd", a), -31), 31);  // -1 where base is odd
  odd = with_immediate("odd_bit", BinaryOp::mul, odd, -1);
  rest = combine("to_even", BinaryOp::add, rest, odd);
  return combine("scaled", BinaryOp::add, a, shift_right("carry", rest, bits));
}

}  // namespace dovetail::accel
