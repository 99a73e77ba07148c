#include "compiler/target/cpu/sketches/byte_sums.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/sketches/register_tile.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::int64_t kParallelProducts = 1 << 20;  // in one step; fewer are not worth threads

// sums[row, column] = sums[row, column] + int32(bytes[row, k]) * int32(weights[.., k, column])
struct ByteSums {
  std::string block;
  Buffer bytes, weights;
  Var row, column, k;
  std::int64_t rows, columns, depth;

  bool operator==(const ByteSums& other) const = default;
  bool same_tile(const ByteSums& other) const {
    return rows == other.rows && columns == other.columns && depth == other.depth;
  }
};

const LoadExpr* widened(const Expr& expr) {
  const auto* node = std::get_if<Cast>(&expr->node);
  return node == nullptr || expr->dtype != DType::int32 ? nullptr : std::get_if<LoadExpr>(&node->a->node);
}

bool is(const Expr& index, const Var& var) {
  const auto* node = std::get_if<VarRef>(&index->node);
  return node != nullptr && node->var == var;
}

std::optional<ByteSums> byte_sums_of(const Program& program, const Block& block) {
  const auto* store = std::get_if<Store>(&block.body->node);
  if (store == nullptr || store->targets.size() != 1 || block.init) return std::nullopt;
  const StoreTarget& target = store->targets[0];
  const auto* sum = std::get_if<Binary>(&target.value->node);
  if (target.buffer->dtype != DType::int32 || target.indices.size() != 2 || sum == nullptr || sum->op != BinaryOp::add)
    return std::nullopt;
  const auto* product = std::get_if<Binary>(&sum->b->node);
  if (product == nullptr || product->op != BinaryOp::mul ||
      !structurally_equal(sum->a, load(target.buffer, target.indices)))
    return std::nullopt;
  const LoadExpr *x = widened(product->a), *w = widened(product->b);
  if (x == nullptr || w == nullptr || w->buffer->dtype != DType::int8 || x->indices.size() != 2) return std::nullopt;
  ByteSums s{block.name, x->buffer, w->buffer, {}, {}, {}, 0, 0, 0};
  for (const Iterator& i : block.iterators) {
    if (i.kind == IterKind::reduce) s.k = i.var, s.depth = i.extent;
    if (i.kind == IterKind::spatial && is(target.indices[0], i.var)) s.row = i.var, s.rows = i.extent;
    if (i.kind == IterKind::spatial && is(target.indices[1], i.var)) s.column = i.var, s.columns = i.extent;
  }
  const std::size_t rank = w->indices.size();
  const bool in_place = s.k && s.row && s.column && rank >= 2 && is(x->indices[0], s.row) && is(x->indices[1], s.k) &&
                        is(w->indices[rank - 2], s.k) && is(w->indices[rank - 1], s.column);
  const bool constant = std::ranges::any_of(program.parameters, [&](const Parameter& p) {
    return p.buffer == s.weights && p.role == ParameterRole::constant;
  });
  return in_place && constant ? std::optional(s) : std::nullopt;
}

// Those that fit the processor's dot products, all with the same extents: they share the layout of the weights.
std::vector<ByteSums> all_byte_sums(const Program& program, const Cpu& cpu) {
  const std::int64_t depth = dot_product(cpu).depth;
  std::vector<ByteSums> all;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    const Block* block = schedule::as_block(stmt);
    const auto sums = block == nullptr ? std::nullopt : byte_sums_of(program, *block);
    if (sums && sums->depth % depth == 0 && sums->depth > depth && sums->columns % cpu.lanes(4) == 0 &&
        (all.empty() || sums->same_tile(all.front())))
      all.push_back(*sums);
  });
  return all;
}

}  // namespace

void prepare_byte_sums(Preparation& p) {
  const DType words = dot_product(p.cpu).activations;
  if (words == DType::uint8) return;
  for (const ByteSums& sums : all_byte_sums(p.task.program, p.cpu)) {
    const Buffer bytes = sums.bytes;
    const auto allocation = std::ranges::find(p.task.program.allocations, bytes);
    if (bytes->dtype != DType::uint8 || allocation == p.task.program.allocations.end()) continue;
    const Buffer wide = *allocation = make_buffer(bytes->name, words, bytes->shape, bytes->scope);
    p.task.program.body = rewrite_stmt(
        p.task.program.body,
        [&](const Stmt& stmt) -> Stmt {
          const Block* block = schedule::as_block(stmt);
          if (block == nullptr) return stmt;
          Block copy = *block;
          if (const auto* store_node = std::get_if<Store>(&copy.body->node);
              store_node != nullptr && store_node->targets[0].buffer == bytes)
            copy.body = store(wide, store_node->targets[0].indices, cast(words, store_node->targets[0].value));
          return make_stmt(schedule::with_inferred_regions(std::move(copy)));
        },
        [&](const Expr& expr) {
          const auto* n = std::get_if<LoadExpr>(&expr->node);
          return n != nullptr && n->buffer == bytes ? load(wide, n->indices) : expr;
        });
    p.task.prepared.push_back(fmt::format("widen_bytes {}", bytes->name));
  }
}

std::set<std::string> schedule_byte_sums(schedule::Context& c, const Cpu& cpu) {
  const DotProduct dot = dot_product(cpu);
  std::vector<ByteSums> all = all_byte_sums(c.task.program, cpu);
  std::erase_if(all, [&](const ByteSums& sums) { return sums.bytes->dtype != dot.activations; });
  if (all.empty()) return {};
  const ByteSums& first = all.front();
  const RegisterTile tile = sample_register_tile(c, {first.rows, first.columns, first.depth / dot.depth, 1, true}, cpu);
  std::set<std::string> weights, blocks;
  for (const ByteSums& sums : all) {
    if (weights.insert(sums.weights->name).second) {
      const std::size_t rank = sums.weights->shape.size();
      std::string map;
      for (std::size_t i = 0; i + 2 < rank; ++i) map += fmt::format("i{},", i);
      c.lay_out(sums.weights->name,
                map + fmt::format("i{0}/{2},i{1}/{3},i{0}%{2},i{1}%{3}", rank - 1, rank - 2, tile.columns, dot.depth));
    }
    const auto loop = [&](const Var& var) { return fmt::format("{}.{}", sums.block, var->name); };
    const auto [no, ni] = c.tile(loop(sums.row), tile.rows);
    const auto [jo, ji] = c.tile(loop(sums.column), tile.columns);
    const auto [ko, ki] = c.tile(loop(sums.k), dot.depth);
    const auto [vector, lane] = c.tile(ji, tile.lanes);
    c.reorder({jo, no, ko, ni, vector, lane, ki});
    c.unroll(ni);
    c.unroll(vector);
    c.s.tensorize(lane, dot_product_name(cpu));
    if (sums.rows * sums.columns * sums.depth >= kParallelProducts) c.parallel({jo});
    blocks.insert(sums.block);
  }
  return blocks;
}

}  // namespace dovetail::cpu
