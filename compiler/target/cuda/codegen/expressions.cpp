// Expressions, with the semantics of docs/reference/loop-programs.md: operations that differ in C++ are calls of
// loops/scalar.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/check.h"
#include "base/float16_bits.h"
#include "compiler/target/cuda/codegen/emitter.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"

namespace dovetail::cuda {

using namespace loops;

namespace {

std::string_view comparison(BinaryOp op) {
  switch (op) {
    case BinaryOp::eq: return "==";
    case BinaryOp::ne: return "!=";
    case BinaryOp::lt: return "<";
    case BinaryOp::le: return "<=";
    case BinaryOp::gt: return ">";
    case BinaryOp::ge: return ">=";
    default: return "";
  }
}

std::string_view bit_operator(BinaryOp op) {
  switch (op) {
    case BinaryOp::bit_and: return "&";
    case BinaryOp::bit_or: return "|";
    case BinaryOp::bit_xor: return "^";
    default: return "";
  }
}

const IntImm* positive_literal(const Expr& expr) {
  const auto* n = std::get_if<IntImm>(&expr->node);
  return n != nullptr && n->value > 0 ? n : nullptr;
}

// Operations through which index arithmetic is followed.
bool is_index_operation(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
    case BinaryOp::min:
    case BinaryOp::max: return true;
    default: return false;
  }
}
bool is_division(const Binary& n) {
  const bool divides =
      n.op == BinaryOp::div || n.op == BinaryOp::mod || n.op == BinaryOp::floor_div || n.op == BinaryOp::floor_mod;
  return divides && positive_literal(n.b) != nullptr;
}

// Exact, with as few digits as possible.
std::string float_literal(double value, bool single) {
  if (!std::isfinite(value))
    return single ? fmt::format("__builtin_bit_cast(float, {:#x}u)",
                                std::bit_cast<std::uint32_t>(static_cast<float>(value)))
                  : fmt::format("__builtin_bit_cast(double, {:#x}ull)", std::bit_cast<std::uint64_t>(value));
  std::string text = single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + (single ? "f" : "");
}

}  // namespace

const TypeNames& names_of(DType dtype) {
  static constexpr std::array<TypeNames, kDTypes.size()> names{{
      {"int8_t", "int8_t", "Plain<int8_t>"},
      {"uint8_t", "uint8_t", "Plain<uint8_t>"},
      {"int16_t", "int16_t", "Plain<int16_t>"},
      {"uint16_t", "uint16_t", "Plain<uint16_t>"},
      {"int32_t", "int32_t", "Plain<int32_t>"},
      {"uint32_t", "uint32_t", "Plain<uint32_t>"},
      {"int64_t", "int64_t", "Plain<int64_t>"},
      {"uint64_t", "uint64_t", "Plain<uint64_t>"},
      {"float", "uint16_t", "Float16"},
      {"float", "uint16_t", "BFloat16"},
      {"float", "float", "Plain<float>"},
      {"double", "double", "Plain<double>"},
      {"bool", "uint8_t", "Bool"},
  }};
  return names[static_cast<std::size_t>(dtype)];
}

std::string Emitter::rounded(DType dtype, std::string text) const {
  if (dtype != DType::float16 && dtype != DType::bfloat16) return text;
  return fmt::format("{}::round({})", names_of(dtype).element, text);
}

std::string Emitter::site(const std::string& message) {
  reports_ = true;
  std::size_t at = 0;
  while (at < failures_.size() && failures_[at] != message) ++at;
  if (at == failures_.size()) failures_.push_back(message);
  return fmt::format("{}, failure", at);
}

std::string Emitter::emit(const Expr& expr) {
  const auto here = [&] { return std::visit([&](const auto& n) { return emit_node(n, expr->dtype); }, expr->node); };
  if (shared_.empty() || !may_be_shared(expr)) return here();
  for (const auto& level : shared_)
    if (const auto known = level.find(expr); known != level.end()) return known->second;
  const std::string value = here(), name = name_for("t");
  line(fmt::format("const {} {} = {};", names_of(expr->dtype).value, name, value));
  shared_.back().emplace(expr, name);
  return name;
}

std::string Emitter::emit_node(const IntImm& n, DType dtype) {
  if (dtype == DType::boolean) return n.value != 0 ? "true" : "false";
  if (dtype == DType::int32 && n.value > kLeastInt) return std::to_string(n.value);
  if (n.value == std::numeric_limits<std::int64_t>::min()) return fmt::format("{}(1ull << 63)", names_of(dtype).value);
  const bool unsigned64 = dtype == DType::uint64;
  return fmt::format("{}({}{})", names_of(dtype).value,
                     unsigned64 ? std::to_string(static_cast<std::uint64_t>(n.value)) : std::to_string(n.value),
                     unsigned64 ? "ull" : "ll");
}

std::string Emitter::emit_node(const FloatImm& n, DType dtype) {
  return float_literal(n.value, dtype != DType::float64);
}

std::string Emitter::emit_node(const VarRef& n, DType dtype) {
  return fmt::format("{}({})", names_of(dtype).value, vars_.at(n.var.get()));
}

std::string Emitter::emit_node(const Unary& n, DType dtype) {
  const DType type = n.a->dtype;
  const std::string a = emit(n.a);
  switch (n.op) {
    case UnaryOp::logical_not: return fmt::format("!{}", a);
    case UnaryOp::bit_not: return type == DType::boolean ? "!" + a : fmt::format("{}(~{})", names_of(type).value, a);
    case UnaryOp::is_nan:
    case UnaryOp::is_inf: return is_floating(type) ? fmt::format("scalar::{}({})", name(n.op), a) : "false";
    case UnaryOp::neg:
    case UnaryOp::abs:
    case UnaryOp::sign: break;
    default:
      if (!is_floating(type)) return a;  // rounding functions of integers
  }
  return rounded(dtype, fmt::format("scalar::{}<{}>({})", name(n.op), names_of(type).value, a));
}

std::string Emitter::emit_arithmetic(const Binary& n) {
  const DType dtype = n.a->dtype;
  const std::string_view type = names_of(dtype).value;
  const std::string a = emit(n.a);
  std::string b = emit(n.b);
  if (may_divide_by_zero(n))
    b = n.op == BinaryOp::pow
            ? fmt::format("checked_exponent<{}>({}, {}, {})", type, a, b, site("zero to a negative power"))
            : fmt::format("checked_divisor<{}>({}, {})", type, b, site("integer division by zero"));
  if (dtype == DType::boolean) return fmt::format("bool(scalar::{}<uint8_t>({}, {}))", name(n.op), a, b);
  return rounded(dtype, fmt::format("scalar::{}<{}>({}, {})", name(n.op), type, a, b));
}

std::string Emitter::emit_node(const Binary& n, DType dtype) {
  const DType operands = n.a->dtype;
  if (const std::string_view sign = comparison(n.op); !sign.empty()) {
    if (operands == DType::int64 && is_narrow(n.a) && is_narrow(n.b))
      return fmt::format("({} {} {})", integer(n.a, true), sign, integer(n.b, true));
    const std::string a = emit(n.a);
    return fmt::format("({} {} {})", a, sign, emit(n.b));
  }
  if (n.op == BinaryOp::logical_and || n.op == BinaryOp::logical_or) {
    const std::string a = emit(n.a);
    return fmt::format("({} {} {})", a, n.op == BinaryOp::logical_and ? "&&" : "||", emit(n.b));
  }
  if (const std::string_view sign = bit_operator(n.op); !sign.empty()) {
    const std::string a = emit(n.a);
    return fmt::format("{}({} {} {})", names_of(dtype).value, a, sign, emit(n.b));
  }
  if (operands == DType::int64 && (is_index_operation(n.op) || is_division(n))) {
    const Expr whole = binary(n.op, n.a, n.b);
    if (!holds_load(whole) && is_narrow(whole)) return fmt::format("int64_t({})", integer(whole, true));
  }
  return emit_arithmetic(n);
}

std::string Emitter::emit_node(const Cast& n, DType dtype) {
  const DType from = n.a->dtype;
  const std::string a = emit(n.a);
  return fmt::format("{}(scalar::convert<{}, {}>({}))", names_of(dtype).value, names_of(from).element,
                     names_of(dtype).element, a);
}

std::string Emitter::emit_node(const Bitcast& n, DType dtype) {
  return fmt::format("scalar::bitcast<{}, {}>({})", names_of(n.a->dtype).element, names_of(dtype).element, emit(n.a));
}

std::string Emitter::emit_node(const Select& n, DType dtype) {
  if (!shared_.empty()) return emit_chosen(n, names_of(dtype).value, [&](const Expr& expr) { return emit(expr); });
  const std::string condition = emit(n.condition), if_true = emit(n.if_true);
  return fmt::format("({} ? {} : {})", condition, if_true, emit(n.if_false));
}

// Values used on one side only are computed there.
std::string Emitter::emit_chosen(const Select& n, std::string_view type,
                                 const std::function<std::string(const Expr&)>& emit_side) {
  const std::string condition = emit(n.condition);
  for (const Expr& expr : computed_by_both_.of(n)) emit(expr);
  const std::string result = name_for("t");
  line(fmt::format("{} {};", type, result));
  const auto side = [&](const Expr& expr) {
    shared_.emplace_back();
    ++indent_;
    const std::string value = emit_side(expr);
    line(fmt::format("{} = {};", result, value));
    --indent_;
    shared_.pop_back();
  };
  line(fmt::format("if ({}) {{", condition));
  side(n.if_true);
  line("} else {");
  side(n.if_false);
  line("}");
  return result;
}

bool Emitter::is_moved(const Expr& expr) {
  if (expr->dtype != DType::float16 && expr->dtype != DType::bfloat16) return false;
  if (const auto* choice = std::get_if<Select>(&expr->node))
    return is_moved(choice->if_true) && is_moved(choice->if_false);
  return std::holds_alternative<LoadExpr>(expr->node) || std::holds_alternative<FloatImm>(expr->node);
}

std::string Emitter::moved_bits(const Expr& expr) {
  const TypeNames& bits = names_of(DType::uint16);
  if (const auto* n = std::get_if<FloatImm>(&expr->node)) {
    const auto value = static_cast<float>(n->value);
    return fmt::format(
        "{}({})", bits.value,
        expr->dtype == DType::float16 ? float16_bits::to_float16(value) : float16_bits::to_bfloat16(value));
  }
  if (const auto* n = std::get_if<LoadExpr>(&expr->node))
    return element_count(n->buffer->shape) == 0 ? fmt::format("{}(0)", bits.value) : place(n->buffer, n->indices);
  const auto& n = std::get<Select>(expr->node);
  if (!shared_.empty()) return emit_chosen(n, bits.value, [&](const Expr& side) { return moved_bits(side); });
  const std::string condition = emit(n.condition), if_true = moved_bits(n.if_true);
  return fmt::format("({} ? {} : {})", condition, if_true, moved_bits(n.if_false));
}

std::string Emitter::emit_node(const LoadExpr& n, DType dtype) {
  const TypeNames& type = names_of(dtype);
  if (element_count(n.buffer->shape) == 0) return fmt::format("{}(0)", type.value);
  const std::string element = place(n.buffer, n.indices);
  if (dtype == DType::boolean) return fmt::format("({} != 0)", element);
  return type.value == type.memory ? element : fmt::format("{}::read({})", type.element, element);
}

std::string Emitter::emit_node(const Call& n, DType) {
  std::vector<std::string> arguments;
  for (const Expr& argument : n.arguments) arguments.push_back(emit(argument));
  switch (n.function) {
    case Function::requantize:
      return fmt::format("scalar::requantize({}, {}, {})", arguments[0], arguments[1], arguments[2]);
  }
  return "";
}

// s + a * b, rounded once if the store allows it.
std::string Emitter::emit_product_sum(const StoreTarget& target) {
  const auto* sum = std::get_if<Binary>(&target.value->node);
  const DType dtype = target.value->dtype;
  if (sum == nullptr || sum->op != BinaryOp::add || (dtype != DType::float32 && dtype != DType::float64))
    return emit(target.value);
  const Expr self = load(target.buffer, target.indices);
  const bool self_first = structurally_equal(sum->a, self);
  const auto* product = std::get_if<Binary>(&(self_first ? sum->b : sum->a)->node);
  if ((!self_first && !structurally_equal(sum->b, self)) || product == nullptr || product->op != BinaryOp::mul)
    return emit(target.value);
  const std::string a = emit(product->a), b = emit(product->b);
  return fmt::format("scalar::fma<{}>({}, {}, {})", names_of(dtype).value, a, b, emit(self));
}

// ---- Indices

bool Emitter::is_narrow(const Expr& expr) const {
  const auto range = bound(expr, bounds_);
  if (!range || range->min < kLeastInt || range->max > kMostInt) return false;
  if (expr->dtype != DType::int64) return true;
  if (const auto* n = std::get_if<Unary>(&expr->node)) return n->op == UnaryOp::neg && is_narrow(n->a);
  if (const auto* n = std::get_if<Binary>(&expr->node)) {
    if (is_index_operation(n->op) || !bit_operator(n->op).empty()) return is_narrow(n->a) && is_narrow(n->b);
    return !is_division(*n) || is_narrow(n->a);
  }
  if (const auto* n = std::get_if<Select>(&expr->node)) return is_narrow(n->if_true) && is_narrow(n->if_false);
  return true;
}

std::string Emitter::integer(const Expr& expr, bool narrow) {
  const std::string_view type = narrow ? "int" : "int64_t";
  if (const auto* n = std::get_if<IntImm>(&expr->node); n != nullptr && n->value > kLeastInt && n->value <= kMostInt)
    return n->value < 0 ? fmt::format("({})", n->value) : std::to_string(n->value);
  if (const auto* n = std::get_if<VarRef>(&expr->node))
    return narrow ? vars_.at(n->var.get()) : fmt::format("int64_t({})", vars_.at(n->var.get()));
  if (const auto* n = std::get_if<Unary>(&expr->node); n != nullptr && n->op == UnaryOp::neg)
    return fmt::format("(-{})", integer(n->a, narrow));
  if (const auto* n = std::get_if<Select>(&expr->node)) {
    if (shared_.empty())
      return fmt::format("({} ? {} : {})", emit(n->condition), integer(n->if_true, narrow),
                         integer(n->if_false, narrow));
  } else if (const auto* n = std::get_if<Binary>(&expr->node); n != nullptr && expr->dtype == DType::int64) {
    const auto both = [&](std::string_view sign) {
      const std::string a = integer(n->a, narrow);
      return fmt::format("({} {} {})", a, sign, integer(n->b, narrow));
    };
    switch (n->op) {
      case BinaryOp::add: return both("+");
      case BinaryOp::sub: return both("-");
      case BinaryOp::mul: return both("*");
      case BinaryOp::bit_and:
      case BinaryOp::bit_or:
      case BinaryOp::bit_xor: return both(bit_operator(n->op));
      case BinaryOp::min:
      case BinaryOp::max: {
        const std::string a = integer(n->a, narrow);
        return fmt::format("scalar::{}<{}>({}, {})", name(n->op), type, a, integer(n->b, narrow));
      }
      default: break;
    }
    if (is_division(*n)) {
      const auto range = bound(n->a, bounds_);
      const bool remainder = n->op == BinaryOp::mod || n->op == BinaryOp::floor_mod;
      const bool floors = n->op == BinaryOp::floor_div || n->op == BinaryOp::floor_mod;
      if (!floors || (range && range->min >= 0)) return both(remainder ? "%" : "/");
      const std::string a = integer(n->a, narrow);
      return fmt::format("scalar::{}<{}>({}, {})", name(n->op), type, a, integer(n->b, narrow));
    }
  }
  const std::string value = emit(expr);
  return names_of(expr->dtype).value == type ? value : fmt::format("{}({})", type, value);
}

// An index that depends on data is checked where it is used; one outside becomes 0 and the failure is reported.
Expr Emitter::checked_index(const Buffer& buffer, std::size_t dimension, const Expr& index) {
  if (!holds_load(index)) return index;
  const std::int64_t extent = buffer->shape[dimension];
  const auto proven = bound(index, bounds_);
  const Var var = make_var("checked");
  checked_.push_back(var);
  const std::string value = emit(index);
  if (proven && proven->min >= 0 && proven->max < extent) {
    bounds_[var.get()] = *proven;
    vars_[var.get()] = value;
  } else {
    // At least two values, so that no rewrite replaces an index into an extent of 1 by 0 and drops its check.
    bounds_[var.get()] = {0, std::max<std::int64_t>(extent - 1, 1)};
    vars_[var.get()] = fmt::format("checked_index({}, {}, {})", value, extent,
                                   site(fmt::format("an index of {} is outside of 0 <= index < {} (dimension {})",
                                                    buffer->name, extent, dimension)));
  }
  // The type is explicit, since the proven bounds of the value do not change its type in the text.
  vars_[var.get()] = fmt::format("{}({})", extent <= kMostInt ? "int" : "int64_t", vars_[var.get()]);
  return ref(var);
}

std::string Emitter::place(const Buffer& buffer, const std::vector<Expr>& indices) {
  Expr offset = int_imm(0);
  std::int64_t stride = 1;
  for (std::size_t d = indices.size(); d-- > 0;) {
    offset = offset + cast(DType::int64, checked_index(buffer, d, indices[d])) * stride;
    stride *= buffer->shape[d];
  }
  std::string subscript = integer(simplify(offset, bounds_));
  if (subscript.size() > 2 && subscript.front() == '(' && subscript.back() == ')') {
    // The outermost parentheses are redundant inside brackets.
    int depth = 0;
    bool whole = true;
    for (std::size_t i = 0; i + 1 < subscript.size(); ++i) {
      depth += subscript[i] == '(' ? 1 : subscript[i] == ')' ? -1 : 0;
      whole &= depth > 0;
    }
    if (whole) subscript = subscript.substr(1, subscript.size() - 2);
  }
  return fmt::format("{}[{}]", buffers_.at(buffer.get()), subscript);
}

}  // namespace dovetail::cuda
