// Operations on elements: arithmetic, comparisons, choices, functions, and calls of the module's own functions.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "loops/integer.h"
#include "loops/rewrite.h"
#include "mlir/function_reader.h"
#include "mlir/meanings.h"

namespace dovetail::mlir {

using namespace loops;

namespace {

enum class Sign : std::uint8_t { any, with, without };
struct ElementOp {
  std::string_view name;
  BinaryOp op;
  Sign sign;
};
constexpr std::array kElementOps{
    ElementOp{"arith.addi", BinaryOp::add, Sign::any},
    ElementOp{"arith.subi", BinaryOp::sub, Sign::any},
    ElementOp{"arith.muli", BinaryOp::mul, Sign::any},
    ElementOp{"arith.addf", BinaryOp::add, Sign::any},
    ElementOp{"arith.subf", BinaryOp::sub, Sign::any},
    ElementOp{"arith.mulf", BinaryOp::mul, Sign::any},
    ElementOp{"arith.divf", BinaryOp::div, Sign::any},
    ElementOp{"arith.remf", BinaryOp::mod, Sign::any},
    ElementOp{"arith.divsi", BinaryOp::div, Sign::with},
    ElementOp{"arith.remsi", BinaryOp::mod, Sign::with},
    ElementOp{"arith.divui", BinaryOp::div, Sign::without},
    ElementOp{"arith.remui", BinaryOp::mod, Sign::without},
    ElementOp{"arith.floordivsi", BinaryOp::floor_div, Sign::with},
    ElementOp{"arith.minsi", BinaryOp::min, Sign::with},
    ElementOp{"arith.maxsi", BinaryOp::max, Sign::with},
    ElementOp{"arith.minui", BinaryOp::min, Sign::without},
    ElementOp{"arith.maxui", BinaryOp::max, Sign::without},
    ElementOp{"arith.minimumf", BinaryOp::min, Sign::any},
    ElementOp{"arith.maximumf", BinaryOp::max, Sign::any},
    ElementOp{"arith.shli", BinaryOp::shl, Sign::any},
    ElementOp{"arith.shrsi", BinaryOp::shr, Sign::with},
    ElementOp{"arith.shrui", BinaryOp::shr, Sign::without},
    ElementOp{"arith.andi", BinaryOp::bit_and, Sign::any},
    ElementOp{"arith.ori", BinaryOp::bit_or, Sign::any},
    ElementOp{"arith.xori", BinaryOp::bit_xor, Sign::any},
    ElementOp{"math.powf", BinaryOp::pow, Sign::any},
};

struct MathOp {
  std::string_view name;
  UnaryOp op;
};
constexpr std::array kMathOps{
    MathOp{"math.floor", UnaryOp::floor},
    MathOp{"math.ceil", UnaryOp::ceil},
    MathOp{"math.roundeven", UnaryOp::round_even},
    MathOp{"math.trunc", UnaryOp::trunc},
    MathOp{"math.sqrt", UnaryOp::sqrt},
    MathOp{"math.rsqrt", UnaryOp::rsqrt},
    MathOp{"math.exp", UnaryOp::exp},
    MathOp{"math.log", UnaryOp::log},
    MathOp{"math.sin", UnaryOp::sin},
    MathOp{"math.cos", UnaryOp::cos},
    MathOp{"math.tan", UnaryOp::tan},
    MathOp{"math.asin", UnaryOp::asin},
    MathOp{"math.acos", UnaryOp::acos},
    MathOp{"math.atan", UnaryOp::atan},
    MathOp{"math.sinh", UnaryOp::sinh},
    MathOp{"math.cosh", UnaryOp::cosh},
    MathOp{"math.asinh", UnaryOp::asinh},
    MathOp{"math.acosh", UnaryOp::acosh},
    MathOp{"math.atanh", UnaryOp::atanh},
    MathOp{"math.tanh", UnaryOp::tanh},
    MathOp{"math.erf", UnaryOp::erf},
    MathOp{"math.absf", UnaryOp::abs},
    MathOp{"math.absi", UnaryOp::abs},
    MathOp{"arith.negf", UnaryOp::neg},
};

bool is_integer_value(const Expr& expr, std::int64_t value) {
  const auto* n = std::get_if<IntImm>(&expr->node);
  return n != nullptr && n->value == value;
}

// The condition under which the writer's form of an extremum takes its second operand.
Expr takes_second(BinaryOp op, const Expr& a, const Expr& b) {
  const Expr beyond = op == BinaryOp::min ? binary(BinaryOp::lt, b, a) : binary(BinaryOp::lt, a, b);
  return binary(BinaryOp::logical_or, beyond, binary(BinaryOp::ne, b, b));
}

const std::array<std::string_view, 10> kIntegerPredicates{"eq",  "ne",  "slt", "sle", "sgt",
                                                          "sge", "ult", "ule", "ugt", "uge"};
const std::array<std::string_view, 16> kFloatPredicates{"false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                                                        "ueq",   "ugt", "uge", "ult", "ule", "une", "uno", "true"};

std::optional<BinaryOp> compared(std::string_view letters) {
  if (letters == "eq") return BinaryOp::eq;
  if (letters == "ne") return BinaryOp::ne;
  if (letters == "lt") return BinaryOp::lt;
  if (letters == "le") return BinaryOp::le;
  if (letters == "gt") return BinaryOp::gt;
  if (letters == "ge") return BinaryOp::ge;
  return std::nullopt;
}

Expr negated(const Expr& condition) { return unary(UnaryOp::logical_not, condition); }

}  // namespace

FunctionReader::Value FunctionReader::comparison(const Operation& op) {
  const Attribute* predicate = op.find("predicate");
  const bool floating = op.name == "arith.cmpf";
  std::string letters = predicate == nullptr ? "" : predicate->text;
  if (predicate != nullptr && predicate->kind == Attribute::Kind::integer) {
    const auto number = static_cast<std::size_t>(predicate->integer);
    if (floating && number < kFloatPredicates.size()) letters = kFloatPredicates[number];
    else if (!floating && number < kIntegerPredicates.size()) letters = kIntegerPredicates[number];
  }
  Expr a = expr(op, 0), b = expr(op, 1);
  const auto attribute = op.text("dovetail.op");
  if (!floating && attribute == "load" && find(op.operands[0]).in_memory) return {.expr = a};
  if (is_floating(a->dtype) != floating) fail(op.at, "the comparison is of another type", "use cmpi or cmpf");
  const auto result = [&](Expr value) -> Value { return {.expr = std::move(value)}; };
  if (!floating) {
    const bool is_signed = letters.starts_with('s'), is_unsigned = letters.starts_with('u');
    const bool truth = a->dtype == DType::boolean && b->dtype == DType::boolean;
    if (truth && is_signed) fail(op.at, "a signed comparison of i1", "compare as unsigned numbers");
    if (!truth && (is_signed || is_unsigned)) a = with_sign(op, a, is_signed);
    b = as(op, b, a->dtype);
    if (attribute == "cast" && letters == "ne" && is_integer_value(b, 0)) return result(loops::cast(DType::boolean, a));
    const auto found = compared(is_signed || is_unsigned ? letters.substr(1) : letters);
    if (!found)
      fail(op.at, fmt::format("\"{}\" is not a comparison of integers", letters), "use eq, ne, slt, ult, ...");
    return result(binary(*found, a, b));
  }
  b = as(op, b, a->dtype);
  const auto nan = [&] { return binary(BinaryOp::logical_or, unary(UnaryOp::is_nan, a), unary(UnaryOp::is_nan, b)); };
  if (attribute == "is_nan" && letters == "uno" && structurally_equal(a, b)) return result(unary(UnaryOp::is_nan, a));
  if (const auto* zero = std::get_if<FloatImm>(&b->node);
      attribute == "cast" && letters == "une" && zero != nullptr && zero->value == 0)
    return result(loops::cast(DType::boolean, a));
  if (letters == "true" || letters == "false") return result(bool_imm(letters == "true"));
  if (letters == "uno") return result(nan());
  if (letters == "ord") return result(negated(nan()));
  if (letters == "une") return result(binary(BinaryOp::ne, a, b));
  const auto less_or_greater = [&] {
    return binary(BinaryOp::logical_or, binary(BinaryOp::lt, a, b), binary(BinaryOp::gt, a, b));
  };
  if (letters == "one") return result(less_or_greater());
  if (letters == "ueq") return result(negated(less_or_greater()));
  const auto found = letters.size() == 3 ? compared(std::string_view(letters).substr(1)) : std::nullopt;
  if (!found || (letters[0] != 'o' && letters[0] != 'u'))
    fail(op.at, fmt::format("\"{}\" is not a comparison of floating numbers", letters), "use oeq, une, olt, ...");
  const Expr ordered = binary(*found, a, b);
  return result(letters[0] == 'o' ? ordered : binary(BinaryOp::logical_or, ordered, nan()));
}

FunctionReader::Value FunctionReader::chosen(const Operation& op) {
  const Expr condition = expr(op, 0), a = expr(op, 1);
  const Expr b = as(op, expr(op, 2), a->dtype);
  if (condition->dtype != DType::boolean) fail(op.at, "the condition is not i1", "compare it with 0");
  for (const BinaryOp extremum : {BinaryOp::min, BinaryOp::max})
    if (op.text("dovetail.op") == loops::name(extremum) && is_floating(a->dtype) &&
        structurally_equal(condition, takes_second(extremum, b, a)))
      return {.expr = binary(extremum, b, a)};
  return {.expr = select(condition, a, b)};
}

// scf.if or affine.if with a result.
FunctionReader::Value FunctionReader::chosen_by_branch(const Operation& op) {
  if (op.results.size() != 1 || op.regions.size() != 2)
    fail(op.at, "a condition with several results", "write a condition for each");
  const Expr condition = condition_of(op);
  int depth = 1;
  const auto side = [&](const SyntaxRegion& region) -> Expr {
    const Names names(*this);
    for (const Operation& inner : region.body) {
      if (inner.name.ends_with(".yield")) {
        depth = std::max(depth, deepest(inner) + 1);
        return expr(inner, 0);
      }
      if (!define(inner)) fail(inner.at, fmt::format("{} in a condition with a result", inner.name), "store after it");
    }
    fail(op.at, "a side of the condition yields nothing", "end it with scf.yield");
  };
  const Expr a = side(op.regions[0]);
  const Expr b = as(op, side(op.regions[1]), a->dtype);
  return {.expr = select(condition, a, b), .depth = depth};
}

FunctionReader::Value FunctionReader::math(const Operation& op) {
  const auto row = std::ranges::find(kMathOps, op.name, &MathOp::name);
  if (row == kMathOps.end())
    fail(op.at, fmt::format("{} has no counterpart in loop programs", op.name),
         "expand it, for example by mlir-opt --math-expand-ops");
  const Expr a = expr(op, 0);
  const Expr operand = op.name == "math.absi" ? with_sign(op, a, true) : a;
  if (!accepts(row->op, operand->dtype))
    fail(op.at, fmt::format("{} of {}", op.name, name(operand->dtype)), "convert the operand");
  return {.expr = unary(row->op, operand)};
}

FunctionReader::Value FunctionReader::element(const Operation& op) {
  const Expr a = expr(op, 0);
  const auto attribute = op.text("dovetail.op");
  if (op.name == "arith.minnumf" || op.name == "arith.maxnumf") {
    const Expr b = as(op, expr(op, 1), a->dtype);
    const Expr plain = binary(op.name == "arith.minnumf" ? BinaryOp::min : BinaryOp::max, a, b);
    return {.expr = select(unary(UnaryOp::is_nan, a), b, select(unary(UnaryOp::is_nan, b), a, plain)), .depth = 4};
  }
  const auto row = std::ranges::find(kElementOps, op.name, &ElementOp::name);
  if (row == kElementOps.end())
    fail(op.at, fmt::format("{} has no counterpart in loop programs", op.name),
         "expand it, for example by mlir-opt --arith-expand");
  const bool truth = a->dtype == DType::boolean;
  const Expr first = row->sign == Sign::any || truth ? a : with_sign(op, a, row->sign == Sign::with);
  const Expr b = as(op, expr(op, 1), first->dtype);
  BinaryOp binary_op = row->op;
  if (attribute == "logical_not" && row->op == BinaryOp::bit_xor && is_integer_value(b, 1) && truth)
    return {.expr = unary(UnaryOp::logical_not, first)};
  if (attribute == "bit_not" && row->op == BinaryOp::bit_xor && is_integer(first->dtype) &&
      is_integer_value(b, wrap(-1, first->dtype)))
    return {.expr = unary(UnaryOp::bit_not, first)};
  if (attribute == "neg" && row->op == BinaryOp::sub && is_integer_value(first, 0))
    return {.expr = unary(UnaryOp::neg, b)};
  if (attribute == "logical_and" && row->op == BinaryOp::bit_and && truth) binary_op = BinaryOp::logical_and;
  if (attribute == "logical_or" && row->op == BinaryOp::bit_or && truth) binary_op = BinaryOp::logical_or;
  if (attribute == "floor_div" && op.name == "arith.divui") binary_op = BinaryOp::floor_div;
  if (attribute == "floor_mod" && op.name == "arith.remui") binary_op = BinaryOp::floor_mod;
  const bool floating_name = op.name.ends_with("f");
  if (!accepts(binary_op, first->dtype) || floating_name != is_floating(first->dtype))
    fail(op.at, fmt::format("{} of {}", op.name, name(first->dtype)), "use the operation of this type");
  return {.expr = binary(binary_op, first, b)};
}

// A call of a function with a meaning of its own.
FunctionReader::Value FunctionReader::helper(const Operation& op) {
  const Attribute* callee = op.find("callee");
  const auto meaning = callee == nullptr ? std::nullopt : meaning_named(callee->text);
  if (!meaning)
    fail(op.at,
         fmt::format("{} is called, and functions are not read into their callers",
                     callee == nullptr ? "a function" : "@" + callee->text),
         "inline it, for example by mlir-opt --inline");
  const std::size_t count = meaning->function ? 3 : meaning->binary ? 2 : 1;
  if (op.operands.size() != count)
    fail(op.at, fmt::format("@{} is called with {} arguments", callee->text, op.operands.size()),
         fmt::format("it has {}", count));
  if (meaning->function) {
    const Expr acc = as(op, expr(op, 0), DType::int32), scale = as(op, expr(op, 1), DType::float32),
               zero_point = as(op, expr(op, 2), DType::int32);
    return {.expr = loops::call(*meaning->function, {acc, scale, zero_point})};
  }
  const Expr a = as(op, expr(op, 0), meaning->dtype);
  if (meaning->converts_to) return {.expr = loops::cast(*meaning->converts_to, a)};
  if (meaning->unary) return {.expr = unary(*meaning->unary, a)};
  return {.expr = binary(*meaning->binary, a, as(op, expr(op, 1), meaning->dtype))};
}

}  // namespace dovetail::mlir
