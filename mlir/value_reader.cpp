#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/float16_bits.h"
#include "loops/integer.h"
#include "loops/rewrite.h"
#include "mlir/function_reader.h"
#include "mlir/meanings.h"

namespace dovetail::mlir {

using namespace loops;

namespace {

constexpr int kMostDepth = 1000;  // of an expression, as of the text of loop programs

DType signed_form(DType dtype) {
  switch (dtype) {
    case DType::uint8: return DType::int8;
    case DType::uint16: return DType::int16;
    case DType::uint32: return DType::int32;
    case DType::uint64: return DType::int64;
    default: return dtype;
  }
}
DType unsigned_form(DType dtype) {
  switch (dtype) {
    case DType::int8: return DType::uint8;
    case DType::int16: return DType::uint16;
    case DType::int32: return DType::uint32;
    case DType::int64: return DType::uint64;
    default: return dtype;
  }
}

double bits_as_float(std::uint64_t bits, DType dtype) {
  switch (dtype) {
    case DType::float64: return std::bit_cast<double>(bits);
    case DType::float32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case DType::float16: return float16_to_float(static_cast<std::uint16_t>(bits));
    default: return bfloat16_to_float(static_cast<std::uint16_t>(bits));
  }
}

}  // namespace

void FunctionReader::fail(const Position& at, std::string why, std::string hint) {
  errors_.push_back(
      {"cannot read MLIR", fmt::format("{}:{}:{}", where_, at.line, at.column), std::move(why), std::move(hint)});
  throw Stop{};
}

const FunctionReader::Value& FunctionReader::find(const Operand& operand) {
  const auto found = values_.find(operand.name);
  if (found == values_.end() || found->second.empty())
    fail(operand.at, fmt::format("%{} is not defined here", operand.name), "define it before its use");
  return found->second.back();
}

Expr FunctionReader::expr(const Operation& op, std::size_t operand) {
  if (operand >= op.operands.size())
    fail(op.at, fmt::format("{} has {} operands", op.name, op.operands.size()), "give all of them");
  const Value& value = find(op.operands[operand]);
  if (!value.expr)
    fail(op.operands[operand].at, fmt::format("%{} is a memref, and not a number", op.operands[operand].name),
         "load from it");
  return value.expr;
}

Expr FunctionReader::index(const Operation& op, std::size_t operand) {
  const Expr value = expr(op, operand);
  if (!is_integer(value->dtype)) fail(op.operands[operand].at, "an index is not an integer", "convert it");
  return value;
}

Buffer FunctionReader::memref(const Operation& op, std::size_t operand) {
  if (operand >= op.operands.size())
    fail(op.at, fmt::format("{} has {} operands", op.name, op.operands.size()), "give all of them");
  const Value& value = find(op.operands[operand]);
  if (!value.buffer)
    fail(op.operands[operand].at, fmt::format("%{} is not a memref with a static shape", op.operands[operand].name),
         "use an argument or an allocation");
  return value.buffer;
}

int FunctionReader::deepest(const Operation& op) const {
  int depth = 0;
  for (const Operand& operand : op.operands)
    if (const auto found = values_.find(operand.name); found != values_.end() && !found->second.empty())
      depth = std::max(depth, found->second.back().depth);
  return depth;
}

void FunctionReader::set(const Operation& op, Value value) {
  if (op.results.size() != 1)
    fail(op.at, fmt::format("{} has {} results", op.name, op.results.size()), "it has one result");
  value.depth = std::max(value.depth, deepest(op) + 1);
  if (value.depth > kMostDepth)
    fail(op.at, fmt::format("the expression is nested more than {} operations deep", kMostDepth),
         "store an intermediate value");
  values_[op.results.front()].push_back(std::move(value));
  names_.back().push_back(op.results.front());
}

DType FunctionReader::result_type(const Operation& op) const {
  const DType plain = op.result_types.empty() ? DType::int64 : op.result_types.front().dtype;
  const auto named = op.text("dovetail.type");
  const auto dtype = named ? dtype_from_name(*named) : std::nullopt;
  return dtype && is_integer(*dtype) && is_integer(plain) && size_bytes(*dtype) == size_bytes(plain) ? *dtype : plain;
}

// Integers of the same size have the same bits.
Expr FunctionReader::as(const Operation& op, const Expr& expr, DType dtype) {
  if (expr->dtype == dtype) return expr;
  if (!is_integer(expr->dtype) || !is_integer(dtype) || size_bytes(expr->dtype) != size_bytes(dtype))
    fail(op.at, fmt::format("{} has operands of types {} and {}", op.name, name(expr->dtype), name(dtype)),
         "convert one of them");
  return loops::cast(dtype, expr);
}

Expr FunctionReader::with_sign(const Operation& op, const Expr& expr, bool is_signed) {
  return as(op, expr, is_signed ? signed_form(expr->dtype) : unsigned_form(expr->dtype));
}

void FunctionReader::check_current(const Operation& op, const Expr& expr) {
  visit_exprs(expr, [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    if (load == nullptr) return;
    const auto found = loads_.find(e);
    if (found == loads_.end()) return;
    const LoadTime& time = found->second;
    const auto write = last_write_.find(load->buffer.get());
    const bool changed = write != last_write_.end() && write->second > time.time;
    const bool other_loop = time.innermost != loop_ids_.back();
    if (changed || (other_loop && written_buffers_.contains(load->buffer.get())))
      fail(op.at,
           fmt::format("a value loaded from {} is used {}", load->buffer->name,
                       changed ? "after a store to it" : "in another loop than the one that loads it"),
           "load it again before its use, or store it to a memref of its own");
  });
}

Expr FunctionReader::exact(const std::string* text, const Expr& actual) {
  if (text == nullptr) return actual;
  const auto parsed = parse_expression(*text, where_, {visible_, buffers_}, actual->dtype);
  return parsed.ok() && same_value(*parsed, actual) ? *parsed : actual;
}

std::vector<Expr> FunctionReader::map_operands(const Operation& op, std::size_t first_operand, std::size_t count) {
  std::vector<Expr> result;
  for (std::size_t i = 0; i < count; ++i) {
    Expr operand = index(op, first_operand + i);
    result.push_back(loops::cast(DType::int64, operand));
  }
  return result;
}

Expr FunctionReader::applied(const Operation& op, const AffineExpr& affine, std::size_t first_operand) {
  const std::size_t count = op.operands.size() - std::min(op.operands.size(), first_operand);
  return to_loops(affine, map_operands(op, first_operand, count));
}

std::vector<Expr> FunctionReader::indices_of(const Operation& op, std::size_t first_operand, const Buffer& buffer) {
  std::vector<Expr> result;
  if (op.name.starts_with("memref.")) {
    for (std::size_t i = first_operand; i < op.operands.size(); ++i) result.push_back(index(op, i));
  } else {
    const Attribute* map = op.find("map");
    if (map == nullptr || map->kind != Attribute::Kind::map ||
        map->map.dims + map->map.symbols + first_operand > op.operands.size())
      fail(op.at, "the access has no map for its operands", "write %memref[indices]");
    const Attribute* texts = op.find("dovetail.indices");
    for (std::size_t i = 0; i < map->map.results.size(); ++i) {
      const bool has_text = texts != nullptr && i < texts->elements.size();
      result.push_back(
          exact(has_text ? &texts->elements[i].text : nullptr, applied(op, map->map.results[i], first_operand)));
    }
  }
  if (result.size() != buffer->shape.size())
    fail(op.at,
         fmt::format("{} has {} dimensions, and {} indices are given", buffer->name, buffer->shape.size(),
                     result.size()),
         "give an index for each dimension");
  return result;
}

FunctionReader::Value FunctionReader::loaded(const Operation& op) {
  const Buffer buffer = memref(op, 0);
  if (op.name == "affine.vector_load" && !in_lanes_)
    fail(op.at, "a vector is loaded outside a loop of kind \"vectorized\"",
         "load elements, or mark the loop by dovetail.kind = \"vectorized\" with its extent as the step");
  const Expr value = load(buffer, indices_of(op, 1, buffer));
  loads_.insert_or_assign(value, LoadTime{time_, loops_.size(), loop_ids_.back()});
  const bool byte =
      buffer->dtype == DType::boolean && !op.result_types.empty() && op.result_types.front().dtype != DType::boolean;
  return {.expr = value, .in_memory = byte};
}

FunctionReader::Value FunctionReader::constant(const Operation& op) {
  const Attribute* value = op.find("value");
  if (value == nullptr) fail(op.at, "the constant has no value", "write a number");
  const DType dtype = result_type(op);
  Attribute splat;
  if (value->kind == Attribute::Kind::other) {  // dense<0.0>, of the generic form
    const auto number = std::string_view(value->text);
    if (number.empty() || number.find_first_of("[\",") != std::string_view::npos)
      fail(op.at, "the constant has several values", "use a constant memref as an argument");
    double parsed = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), parsed);
    if (error != std::errc{} || end != number.data() + number.size())
      fail(op.at, fmt::format("the constant {} is not a number", number), "write a number");
    splat.kind = Attribute::Kind::floating;
    splat.text = std::string(number);
    splat.integer = static_cast<std::int64_t>(std::abs(parsed) < 0x1p53 ? parsed : 0);
    value = &splat;
  }
  if (is_floating(dtype)) {
    if (value->kind == Attribute::Kind::integer)
      return {.expr = float_imm(bits_as_float(static_cast<std::uint64_t>(value->integer), dtype), dtype)};
    double number = 0;
    const std::string& text = value->text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (value->kind != Attribute::Kind::floating || end != text.data() + text.size() || text.empty())
      fail(op.at, "the constant is not a number", "write a number");
    if (error != std::errc{}) fail(op.at, fmt::format("{} is out of range", text), "use a smaller number");
    return {.expr = float_imm(number, dtype)};
  }
  const std::int64_t number = value->integer;
  if (dtype == DType::boolean) return {.expr = bool_imm(number != 0)};
  if (value->kind != Attribute::Kind::integer && value != &splat)
    fail(op.at, "the constant is not an integer", "write an integer");
  // A pattern of bits: MLIR prints integers of any type as signed ones.
  if (!fits(number, dtype) && !fits(number, signed_form(dtype)) && !fits(number, unsigned_form(dtype)))
    fail(op.at, fmt::format("{} does not fit {}", number, name(dtype)), "use a smaller number, or a wider type");
  return {.expr = int_imm(wrap(number, dtype), dtype)};
}

FunctionReader::Value FunctionReader::cast(const Operation& op) {
  const Expr a = expr(op, 0);
  const DType from = a->dtype, to = result_type(op);
  const std::string_view name = op.name;
  const auto attribute = op.text("dovetail.op");
  if (attribute == "store" && from == DType::boolean) return {.expr = a, .in_memory = true};
  if (name.starts_with("arith.index_cast")) {
    if (to == from) return {.expr = a};
    if (op.result_types.empty() || op.result_types.front().kind == Type::Kind::index) return {.expr = a};
    const bool variable = std::holds_alternative<VarRef>(a->node);
    if (variable && size_bytes(to) == size_bytes(from)) return {.expr = a};
    if (!is_integer(from) || !is_integer(to)) fail(op.at, "an index is not an integer", "convert it");
    return {.expr = loops::cast(to, a)};
  }
  if (name == "arith.bitcast") {
    if (attribute == "cast" && is_integer(from) && is_integer(to)) return {.expr = loops::cast(to, a)};
    if (size_bytes(from) != size_bytes(to) || from == DType::boolean || to == DType::boolean)
      fail(op.at, fmt::format("arith.bitcast from {} to {}", dovetail::name(from), dovetail::name(to)),
           "both types have the same size");
    return {.expr = bitcast(to, a)};
  }
  const bool integers = !is_floating(from) && !is_floating(to);
  const bool fits_types = name == "arith.extsi" || name == "arith.extui"
                              ? integers && size_bytes(to) >= size_bytes(from)
                          : name == "arith.trunci" ? integers && size_bytes(to) <= size_bytes(from)
                          : name == "arith.extf" || name == "arith.truncf"   ? is_floating(from) && is_floating(to)
                          : name == "arith.sitofp" || name == "arith.uitofp" ? !is_floating(from) && is_floating(to)
                                                                             : is_floating(from) && is_integer(to);
  if (!fits_types)
    fail(op.at, fmt::format("{} from {} to {}", name, dovetail::name(from), dovetail::name(to)),
         "use the conversion of these types");
  if (name == "arith.fptoui") return {.expr = loops::cast(to, loops::cast(unsigned_form(to), a))};
  if (name == "arith.trunci" && to == DType::boolean)
    return {.expr = loops::cast(to, binary(BinaryOp::bit_and, a, int_imm(1, from)))};
  if (name == "arith.extsi" && from == DType::boolean) return {.expr = unary(UnaryOp::neg, loops::cast(to, a))};
  const bool source_signed = name == "arith.extsi" || name == "arith.sitofp",
             source_unsigned = name == "arith.extui" || name == "arith.uitofp";
  const Expr source = source_signed && from != DType::boolean     ? with_sign(op, a, true)
                      : source_unsigned && from != DType::boolean ? with_sign(op, a, false)
                                                                  : a;
  return {.expr = loops::cast(to, source)};
}

bool FunctionReader::define(const Operation& op) {
  const std::string_view name = op.name;
  if (name == "affine.load" || name == "memref.load" || name == "affine.vector_load") set(op, loaded(op));
  else if (name == "arith.constant") set(op, constant(op));
  else if (name == "arith.cmpi" || name == "arith.cmpf") set(op, comparison(op));
  else if (name == "arith.select") set(op, chosen(op));
  else if (name.starts_with("arith.ext") || name.starts_with("arith.trunc") || name == "arith.bitcast" ||
           name.starts_with("arith.index_cast") || name == "arith.sitofp" || name == "arith.uitofp" ||
           name == "arith.fptosi" || name == "arith.fptoui")
    set(op, cast(op));
  else if (name == "vector.broadcast") set(op, {.expr = expr(op, 0)});
  else if (name == "affine.apply") {
    const Attribute* map = op.find("map");
    if (map == nullptr || map->map.results.size() != 1 || map->map.dims + map->map.symbols > op.operands.size())
      fail(op.at, "the operation has no map with one result", "write affine_map<...>");
    set(op, {.expr = applied(op, map->map.results.front(), 0)});
  } else if ((name == "scf.if" || name == "affine.if") && !op.results.empty()) set(op, chosen_by_branch(op));
  else if (name == "func.call" && !op.results.empty()) set(op, helper(op));
  else if (name == "memref.reinterpret_cast" || name == "memref.cast") set(op, view(op));
  else if (name == "math.powf" || (name.starts_with("arith.") && name != "arith.negf")) set(op, element(op));
  else if (name.starts_with("math.") || name == "arith.negf") set(op, math(op));
  else return name == "cf.assert";
  return true;
}

}  // namespace dovetail::mlir
