#include "compiler/target/cpu/shift_activations.h"

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

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

// x + 128 in uint8; of a select, on both sides.
Expr shifted(const Expr& value) {
  if (const auto* n = std::get_if<Select>(&value->node))
    return select(n->condition, shifted(n->if_true), shifted(n->if_false));
  if (const auto* n = std::get_if<IntImm>(&value->node)) return int_imm(n->value + 128, DType::uint8);
  return cast(DType::uint8, cast(DType::int32, value) + int_imm(128, DType::int32));
}

// Block `to`: the elements of `from` shifted, 0 in channels (dimension 1) that `from` does not have.
Stmt shift_nest(const Buffer& to, const Buffer& from) {
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
  Expr value = shifted(load(from, indices));
  if (to->shape != from->shape)
    value = select(binary(BinaryOp::lt, indices[1], int_imm(from->shape[1])), value, int_imm(0, DType::uint8));
  block.body = store(to, indices, value);
  Stmt stmt = make_stmt(schedule::with_inferred_regions(std::move(block)));
  for (std::size_t d = to->shape.size(); d-- > 0;)
    stmt = make_stmt(For{loops[d], to->shape[d], ForKind::serial, "", {}, std::move(stmt)});
  return stmt;
}

// The loop that feeds the block's iterator `position` directly; null where it is another expression.
const VarNode* loop_of(const Block& block, std::size_t position) {
  const auto* n = std::get_if<VarRef>(&block.iterators[position].binding->node);
  return n == nullptr ? nullptr : n->var.get();
}

}  // namespace

std::optional<ShiftedProgram> shift_activations(const Program& program, const std::string& main,
                                                std::int64_t channels) {
  const auto path = schedule::find_block(program.body, main);
  if (!path) return std::nullopt;
  const Block& sum = *schedule::as_block(path->back());
  const auto product = product_of(sum);
  if (!product) return std::nullopt;
  const Buffer x = product->x->buffer, w = product->w->buffer;
  ShiftedProgram result{program, "shifted", w->name, 128 + product->zero, w->shape};

  // More channels: dimension 1 of activations and weights, and the first reduced axis of a convolution [n, o, y, x; c,
  // ky, kx].
  constexpr std::size_t kChannel = 4;
  const std::int64_t had = w->shape.size() > 1 ? w->shape[1] : 1, has = (had + channels - 1) / channels * channels;
  const bool more = has != had;
  if (more && (sum.iterators.size() != 7 || sum.iterators[kChannel].extent != had ||
               loop_of(sum, kChannel) == nullptr || x->shape[1] != had))
    return std::nullopt;
  const VarNode* channel_loop = more ? loop_of(sum, kChannel) : nullptr;
  const auto widened = [&](Shape shape) {
    shape[1] = more ? has : shape[1];
    return shape;
  };
  Buffer weights = w;
  if (more) {
    result.weights_shape = widened(w->shape);
    weights = make_buffer(w->name, w->dtype, result.weights_shape, w->scope);
    for (Parameter& parameter : result.program.parameters)
      if (parameter.buffer == w) parameter.buffer = weights;
  }

  Buffer bytes;
  const auto pad_path = schedule::find_block(program.body, "pad");
  const Block* pad = pad_path ? schedule::as_block(pad_path->back()) : nullptr;
  const bool padded = pad != nullptr && pad->writes.front().buffer == x;
  const VarNode* pad_loop = padded && more ? loop_of(*pad, 1) : nullptr;
  if (padded) {
    if (more && pad_loop == nullptr) return std::nullopt;
    result.activations = "pad";
    bytes = make_buffer(x->name, DType::uint8, widened(x->shape), x->scope);
    for (Buffer& allocation : result.program.allocations)
      if (allocation == x) allocation = bytes;
  } else {
    bytes = make_buffer("shifted", DType::uint8, widened(x->shape));
    result.program.allocations.push_back(bytes);
  }

  const Expr unsigned_product =
      cast(DType::int32, load(bytes, product->x->indices)) * cast(DType::int32, load(weights, product->w->indices));
  result.program.body = rewrite_stmt(
      program.body,
      [&](const Stmt& stmt) -> Stmt {
        if (const auto* loop = std::get_if<For>(&stmt->node);
            loop != nullptr && more && (loop->var.get() == channel_loop || loop->var.get() == pad_loop)) {
          For longer = *loop;
          longer.extent = has;
          return make_stmt(std::move(longer));
        }
        const auto* block = std::get_if<Block>(&stmt->node);
        if (block == nullptr) return stmt;
        if (block->name == main) {
          Block copy = *block;
          if (more) copy.iterators[kChannel].extent = has;
          return make_stmt(schedule::with_inferred_regions(std::move(copy)));
        }
        if (!padded || block->name != "pad") return stmt;
        Block copy = *block;
        const StoreTarget& target = std::get<Store>(copy.body->node).targets[0];
        Expr value = shifted(target.value);
        if (more) {
          copy.iterators[1].extent = has;
          value =
              select(binary(BinaryOp::lt, ref(copy.iterators[1].var), int_imm(had)), value, int_imm(0, DType::uint8));
        }
        copy.body = store(bytes, target.indices, value);
        return make_stmt(schedule::with_inferred_regions(std::move(copy)));
      },
      [&](const Expr& expr) { return structurally_equal(expr, product->expr) ? unsigned_product : expr; });
  if (!padded) {
    std::vector<Stmt> body;
    body.push_back(shift_nest(bytes, x));
    body.push_back(result.program.body);
    result.program.body = sequence(std::move(body));
  }
  return result;
}

}  // namespace dovetail::cpu
