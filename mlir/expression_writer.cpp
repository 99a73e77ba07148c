#include <algorithm>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/overloaded.h"
#include "loops/print.h"
#include "loops/range.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"
#include "mlir/function_writer.h"

namespace dovetail::mlir {

using namespace loops;

namespace {

bool signless_unsigned(DType dtype) {
  return info(dtype).kind == DTypeKind::unsigned_integer || dtype == DType::boolean;
}
bool is_half_type(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

std::string op_attribute(std::string_view name) { return fmt::format("dovetail.op = \"{}\"", name); }

// The type as an attribute, where a reader would assume another one.
std::string type_attribute(DType dtype) {
  return info(dtype).kind == DTypeKind::unsigned_integer ? fmt::format("dovetail.type = \"{}\"", name(dtype)) : "";
}

std::string joined(std::string a, const std::string& b) { return a.empty() ? b : b.empty() ? a : a + ", " + b; }

std::string_view math_name(UnaryOp op) {
  switch (op) {
    case UnaryOp::floor: return "math.floor";
    case UnaryOp::ceil: return "math.ceil";
    case UnaryOp::round_even: return "math.roundeven";
    case UnaryOp::trunc: return "math.trunc";
    case UnaryOp::sqrt: return "math.sqrt";
    case UnaryOp::exp: return "math.exp";
    case UnaryOp::log: return "math.log";
    case UnaryOp::sin: return "math.sin";
    case UnaryOp::cos: return "math.cos";
    case UnaryOp::tan: return "math.tan";
    case UnaryOp::asin: return "math.asin";
    case UnaryOp::acos: return "math.acos";
    case UnaryOp::atan: return "math.atan";
    case UnaryOp::sinh: return "math.sinh";
    case UnaryOp::cosh: return "math.cosh";
    case UnaryOp::asinh: return "math.asinh";
    case UnaryOp::acosh: return "math.acosh";
    case UnaryOp::atanh: return "math.atanh";
    case UnaryOp::tanh: return "math.tanh";
    case UnaryOp::erf: return "math.erf";
    case UnaryOp::abs: return "math.absf";
    case UnaryOp::neg: return "arith.negf";
    default: return "";
  }
}

std::string_view comparison(BinaryOp op, DType dtype) {
  const bool floating = is_floating(dtype), without_sign = signless_unsigned(dtype);
  switch (op) {
    case BinaryOp::eq: return floating ? "oeq" : "eq";
    case BinaryOp::ne: return floating ? "une" : "ne";
    case BinaryOp::lt: return floating ? "olt" : without_sign ? "ult" : "slt";
    case BinaryOp::le: return floating ? "ole" : without_sign ? "ule" : "sle";
    case BinaryOp::gt: return floating ? "ogt" : without_sign ? "ugt" : "sgt";
    case BinaryOp::ge: return floating ? "oge" : without_sign ? "uge" : "sge";
    default: return "";
  }
}

// Both sides of a select may be computed: they neither fail nor read memory, and are small.
bool may_compute_both(const Select& n) {
  int nodes = 0;
  bool plain = true;
  for (const Expr& side : {n.if_true, n.if_false})
    visit_exprs(side, [&](const Expr& e) {
      ++nodes;
      if (const auto* binary = std::get_if<Binary>(&e->node)) plain &= !may_divide_by_zero(*binary);
      plain &= !std::holds_alternative<LoadExpr>(e->node) && !std::holds_alternative<Select>(e->node);
    });
  constexpr int kMostNodes = 12;
  return plain && nodes <= kMostNodes;
}

}  // namespace

std::string FunctionWriter::constant(const Expr& literal) {
  const std::string type(value_type(literal->dtype)), attribute = type_attribute(literal->dtype);
  std::string number = literal_text(literal);
  const std::string definition =
      fmt::format("arith.constant {}{}{}", attribute.empty() ? "" : fmt::format("{{{}}} ", attribute), number,
                  literal->dtype == DType::boolean ? "" : " : " + type);
  const auto [found, is_new] = constant_names_.emplace(definition, "");
  if (is_new) {
    std::ranges::replace(number, '-', 'n');
    found->second = new_name(fmt::format("c{}_{}", number, dovetail::name(literal->dtype)));
    constants_.emplace_back(found->second, definition);
  }
  return found->second;
}

std::string FunctionWriter::index_constant(std::int64_t value) {
  const std::string definition = fmt::format("arith.constant {} : index", value);
  const auto [found, is_new] = constant_names_.emplace(definition, "");
  if (is_new) {
    found->second = new_name(value < 0 ? fmt::format("cn{}", -value) : fmt::format("c{}", value));
    constants_.emplace_back(found->second, definition);
  }
  return found->second;
}

std::string FunctionWriter::emit(std::string_view operation, std::string_view attributes, std::string_view type) {
  std::string name = result();
  lines_.line(fmt::format("{} = {}{} : {}", name, operation,
                          attributes.empty() ? "" : fmt::format(" {{{}}}", attributes), type));
  return name;
}

std::string FunctionWriter::broadcast(const std::string& scalar, std::string_view type) {
  return emit("vector.broadcast " + scalar, "", fmt::format("{} to vector<{}x{}>", type, *lanes_, type));
}

std::string FunctionWriter::value(const Expr& expr) {
  if (std::holds_alternative<IntImm>(expr->node) || std::holds_alternative<FloatImm>(expr->node)) return compute(expr);
  for (const auto& scope : std::views::reverse(scopes_))
    if (const auto found = scope.find(expr); found != scope.end()) return found->second;
  std::string name = compute(expr);
  if (!scopes_.empty()) scopes_.back().emplace(expr, name);
  return name;
}

std::string FunctionWriter::compute(const Expr& expr) {
  const auto literal = [&] {
    std::string name = constant(expr);
    return lanes_ ? broadcast(name, value_type(expr->dtype)) : name;
  };
  return std::visit(
      Overloaded{
          [&](const IntImm&) { return literal(); },
          [&](const FloatImm&) { return literal(); },
          [&](const VarRef& n) { return compute_variable(n.var); },
          [&](const Unary& n) { return compute(expr, n); },
          [&](const Binary& n) { return compute(expr, n); },
          [&](const Cast& n) { return compute_cast(expr, n); },
          [&](const Bitcast& n) {
            return emit("arith.bitcast " + value(n.a), type_attribute(expr->dtype),
                        fmt::format("{} to {}", type_of(n.a->dtype), type_of(expr->dtype)));
          },
          [&](const Select& n) { return compute(expr, n); },
          [&](const LoadExpr& n) { return compute(expr, n); },
          [&](const Call& n) { return call(module_.meanings.need(n.function), n.arguments, "(i32, f32, i32) -> i32"); },
      },
      expr->node);
}

std::string FunctionWriter::compute_variable(const Var& var) {
  const auto found = vars_.find(var.get());
  DOVETAIL_CHECK(found != vars_.end(), "variable " + var->name + " must have been written");
  const std::string cast = emit(
      fmt::format("arith.{} {}", info(var->dtype).kind == DTypeKind::unsigned_integer ? "index_castui" : "index_cast",
                  found->second.name),
      "", fmt::format("index to {}", value_type(var->dtype)));
  return lanes_ ? broadcast(cast, value_type(var->dtype)) : cast;
}

std::string FunctionWriter::call(const std::string& symbol, const std::vector<Expr>& arguments, std::string_view type) {
  std::vector<std::string> names;
  for (const Expr& argument : arguments) names.push_back(value(argument));
  return emit(fmt::format("func.call {}({})", symbol_reference(symbol), fmt::join(names, ", ")), "", type);
}

std::string FunctionWriter::compute(const Expr& expr, const Unary& n) {
  const DType operand = n.a->dtype;
  const std::string type = type_of(operand);
  const auto helper = [&] {
    return call(module_.meanings.need(n.op, operand), {n.a},
                fmt::format("({}) -> {}", value_type(operand), value_type(expr->dtype)));
  };
  switch (n.op) {
    case UnaryOp::logical_not: {
      const std::string a = value(n.a), all = value(bool_imm(true));
      return emit(fmt::format("arith.xori {}, {}", a, all), op_attribute(name(n.op)), type);
    }
    case UnaryOp::bit_not: {
      const Expr ones = int_imm(info(operand).kind == DTypeKind::unsigned_integer && operand != DType::uint64
                                    ? (std::int64_t{1} << (8 * size_bytes(operand))) - 1
                                    : -1,
                                operand);
      const std::string a = value(n.a), all = value(ones);
      return emit(fmt::format("arith.xori {}, {}", a, all), op_attribute(name(n.op)), type);
    }
    case UnaryOp::neg: {
      if (is_floating(operand)) break;
      const std::string a = value(n.a), zero = value(int_imm(0, operand));
      return emit(fmt::format("arith.subi {}, {}", zero, a), op_attribute(name(n.op)), type);
    }
    case UnaryOp::abs:
      if (!is_floating(operand)) return helper();
      break;
    case UnaryOp::sign:
    case UnaryOp::rsqrt:
    case UnaryOp::is_inf: return helper();
    case UnaryOp::is_nan: {
      const std::string a = value(n.a);
      return emit(fmt::format("arith.cmpf uno, {}, {}", a, a), op_attribute(name(n.op)), type);
    }
    default: break;
  }
  return emit(fmt::format("{} {}", math_name(n.op), value(n.a)), "", type);
}

// min: b < a || b != b ? b : a. MLIR's own minimum orders zeros by their signs.
std::string FunctionWriter::compute_extremum(const Expr& expr, const Binary& n) {
  const std::string a = value(n.a), b = value(n.b), type = type_of(expr->dtype), truth = type_of(DType::boolean);
  const bool is_min = n.op == BinaryOp::min;
  if (!is_floating(expr->dtype))
    return emit(
        fmt::format("arith.{}{} {}, {}", is_min ? "min" : "max", signless_unsigned(expr->dtype) ? "ui" : "si", a, b),
        "", type);
  const std::string beyond = emit(
      is_min ? fmt::format("arith.cmpf olt, {}, {}", b, a) : fmt::format("arith.cmpf olt, {}, {}", a, b), "", type);
  const std::string nan = emit(fmt::format("arith.cmpf une, {}, {}", b, b), "", type);
  const std::string takes_b = emit(fmt::format("arith.ori {}, {}", beyond, nan), op_attribute("logical_or"), truth);
  return emit(fmt::format("arith.select {}, {}, {}", takes_b, b, a), op_attribute(name(n.op)),
              lanes_ ? fmt::format("{}, {}", truth, type) : type);
}

std::string FunctionWriter::compute(const Expr& expr, const Binary& n) {
  const DType operand = n.a->dtype;
  const std::string type = type_of(operand);
  const auto simple = [&](std::string_view operation, std::string attributes = {}) {
    const std::string a = value(n.a), b = value(n.b);
    return emit(fmt::format("arith.{} {}, {}", operation, a, b), attributes, type);
  };
  const auto helper = [&] {
    return call(module_.meanings.need(n.op, operand), {n.a, n.b},
                fmt::format("({0}, {0}) -> {0}", value_type(operand)));
  };
  const bool floating = is_floating(operand);
  switch (n.op) {
    case BinaryOp::add: return simple(floating ? "addf" : "addi");
    case BinaryOp::sub: return simple(floating ? "subf" : "subi");
    case BinaryOp::mul: return simple(floating ? "mulf" : "muli");
    case BinaryOp::div:
    case BinaryOp::mod:
    case BinaryOp::floor_div:
    case BinaryOp::floor_mod: return compute_division(expr, n);
    case BinaryOp::min:
    case BinaryOp::max: return compute_extremum(expr, n);
    case BinaryOp::pow: {
      if (!floating) return helper();
      const std::string a = value(n.a), b = value(n.b);
      return emit(fmt::format("math.powf {}, {}", a, b), "", type);
    }
    case BinaryOp::shl:
    case BinaryOp::shr: {
      const auto* amount = std::get_if<IntImm>(&n.b->node);
      if (amount == nullptr || amount->value < 0 || amount->value >= 8 * size_bytes(operand)) return helper();
      return simple(n.op == BinaryOp::shl ? "shli" : signless_unsigned(operand) ? "shrui" : "shrsi");
    }
    case BinaryOp::bit_and: return simple("andi");
    case BinaryOp::bit_or: return simple("ori");
    case BinaryOp::bit_xor: return simple("xori");
    case BinaryOp::logical_and:
    case BinaryOp::logical_or: return simple(n.op == BinaryOp::logical_and ? "andi" : "ori", op_attribute(name(n.op)));
    default: {
      const std::string a = value(n.a), b = value(n.b);
      return emit(fmt::format("arith.cmp{} {}, {}, {}", floating ? "f" : "i", comparison(n.op, operand), a, b), "",
                  type);
    }
  }
}

std::string FunctionWriter::compute_division(const Expr& expr, const Binary& n) {
  const DType dtype = expr->dtype;
  const std::string type = type_of(dtype);
  const auto simple = [&](std::string_view operation, std::string attributes = {}) {
    const std::string a = value(n.a), b = value(n.b);
    return emit(fmt::format("arith.{} {}, {}", operation, a, b), attributes, type);
  };
  const bool floors = n.op == BinaryOp::floor_div || n.op == BinaryOp::floor_mod;
  if (is_floating(dtype) && !floors) return simple(n.op == BinaryOp::div ? "divf" : "remf");
  const auto* divisor = std::get_if<IntImm>(&n.b->node);
  const bool safe = divisor != nullptr && divisor->value != 0 && divisor->value != -1;
  if (safe && info(dtype).kind == DTypeKind::unsigned_integer)
    return simple(n.op == BinaryOp::div || n.op == BinaryOp::floor_div ? "divui" : "remui",
                  floors ? op_attribute(name(n.op)) : "");
  if (safe && !floors && is_integer(dtype)) return simple(n.op == BinaryOp::div ? "divsi" : "remsi");
  if (safe && n.op == BinaryOp::floor_div && divisor->value > 0) return simple("floordivsi");
  return call(module_.meanings.need(n.op, dtype), {n.a, n.b}, fmt::format("({0}, {0}) -> {0}", value_type(dtype)));
}

std::string FunctionWriter::compute_cast(const Expr& expr, const Cast& n) {
  const DType from = n.a->dtype, to = expr->dtype;
  const std::string types = fmt::format("{} to {}", type_of(from), type_of(to));
  const auto simple = [&](std::string_view operation, std::string attributes = {}) {
    return emit(fmt::format("arith.{} {}", operation, value(n.a)), joined(std::move(attributes), type_attribute(to)),
                types);
  };
  if (to == DType::boolean) {
    const Expr zero = is_floating(from) ? float_imm(0, from) : int_imm(0, from);
    const std::string a = value(n.a), none = value(zero);
    return emit(fmt::format("arith.cmp{}, {}, {}", is_floating(from) ? "f une" : "i ne", a, none), op_attribute("cast"),
                type_of(from));
  }
  const bool from_floating = is_floating(from), to_floating = is_floating(to);
  if (!from_floating && !to_floating) {
    if (from == DType::boolean) return simple("extui");
    if (size_bytes(to) < size_bytes(from)) return simple("trunci");
    if (size_bytes(to) > size_bytes(from)) return simple(signless_unsigned(from) ? "extui" : "extsi");
    return simple("bitcast", op_attribute("cast"));
  }
  if (!from_floating && (!is_half_type(to) || from == DType::boolean))
    return simple(signless_unsigned(from) ? "uitofp" : "sitofp");
  if (from_floating && to_floating && !is_half_type(to) && size_bytes(to) > size_bytes(from)) return simple("extf");
  if (from_floating && to_floating && size_bytes(to) < size_bytes(from) &&
      !(from == DType::float64 && is_half_type(to)))
    return simple("truncf");
  return call(module_.meanings.need_conversion(from, to), {n.a},
              fmt::format("({}) -> {}", value_type(from), value_type(to)));
}

std::string FunctionWriter::compute(const Expr& expr, const Select& n) {
  const std::string type = type_of(expr->dtype);
  const std::string condition = value(n.condition);
  if (lanes_ || may_compute_both(n)) {
    const std::string a = value(n.if_true), b = value(n.if_false);
    return emit(fmt::format("arith.select {}, {}, {}", condition, a, b), "",
                lanes_ ? fmt::format("{}, {}", type_of(DType::boolean), type) : type);
  }
  for (const Expr& shared : computed_by_both_.of(n)) value(shared);
  std::string name = result();
  lines_.open(fmt::format("{} = scf.if {} -> ({})", name, condition, type));
  const auto side = [&](const Expr& chosen) {
    const Scope scope(*this);
    const std::string yielded = value(chosen);
    lines_.line(fmt::format("scf.yield {} : {}", yielded, type));
  };
  side(n.if_true);
  lines_.otherwise();
  side(n.if_false);
  lines_.close();
  return name;
}

// ---- Memory

bool FunctionWriter::is_affine_var(const Var& var) const {
  const auto found = vars_.find(var.get());
  return found != vars_.end() && found->second.affine;
}

std::vector<std::string> FunctionWriter::names_of(const std::vector<Var>& vars) const {
  std::vector<std::string> names;
  for (const Var& var : vars) names.push_back(vars_.at(var.get()).name);
  return names;
}

std::optional<std::string> FunctionWriter::affine_text_of(const Expr& expr) {
  AffineOperands operands;
  const auto affine = to_affine(expr, operands, affine_vars());
  if (!affine) return std::nullopt;
  return to_text(*affine, names_of(operands.vars));
}

FunctionWriter::Access FunctionWriter::access(const Buffer& buffer, const std::vector<Expr>& indices,
                                              std::string attributes) {
  Access result;
  std::vector<std::string> texts;
  bool keeps = true;
  if (uses_affine())
    for (const Expr& index : indices) {
      auto text = affine_text_of(index);
      if (!text) break;
      texts.push_back(*std::move(text));
      keeps &= keeps_form(index);
    }
  if (uses_affine() && texts.size() == indices.size()) {
    result.operation_prefix = "affine.";
    if (!keeps) {
      std::vector<std::string> exact;
      for (const Expr& index : indices) exact.push_back(string_literal(loops::to_string(index)));
      attributes = joined(std::move(attributes), fmt::format("dovetail.indices = [{}]", fmt::join(exact, ", ")));
    }
  } else {
    DOVETAIL_CHECK(!lanes_, "an access of a vectorized loop must be affine");
    texts.clear();
    result.operation_prefix = "memref.";
    for (std::size_t dim = 0; dim < indices.size(); ++dim) texts.push_back(index_operand(buffer, dim, indices[dim]));
  }
  result.indices = fmt::format("{}", fmt::join(texts, ", "));
  if (!attributes.empty()) result.attributes = fmt::format(" {{{}}}", attributes);
  return result;
}

std::string FunctionWriter::index_value(const Expr& expr) {
  if (const auto* n = std::get_if<IntImm>(&expr->node); n != nullptr && expr->dtype == DType::int64)
    return index_constant(n->value);
  if (const auto* n = std::get_if<VarRef>(&expr->node)) return vars_.at(n->var.get()).name;
  const bool without_sign = info(expr->dtype).kind == DTypeKind::unsigned_integer;
  return emit(fmt::format("arith.{} {}", without_sign ? "index_castui" : "index_cast", value(expr)), "",
              fmt::format("{} to index", value_type(expr->dtype)));
}

// The index of a dimension; one that is not proven in bounds is checked.
std::string FunctionWriter::index_operand(const Buffer& buffer, std::size_t dim, const Expr& expr) {
  std::string index = index_value(expr);
  if (range_of(expr, bounds_).within(0, buffer->shape[dim] - 1)) return index;
  const std::string inside =
      emit(fmt::format("arith.cmpi ult, {}, {}", index, index_constant(buffer->shape[dim])), "", "index");
  lines_.line(
      fmt::format("cf.assert {}, {}", inside, string_literal(fmt::format("index of {} out of bounds", buffer->name))));
  return index;
}

std::string FunctionWriter::compute(const Expr& expr, const LoadExpr& n) {
  if (tensors_) return compute_element(expr, n);
  const Memory& memory = memories_.at(n.buffer.get());
  if (lanes_ && std::ranges::none_of(n.indices, [&](const Expr& index) { return moves(index); })) {
    const Access place = access(n.buffer, n.indices);
    const std::string scalar = result();
    lines_.line(fmt::format("{} = {}load {}[{}]{} : {}", scalar, place.operation_prefix, memory.name, place.indices,
                            place.attributes, memory.type));
    return broadcast(scalar, value_type(expr->dtype));
  }
  const Access place = access(n.buffer, n.indices);
  std::string name = result();
  lines_.line(fmt::format("{} = {}{} {}[{}]{} : {}{}", name, place.operation_prefix, lanes_ ? "vector_load" : "load",
                          memory.name, place.indices, place.attributes, memory.type,
                          lanes_ ? ", " + type_of(expr->dtype) : ""));
  if (expr->dtype != DType::boolean) return name;
  const std::string zero = constant(int_imm(0, DType::int8));
  return emit(fmt::format("arith.cmpi ne, {}, {}", name, zero), op_attribute("load"), "i8");
}

}  // namespace dovetail::mlir
