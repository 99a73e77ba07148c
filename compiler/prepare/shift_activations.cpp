#include "compiler/prepare/shift_activations.h"

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "loops/rewrite.h"

namespace dovetail::prepare {

using namespace loops;

namespace {

// int32(load) of an int8 buffer.
const LoadExpr* widened_load(const Expr& expr) {
  const auto* cast_node = std::get_if<Cast>(&expr->node);
  if (cast_node == nullptr || expr->dtype != DType::int32) return nullptr;
  const auto* load_node = std::get_if<LoadExpr>(&cast_node->a->node);
  return load_node != nullptr && load_node->buffer->dtype == DType::int8 ? load_node : nullptr;
}

struct Product {
  Expr expr;
  const LoadExpr *x = nullptr, *w = nullptr;
  std::int64_t zero = 0;
};

std::optional<Product> product_of(const Block& block) {
  std::optional<Product> found;
  visit_exprs(block.body, [&](const Expr& e) {
    const auto* mul = std::get_if<Binary>(&e->node);
    if (mul == nullptr || mul->op != BinaryOp::mul || e->dtype != DType::int32) return;
    Product product{e, widened_load(mul->a), widened_load(mul->b), 0};
    if (const auto* sub = std::get_if<Binary>(&mul->a->node); sub != nullptr && sub->op == BinaryOp::sub)
      if (const auto* zero = std::get_if<IntImm>(&sub->b->node)) {
        product.x = widened_load(sub->a);
        product.zero = zero->value;
      }
    if (product.x != nullptr && product.w != nullptr) found = product;
  });
  return found;
}

// An activation plus a number, in a type that holds all sums.
struct Shift {
  DType dtype;
  std::int64_t offset;

  // Applied to both sides of a select.
  Expr of(const Expr& value) const {
    if (const auto* n = std::get_if<Select>(&value->node)) return select(n->condition, of(n->if_true), of(n->if_false));
    if (const auto* n = std::get_if<IntImm>(&value->node)) return int_imm(n->value + offset, dtype);
    return cast(dtype, cast(DType::int32, value) + int_imm(offset, DType::int32));
  }
};

// Block `to`: the elements of `from`, shifted.
Stmt shift_nest(const Buffer& to, const Buffer& from, const Shift& shift) {
  Block block;
  block.name = to->name;
  std::vector<Expr> indices;
  std::vector<Var> loops;
  for (std::size_t d = 0; d < to->shape.size(); ++d) {
    loops.push_back(make_var(fmt::format("{}.{}", to->name, d)));
    const Var iterator = make_var(fmt::format("i{}", d));
    block.iterators.push_back({iterator, to->shape[d], IterKind::spatial, ref(loops.back())});
    indices.push_back(ref(iterator));
  }
  block.body = store(to, indices, shift.of(load(from, indices)));
  Stmt stmt = make_stmt(schedule::with_inferred_regions(std::move(block)));
  for (std::size_t d = to->shape.size(); d-- > 0;)
    stmt = make_stmt(For{loops[d], to->shape[d], ForKind::serial, "", {}, std::move(stmt)});
  return stmt;
}

std::optional<Product> find_product(const Program& program, const std::string& main) {
  const auto path = schedule::find_block(program.body, main);
  return path ? product_of(*schedule::as_block(path->back())) : std::nullopt;
}

// The product of block `main` reads shifted activations instead of subtracting the zero point.
ShiftedProgram with_shifted(const Program& program, const std::string& main, const Product& product,
                            const Shift& shift) {
  const Buffer x = product.x->buffer, w = product.w->buffer;
  ShiftedProgram result{program, "shifted", w->name, shift.offset + product.zero};

  Buffer activations;
  const auto pad_path = schedule::find_block(program.body, "pad");
  const Block* pad = pad_path ? schedule::as_block(pad_path->back()) : nullptr;
  const bool padded = pad != nullptr && pad->writes.front().buffer == x;
  if (padded) {
    result.activations = "pad";
    activations = make_buffer(x->name, shift.dtype, x->shape, x->scope);
    for (Buffer& allocation : result.program.allocations)
      if (allocation == x) allocation = activations;
  } else {
    activations = make_buffer("shifted", shift.dtype, x->shape);
    result.program.allocations.push_back(activations);
  }

  const Expr shifted_product =
      cast(DType::int32, load(activations, product.x->indices)) * cast(DType::int32, load(w, product.w->indices));
  result.program.body = rewrite_stmt(
      program.body,
      [&](const Stmt& stmt) -> Stmt {
        const auto* block = std::get_if<Block>(&stmt->node);
        if (block == nullptr) return stmt;
        if (block->name == main) return make_stmt(schedule::with_inferred_regions(*block));
        if (!padded || block->name != "pad") return stmt;
        Block copy = *block;
        const StoreTarget& target = std::get<Store>(copy.body->node).targets[0];
        copy.body = store(activations, target.indices, shift.of(target.value));
        return make_stmt(schedule::with_inferred_regions(std::move(copy)));
      },
      [&](const Expr& expr) { return structurally_equal(expr, product.expr) ? shifted_product : expr; });
  if (!padded) {
    std::vector<Stmt> body;
    body.push_back(shift_nest(activations, x, shift));
    body.push_back(result.program.body);
    result.program.body = sequence(std::move(body));
  }
  return result;
}

}  // namespace

std::optional<ShiftedProgram> shift_activations(const Program& program, const std::string& main) {
  const auto product = find_product(program, main);
  return product ? std::optional(with_shifted(program, main, *product, {DType::uint8, 128})) : std::nullopt;
}

std::optional<ShiftedProgram> widen_activations(const Program& program, const std::string& main) {
  const auto product = find_product(program, main);
  // Activation and zero point are bytes, so their difference fits in 16 bits.
  return product ? std::optional(with_shifted(program, main, *product, {DType::int16, -product->zero})) : std::nullopt;
}

std::optional<ShiftedProgram> drop_zero_point(const Program& program, const std::string& main) {
  const auto product = find_product(program, main);
  if (!product) return std::nullopt;
  const Buffer x = product->x->buffer, w = product->w->buffer;
  ShiftedProgram result{program, x->name, w->name, product->zero};
  const Expr bytes =
      cast(DType::int32, load(x, product->x->indices)) * cast(DType::int32, load(w, product->w->indices));
  result.program.body = rewrite_stmt(
      program.body, {}, [&](const Expr& expr) { return structurally_equal(expr, product->expr) ? bytes : expr; });
  return result;
}

}  // namespace dovetail::prepare
