#include "loops/range.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "loops/integer.h"
#include "loops/sharing.h"

namespace dovetail::loops {
namespace {

__extension__ typedef __int128 Wide;
constexpr std::int64_t kAssumedExtent = std::int64_t{1} << 40;

Range type_range(DType dtype) { return {type_min(dtype), type_max(dtype)}; }

// The range of a result computed exactly, or the type's range if the result may wrap.
Range exact_or_type(Wide min, Wide max, DType dtype, bool assumed) {
  if (min < type_min(dtype) || max > type_max(dtype)) return {type_min(dtype), type_max(dtype), assumed};
  return {static_cast<std::int64_t>(min), static_cast<std::int64_t>(max), assumed};
}

template <typename F>
Range corners(const Range& a, const Range& b, DType dtype, const F& f) {
  const Wide values[] = {f(a.min, b.min), f(a.min, b.max), f(a.max, b.min), f(a.max, b.max)};
  return exact_or_type(*std::min_element(values, values + 4), *std::max_element(values, values + 4), dtype,
                       a.assumed || b.assumed);
}

Range quotient(BinaryOp op, const Range& a, const Range& b, DType dtype) {
  if (b.min <= 0 && b.max >= 0) return type_range(dtype);
  return corners(a, b, dtype, [&](Wide x, Wide y) -> Wide {
    const Wide truncated = x / y;
    return op == BinaryOp::floor_div && x % y != 0 && (x < 0) != (y < 0) ? truncated - 1 : truncated;
  });
}

Range remainder(BinaryOp op, const Range& a, const Range& b, DType dtype) {
  if (b.min <= 0) return type_range(dtype);
  const bool assumed = a.assumed || b.assumed;
  const std::int64_t last = b.max - 1;
  if (a.min >= 0 && a.max < b.min) return {a.min, a.max, assumed};
  if (op == BinaryOp::mod)
    return {a.min < 0 ? std::max(-last, a.min) : 0, a.max > 0 ? std::min(last, a.max) : 0, assumed};
  if (b.min == b.max && floor_div(a.min, b.min) == floor_div(a.max, b.min))
    return {floor_mod(a.min, b.min), floor_mod(a.max, b.min), assumed};
  return {0, a.min >= 0 ? std::min(last, a.max) : last, b.assumed};
}

Range bits(BinaryOp op, const Range& a, const Range& b, DType dtype) {
  const bool assumed = a.assumed || b.assumed;
  if (op == BinaryOp::bit_and) {
    if (a.min >= 0 && b.min >= 0) return {0, std::min(a.max, b.max), assumed};
    if (a.min >= 0) return {0, a.max, a.assumed};
    if (b.min >= 0) return {0, b.max, b.assumed};
    return type_range(dtype);
  }
  if (a.min < 0 || b.min < 0) return type_range(dtype);
  const auto all_ones =
      static_cast<std::int64_t>(~std::uint64_t{0} >> std::countl_zero(static_cast<std::uint64_t>(a.max | b.max) | 1));
  return {0, all_ones, assumed};
}

Range shifted(BinaryOp op, const Range& a, const Range& b, DType dtype) {
  if (!b.single() || b.min < 0 || b.min >= 8 * size_bytes(dtype)) return type_range(dtype);
  if (op == BinaryOp::shr) return {a.min >> b.min, a.max >> b.min, a.assumed};
  return exact_or_type(static_cast<Wide>(a.min) * (Wide{1} << b.min), static_cast<Wide>(a.max) * (Wide{1} << b.min),
                       dtype, a.assumed);
}

Range truth(bool proven, bool refuted) { return {proven ? 1 : 0, refuted ? 0 : 1}; }

// The ranges of an expression's nodes.
class Ranges {
 public:
  explicit Ranges(const Bounds& bounds) : bounds_(bounds) {}

  Range of(const Expr& expr) {
    if (expr->dtype != DType::int64 || !is_linear_op(expr))
      return atom_range(expr);  // not a sum whose terms could be collected
    const Linear linear = linear_form(expr);
    if (linear.terms.size() == 1 && linear.constant == 0 && linear.terms[0].coefficient == 1)
      return atom_range(linear.terms[0].atom);
    return of(linear).value_or(type_range(DType::int64));
  }

  std::optional<Range> of(const Linear& linear) {
    Wide min = linear.constant, max = linear.constant;
    bool assumed = false;
    for (const LinearTerm& term : linear.terms) {
      const Range atom = atom_range(term.atom);
      const Wide low = static_cast<Wide>(atom.min) * term.coefficient;
      const Wide high = static_cast<Wide>(atom.max) * term.coefficient;
      min += std::min(low, high);
      max += std::max(low, high);
      assumed |= atom.assumed;
    }
    if (min < type_min(DType::int64) || max > type_max(DType::int64)) return std::nullopt;
    return Range{static_cast<std::int64_t>(min), static_cast<std::int64_t>(max), assumed};
  }

 private:
  Range atom_range(const Expr& expr) {
    if (++steps_ <= kUnremembered) return range_of_atom(expr);
    return results_.of(expr, [&](const Expr& e) { return range_of_atom(e); });
  }

  // Decides a comparison of integers by the range of the difference, in which common terms cancel.
  Range comparison(BinaryOp op, const Expr& a, const Expr& b) {
    if (is_floating(a->dtype) || a->dtype == DType::uint64) return truth(false, false);
    Wide min, max;  // range of a - b
    bool assumed;
    const Range x = of(a);
    const Range y = of(b);
    std::optional<Range> difference;
    if (a->dtype == DType::int64) {
      const Linear left = linear_form(a), right = linear_form(b);
      Linear both = left;
      both.add(right, -1);
      if (of(left) && of(right)) difference = of(both);
    }
    if (difference) {
      min = difference->min, max = difference->max, assumed = difference->assumed;
    } else {
      min = static_cast<Wide>(x.min) - y.max, max = static_cast<Wide>(x.max) - y.min, assumed = x.assumed || y.assumed;
    }
    if (assumed) return truth(false, false);
    switch (op) {
      case BinaryOp::eq: return truth(min == 0 && max == 0, min > 0 || max < 0);
      case BinaryOp::ne: return truth(min > 0 || max < 0, min == 0 && max == 0);
      case BinaryOp::lt: return truth(max < 0, min >= 0);
      case BinaryOp::le: return truth(max <= 0, min > 0);
      case BinaryOp::gt: return truth(min > 0, max <= 0);
      case BinaryOp::ge: return truth(min >= 0, max < 0);
      default: return truth(false, false);
    }
  }

  Range binary_range(const Binary& n, DType dtype) {
    if (n.op >= BinaryOp::eq && n.op <= BinaryOp::ge) return comparison(n.op, n.a, n.b);
    if (dtype == DType::uint64) return type_range(dtype);
    const Range a = of(n.a);
    const Range b = of(n.b);
    switch (n.op) {
      case BinaryOp::add: return corners(a, b, dtype, [](Wide x, Wide y) { return x + y; });
      case BinaryOp::sub: return corners(a, b, dtype, [](Wide x, Wide y) { return x - y; });
      case BinaryOp::mul: return corners(a, b, dtype, [](Wide x, Wide y) { return x * y; });
      case BinaryOp::div:
      case BinaryOp::floor_div: return quotient(n.op, a, b, dtype);
      case BinaryOp::mod:
      case BinaryOp::floor_mod: return remainder(n.op, a, b, dtype);
      case BinaryOp::min: return {std::min(a.min, b.min), std::min(a.max, b.max), a.assumed || b.assumed};
      case BinaryOp::max: return {std::max(a.min, b.min), std::max(a.max, b.max), a.assumed || b.assumed};
      case BinaryOp::shl:
      case BinaryOp::shr: return shifted(n.op, a, b, dtype);
      case BinaryOp::bit_and:
      case BinaryOp::bit_or:
      case BinaryOp::bit_xor: return bits(n.op, a, b, dtype);
      case BinaryOp::logical_and: return truth(a.min == 1 && b.min == 1, a.max == 0 || b.max == 0);
      case BinaryOp::logical_or: return truth(a.min == 1 || b.min == 1, a.max == 0 && b.max == 0);
      default: return type_range(dtype);
    }
  }

  Range unary_range(const Unary& n, DType dtype) {
    if (is_floating(n.a->dtype) || dtype == DType::uint64) return type_range(dtype);
    const Range a = of(n.a);
    switch (n.op) {
      case UnaryOp::neg: return exact_or_type(-static_cast<Wide>(a.max), -static_cast<Wide>(a.min), dtype, a.assumed);
      case UnaryOp::logical_not: return {1 - a.max, 1 - a.min};
      case UnaryOp::bit_not:
        return is_signed_integer(dtype) ? Range{~a.max, ~a.min, a.assumed}
                                        : Range{wrap(~a.max, dtype), wrap(~a.min, dtype), a.assumed};
      case UnaryOp::abs:
        if (a.min >= 0) return a;
        return exact_or_type(a.max <= 0 ? -static_cast<Wide>(a.max) : 0,
                             std::max(-static_cast<Wide>(a.min), static_cast<Wide>(a.max)), dtype, a.assumed);
      case UnaryOp::sign: return {a.min > 0 ? 1 : a.min == 0 ? 0 : -1, a.max < 0 ? -1 : a.max == 0 ? 0 : 1, a.assumed};
      default: return type_range(dtype);
    }
  }

  Range cast_range(const Expr& from, DType dtype) {
    if (dtype == DType::boolean) return truth(false, false);
    if (is_floating(from->dtype) || from->dtype == DType::uint64) return type_range(dtype);
    const Range a = of(from);
    const bool fits_type = dtype == DType::uint64 ? a.min >= 0 : a.min >= type_min(dtype) && a.max <= type_max(dtype);
    return fits_type ? a : Range{type_min(dtype), type_max(dtype), a.assumed};
  }

  // requantize with a known scale: the rounded product differs from the exact one by less than one.
  Range call_range(const Call& n, DType dtype) {
    const auto* scale = std::get_if<FloatImm>(&n.arguments[1]->node);
    if (n.function != Function::requantize || scale == nullptr || !(std::abs(scale->value) < 0x1p31))
      return type_range(dtype);
    const Range acc = of(n.arguments[0]), zero = of(n.arguments[2]);
    const double a = scale->value * static_cast<double>(acc.min), b = scale->value * static_cast<double>(acc.max);
    return exact_or_type(static_cast<Wide>(std::floor(std::min(a, b))) - 1 + zero.min,
                         static_cast<Wide>(std::ceil(std::max(a, b))) + 1 + zero.max, dtype,
                         acc.assumed || zero.assumed);
  }

  Range range_of_atom(const Expr& expr) {
    if (const auto* n = std::get_if<IntImm>(&expr->node)) return {n->value, n->value};
    if (const auto* n = std::get_if<VarRef>(&expr->node)) {
      if (const auto found = bounds_.find(n->var.get()); found != bounds_.end())
        return {found->second.min, found->second.max};
      return expr->dtype == DType::int64 ? Range{-kAssumedExtent, kAssumedExtent, true} : type_range(expr->dtype);
    }
    if (const auto* n = std::get_if<Unary>(&expr->node)) return unary_range(*n, expr->dtype);
    if (const auto* n = std::get_if<Binary>(&expr->node)) return binary_range(*n, expr->dtype);
    if (const auto* n = std::get_if<Cast>(&expr->node)) return cast_range(n->a, expr->dtype);
    if (const auto* n = std::get_if<Select>(&expr->node)) {
      const Range condition = of(n->condition);
      if (condition.single()) return of(condition.min == 1 ? n->if_true : n->if_false);
      const Range a = of(n->if_true);
      const Range b = of(n->if_false);
      return {std::min(a.min, b.min), std::max(a.max, b.max), a.assumed || b.assumed};
    }
    if (const auto* n = std::get_if<Call>(&expr->node)) return call_range(*n, expr->dtype);
    return type_range(expr->dtype);  // loads, bitcasts
  }

  static constexpr int kUnremembered = 64;  // smaller expressions, which are most, are not cached
  const Bounds& bounds_;
  int steps_ = 0;
  SharedResults<Range> results_;
};

}  // namespace

std::optional<Range> range_of(const Linear& linear, const Bounds& bounds) { return Ranges(bounds).of(linear); }

Range range_of(const Expr& expr, const Bounds& bounds) { return Ranges(bounds).of(expr); }

std::optional<Interval> bound(const Expr& expr, const Bounds& bounds) {
  if (is_floating(expr->dtype)) return std::nullopt;
  const Range range = range_of(expr, bounds);
  if (range.assumed ||
      (size_bytes(expr->dtype) == 8 && range.min == type_min(DType::int64) && range.max == type_max(DType::int64)))
    return std::nullopt;
  return Interval{range.min, range.max};
}

}  // namespace dovetail::loops
