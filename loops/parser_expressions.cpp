#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "loops/integer.h"
#include "loops/parser.h"
#include "loops/syntax.h"

namespace dovetail::loops {
namespace {

std::optional<UnaryOp> unary_op(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(UnaryOp::is_inf); ++i)
    if (name(static_cast<UnaryOp>(i)) == text) return static_cast<UnaryOp>(i);
  return std::nullopt;
}
std::optional<BinaryOp> binary_op(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(BinaryOp::logical_or); ++i)
    if (name(static_cast<BinaryOp>(i)) == text) return static_cast<BinaryOp>(i);
  return std::nullopt;
}
const InfixOp* infix_op(const Token& token) {
  if (token.kind != TokenKind::symbol) return nullptr;
  for (const InfixOp& row : kInfixOps)
    if (row.symbol == token.text) return &row;
  return nullptr;
}

}  // namespace

Expr Parser::expression(std::optional<DType> expected) {
  const Token& at = peek();
  const Parsed parsed = infix(0);
  if (!expected) return settled(parsed);
  return typed(parsed, *expected, at);
}

Expr Parser::settled(const Parsed& parsed) {
  if (!parsed.bare) return parsed.expr;
  if (const auto* n = std::get_if<FloatImm>(&parsed.expr->node)) return float_imm(n->value, DType::float32);
  const auto* n = std::get_if<Select>(&parsed.expr->node);
  return n == nullptr ? parsed.expr : select(n->condition, settled({n->if_true, true}), settled({n->if_false, true}));
}

// The expression converted to `dtype`: a bare literal takes the type, every other expression must have it.
Expr Parser::typed(const Parsed& parsed, DType dtype, const Token& at) {
  const Expr& expr = parsed.expr;
  if (const auto* n = std::get_if<Select>(&expr->node); parsed.bare && n != nullptr && expr->dtype != dtype)
    return select(n->condition, typed({n->if_true, true}, dtype, at), typed({n->if_false, true}, dtype, at));
  if (parsed.bare && expr->dtype != dtype) {
    const auto* n = std::get_if<IntImm>(&expr->node);
    if (n == nullptr) {
      if (!is_floating(dtype)) fail(at, fmt::format("expected {}, found a fraction", name(dtype)), "write an integer");
      return float_imm(std::get<FloatImm>(expr->node).value, dtype);
    }
    if (is_floating(dtype)) return float_imm(static_cast<double>(n->value), dtype);
    if (dtype == DType::boolean) fail(at, "expected bool, found a number", "write true or false, or a comparison");
    if (!fits(n->value, dtype))
      fail(at, fmt::format("{} does not fit {} ({} to {})", n->value, name(dtype), type_min(dtype), type_max(dtype)),
           "use a value of the type, or a wider type");
    return int_imm(n->value, dtype);
  }
  if (expr->dtype != dtype)
    fail(at, fmt::format("expected {}, found an expression of type {}", name(dtype), name(expr->dtype)),
         fmt::format("convert it: {}(...)", name(dtype)));
  return expr;
}

// Two operands that must agree: a bare literal takes the type of the other one.
void Parser::unify(Parsed& a, Parsed& b, const Token& at) {
  const auto take_type = [&](Parsed& literal, const Parsed& other) {
    literal.expr = typed(literal, other.expr->dtype, at);
    literal.bare = false;
  };
  if (a.bare && b.bare) {
    (is_floating(a.expr->dtype) ? a : b).expr = settled(is_floating(a.expr->dtype) ? a : b);
    is_floating(a.expr->dtype) ? take_type(b, a) : take_type(a, b);
  } else if (a.bare) {
    take_type(a, b);
  } else if (b.bare) {
    take_type(b, a);
  }
  if (a.expr->dtype != b.expr->dtype)
    fail(at, fmt::format("the operands have different types, {} and {}", name(a.expr->dtype), name(b.expr->dtype)),
         "convert one of them, for example int32(...)");
}

Parser::Parsed Parser::make_binary(BinaryOp op, Parsed a, Parsed b, const Token& at) {
  unify(a, b, at);
  if (!accepts(op, a.expr->dtype))
    fail(at, fmt::format("{} is not defined on {}", name(op), name(a.expr->dtype)), "convert the operands");
  const int depth = std::max(a.depth, b.depth) + 1;
  if (depth > kMaxDepth) {
    in_header_ = true;
    fail(at, fmt::format("the expression is nested more than {} operations deep", kMaxDepth), "split it");
  }
  return {binary(op, std::move(a.expr), std::move(b.expr)), false, depth};
}

Parser::Parsed Parser::infix(int min_precedence) {
  const Nesting level(*this);
  Parsed left = prefix();
  while (true) {
    const InfixOp* row = infix_op(peek());
    if (row == nullptr || row->precedence < std::max(min_precedence, 1)) return left;
    const Token& at = take();
    Parsed right = infix(row->precedence + 1);
    left = make_binary(row->op, std::move(left), std::move(right), at);
  }
}

Parser::Parsed Parser::prefix() {
  const Token& at = peek();
  const bool minus = is_symbol("-");
  if (minus && (peek(1).kind == TokenKind::integer || peek(1).kind == TokenKind::floating || peek(1).text == "inf")) {
    take();
    return number(true);
  }
  const std::optional<UnaryOp> op = minus            ? std::optional(UnaryOp::neg)
                                    : is_symbol("!") ? std::optional(UnaryOp::logical_not)
                                    : is_symbol("~") ? std::optional(UnaryOp::bit_not)
                                                     : std::nullopt;
  if (!op) return primary();
  const Nesting level(*this);
  take();
  Parsed a = prefix();
  a.expr = settled(a);
  if (!accepts(*op, a.expr->dtype))
    fail(at, fmt::format("{} is not defined on {}", name(*op), name(a.expr->dtype)), "convert the operand");
  return {unary(*op, std::move(a.expr)), false, a.depth + 1};
}

Parser::Parsed Parser::number(bool negative) {
  const Token& token = take();
  if (token.text == "inf")
    return {float_imm(negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity(),
                      DType::float64),
            true};
  const std::string text = (negative ? "-" : "") + token.text;
  if (token.kind == TokenKind::floating) {
    double value = 0;
    const auto status = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status.ec != std::errc{})
      fail(token, fmt::format("{} is outside the range of float64", text), "use inf, or a smaller value");
    return {float_imm(value, DType::float64), true};
  }
  std::int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{})
    fail(token, fmt::format("{} does not fit int64", text), "use a smaller number");
  return {int_imm(value), true};
}

Parser::Parsed Parser::primary() {
  const Token& token = peek();
  if (token.kind == TokenKind::integer || token.kind == TokenKind::floating) return number(false);
  if (accept("(")) {
    Parsed inner = infix(0);
    expect(")", "after the expression");
    return inner;
  }
  if (token.kind == TokenKind::word || token.kind == TokenKind::quoted) return named();
  expected("an expression");
}

Parser::Parsed Parser::named() {
  const Token token = take();
  if (token.kind == TokenKind::word) {
    if (token.text == "true" || token.text == "false") return {bool_imm(token.text == "true")};
    if (token.text == "inf") return {float_imm(std::numeric_limits<double>::infinity(), DType::float64), true};
    if (token.text == "nan") return {float_imm(std::numeric_limits<double>::quiet_NaN(), DType::float64), true};
    if (token.text == "cast" || token.text == "bitcast" || is_symbol("(")) return function(token);
  }
  if (is_symbol("[")) {
    if (is_reduction(token.text) && peek(1).kind == TokenKind::word && peek(2).text == "in")
      fail(token, fmt::format("{} is a part of an expression, and a reduction is the whole value", token.text),
           "define the reduction first, and use its result in another definition");
    Buffer buffer = find_buffer(token, token.text);
    int depth = 0;
    std::vector<Expr> place = indices(buffer, depth);
    return {load(std::move(buffer), std::move(place)), false, depth + 1};
  }
  if (const auto let = lets_.find(token.text); let != lets_.end()) return let->second;
  if (const auto loop = renamed_.find(token.text); loop != renamed_.end()) return {ref(loop->second)};
  const auto found =
      std::find_if(visible_.rbegin(), visible_.rend(), [&](const Var& var) { return var->name == token.text; });
  if (const auto size = sizes_.find(token.text); found == visible_.rend() && size != sizes_.end())
    return {int_imm(size->second), true};
  if (found == visible_.rend())
    fail(token, fmt::format("no variable named {} is visible here", token.text),
         "name an enclosing loop or iterator, or write buffer[...] to load");
  return {ref(*found)};
}

// `depth` becomes the depth of the deepest index.
std::vector<Expr> Parser::indices(const Buffer& buffer, int& depth) {
  const Token at = peek();
  expect("[", "before the indices");
  std::vector<Expr> result;
  while (!is_symbol("]")) {
    if (!result.empty()) expect(",", "between indices");
    const Token& index_at = peek();
    const Parsed index = infix(0);
    depth = std::max(depth, index.depth);
    result.push_back(settled(index));
    if (!is_integer(result.back()->dtype))
      fail(index_at, fmt::format("an index has type {}", name(result.back()->dtype)), "indices must be integers");
    result.back() = cast(DType::int64, result.back());
  }
  take();
  if (result.size() != buffer->shape.size())
    fail(
        at,
        fmt::format("{} indices are given for buffer {} of rank {}", result.size(), buffer->name, buffer->shape.size()),
        "give one index per dimension");
  return result;
}

Parser::Parsed Parser::conversion(DType to, const Token& at, bool keep_literal) {
  expect("(", "before the operand");
  Parsed a = infix(0);
  expect(")", "after the operand");
  const bool is_literal = a.bare && !std::holds_alternative<Select>(a.expr->node);
  if (is_literal && !keep_literal) return {typed(a, to, at)};
  return {cast(to, settled(a)), false, a.depth + 1};
}

Parser::Parsed Parser::function(const Token& token) {
  const Nesting level(*this);
  if (token.text == "cast" || token.text == "bitcast") {
    expect("<", "before the type");
    const DType to = dtype_name();
    expect(">", "after the type");
    if (token.text == "cast") return conversion(to, token, true);
    expect("(", "before the operand");
    Parsed a = infix(0);
    expect(")", "after the operand");
    a.expr = settled(a);
    if (size_bytes(a.expr->dtype) != size_bytes(to) || to == DType::boolean || a.expr->dtype == DType::boolean)
      fail(token,
           fmt::format("cannot bitcast {} ({} bytes) to {} ({} bytes)", name(a.expr->dtype), size_bytes(a.expr->dtype),
                       name(to), size_bytes(to)),
           "the sizes must be equal, and bool cannot be bitcast");
    return {bitcast(to, std::move(a.expr)), false, a.depth + 1};
  }
  if (const auto to = dtype_from_name(token.text)) return conversion(*to, token, false);

  take();  // the parenthesis
  std::vector<Parsed> arguments;
  while (!is_symbol(")")) {
    if (!arguments.empty()) expect(",", "between arguments");
    arguments.push_back(infix(0));
  }
  take();
  int depth = 1;
  for (const Parsed& argument : arguments) depth = std::max(depth, argument.depth + 1);
  const auto count = [&](std::size_t needed) {
    if (arguments.size() != needed)
      fail(token, fmt::format("{} needs {} arguments, {} are given", token.text, needed, arguments.size()),
           "docs/reference/loop-programs.md lists the functions");
  };
  if (const auto op = unary_op(token.text)) {
    count(1);
    arguments[0].expr = settled(arguments[0]);
    if (!accepts(*op, arguments[0].expr->dtype))
      fail(token, fmt::format("{} is not defined on {}", token.text, name(arguments[0].expr->dtype)),
           "convert the operand");
    return {unary(*op, std::move(arguments[0].expr)), false, depth};
  }
  if (const auto op = binary_op(token.text)) {
    count(2);
    return make_binary(*op, std::move(arguments[0]), std::move(arguments[1]), token);
  }
  if (token.text == "select") {
    count(3);
    const Expr condition = typed(arguments[0], DType::boolean, token);
    const bool bare = arguments[1].bare && arguments[2].bare;
    if (!bare || arguments[1].expr->dtype != arguments[2].expr->dtype) unify(arguments[1], arguments[2], token);
    return {select(condition, std::move(arguments[1].expr), std::move(arguments[2].expr)),
            bare && arguments[1].bare && arguments[2].bare, depth};
  }
  if (token.text == name(Function::requantize)) {
    count(3);
    return {call(Function::requantize,
                 {typed(arguments[0], DType::int32, token), typed(arguments[1], DType::float32, token),
                  typed(arguments[2], DType::int32, token)}),
            false, depth};
  }
  fail(token, fmt::format("no function is named {}", token.text),
       "functions are the operations of docs/reference/loop-programs.md and the element types");
}

}  // namespace dovetail::loops
