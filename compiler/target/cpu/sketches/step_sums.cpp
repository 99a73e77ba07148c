#include "compiler/target/cpu/sketches/step_sums.h"

#include <algorithm>
#include <numeric>
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

// sums[row, column] = sums[row, column] + values[row, k] * weights[.., k, column + first], of floats, or of bytes
// converted to int32
struct StepSums {
  std::string block;
  Buffer values, weights;
  Var row = {}, column = {}, k = {};
  std::int64_t rows = 0, columns = 0, depth = 0, first = 0;
  bool bytes = false;
};

// The load that the expression consists of, or converts.
const LoadExpr* stored(const Expr& expr) {
  const auto* conversion = std::get_if<Cast>(&expr->node);
  return std::get_if<LoadExpr>(&(conversion == nullptr ? expr : conversion->a)->node);
}

// The number that is added to the variable; nullopt for other expressions.
std::optional<std::int64_t> beyond(const Expr& index, const Var& var) {
  const auto* sum = std::get_if<Binary>(&index->node);
  const auto* number = sum == nullptr || sum->op != BinaryOp::add ? nullptr : std::get_if<IntImm>(&sum->b->node);
  const auto* plain = std::get_if<VarRef>(&(number == nullptr ? index : sum->a)->node);
  if (plain == nullptr || plain->var != var) return std::nullopt;
  return number == nullptr ? 0 : number->value;
}

// Precondition: `block` has iterators of these roles for the sums at `target`.
void find_iterators(const Block& block, const StoreTarget& target, StepSums& s) {
  for (const Iterator& i : block.iterators) {
    if (i.kind == IterKind::reduce) s.k = i.var, s.depth = i.extent;
    if (i.kind != IterKind::spatial) continue;
    if (beyond(target.indices[0], i.var) == 0) s.row = i.var, s.rows = i.extent;
    if (beyond(target.indices[1], i.var) == 0) s.column = i.var, s.columns = i.extent;
  }
}

std::optional<StepSums> step_sums_of(const Program& program, const Block& block) {
  const auto* store_node = std::get_if<Store>(&block.body->node);
  if (store_node == nullptr || store_node->targets.size() != 1 || block.init) return std::nullopt;
  const StoreTarget& target = store_node->targets[0];
  const auto* sum = std::get_if<Binary>(&target.value->node);
  if (target.indices.size() != 2 || sum == nullptr || sum->op != BinaryOp::add ||
      !structurally_equal(sum->a, load(target.buffer, target.indices)))
    return std::nullopt;
  const auto* product = std::get_if<Binary>(&sum->b->node);
  if (product == nullptr || product->op != BinaryOp::mul) return std::nullopt;
  const LoadExpr *x = stored(product->a), *w = stored(product->b);
  if (x == nullptr || w == nullptr || x->indices.size() != 2 || w->indices.size() < 2) return std::nullopt;

  StepSums s{block.name, x->buffer, w->buffer};
  find_iterators(block, target, s);
  if (!s.k || !s.row || !s.column) return std::nullopt;
  const auto first = beyond(w->indices.back(), s.column);
  if (!first || beyond(x->indices[0], s.row) != 0 || beyond(x->indices[1], s.k) != 0 ||
      beyond(w->indices[w->indices.size() - 2], s.k) != 0)
    return std::nullopt;
  s.first = *first;
  const DType sums = target.buffer->dtype;
  s.bytes = sums == DType::int32 && w->buffer->dtype == DType::int8;
  const bool constant = std::ranges::any_of(program.parameters, [&](const Parameter& p) {
    return p.buffer == s.weights && p.role == ParameterRole::constant;
  });
  return constant && (s.bytes || sums == DType::float32) ? std::optional(s) : std::nullopt;
}

// Those that share the layout of one matrix: the first ones that register tiles can compute.
std::vector<StepSums> all_step_sums(const Program& program, const Cpu& cpu) {
  std::vector<StepSums> all;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    const Block* block = schedule::as_block(stmt);
    const auto sums = block == nullptr ? std::nullopt : step_sums_of(program, *block);
    if (!sums) return;
    const std::int64_t depth = sums->bytes ? dot_product(cpu).depth : 1;
    const bool fits = sums->depth % depth == 0 && sums->depth > depth && sums->columns % cpu.lanes(4) == 0 &&
                      sums->first % cpu.lanes(4) == 0;
    const auto same = [&](const StepSums& first) {
      return first.rows == sums->rows && first.depth == sums->depth && first.weights == sums->weights;
    };
    if (fits && (all.empty() || same(all.front()))) all.push_back(*sums);
  });
  return all;
}

}  // namespace

void prepare_step_sums(Preparation& p) {
  const DType words = dot_product(p.cpu).activations;
  if (words == DType::uint8) return;
  for (const StepSums& sums : all_step_sums(p.task.program, p.cpu)) {
    const Buffer bytes = sums.values;
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

std::string weights_of_step_sums(const Program& program, const Cpu& cpu) {
  const std::vector<StepSums> all = all_step_sums(program, cpu);
  if (all.empty() || (all.front().bytes && all.front().values->dtype != dot_product(cpu).activations)) return "";
  return all.front().weights->name;
}

std::set<std::string> schedule_step_sums(schedule::Context& c, const Cpu& cpu) {
  if (weights_of_step_sums(c.task.program, cpu).empty()) return {};
  const std::vector<StepSums> all = all_step_sums(c.task.program, cpu);
  const DotProduct dot = dot_product(cpu);
  const StepSums& one = all.front();
  const std::int64_t depth = one.bytes ? dot.depth : 1;
  std::int64_t columns = 0;  // a tile divides all of them
  for (const StepSums& sums : all) columns = std::gcd(columns, std::gcd(sums.columns, sums.first));
  const RegisterTile tile = sample_register_tile(c, {one.rows, columns, one.depth / depth, 1, one.bytes}, cpu);
  const std::size_t rank = one.weights->shape.size();
  std::string map;
  for (std::size_t i = 0; i + 2 < rank; ++i) map += fmt::format("i{},", i);
  const char* packed = one.bytes ? "i{0}/{2},i{1}/{3},i{0}%{2},i{1}%{3}" : "i{0}/{2},i{1},i{0}%{2}";
  c.lay_out(one.weights->name, map + fmt::format(fmt::runtime(packed), rank - 1, rank - 2, tile.columns, depth));

  std::set<std::string> blocks;
  for (const StepSums& sums : all) {
    const auto loop = [&](const Var& var) { return fmt::format("{}.{}", sums.block, var->name); };
    const auto [no, ni] = c.tile(loop(sums.row), tile.rows);
    const auto [jo, ji] = c.tile(loop(sums.column), tile.columns);
    const auto [vector, lane] = c.tile(ji, tile.lanes);
    if (sums.bytes) {
      const auto [ko, ki] = c.tile(loop(sums.k), depth);
      c.reorder({jo, no, ko, ni, vector, lane, ki});
      c.s.tensorize(lane, dot_product_name(cpu));
    } else {
      c.reorder({jo, no, loop(sums.k), ni, vector, lane});
      c.s.vectorize(lane);
    }
    c.unroll(ni);
    c.unroll(vector);
    if (sums.rows * sums.columns * sums.depth >= kParallelProducts) c.parallel({jo});
    blocks.insert(sums.block);
  }
  return blocks;
}

}  // namespace dovetail::cpu
