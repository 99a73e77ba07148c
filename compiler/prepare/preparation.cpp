#include "compiler/prepare/preparation.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/prepare/copy_factors.h"
#include "compiler/prepare/round_factors.h"
#include "compiler/schedule/contraction.h"
#include "compiler/schedule/index_map.h"
#include "compiler/schedule/nest.h"
#include "loops/product_sum.h"
#include "loops/rewrite.h"

namespace dovetail::prepare {

using namespace loops;

namespace {

const StoreTarget* stored(const Block& block) {
  const auto* update = std::get_if<Store>(&block.body->node);
  return update != nullptr && update->targets.size() == 1 ? &update->targets[0] : nullptr;
}

// The dimension of `weights` that corresponds to dimension `of_sum` of the stored elements, if all other dimensions
// cover the block's whole depth: each with its own reduce iterator, and no such iterator is left over.
std::optional<std::size_t> outputs_of(const Block& block, const std::string& weights, std::size_t of_sum) {
  const LoadExpr* access = nullptr;
  visit_exprs(block.body, [&](const Expr& e) {
    if (const auto* n = std::get_if<LoadExpr>(&e->node); n != nullptr && n->buffer->name == weights) access = n;
  });
  const StoreTarget* target = stored(block);
  if (access == nullptr || target == nullptr || of_sum >= target->indices.size()) return std::nullopt;
  std::optional<std::size_t> outputs;
  std::set<const VarNode*> depth;
  for (std::size_t d = 0; d < access->indices.size(); ++d) {
    const Expr& index = access->indices[d];
    if (structurally_equal(index, target->indices[of_sum])) {
      if (outputs) return std::nullopt;
      outputs = d;
      continue;
    }
    const auto* reference = std::get_if<VarRef>(&index->node);
    const auto iterator = std::ranges::find_if(block.iterators, [&](const Iterator& one) {
      return reference != nullptr && one.var == reference->var && one.kind == IterKind::reduce;
    });
    if (iterator == block.iterators.end() || iterator->extent != access->buffer->shape[d] ||
        !depth.insert(reference->var.get()).second)
      return std::nullopt;
  }
  for (const Iterator& iterator : block.iterators)
    if (iterator.kind == IterKind::reduce && iterator.extent != 1 && !depth.contains(iterator.var.get()))
      return std::nullopt;
  return outputs;
}

// The sum of all elements with coordinate c of dimension `dimension`, for each c; it wraps as the accumulator does.
std::vector<std::uint32_t> sums_along(const NdArray& array, std::size_t dimension) {
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(array.shape()[dimension]));
  std::int64_t inner = 1;
  for (std::size_t d = dimension + 1; d < array.shape().size(); ++d) inner *= array.shape()[d];
  for (std::int64_t i = 0; i < array.count(); ++i)
    sums[static_cast<std::size_t>(i / inner) % sums.size()] += static_cast<std::uint32_t>(array.as_int64(i));
  return sums;
}

// The index map that moves the dimensions indexed by `depth` to the end, in its order, each indexed by one iterator.
// nullopt if one has several, none of them is indexed by the depth, or they are already there (`is_last`) in that
// order.
std::optional<std::string> map_to_depth_last(const Block& block, const std::vector<std::size_t>& depth,
                                             const LoadExpr& access, bool is_last) {
  std::vector<std::string> others;
  std::vector<std::pair<std::size_t, std::size_t>> last;  // position in the depth, dimension
  for (std::size_t d = 0; d < access.indices.size(); ++d) {
    const auto* reference = std::get_if<VarRef>(&access.indices[d]->node);
    if (reference == nullptr && !std::holds_alternative<IntImm>(access.indices[d]->node)) return std::nullopt;
    const auto deep = std::ranges::find_if(
        depth, [&](std::size_t i) { return reference != nullptr && block.iterators[i].var == reference->var; });
    if (deep == depth.end()) others.push_back(fmt::format("i{}", d));
    else last.emplace_back(static_cast<std::size_t>(deep - depth.begin()), d);
  }
  if (last.empty() || (is_last && std::ranges::is_sorted(last))) return std::nullopt;
  std::ranges::sort(last);
  for (const auto& [position, dimension] : last) others.push_back(fmt::format("i{}", dimension));
  return fmt::format("{}", fmt::join(others, ","));
}

// The program with that parameter in the map's physical layout.
Program laid_out(Program program, std::size_t parameter, const schedule::IndexMap& map) {
  Buffer& from = program.parameters[parameter].buffer;
  const Buffer old = from;
  from = make_buffer(old->name, old->dtype, map.physical_shape(), old->scope);
  program.body = rewrite_stmt(
      program.body,
      [&](const Stmt& stmt) {
        const auto* block = std::get_if<Block>(&stmt->node);
        const bool reads = block != nullptr && std::ranges::any_of(block->reads, [&](const Region& region) {
                             return region.buffer == old;
                           });
        return reads ? make_stmt(schedule::with_inferred_regions(*block)) : stmt;
      },
      [&](const Expr& e) {
        const auto* access = std::get_if<LoadExpr>(&e->node);
        return access == nullptr || access->buffer != old ? e : load(from, map.apply(access->indices));
      });
  return program;
}

}  // namespace

Preparation::Preparation(const FusedGroup& group, schedule::Task made) : task(std::move(made)), group_(group) {}

const Block* Preparation::block(const std::string& name) const {
  const auto path = schedule::find_block(task.program.body, name);
  return path ? schedule::as_block(path->back()) : nullptr;
}

std::optional<std::size_t> Preparation::argument(const std::string& name) const {
  for (std::size_t i = 0; i < group_.arguments.size(); ++i)
    if (group_.program.parameters[i].buffer->name == name) return i;
  return std::nullopt;
}

std::optional<Preparation::Bias> Preparation::bias_of(const std::string& main) const {
  const Buffer sum = block(main)->writes.front().buffer;
  std::optional<Bias> bias;
  bool same = true;
  // sum[.., o, ..] + bias[o], bias a constant.
  const auto bias_in = [&](const Expr& e) -> std::optional<Bias> {
    const auto* add = std::get_if<Binary>(&e->node);
    if (add == nullptr || add->op != BinaryOp::add) return std::nullopt;
    const auto *a = std::get_if<LoadExpr>(&add->a->node), *b = std::get_if<LoadExpr>(&add->b->node);
    if (a == nullptr || b == nullptr || a->buffer != sum || b->indices.size() != 1) return std::nullopt;
    const auto position = argument(b->buffer->name);
    const auto along =
        std::ranges::find_if(a->indices, [&](const Expr& index) { return structurally_equal(index, b->indices[0]); });
    if (!position || group_.constants[*position] == nullptr || b->buffer->dtype != DType::int32 ||
        along == a->indices.end())
      return std::nullopt;
    return Bias{*position, static_cast<std::size_t>(along - a->indices.begin())};
  };
  const Stmt others = rewrite_stmt(
      task.program.body,
      [&](const Stmt& stmt) {
        const auto* one = std::get_if<Block>(&stmt->node);
        return one != nullptr && one->name == main ? Stmt() : stmt;
      },
      [&](const Expr& e) {
        const auto found = bias_in(e);
        if (!found) return e;
        same &= !bias || (bias->argument == found->argument && bias->dimension == found->dimension);
        bias = found;
        return int_imm(0, DType::int32);
      });
  if (!bias || !same || others == nullptr) return std::nullopt;
  // A reader of only one of them would see the correction.
  const std::string& constant = group_.program.parameters[bias->argument].buffer->name;
  bool alone = false;
  for (const schedule::Path& path : schedule::blocks_below(others))
    visit_exprs(schedule::as_block(path.back())->body, [&](const Expr& e) {
      const auto* n = std::get_if<LoadExpr>(&e->node);
      alone |= n != nullptr && (n->buffer == sum || n->buffer->name == constant);
    });
  return alone ? std::nullopt : bias;
}

const NdArray* Preparation::constant(std::size_t position) const {
  const auto changed = constants.find(position);
  return changed != constants.end() ? &changed->second : group_.constants[position];
}

bool Preparation::correct_bias(const std::string& main, const ShiftedProgram& shifted) {
  const auto weights = argument(shifted.weights);
  const auto bias = bias_of(main);
  if (!weights || !bias || constant(*weights) == nullptr) return false;
  const NdArray& w = *constant(*weights);
  NdArray corrected = *constant(bias->argument);
  const auto along = outputs_of(*block(main), shifted.weights, bias->dimension);
  if (!along || corrected.count() != w.shape()[*along]) return false;
  const std::vector<std::uint32_t> sums = sums_along(w, *along);
  const auto offset = static_cast<std::uint32_t>(shifted.offset);
  for (std::size_t o = 0; o < sums.size(); ++o) {
    std::int32_t& value = corrected.data<std::int32_t>()[o];
    value = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) - sums[o] * offset);
  }
  constants.insert_or_assign(bias->argument, std::move(corrected));
  return true;
}

void Preparation::shift_activations(const std::string& main) {
  auto shifted = prepare::shift_activations(task.program, main);
  if (!shifted || !correct_bias(main, *shifted)) return;
  task.program = std::move(shifted->program);
  task.prepared.push_back(fmt::format("shift_activations {}", main));
}

void Preparation::widen_activations(const std::string& main) {
  auto widened = prepare::widen_activations(task.program, main);
  if (!widened) return;
  task.program = std::move(widened->program);
  task.prepared.push_back(fmt::format("widen_activations {}", main));
}

void Preparation::drop_zero_point(const std::string& main) {
  auto bytes = prepare::drop_zero_point(task.program, main);
  if (!bytes || (bytes->offset != 0 && !correct_bias(main, *bytes))) return;
  task.program = std::move(bytes->program);
  task.prepared.push_back(fmt::format("drop_zero_point {}", main));
}

void Preparation::put_depth_last(const std::string& main, DType type) {
  const auto path = schedule::find_block(task.program.body, main);
  if (!path) return;
  const auto product = schedule::require_contraction(*path, "put_depth_last");
  if (!product.ok()) return;
  for (const schedule::Contraction::Factor* factor : {&product->left, &product->right}) {
    const auto* access = std::get_if<LoadExpr>(&factor->stored->node);
    if (access == nullptr || access->buffer->dtype != type) continue;
    const std::string name = access->buffer->name;
    const auto position = argument(name);
    if (!position || constant(*position) == nullptr) continue;
    const auto text = map_to_depth_last(*block(main), product->depth, *access, factor->depth_last);
    if (!text) continue;
    const schedule::IndexMap map = schedule::parse_index_map(*text, access->buffer->shape).value();
    constants.insert_or_assign(*position, schedule::pack(*constant(*position), map));
    task.program = laid_out(std::move(task.program), *position, map);
    task.prepared.push_back(fmt::format("put_depth_last {} {} {}", main, name, *text));
  }
}

bool Preparation::is_read_elsewhere(const Buffer& buffer, const std::string& main) const {
  bool read = false;
  for (const schedule::Path& path : schedule::blocks_below(task.program.body))
    read |= schedule::as_block(path.back())->name != main && schedule::reads(path.back(), buffer.get());
  return read;
}

void Preparation::put_channels_last(const std::string& main, std::int64_t bytes, bool turned) {
  const auto found = scattered_factor(task.program, main);
  if (!found || found->buffer->name.ends_with(kPrepared)) return;
  const auto position = argument(found->buffer->name), of_other = argument(found->other->name);
  if ((position && constant(*position) != nullptr) || !of_other || constant(*of_other) == nullptr ||
      is_read_elsewhere(found->other, main))
    return;
  const Block& product = *block(main);
  const DType type = found->buffer->dtype;
  const auto fits = [&](std::int64_t elements) { return elements * size_bytes(type) % bytes == 0; };
  if (!fits(product.iterators[found->channels].extent) || (!found->patches && !turned && fits(found->run)) ||
      (is_floating(product.writes.front().buffer->dtype) && !is_product_sum(product)))
    return;
  bool is_innermost = true;
  for (std::size_t i = found->channels + 1; i < product.iterators.size(); ++i)
    is_innermost &= product.iterators[i].extent == 1;
  if (!is_innermost) {
    task.program = with_innermost(std::move(task.program), main, found->channels);
    put_depth_last(main, found->other->dtype);
  }
  task.program = with_copy(std::move(task.program), main, found->buffer);
  task.prepared.push_back(fmt::format("put_channels_last {} {}", main, found->buffer->name));
}

void Preparation::round_factors(const std::string& main, bool variables) {
  for (const Buffer& factor : float32_factors(task.program, main)) {
    const std::string name = factor->name, fact = fmt::format("round_factors {} {}", main, name);
    if (std::ranges::find(task.prepared, fact) != task.prepared.end()) continue;
    const auto position = argument(name);
    if (position && constant(*position) != nullptr && !is_read_elsewhere(factor, main)) {
      constants.insert_or_assign(*position, rounded_to_tf32(*constant(*position)));
      task.prepared.push_back(fact);
      continue;
    }
    const std::string copy = name.ends_with(kPrepared) ? name : name + kPrepared;
    const std::string of_copy = fmt::format("round_factors {} {}", main, copy);
    if (!variables || std::ranges::find(task.prepared, of_copy) != task.prepared.end()) continue;
    if (copy != name) task.program = with_copy(std::move(task.program), main, factor);
    task.program = with_value(std::move(task.program), copy, [](const Expr& value) { return rounded_to_tf32(value); });
    task.prepared.push_back(of_copy);
  }
}

}  // namespace dovetail::prepare
