// Sizes, definitions of whole tensors, and assignments: `y[i in n] = max(x[i], 0)` is short for a loop nest around a
// block, `for i in n { h[x[i]] += 1 }` for a block in that loop.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "loops/combine.h"
#include "loops/integer.h"
#include "loops/parser.h"
#include "loops/product_sum.h"
#include "loops/rewrite.h"
#include "loops/verify.h"

namespace dovetail::loops {
namespace {

// A reduction by a binary operation, from its identity on.
struct ReductionRow {
  std::string_view name;
  BinaryOp combine;
  bool of_products = false;
};
constexpr std::array<ReductionRow, 5> kReductions{{
    {"sum", BinaryOp::add},
    {"dot", BinaryOp::add, true},
    {"product", BinaryOp::mul},
    {"max", BinaryOp::max},
    {"min", BinaryOp::min},
}};

// An assignment that changes an element instead of replacing it.
struct UpdateRow {
  std::string_view symbol;
  BinaryOp combine;
};
constexpr std::array<UpdateRow, 3> kUpdates{{{"+=", BinaryOp::add}, {"-=", BinaryOp::sub}, {"*=", BinaryOp::mul}}};

bool is_var(const Expr& expr, const Var& var) {
  const auto* n = std::get_if<VarRef>(&expr->node);
  return n != nullptr && n->var == var;
}

// Whether the values of the variable store to different elements, and read none that another value stores: it is one
// index of each target, and the same one of each load of a target's buffer.
bool separates(const Var& var, const std::vector<StoreTarget>& targets, const Expr& predicate) {
  std::map<const BufferNode*, std::vector<bool>> indexed;  // dimensions that are the variable, in all targets
  for (const StoreTarget& target : targets) {
    const std::size_t rank = target.indices.size();
    std::vector<bool>& dimensions = indexed.try_emplace(target.buffer.get(), rank, true).first->second;
    for (std::size_t d = 0; d < rank; ++d) dimensions[d] = dimensions[d] && is_var(target.indices[d], var);
  }
  bool result = std::ranges::all_of(indexed, [](const auto& row) { return std::ranges::count(row.second, true) > 0; });
  const auto look = [&](const Expr& e) {
    const auto* n = std::get_if<LoadExpr>(&e->node);
    const auto row = n == nullptr ? indexed.end() : indexed.find(n->buffer.get());
    if (row == indexed.end()) return;
    bool same = false;
    for (std::size_t d = 0; d < n->indices.size(); ++d) same |= row->second[d] && is_var(n->indices[d], var);
    result &= same;
  };
  if (predicate) visit_exprs(predicate, look);
  for (const StoreTarget& target : targets) {
    visit_exprs(target.value, look);
    for (const Expr& index : target.indices) visit_exprs(index, look);
  }
  return result;
}

const ReductionRow* reduction_named(std::string_view name) {
  for (const ReductionRow& row : kReductions)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace

bool Parser::is_reduction(std::string_view name) { return reduction_named(name) != nullptr; }

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

std::int64_t Parser::extent(std::string_view what) {
  constexpr std::int64_t kMostIterations = std::int64_t{1} << 60;
  const Token& at = peek();
  const std::int64_t value = integer(what);
  if (value > kMostIterations)
    fail(at, fmt::format("{} is {}, and a loop has at most 2^60 iterations", what, value), "use a smaller bound");
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
    result.push_back({std::move(var), extent("the axis's extent")});
  }
  return result;
}

// The loops of a definition: of its axes, and of its reduction's, innermost last.
struct Parser::Assigned {
  Block block;
  std::vector<StoreTarget> targets;
  std::vector<Axis> nest;
};

Stmt Parser::definition() {
  const Token at = take();
  const std::string& name = at.text;
  const std::vector<Axis> spatial = axes();
  const std::size_t around = visible_.size();
  for (const Axis& axis : spatial) visible_.push_back(axis.var);
  Assigned result;
  if (is_word("where")) {
    take();
    result.block.predicate = expression(DType::boolean);
  }
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
         "define every element: an axis for each dimension, of its extent; `where` leaves elements as they are");
  std::vector<Expr> place;
  for (const Axis& axis : spatial) place.push_back(ref(axis.var));
  result.targets.push_back({buffer, std::move(place), nullptr});
  result.block.name = next_block_name(name);
  for (const Axis& axis : spatial) add_axis(result, axis, IterKind::spatial);
  values_of(result);
  visible_.resize(around);
  return finished(std::move(result));
}

// A store outside any block is a block whose iterators are the loops around it: `for i in n { h[x[i]] += 1 }`.
Stmt Parser::assignment() {
  Assigned result;
  result.targets = store_targets();
  result.block.name = next_block_name(result.targets.front().buffer->name);
  const std::size_t around = visible_.size();
  values_of(result);
  visible_.resize(around);
  return finished(std::move(result));
}

// Later blocks of a buffer have numbers.
std::string Parser::next_block_name(const std::string& buffer) {
  const int before = definitions_[buffer]++;
  return before == 0 ? buffer : fmt::format("{}.{}", buffer, before);
}

void Parser::add_axis(Assigned& assigned, const Axis& axis, IterKind kind) {
  Block& block = assigned.block;
  const Var loop = make_var(fmt::format("{}.{}", block.name, axis.var->name));
  assigned.nest.push_back({loop, axis.extent});
  block.iterators.push_back({axis.var, axis.extent, kind, ref(loop)});
}

// `= e`, `+= e`, `= sum[k in n where c] e`, `+= sum[k in n where c] e`: the stores, and the init of a reduction.
void Parser::values_of(Assigned& assigned) {
  StoreTarget& target = assigned.targets.front();
  const DType dtype = target.buffer->dtype;
  const Token& update_at = peek();
  const auto update = std::ranges::find_if(kUpdates, [&](const UpdateRow& row) { return is_symbol(row.symbol); });
  const bool updates = update != kUpdates.end();
  if (updates) take();
  else expect("=", "before the value");
  if (updates && assigned.targets.size() > 1)
    fail(update_at, "several elements are updated together", "write a statement for each");
  if (updates && !accepts(update->combine, dtype))
    fail(update_at, fmt::format("{} is not defined on {}", update->symbol, name(dtype)), "write = and a value");
  const Expr before = load(target.buffer, target.indices);

  const ReductionRow* const reduction = is_symbol("[", 1) && peek(2).kind != TokenKind::symbol && peek(3).text == "in"
                                            ? reduction_named(peek().text)
                                            : nullptr;
  if (reduction == nullptr) {
    for (std::size_t i = 0; i < assigned.targets.size(); ++i) {
      if (i > 0) expect(",", "between values");
      assigned.targets[i].value = expression(assigned.targets[i].buffer->dtype);
    }
    if (updates) target.value = binary(update->combine, before, std::move(target.value));
    return;
  }

  const Token& reduction_at = take();
  if (assigned.targets.size() > 1) fail(reduction_at, "a reduction has one result", "write a statement for each");
  if (!accepts(reduction->combine, dtype))
    fail(reduction_at, fmt::format("{} is not defined on {}", reduction->name, name(dtype)), "convert the values");
  if (updates && reduction->combine != (update->combine == BinaryOp::sub ? BinaryOp::add : update->combine))
    fail(update_at, fmt::format("{} does not continue a {}", update->symbol, reduction->name),
         "use += or -= with sum and dot, and *= with product");
  const bool negates = updates && update->combine == BinaryOp::sub;
  const std::vector<Axis> reduced = axes();
  const bool reduces_none = std::ranges::any_of(reduced, [](const Axis& axis) { return axis.extent == 0; });
  for (const Axis& axis : reduced) {
    if (!reduces_none) add_axis(assigned, axis, IterKind::reduce);
    visible_.push_back(axis.var);
  }
  Expr condition;
  if (is_word("where")) {
    take();
    condition = expression(DType::boolean);
  }
  expect("]", "after the axes");
  const Token& value_at = peek();
  Expr value = expression(dtype);
  const auto* const product = std::get_if<Binary>(&value->node);
  const bool is_product = product != nullptr && product->op == BinaryOp::mul;
  if (reduction->of_products) {
    if (!is_product || condition)
      fail(value_at, "dot adds products, and this is none; a reduction takes all that follows it",
           "multiply two values, and add to the result in another definition; or use sum");
    if (!reduces_none) assigned.block.annotations[std::string(kSumAnnotation)] = kProductSum;
  }
  if (negates)
    value = reduction->of_products ? binary(BinaryOp::mul, unary(UnaryOp::neg, product->a), product->b)
                                   : unary(UnaryOp::neg, std::move(value));
  const Expr identity = identity_of(reduction->combine, dtype);
  if (reduces_none) {
    target.value = updates ? before : identity;
    return;
  }
  if (condition) value = select(condition, std::move(value), identity);
  if (!updates) assigned.block.init = make_stmt(Store{{{target.buffer, target.indices, identity}}});
  target.value = binary(reduction->combine, before, std::move(value));
}

// The block in its own loops. The loops around it are iterators, too: spatial ones if their values have nothing to do
// with each other, else ordered.
Stmt Parser::finished(Assigned assigned) {
  const auto is_empty = [](const Axis& axis) { return axis.extent == 0; };
  if (std::ranges::any_of(assigned.nest, is_empty) || std::ranges::any_of(open_loops_, is_empty)) return nullptr;
  Block& block = assigned.block;
  VarMap iterators;
  std::vector<Iterator> around;
  for (const Axis& loop : open_loops_) {
    around.push_back(
        {make_var(fmt::format("{}.{}", block.name, loop.var->name)), loop.extent, IterKind::spatial, ref(loop.var)});
    iterators[loop.var.get()] = ref(around.back().var);
  }
  block.iterators.insert(block.iterators.begin(), around.begin(), around.end());
  if (block.predicate) block.predicate = substitute(block.predicate, iterators);
  if (block.init) block.init = substitute(block.init, iterators);
  block.body = substitute(make_stmt(Store{std::move(assigned.targets)}), iterators);

  const std::vector<StoreTarget>& targets = std::get<Store>(block.body->node).targets;
  for (Iterator& iterator : block.iterators)
    if (iterator.kind == IterKind::spatial && !separates(iterator.var, targets, block.predicate))
      iterator.kind = IterKind::ordered;
  if (errors_.empty()) {
    BlockRegions regions = infer_regions(block);
    block.reads = std::move(regions.reads);
    block.writes = std::move(regions.writes);
  }
  Stmt stmt = make_stmt(std::move(block));
  for (auto axis = assigned.nest.rbegin(); axis != assigned.nest.rend(); ++axis)
    stmt = make_stmt(For{axis->var, axis->extent, ForKind::serial, {}, {}, std::move(stmt)});
  return stmt;
}

}  // namespace dovetail::loops
