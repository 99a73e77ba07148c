// Short names for the operations that operators use most; types as in loops/ir.h (equal operand types, no implicit
// conversion).
#pragma once

#include "loops/ir.h"

namespace dovetail::tensor {

inline loops::Expr divide(loops::Expr a, loops::Expr b) {
  return loops::binary(loops::BinaryOp::div, std::move(a), std::move(b));
}
inline loops::Expr minimum(loops::Expr a, loops::Expr b) {
  return loops::binary(loops::BinaryOp::min, std::move(a), std::move(b));
}
inline loops::Expr maximum(loops::Expr a, loops::Expr b) {
  return loops::binary(loops::BinaryOp::max, std::move(a), std::move(b));
}
inline loops::Expr power(loops::Expr a, loops::Expr b) {
  return loops::binary(loops::BinaryOp::pow, std::move(a), std::move(b));
}
inline loops::Expr equal(loops::Expr a, loops::Expr b) {
  return loops::binary(loops::BinaryOp::eq, std::move(a), std::move(b));
}
inline loops::Expr not_equal(loops::Expr a, loops::Expr b) {
  return loops::binary(loops::BinaryOp::ne, std::move(a), std::move(b));
}
inline loops::Expr less(loops::Expr a, loops::Expr b) {
  return loops::binary(loops::BinaryOp::lt, std::move(a), std::move(b));
}
inline loops::Expr less_equal(loops::Expr a, loops::Expr b) {
  return loops::binary(loops::BinaryOp::le, std::move(a), std::move(b));
}
inline loops::Expr greater(loops::Expr a, loops::Expr b) {
  return loops::binary(loops::BinaryOp::gt, std::move(a), std::move(b));
}
inline loops::Expr logical_or(loops::Expr a, loops::Expr b) {
  return loops::binary(loops::BinaryOp::logical_or, std::move(a), std::move(b));
}
inline loops::Expr exponential(loops::Expr a) { return loops::unary(loops::UnaryOp::exp, std::move(a)); }
inline loops::Expr logarithm(loops::Expr a) { return loops::unary(loops::UnaryOp::log, std::move(a)); }
inline loops::Expr square_root(loops::Expr a) { return loops::unary(loops::UnaryOp::sqrt, std::move(a)); }
inline loops::Expr absolute(loops::Expr a) { return loops::unary(loops::UnaryOp::abs, std::move(a)); }
inline loops::Expr negative(loops::Expr a) { return loops::unary(loops::UnaryOp::neg, std::move(a)); }
inline loops::Expr square(const loops::Expr& a) { return a * a; }

inline loops::Expr index(std::int64_t value) { return loops::int_imm(value); }
// The constant in the type of `as`.
inline loops::Expr like(double value, const loops::Expr& as) { return loops::constant(value, as->dtype); }
inline loops::Expr clamp(loops::Expr a, const loops::Expr& low, const loops::Expr& high) {
  return minimum(maximum(std::move(a), low), high);
}

}  // namespace dovetail::tensor
