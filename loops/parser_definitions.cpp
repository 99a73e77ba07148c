// Sizes, and definitions of whole tensors: `y[i in n] = max(x[i], 0)` is short for a loop nest around a block.
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "loops/integer.h"
#include "loops/parser.h"
#include "loops/product_sum.h"
#include "loops/verify.h"

namespace dovetail::loops {
namespace {

// A reduction by a binary operation, from its identity on.
struct ReductionRow {
  std::string_view name;
  BinaryOp combine;
  Expr (*identity)(DType);
  bool of_products = false;
};

Expr zero(DType dtype) { return constant(0, dtype); }
Expr one(DType dtype) { return constant(1, dtype); }
Expr lowest(DType dtype) {
  if (is_floating(dtype)) return float_imm(-std::numeric_limits<double>::infinity(), dtype);
  return int_imm(is_signed_integer(dtype) ? type_min(dtype) : 0, dtype);
}
Expr highest(DType dtype) {
  if (is_floating(dtype)) return float_imm(std::numeric_limits<double>::infinity(), dtype);
  return int_imm(dtype == DType::uint64 ? -1 : type_max(dtype), dtype);  // an immediate has the bits of a uint64
}

constexpr std::array<ReductionRow, 5> kReductions{{
    {"sum", BinaryOp::add, zero},
    {"dot", BinaryOp::add, zero, true},
    {"product", BinaryOp::mul, one},
    {"max", BinaryOp::max, lowest},
    {"min", BinaryOp::min, highest},
}};

const ReductionRow* reduction_named(std::string_view name) {
  for (const ReductionRow& row : kReductions)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace

// `size n, k = 256`: names for numbers, given by the caller or by the text.
void Parser::size_declaration() {
  take();
  do {
    const Token& at = peek();
    std::string name = take_name("the size's name");
    std::optional<std::int64_t> value;
    if (accept("=")) value = integer("the size");
    if (const auto given = given_sizes_.find(name); given != given_sizes_.end()) value = given->second;
    if (!value) {
      errors_.push_back({"cannot parse loop program", fmt::format("{}:{}:{}", where_, at.line, at.column),
                         fmt::format("the size {} has no value", name),
                         fmt::format("give one, or write {} = 128", name)});
      value = 1;  // so that the rest is checked
    }
    if (!sizes_.emplace(name, *value).second)
      fail(at, fmt::format("two sizes are named {}", name), "give each size its own name");
  } while (accept(","));
}

// A sum of products of numbers, sizes and parentheses; // and % round to minus infinity.
std::int64_t Parser::integer(std::string_view what) {
  const Nesting level(*this);
  std::int64_t value = integer_product(what);
  while (is_symbol("+") || is_symbol("-")) {
    const Token& at = take();
    const std::int64_t other = integer_product(what);
    if (at.text == "+" ? __builtin_add_overflow(value, other, &value) : __builtin_sub_overflow(value, other, &value))
      fail(at, "the number does not fit int64", "use smaller numbers");
  }
  return value;
}

std::int64_t Parser::integer_product(std::string_view what) {
  std::int64_t value = integer_factor(what);
  while (is_symbol("*") || is_symbol("//") || is_symbol("%")) {
    const Token& at = take();
    const std::int64_t other = integer_factor(what);
    const auto too_large = [&] { fail(at, "the number does not fit int64", "use smaller numbers"); };
    if (at.text == "*") {
      if (__builtin_mul_overflow(value, other, &value)) too_large();
      continue;
    }
    if (other <= 0) fail(at, fmt::format("the divisor is {}", other), "use a positive divisor");
    value = at.text == "//" ? floor_div(value, other) : floor_mod(value, other);
  }
  return value;
}

std::int64_t Parser::integer_factor(std::string_view what) {
  const Nesting level(*this);
  if (accept("(")) {
    const std::int64_t value = integer(what);
    expect(")", "after the number");
    return value;
  }
  if (peek().kind == TokenKind::word)
    if (const auto size = sizes_.find(peek().text); size != sizes_.end()) {
      take();
      return size->second;
    }
  return literal_integer(what);
}

// `name[i in 4, ...` or `name[] = sum[k in ...`, which no store begins with.
bool Parser::is_definition() const {
  const auto is_name = [&](std::size_t ahead) {
    return peek(ahead).kind == TokenKind::word || peek(ahead).kind == TokenKind::quoted;
  };
  const auto axis_at = [&](std::size_t ahead) {
    return is_symbol("[", ahead) && is_name(ahead + 1) && peek(ahead + 2).kind == TokenKind::word &&
           peek(ahead + 2).text == "in";
  };
  if (!is_name(0)) return false;
  if (axis_at(1)) return true;
  return is_symbol("[", 1) && is_symbol("]", 2) && (is_symbol(":", 3) || (is_symbol("=", 3) && axis_at(5)));
}

std::vector<Parser::Axis> Parser::axes() {
  expect("[", "before the axes");
  std::vector<Axis> result;
  while (!is_symbol("]") && !(peek().kind == TokenKind::word && peek().text == "where")) {
    if (!result.empty()) expect(",", "between axes");
    Var var = variable(DType::int64);
    expect_word("in", "before the axis's extent");
    result.push_back({std::move(var), integer("the axis's extent")});
  }
  return result;
}

Stmt Parser::definition() {
  const Token at = take();
  const std::string& name = at.text;
  const std::vector<Axis> spatial = axes();
  expect("]", "after the axes");
  Shape shape;
  for (const Axis& axis : spatial) shape.push_back(axis.extent);
  if (accept(":")) {
    const DType dtype = dtype_name();
    std::string scope = "global";
    if (is_word("in")) {
      take();
      scope = take_name("a memory scope");
    }
    defined_.push_back(add_buffer(at, name, dtype, shape, std::move(scope)));
  }
  const Buffer buffer = find_buffer(at, name);
  if (buffer->shape != shape)
    fail(at,
         fmt::format("the axes have the extents {}, and {} has the shape {}", dovetail::to_string(shape), name,
                     dovetail::to_string(buffer->shape)),
         "define every element: an axis for each dimension, of its extent");
  expect("=", "before the value");

  // Later definitions of a buffer have numbers. The loops around are iterators of the block, which therefore runs in
  // their order.
  Block block;
  const int before = definitions_[name]++;
  block.name = before == 0 ? name : fmt::format("{}.{}", name, before);
  std::vector<Axis> nest;
  const std::size_t around = visible_.size();
  const auto add_iterator = [&](const Axis& axis, IterKind kind, Expr binding) {
    block.iterators.push_back({axis.var, axis.extent, kind, std::move(binding)});
    visible_.push_back(axis.var);
  };
  const auto add_axis = [&](const Axis& axis, IterKind kind) {
    const Var loop = make_var(fmt::format("{}.{}", block.name, axis.var->name));
    nest.push_back({loop, axis.extent});
    add_iterator(axis, kind, ref(loop));
  };
  for (const Axis& loop : open_loops_) {
    add_iterator({make_var(fmt::format("{}.{}", block.name, loop.var->name)), loop.extent}, IterKind::ordered,
                 ref(loop.var));
    lets_[loop.var->name] = {ref(block.iterators.back().var)};
  }
  for (const Axis& axis : spatial) add_axis(axis, IterKind::spatial);
  std::vector<Expr> place;
  for (const Axis& axis : spatial) place.push_back(ref(axis.var));

  const ReductionRow* const reduction = is_symbol("[", 1) && peek(2).kind != TokenKind::symbol && peek(3).text == "in"
                                            ? reduction_named(peek().text)
                                            : nullptr;
  if (reduction == nullptr) {
    block.body = make_stmt(Store{{{buffer, place, expression(buffer->dtype)}}});
  } else {
    take();
    for (const Axis& axis : axes()) add_axis(axis, IterKind::reduce);
    Expr condition;
    if (is_word("where")) {
      take();
      condition = expression(DType::boolean);
    }
    expect("]", "after the axes");
    const Token& value_at = peek();
    Expr value = expression(buffer->dtype);
    if (reduction->of_products) {
      const auto* const product = std::get_if<Binary>(&value->node);
      if (product == nullptr || product->op != BinaryOp::mul || condition)
        fail(value_at, "dot adds products, and this is none", "use sum, or multiply two values");
      block.annotations[std::string(kSumAnnotation)] = kProductSum;
    }
    const Expr identity = reduction->identity(buffer->dtype);
    if (condition) value = select(condition, std::move(value), identity);
    block.init = make_stmt(Store{{{buffer, place, identity}}});
    block.body = make_stmt(Store{{{buffer, place, binary(reduction->combine, load(buffer, place), std::move(value))}}});
  }
  visible_.resize(around);
  if (errors_.empty()) {
    BlockRegions regions = infer_regions(block);
    block.reads = std::move(regions.reads);
    block.writes = std::move(regions.writes);
  }
  Stmt stmt = make_stmt(std::move(block));
  for (auto axis = nest.rbegin(); axis != nest.rend(); ++axis)
    stmt = make_stmt(For{axis->var, axis->extent, ForKind::serial, {}, {}, std::move(stmt)});
  return stmt;
}

}  // namespace dovetail::loops
