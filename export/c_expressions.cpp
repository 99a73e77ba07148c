#include "export/c_expressions.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/overloaded.h"
#include "export/c_text.h"
#include "loops/integer.h"
#include "loops/linear.h"
#include "loops/range.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"

namespace dovetail::exporting {

using namespace loops;

namespace {

constexpr std::int64_t kLow32 = std::numeric_limits<std::int32_t>::min(),
                       kHigh32 = std::numeric_limits<std::int32_t>::max();

bool is_unsigned(DType dtype) { return info(dtype).kind == DTypeKind::unsigned_integer; }
std::string_view half_name(DType dtype) { return dtype == DType::float16 ? "f16" : "bf16"; }

// The suffix of functions in dovetail_tiny.h. `narrow`: operands of dtype int64 in 32 bits.
std::string_view suffix(DType dtype, bool narrow) {
  switch (dtype) {
    case DType::float64: return "f64";
    case DType::float16:
    case DType::bfloat16:
    case DType::float32: return "f32";
    case DType::uint64: return "u64";
    case DType::int64: return narrow ? "i32" : "i64";
    case DType::uint32: return "u32";
    default: return "i32";
  }
}

__extension__ typedef __int128 Wide;

// Exact bounds of a result, in more bits than any operand has.
struct Exact {
  Wide min, max;
  bool within(std::int64_t low, std::int64_t high) const { return min >= low && max <= high; }
};

std::optional<Exact> exact(BinaryOp op, const Range& a, const Range& b) {
  if (a.assumed || b.assumed) return std::nullopt;
  const Wide al = a.min, ah = a.max, bl = b.min, bh = b.max;
  switch (op) {
    case BinaryOp::add: return Exact{al + bl, ah + bh};
    case BinaryOp::sub: return Exact{al - bh, ah - bl};
    case BinaryOp::mul: {
      const Wide ends[] = {al * bl, al * bh, ah * bl, ah * bh};
      return Exact{*std::ranges::min_element(ends), *std::ranges::max_element(ends)};
    }
    default: return std::nullopt;
  }
}

std::string_view symbol(BinaryOp op) {
  switch (op) {
    case BinaryOp::add: return "+";
    case BinaryOp::sub: return "-";
    case BinaryOp::mul: return "*";
    case BinaryOp::div: return "/";
    case BinaryOp::mod: return "%";
    case BinaryOp::bit_and: return "&";
    case BinaryOp::bit_or: return "|";
    case BinaryOp::bit_xor: return "^";
    case BinaryOp::eq: return "==";
    case BinaryOp::ne: return "!=";
    case BinaryOp::lt: return "<";
    case BinaryOp::le: return "<=";
    case BinaryOp::gt: return ">";
    case BinaryOp::ge: return ">=";
    default: throw InternalError("symbol: the operation has no operator in C");
  }
}

bool compares(BinaryOp op) {
  switch (op) {
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge: return true;
    default: return false;
  }
}

std::string cast_text(DType dtype, const CText& value) {
  return fmt::format("({}){}", value_type(dtype), value.up_to(CText::unary));
}

// a op b for + - *.
CText operation(BinaryOp op, const CText& a, const CText& b) {
  const bool negative = b.text.starts_with('-');
  if (op == BinaryOp::mul)
    return {fmt::format("{} * {}", a.up_to(CText::product), negative ? "(" + b.text + ")" : b.up_to(CText::unary)),
            CText::product};
  if (negative && b.level == CText::unary)  // a + -b is a - b
    return {fmt::format("{} {} {}", a.up_to(CText::sum), op == BinaryOp::add ? '-' : '+', b.text.substr(1)),
            CText::sum};
  return {fmt::format("{} {} {}", a.up_to(CText::sum), symbol(op), b.up_to(CText::product)), CText::sum};
}

}  // namespace

int FailureSites::add(std::string text) {
  const auto found = std::ranges::find(texts, text);
  if (found != texts.end()) return static_cast<int>(found - texts.begin()) + 1;
  texts.push_back(std::move(text));
  return static_cast<int>(texts.size());
}

CText ExpressionPrinter::call(std::string function, std::vector<std::string> arguments, bool narrow) const {
  return {fmt::format("{}({})", function, fmt::join(arguments, ", ")), CText::primary, narrow};
}

std::string ExpressionPrinter::libm(const std::string& function, DType dtype) {
  std::string name = dtype == DType::float64 ? function : function + "f";
  needs_.libm.insert(name);
  return name;
}

CText ExpressionPrinter::rounded(CText value, DType dtype) {
  needs_.floats = true;
  needs_.doubles |= dtype == DType::float64;
  if (!is_half(dtype)) return value;
  return call(fmt::format("dovetail_round_{}", half_name(dtype)), {value.text});
}

bool ExpressionPrinter::may_fail(const Expr& expr) const {
  bool fails = false;
  visit_exprs(expr, [&](const Expr& e) {
    if (const auto* n = std::get_if<LoadExpr>(&e->node))
      fails |= std::ranges::any_of(n->indices, [](const Expr& index) { return holds_load(index); });
    if (const auto* n = std::get_if<Binary>(&e->node)) fails |= is_integer(e->dtype) && may_divide_by_zero(*n);
  });
  return fails;
}

CText ExpressionPrinter::print(const Expr& expr) {
  if (const auto found = values_.find(expr.get()); found != values_.end()) return {found->second};
  return std::visit(Overloaded{
                        [&](const IntImm& n) -> CText {
                          const bool negative = n.value < 0 && expr->dtype != DType::uint64;
                          return {integer_literal(n.value, expr->dtype), negative ? CText::unary : CText::primary,
                                  n.value >= kLow32 && n.value <= kHigh32};
                        },
                        [&](const FloatImm& n) -> CText {
                          std::string text = float_literal(n.value, expr->dtype);
                          const bool negative = text.starts_with('-');
                          needs_.doubles |= expr->dtype == DType::float64;
                          return {std::move(text), negative ? CText::unary : CText::primary};
                        },
                        [&](const VarRef& n) -> CText {
                          const auto found = vars_.find(n.var.get());
                          DOVETAIL_CHECK(found != vars_.end(), "variable " + n.var->name + " must have a name in C");
                          const Range range = range_of(expr, bounds_);
                          return {found->second, CText::primary, range.within(kLow32, kHigh32)};
                        },
                        [&](const Unary& n) { return print_unary(expr, n); },
                        [&](const Binary& n) { return print_binary(expr, n); },
                        [&](const Cast& n) { return print_cast(expr, n); },
                        [&](const Bitcast& n) { return print_bitcast(expr, n); },
                        [&](const Select& n) { return print_select(n); },
                        [&](const LoadExpr& n) { return print_load(n); },
                        [&](const Call& n) {
                          DOVETAIL_CHECK(n.function == Function::requantize, "a function without a form in C");
                          std::vector<std::string> arguments;
                          for (const Expr& argument : n.arguments) arguments.push_back(print(argument).text);
                          return call("dovetail_requantize", std::move(arguments));
                        },
                    },
                    expr->node);
}

CText ExpressionPrinter::print_binary(const Expr& expr, const Binary& n) {
  const DType operand = n.a->dtype;
  if (compares(n.op)) {
    needs_.floats |= is_floating(operand);
    const auto* zero = std::get_if<IntImm>(&n.b->node);
    // An unsigned number is never below 0, and compilers warn of such a comparison.
    if (zero != nullptr && zero->value == 0 && (is_unsigned(operand) || operand == DType::boolean) && !may_fail(n.a)) {
      if (n.op == BinaryOp::lt) return {"0"};
      if (n.op == BinaryOp::ge) return {"1"};
    }
    return {fmt::format("{} {} {}", print(n.a).up_to(CText::sum), symbol(n.op), print(n.b).up_to(CText::sum)),
            CText::comparison};
  }
  if (n.op == BinaryOp::logical_and || n.op == BinaryOp::logical_or) {
    // Both sides are evaluated: a failure of the second one counts in any case.
    const bool both = may_fail(n.b), conjunction = n.op == BinaryOp::logical_and;
    const CText::Level level = both ? CText::bits : conjunction ? CText::conjunction : CText::disjunction;
    const auto side = [&](const Expr& e) {
      const CText text = print(e);
      return both ? fmt::format("({} != 0)", text.up_to(CText::sum))
                  : text.up_to(text.level == level ? level : CText::comparison);
    };
    return {
        fmt::format("{} {} {}", side(n.a), both ? (conjunction ? "&" : "|") : (conjunction ? "&&" : "||"), side(n.b)),
        level};
  }
  return is_floating(expr->dtype) ? print_float(expr, n) : print_integer(expr, n);
}

CText ExpressionPrinter::print_float(const Expr& expr, const Binary& n) {
  const DType dtype = expr->dtype;
  const CText a = print(n.a), b = print(n.b);
  const std::string_view type = suffix(dtype, false);
  switch (n.op) {
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul: return rounded(operation(n.op, a, b), dtype);
    case BinaryOp::div:
      return rounded({fmt::format("{} / {}", a.up_to(CText::product), b.up_to(CText::unary)), CText::product}, dtype);
    case BinaryOp::min:
    case BinaryOp::max:
      return rounded(call(fmt::format("dovetail_{}_{}", loops::name(n.op), type), {a.text, b.text}), dtype);
    case BinaryOp::mod: return rounded(call(libm("fmod", dtype), {a.text, b.text}), dtype);
    case BinaryOp::pow: return rounded(call(libm("pow", dtype), {a.text, b.text}), dtype);
    case BinaryOp::floor_div:
      return rounded(call(fmt::format("dovetail_floor_{}", type),
                          {fmt::format("{} / {}", a.up_to(CText::product), b.up_to(CText::unary))}),
                     dtype);
    case BinaryOp::floor_mod: {
      libm("fmod", dtype);
      const std::string function = fmt::format("floor_mod_{}", type);
      needs_.extra.insert(function);
      return rounded(call(function, {a.text, b.text}), dtype);
    }
    default: throw InternalError("print_float: not an operation on floats");
  }
}

CText ExpressionPrinter::print_integer(const Expr& expr, const Binary& n) {
  const DType dtype = expr->dtype;
  const CText a = print(n.a), b = print(n.b);
  const bool narrow = dtype == DType::int64 && a.narrow && b.narrow;
  const std::string_view type = suffix(dtype, narrow);
  // The value of a function on 32 bits, wrapped to the smaller type.
  const auto wrapped = [&](CText value) -> CText {
    value.narrow = narrow;
    return size_bytes(dtype) < 4 ? CText{cast_text(dtype, value), CText::unary} : value;
  };
  switch (n.op) {
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul: {
      if (dtype == DType::uint32 || dtype == DType::uint64) return operation(n.op, a, b);
      const auto result = exact(n.op, range_of(n.a, bounds_), range_of(n.b, bounds_));
      const bool fits = result && result->within(type_min(dtype), type_max(dtype));
      if (fits && dtype != DType::int64) return operation(n.op, a, b);
      if (fits && narrow && result->within(kLow32, kHigh32)) {
        CText text = operation(n.op, a, b);
        text.narrow = true;
        return text;
      }
      if (fits && !(a.narrow && b.narrow)) return operation(n.op, a, b);
      if (fits) return operation(n.op, {cast_text(DType::int64, a), CText::unary}, b);
      if (size_bytes(dtype) < 4 && result && result->within(kLow32, kHigh32))
        return {cast_text(dtype, operation(n.op, a, b)), CText::unary};
      CText text = call(fmt::format("dovetail_{}_{}", loops::name(n.op), suffix(dtype, false)), {a.text, b.text});
      return size_bytes(dtype) < 4 ? CText{cast_text(dtype, text), CText::unary} : text;
    }
    case BinaryOp::min:
    case BinaryOp::max: return call(fmt::format("dovetail_{}_{}", loops::name(n.op), type), {a.text, b.text}, narrow);
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
      return {fmt::format("{} {} {}", a.up_to(CText::unary), symbol(n.op), b.up_to(CText::unary)), CText::bits, narrow};
    case BinaryOp::shl:
    case BinaryOp::shr:
      return size_bytes(dtype) < 4
                 ? wrapped(call(fmt::format("dovetail_{}_i32", loops::name(n.op)), {a.text, b.text}))
                 : call(fmt::format("dovetail_{}_{}", loops::name(n.op), suffix(dtype, false)), {a.text, b.text});
    case BinaryOp::pow: {
      if (is_unsigned(dtype)) {
        CText text = call("dovetail_pow_u64", {a.text, b.text});
        return dtype == DType::uint64 ? text : CText{cast_text(dtype, text), CText::unary};
      }
      CText text = call("dovetail_pow_i64", {a.text, b.text});
      if (may_divide_by_zero(n)) {
        needs_.failures = true;
        const int site = sites_.add("0 to a negative power");
        text = call("dovetail_checked_pow_i64", {a.text, b.text, fmt::format("{}", site), "failure"});
      }
      return dtype == DType::int64 ? text : CText{cast_text(dtype, text), CText::unary};
    }
    default: return print_division(expr, n);
  }
}

CText ExpressionPrinter::print_division(const Expr& expr, const Binary& n) {
  const DType dtype = expr->dtype;
  const CText a = print(n.a);
  CText b = print(n.b);
  const bool narrow = dtype == DType::int64 && a.narrow && b.narrow;
  const std::string_view type = suffix(dtype, narrow);
  const bool floors = n.op == BinaryOp::floor_div || n.op == BinaryOp::floor_mod;
  const bool divides = n.op == BinaryOp::div || n.op == BinaryOp::floor_div;
  if (may_divide_by_zero(n)) {
    needs_.failures = true;
    const int site = sites_.add("a division by 0");
    b = call(fmt::format("dovetail_divisor_{}", type), {b.text, fmt::format("{}", site), "failure"}, b.narrow);
  }
  const Range dividend = range_of(n.a, bounds_), divisor = range_of(n.b, bounds_);
  const bool without_sign = is_unsigned(dtype);
  const bool positive = !divisor.assumed && divisor.min > 0;
  const bool plain = without_sign || (positive && (!floors || (!dividend.assumed && dividend.min >= 0)));
  if (plain) {
    CText left = a;
    if (dtype == DType::int64 && a.narrow != b.narrow && a.narrow) left = {cast_text(dtype, a), CText::unary};
    return {fmt::format("{} {} {}", left.up_to(CText::product), divides ? "/" : "%", b.up_to(CText::unary)),
            CText::product, narrow};
  }
  const std::string function = fmt::format("dovetail_{}{}_{}", floors ? "floor_" : "", divides ? "div" : "mod", type);
  CText text = call(function, {a.text, b.text}, narrow && positive);
  if (narrow && !positive) {  // the least number divided by -1 needs more bits
    text = call(fmt::format("dovetail_{}{}_i64", floors ? "floor_" : "", divides ? "div" : "mod"), {a.text, b.text});
  }
  return size_bytes(dtype) < 4 ? CText{cast_text(dtype, text), CText::unary} : text;
}

CText ExpressionPrinter::print_unary(const Expr& expr, const Unary& n) {
  const DType dtype = expr->dtype, operand = n.a->dtype;
  const CText a = print(n.a);
  const std::string_view type = suffix(operand, a.narrow);
  const auto function = [&](std::string_view name) {
    return call(fmt::format("dovetail_{}_{}", name, type), {a.text}, a.narrow && operand == DType::int64);
  };
  if (is_floating(operand)) needs_.floats = true, needs_.doubles |= operand == DType::float64;
  switch (n.op) {
    case UnaryOp::logical_not: return {"!" + a.up_to(CText::primary), CText::unary};
    case UnaryOp::is_nan:
    case UnaryOp::is_inf: return function(loops::name(n.op));
    default: break;
  }
  if (is_floating(dtype)) {
    switch (n.op) {
      case UnaryOp::neg: return rounded({"-" + a.up_to(CText::primary), CText::unary}, dtype);
      case UnaryOp::abs:
      case UnaryOp::sign:
      case UnaryOp::floor:
      case UnaryOp::ceil:
      case UnaryOp::round_even:
      case UnaryOp::trunc: return rounded(function(loops::name(n.op)), dtype);
      case UnaryOp::rsqrt:
        return rounded(
            {fmt::format("{} / {}({})", dtype == DType::float64 ? "1.0" : "1.0f", libm("sqrt", dtype), a.text),
             CText::product},
            dtype);
      default: return rounded(call(libm(std::string(loops::name(n.op)), dtype), {a.text}), dtype);
    }
  }
  const bool small = size_bytes(dtype) < 4;
  switch (n.op) {
    case UnaryOp::bit_not: {
      CText text{"~" + a.up_to(CText::primary), CText::unary, a.narrow};
      return small && is_unsigned(dtype) ? CText{cast_text(dtype, text), CText::unary} : text;
    }
    case UnaryOp::neg: {
      if (dtype == DType::uint32) return {"0u - " + a.up_to(CText::unary), CText::sum};
      if (dtype == DType::uint64) return {"UINT64_C(0) - " + a.up_to(CText::unary), CText::sum};
      const Range range = range_of(n.a, bounds_);
      const auto result = exact(BinaryOp::sub, {0, 0}, range);
      CText text{"-" + a.up_to(CText::primary), CText::unary, a.narrow};
      if (result && result->within(type_min(dtype), type_max(dtype)) &&
          (!a.narrow || dtype != DType::int64 || result->within(kLow32, kHigh32)))
        return text;
      if (small) return {cast_text(dtype, text), CText::unary};
      return call(fmt::format("dovetail_sub_{}", suffix(dtype, false)), {"0", a.text});
    }
    case UnaryOp::abs: {
      if (is_unsigned(dtype)) return a;
      CText text = call(fmt::format("dovetail_abs_{}", suffix(dtype, false)), {a.text});
      return small ? CText{cast_text(dtype, text), CText::unary} : text;
    }
    case UnaryOp::sign:
      if (is_unsigned(dtype))
        return {fmt::format("({})({} != 0)", value_type(dtype), a.up_to(CText::sum)), CText::unary};
      return function("sign");
    default: throw InternalError("print_unary: not an operation on integers");
  }
}

CText ExpressionPrinter::print_cast(const Expr& expr, const Cast& n) {
  const DType from = n.a->dtype, to = expr->dtype;
  const CText a = print(n.a);
  if (is_floating(from) || is_floating(to))
    needs_.floats = true, needs_.doubles |= from == DType::float64 || to == DType::float64;
  if (to == DType::boolean) {
    const std::string_view zero = from == DType::float64 ? "0.0" : is_floating(from) ? "0.0f" : "0";
    return {fmt::format("{} != {}", a.up_to(CText::sum), zero), CText::comparison};
  }
  if (is_floating(from) && is_floating(to)) {
    if (to == DType::float64) return from == DType::float64 ? a : CText{cast_text(to, a), CText::unary};
    if (to == DType::float32) return from == DType::float64 ? CText{cast_text(to, a), CText::unary} : a;
    return rounded(from == DType::float64 ? call("dovetail_odd_f64", {a.text}) : a, to);
  }
  if (is_floating(from)) {
    const std::string sign = is_unsigned(to) ? "u" : "i";
    return call(fmt::format("dovetail_{}_to_{}{}", suffix(from, false), sign, size_bytes(to) * 8), {a.text});
  }
  if (is_floating(to)) {
    if (!is_half(to) || size_bytes(from) < 4) return rounded({cast_text(to, a), CText::unary}, to);
    return rounded(call(is_unsigned(from) ? "dovetail_odd_u64" : "dovetail_odd_i64", {a.text}), to);
  }
  // int64 from a smaller type: the value stays in 32 bits until an operation needs more.
  if (to == DType::int64 && size_bytes(from) <= 4 && from != DType::uint32) return {a.text, a.level, true};
  return {cast_text(to, a), CText::unary};
}

CText ExpressionPrinter::print_bitcast(const Expr& expr, const Bitcast& n) {
  const DType from = n.a->dtype, to = expr->dtype;
  CText bits = print(n.a);
  if (is_half(from)) bits = call(fmt::format("dovetail_f32_to_{}", half_name(from)), {bits.text});
  else if (is_floating(from)) bits = call(fmt::format("dovetail_bits_{}", suffix(from, false)), {bits.text});
  if (is_half(to)) return call(fmt::format("dovetail_{}_to_f32", half_name(to)), {cast_text(DType::uint16, bits)});
  if (is_floating(to))
    return call(fmt::format("dovetail_from_bits_{}", suffix(to, false)),
                {cast_text(to == DType::float64 ? DType::uint64 : DType::uint32, bits)});
  return {cast_text(to, bits), CText::unary};
}

CText ExpressionPrinter::print_select(const Select& n) {
  const CText a = print(n.if_true), b = print(n.if_false);
  return {fmt::format("{} ? {} : {}", print(n.condition).up_to(CText::disjunction), a.up_to(CText::sum),
                      b.level == CText::choice ? b.text : b.up_to(CText::sum)),
          CText::choice, a.narrow && b.narrow};
}

Expr ExpressionPrinter::checked_index(const Buffer& buffer, std::size_t dimension, const Expr& index) {
  if (!holds_load(index)) return index;
  const std::int64_t extent = buffer->shape[dimension];
  const CText value = print(index);
  const Range range = range_of(index, bounds_);
  const bool inside = range.within(0, extent - 1);
  const Var var = make_var("checked");
  // Not one value alone, for which the simplifier would drop the check.
  bounds_[var.get()] = {0, std::max<std::int64_t>(extent - 1, 1)};
  checked_.push_back(var);  // keeps its address
  if (inside) {
    vars_[var.get()] = value.up_to(CText::primary);
  } else {
    needs_.failures = true;
    const bool narrow = (value.narrow || index->dtype != DType::int64) && extent <= kHigh32;
    const int site = sites_.add(
        fmt::format("an index of {} is outside 0 <= index < {} (dimension {})", buffer->name, extent, dimension));
    vars_[var.get()] = call(fmt::format("dovetail_index_{}", narrow ? "i32" : "i64"),
                            {value.text, integer_literal(extent, DType::int64), fmt::format("{}", site), "failure"})
                           .text;
  }
  return ref(var);
}

// constant + sum(coefficient * atom), equal coefficients together and the largest first: (y + ky) * 10 + x + kx.
CText ExpressionPrinter::linear_text(const Expr& offset) {
  Linear linear = linear_form(simplify(offset, bounds_));
  std::stable_sort(linear.terms.begin(), linear.terms.end(),
                   [](const LinearTerm& a, const LinearTerm& b) { return a.coefficient > b.coefficient; });
  Exact sum{0, 0};
  bool narrow = true;
  const auto track = [&](const Exact& part) {
    sum = {sum.min + part.min, sum.max + part.max};
    narrow &= sum.within(kLow32, kHigh32) && part.within(kLow32, kHigh32);
  };
  std::vector<std::pair<std::int64_t, std::vector<CText>>> groups;
  for (std::size_t i = 0; i < linear.terms.size();) {
    const std::int64_t coefficient = linear.terms[i].coefficient;
    groups.emplace_back(coefficient, std::vector<CText>());
    Exact inner{0, 0};
    for (; i < linear.terms.size() && linear.terms[i].coefficient == coefficient; ++i) {
      const Range range = range_of(linear.terms[i].atom, bounds_);
      groups.back().second.push_back(print(linear.terms[i].atom));
      narrow &= groups.back().second.back().narrow && !range.assumed;
      inner = {inner.min + range.min, inner.max + range.max};
    }
    const Wide ends[] = {inner.min * coefficient, inner.max * coefficient};
    narrow &= inner.within(kLow32, kHigh32);
    track({std::min(ends[0], ends[1]), std::max(ends[0], ends[1])});
  }
  track({linear.constant, linear.constant});

  CText text{"", CText::primary, narrow};
  const auto add = [&](const std::string& part, bool negative, CText::Level level) {
    if (text.text.empty()) text.text = negative ? "-" + part : part, text.level = negative ? CText::unary : level;
    else text.text += fmt::format(" {} {}", negative ? '-' : '+', part), text.level = CText::sum;
  };
  for (const auto& [coefficient, atoms] : groups) {
    std::vector<std::string> parts;
    for (const CText& atom : atoms)
      parts.push_back(narrow || !atom.narrow ? atom.up_to(atoms.size() > 1 ? CText::product : CText::unary)
                                             : cast_text(DType::int64, atom));
    const bool negative = coefficient < 0;
    const std::uint64_t factor =
        negative ? std::uint64_t{0} - static_cast<std::uint64_t>(coefficient) : static_cast<std::uint64_t>(coefficient);
    if (factor == 1 && !(negative && parts.size() > 1)) {
      for (const std::string& part : parts) add(part, negative, CText::unary);
      continue;
    }
    std::string sum_text = fmt::format("{}", fmt::join(parts, " + "));
    if (parts.size() > 1) sum_text = "(" + sum_text + ")";
    add(factor == 1
            ? sum_text
            : fmt::format("{} * {}", sum_text, integer_literal(static_cast<std::int64_t>(factor), DType::int64)),
        negative, CText::product);
  }
  if (linear.constant != 0 || text.text.empty()) {
    const std::int64_t constant = linear.constant;
    if (constant == std::numeric_limits<std::int64_t>::min()) add("INT64_MIN", false, CText::primary);
    else add(integer_literal(constant < 0 ? -constant : constant, DType::int64), constant < 0, CText::primary);
  }
  return text;
}

std::vector<std::string> ExpressionPrinter::checks(const Buffer& buffer, const std::vector<Expr>& indices) {
  std::vector<std::string> texts;
  for (std::size_t d = 0; d < indices.size(); ++d)
    if (holds_load(indices[d])) texts.push_back(print(checked_index(buffer, d, indices[d])).up_to(CText::unary));
  return texts;
}

std::string ExpressionPrinter::element(const Buffer& buffer, const std::vector<Expr>& indices) {
  const auto found = buffers_.find(buffer.get());
  DOVETAIL_CHECK(found != buffers_.end(), "buffer " + buffer->name + " must have a name in C");
  Expr offset = int_imm(0);
  std::int64_t stride = 1;
  for (std::size_t d = indices.size(); d-- > 0;) {
    offset = offset + cast(DType::int64, checked_index(buffer, d, indices[d])) * stride;
    stride *= buffer->shape[d];
  }
  const std::string name = found->second.text;
  if (found->second.scalar) return name;
  return fmt::format("{}[{}]", name, linear_text(offset).text);
}

CText ExpressionPrinter::print_load(const LoadExpr& n) {
  const DType dtype = n.buffer->dtype;
  needs_.doubles |= dtype == DType::float64;
  if (element_count(n.buffer->shape) == 0) {
    // There is no element: only an index that depends on data can lead here, and it fails.
    std::string text;
    for (const std::string& check : checks(n.buffer, n.indices)) text += fmt::format("(void){}, ", check);
    return {fmt::format("({}{})", text, is_floating(dtype) ? float_literal(0, dtype) : integer_literal(0, dtype))};
  }
  const std::string text = element(n.buffer, n.indices);
  if (is_half(dtype)) return call(fmt::format("dovetail_{}_to_f32", half_name(dtype)), {text});
  return {text};
}

std::string ExpressionPrinter::stored(const Expr& expr) {
  const CText value = print(expr);
  if (is_half(expr->dtype)) return call(fmt::format("dovetail_f32_to_{}", half_name(expr->dtype)), {value.text}).text;
  return value.text;
}

std::string extra_definition(const std::string& name) {
  const bool wide = name.ends_with("f64");
  const std::string type = wide ? "double" : "float";
  return fmt::format(
      "static inline {0} {1}({0} a, {0} b) {{\n  const {0} rest = {2}(a, b);\n  return rest != 0 && (rest < 0) != (b < "
      "0) ? rest + b : rest;\n}}\n",
      type, name, wide ? "fmod" : "fmodf");
}

}  // namespace dovetail::exporting
