// Groups that reduce: few results of many elements each (sums, means, argmax, a matrix times few vectors), and rows
// that are normalized by a reduction of their elements (softmax, layer norm). Neighboring threads read elements of a
// row that are contiguous in memory, and combine their partial results (bind, rfactor). All blocks of the group become
// one kernel, in which a block of threads handles one or several rows; values of a row that several of the group's
// blocks read are kept by the threads.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "compiler/schedule/contraction.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/cuda/sketches/sketches.h"
#include "loops/combine.h"
#include "loops/core/core.h"
#include "loops/rewrite.h"

namespace dovetail::cuda {

using namespace loops;

namespace {

using Names = std::vector<std::string>;

constexpr std::int64_t kMostInBlock = 1024;
// With fewer elements, use one thread.
constexpr std::int64_t kFewestElements = 16;
// With more results per processor, one thread per result keeps all processors busy: 256 if results are contiguous in
// memory (neighbors belong to different results), 2048 if they are strided (the elements of one result are contiguous).
constexpr std::int64_t kResultsPerSmContiguous = 256, kResultsPerSmStrided = 2048;
constexpr std::int64_t kMostKept = 32;   // elements of a row that a thread keeps, per buffer
constexpr std::int64_t kMostShared = 8;  // results that a thread computes from values loaded once
constexpr std::int64_t kMostParts = 128;
constexpr std::int64_t kLoadsInFlight = 8;  // concurrent loads per thread

std::int64_t share_of(std::int64_t extent, std::int64_t piece) { return (extent + piece - 1) / piece; }
std::int64_t power_below(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 1))));
}

bool mentions(const Expr& expr, const Var& var) { return schedule::mentions(expr, var); }

std::int64_t points_of(const Block& block) {
  std::int64_t points = 1;
  for (const Iterator& iterator : block.iterators) points *= iterator.extent;
  return points;
}

// Loads from buffers, each distinct access once.
std::vector<const LoadExpr*> loads_of(const Block& block) {
  std::vector<const LoadExpr*> loads;
  visit_exprs(block.body, [&](const Expr& e) {
    if (const auto* n = std::get_if<LoadExpr>(&e->node)) loads.push_back(n);
  });
  return loads;
}

std::string loop_of(const Iterator& iterator) {
  const auto* n = std::get_if<VarRef>(&iterator.binding->node);
  return n == nullptr ? "" : n->var->name;
}

// The loops of a block that the sketch starts from.
struct Axes {
  Names rows;    // over rows, outermost first
  Names shared;  // over rows with the same loads, so that a thread computes a result of each
  Names along;   // over elements of a row
};

class Reduction {
 public:
  Reduction(schedule::Context& c, const Gpu& gpu) : c_(c), gpu_(gpu) {}

  // Returns false if nothing was changed and no step was rejected.
  bool schedule() {
    inline_whole_rows();
    if (!understand()) return false;
    decide();
    if (parts_ > 1) {
      split_over_blocks();
      return c_.s.status().ok();
    }
    keep_rows();
    schedule_rows();
    return c_.s.status().ok();
  }
  bool in_parts() const { return parts_ > 1; }

 private:
  // ---- Analysis of the group

  // Computes blocks where they are read, unless that repeats the computation.
  void inline_whole_rows() {
    for (const std::string& name : c_.blocks()) {
      const Block& block = *c_.block(name);
      if (block.init || block.writes.size() != 1) continue;
      const Names readers = readers_of(c_, name);
      const bool once = std::ranges::all_of(
          readers, [&](const std::string& reader) { return points_of(*c_.block(reader)) <= points_of(block); });
      if (once && (readers.size() == 1 || !is_costly(block))) c_.attempt("inline", {name});
    }
  }

  bool understand() {
    const Names all = c_.blocks();
    if (all.empty()) return false;
    for (const std::string& name : all) {
      const Block& block = *c_.block(name);
      const Names loops = c_.own_loops(name);
      if (loops.size() != block.iterators.size() || c_.loops_of(name).size() != loops.size()) return false;
      if (!std::holds_alternative<Store>(block.body->node) || block.predicate) return false;
      std::int64_t elements = 1;
      for (std::size_t i = 0; i < loops.size(); ++i) {
        const Iterator& iterator = block.iterators[i];
        if (iterator.kind == IterKind::ordered || loop_of(iterator) != loops[i]) return false;
        if (iterator.kind == IterKind::reduce) elements *= iterator.extent;
      }
      if (!block.init && elements != 1) return false;
      if (!block.init) continue;
      if (!may_be_joined(c_, block) || (elements_ != 0 && elements != elements_)) return false;
      elements_ = elements;
      reductions_.push_back(name);
    }
    if (reductions_.empty() || elements_ < kFewestElements) return false;
    last_ = all.back();
    for (const std::string& name : all)
      if (name != last_ && writes_result(name)) return false;  // each of them would need a final location
    return find_axes() && worth_it();
  }

  bool writes_result(const std::string& name) const {
    return std::ranges::any_of(c_.block(name)->writes, [&](const Region& region) {
      return std::ranges::any_of(c_.task.program.parameters,
                                 [&](const Parameter& p) { return p.buffer->name == region.buffer->name; });
    });
  }

  // Finds the last block's loops over rows: those that index a computed buffer with fewer elements than the block has
  // points.
  bool find_axes() {
    const Block& block = *c_.block(last_);
    std::map<const VarNode*, std::int64_t> members;  // members of a row, if several values of an iterator share it
    std::set<const VarNode*> rows;
    bool broadcasts = false, known = true;
    const auto is_computed = [&](const Buffer& buffer) {
      return std::ranges::any_of(c_.blocks(), [&](const std::string& name) {
        return name != last_ && std::ranges::any_of(c_.block(name)->writes,
                                                    [&](const Region& region) { return region.buffer == buffer; });
      });
    };
    for (const LoadExpr* load : loads_of(block)) {
      if (block.init || !is_computed(load->buffer) || element_count(load->buffer->shape) >= points_of(block)) continue;
      broadcasts = true;
      for (const Expr& index : load->indices) {
        if (std::holds_alternative<IntImm>(index->node)) continue;
        const auto* n = std::get_if<VarRef>(&index->node);
        const auto* quotient = std::get_if<loops::Binary>(&index->node);
        if (n != nullptr) {
          rows.insert(n->var.get());
          continue;
        }
        const auto* divided = quotient != nullptr && quotient->op == BinaryOp::floor_div
                                  ? std::get_if<VarRef>(&quotient->a->node)
                                  : nullptr;
        const auto* by = divided != nullptr ? std::get_if<IntImm>(&quotient->b->node) : nullptr;
        known &= by != nullptr;
        if (by != nullptr) members[divided->var.get()] = by->value;
      }
    }
    if (!known) return false;
    for (const Iterator& iterator : block.iterators) {
      const std::string loop = loop_of(iterator);
      if (iterator.kind == IterKind::reduce) {
        axes_.along.push_back(loop);
      } else if (const auto several = members.find(iterator.var.get()); several != members.end()) {
        if (rows.contains(iterator.var.get()) || iterator.extent % several->second != 0) return false;
        if (split_rows_) return false;
        split_rows_ = {loop, several->second};
        axes_.rows.push_back(loop + "_o");
        axes_.along.push_back(loop + "_i");
      } else {
        (!broadcasts || rows.contains(iterator.var.get()) ? axes_.rows : axes_.along).push_back(loop);
      }
    }
    if (!split_rows_) put_short_ones_first();
    results_ = 1;
    for (const Iterator& iterator : c_.block(reductions_.front())->iterators)
      if (iterator.kind == IterKind::spatial) results_ *= iterator.extent;
    return results_ > 0;
  }

  // Decides by the location of a row's elements in the largest buffer that the first reduction reads.
  bool worth_it() {
    const Block& block = *c_.block(reductions_.front());
    const LoadExpr* largest = nullptr;
    for (const LoadExpr* load : loads_of(block)) {
      const bool own = std::ranges::any_of(block.writes, [&](const Region& r) { return r.buffer == load->buffer; });
      if (!own && (largest == nullptr || element_count(load->buffer->shape) > element_count(largest->buffer->shape)))
        largest = load;
    }
    if (largest == nullptr) return false;
    bool spatial = false, reduced = false;
    for (std::size_t d = largest->indices.size(); d-- > 0 && !spatial && !reduced;)
      for (const Iterator& iterator : block.iterators)
        if (iterator.extent > 1 && mentions(largest->indices[d], iterator.var))
          (iterator.kind == IterKind::reduce ? reduced : spatial) = true;
    results_contiguous_ = !reduced;
    const bool alone = reductions_.size() == 1 && axes_.along.size() == reduced_loops(last_).size();
    if (alone && results_ > gpu_.processors * (spatial ? kResultsPerSmContiguous : kResultsPerSmStrided)) return false;
    if (is_matter_of_tiles(block, *largest)) return false;
    if (alone) share_loads(block, *largest);
    return !axes_.rows.empty() || alone;
  }

  // A product other than a matrix times few vectors: both of its factors are read several times.
  bool is_matter_of_tiles(const Block& block, const LoadExpr& largest) const {
    const auto path = schedule::find_block(c_.s.program().body, block.name);
    const auto product = schedule::require_contraction(*path, "sketch");
    if (!product.ok()) return false;
    const bool window = std::ranges::any_of(largest.indices, [&](const Expr& index) {
      bool spatial = false, reduced = false;
      for (const Iterator& iterator : block.iterators)
        if (iterator.extent > 1 && mentions(index, iterator.var))
          (iterator.kind == IterKind::reduce ? reduced : spatial) = true;
      return spatial && reduced;
    });
    return window ||
           std::min(product->extent(block, product->rows), product->extent(block, product->columns)) > kMostShared;
  }

  Names reduced_loops(const std::string& name) const {
    Names loops;
    for (const Iterator& iterator : c_.block(name)->iterators)
      if (iterator.kind == IterKind::reduce) loops.push_back(loop_of(iterator));
    return loops;
  }

  // Finds loops of the last block over results that need the same elements of the largest buffer.
  void share_loads(const Block& reduction, const LoadExpr& largest) {
    const auto& place = std::get<Store>(reduction.body->node).targets.front();
    const Block& last = *c_.block(last_);
    for (std::size_t d = 0; d < place.indices.size(); ++d) {
      const auto* n = std::get_if<VarRef>(&place.indices[d]->node);
      if (n == nullptr || place.buffer->shape[d] <= 1 || place.buffer->shape[d] > kMostShared) continue;
      if (std::ranges::any_of(largest.indices, [&](const Expr& index) { return mentions(index, n->var); })) continue;
      // The iterator by which the last block indexes that dimension.
      const VarNode* var = last.init ? n->var.get() : nullptr;
      if (!last.init)
        for (const LoadExpr* load : loads_of(last))
          if (load->buffer == place.buffer)
            if (const auto* own = std::get_if<VarRef>(&load->indices[d]->node)) var = own->var.get();
      for (const Iterator& iterator : last.iterators)
        if (iterator.var.get() == var && axes_.rows.size() > 1) {
          std::erase(axes_.rows, loop_of(iterator));
          axes_.shared.push_back(loop_of(iterator));
          shared_dimensions_.insert(d);
        }
    }
  }

  // ---- Decisions

  std::int64_t rows_extent() const {
    if (axes_.rows.empty()) return 1;
    const std::string& loop = axes_.rows.back();
    return split_rows_ && loop == split_rows_->first + "_o" ? 1 : c_.extent(loop);
  }

  void decide() {
    std::int64_t rows = results_;
    for (const std::string& loop : axes_.shared) rows /= c_.extent(loop);
    // Rows of a block: some of the innermost loop over rows, never all. Rows with strided members are handled one at a
    // time.
    std::vector<std::int64_t> some{1};
    for (std::int64_t count = 2; count <= kWarpLanes && count < rows_extent(); count *= 2) some.push_back(count);
    const std::int64_t most_threads = std::min({kMostInBlock, gpu_.threads, power_below(elements_)});
    std::vector<std::int64_t> threads;
    for (std::int64_t count = std::min<std::int64_t>(2, most_threads); count <= most_threads; count *= 2)
      threads.push_back(count);
    // The remainder of the last round would be members of another row.
    if (split_rows_) std::erase_if(threads, [&](std::int64_t count) { return elements_ % count != 0; });
    if (threads.empty()) threads = {1};
    const auto usual_count = std::ranges::find_if(threads | std::views::reverse, [&](std::int64_t count) {
      return count <= std::min(usual_threads(rows), most_threads);
    });
    threads_ = c_.sample("threads", threads,
                         usual_count == (threads | std::views::reverse).end() ? threads.front() : *usual_count);
    std::erase_if(some, [&](std::int64_t count) { return count * threads_ > kMostInBlock; });
    std::int64_t usual = results_contiguous_ ? some.back() : std::max<std::int64_t>(1, 128 / threads_);
    while (!results_contiguous_ && usual > 1 && share_of(rows, usual) < gpu_.processors) usual /= 2;
    rows_of_block_ = c_.sample("rows_of_block", some, std::min(usual, some.back()));
    const bool alone = reductions_.size() == 1 && c_.blocks().front() == reductions_.front() &&
                       c_.block(reductions_.front())->writes.size() == 1;
    std::vector<std::int64_t> parts{1};
    for (std::int64_t count = 2; alone && count <= kMostParts; count *= 2)
      if (elements_ - (count - 1) * share_of(elements_, count) >= threads_) parts.push_back(count);
    parts_ = c_.sample("parts", parts, usual_parts(rows, parts));
    const std::int64_t kept = share_of(elements_, threads_);
    std::vector<std::string> keep{"no"};
    if (kept <= kMostKept) keep.insert(keep.begin(), "yes");
    keeps_ = parts_ == 1 && c_.sample("keep_rows", keep, keep.front()) == "yes";
  }

  // A few elements per thread; fewer if there are not enough rows to keep all processors busy.
  std::int64_t usual_threads(std::int64_t rows) const {
    if (results_contiguous_) return std::clamp<std::int64_t>(power_below(elements_ / kLoadsInFlight), 2, kWarpLanes);
    const bool many = rows >= kLoadsInFlight * gpu_.processors;
    return std::clamp<std::int64_t>(power_below(elements_ / (many ? 16 : 4)),
                                    std::min(kWarpLanes, power_below(elements_)), kMostInBlock);
  }

  // Blocks for all processors, each with several elements per thread.
  std::int64_t usual_parts(std::int64_t rows, const std::vector<std::int64_t>& possible) const {
    if (axes_.rows.empty() && possible.size() > 1) rows = 1;
    const std::int64_t blocks = share_of(rows, rows_of_block_);
    std::int64_t parts = 1;
    for (const std::int64_t count : possible)
      if (blocks * count <= 2 * gpu_.processors && elements_ / count >= 4 * threads_) parts = count;
    return axes_.rows.empty() && parts == 1 ? possible[std::min<std::size_t>(1, possible.size() - 1)] : parts;
  }

  // ---- Steps

  // Fuses the loops into one; "" if there are none.
  std::string fused(const Names& loops, const std::string& name) {
    if (loops.empty()) return "";
    std::string all = loops.front();
    for (std::size_t i = 1; i < loops.size(); ++i) {
      const std::string next = fmt::format("{}.all{}", name, i);
      c_.s.fuse(all, loops[i], next);
      all = next;
    }
    return all;
  }

  // Fuses the loops over the elements of a result; those with one iteration stay outside.
  std::string fused_elements(const std::string& name) {
    Names order, several;
    const Names reduced = reduced_loops(name);
    for (const std::string& loop : c_.own_loops(name))
      (std::ranges::find(reduced, loop) == reduced.end() || c_.extent(loop) == 1 ? order : several).push_back(loop);
    const Names last = several.empty() ? Names{reduced.back()} : several;
    order.insert(order.end(), several.begin(), several.end());
    if (order != c_.own_loops(name)) c_.reorder(order);
    return fused(last, name);
  }

  // Splits the rows into parts computed by blocks of a separate kernel; the next one adds the parts in order, one
  // thread per result.
  void split_over_blocks() {
    const std::string name = reductions_.front(), blocks = name + ".blocks";
    const std::string all = fused_elements(name);
    c_.s.split(all, share_of(elements_, parts_), name + ".part", name + ".rest");
    c_.s.rfactor(name, name + ".part", blocks);
    if (!c_.s.status().ok()) return;
    elements_ = share_of(elements_, parts_);
    reductions_ = {blocks};
    last_ = blocks;
    std::set<std::size_t> behind_part;
    for (const std::size_t d : shared_dimensions_) behind_part.insert(d + 1);
    shared_dimensions_ = std::move(behind_part);
    schedule_rows();
    // For a single result, one thread per part.
    const Names join = c_.own_loops(name);
    if (results_ == 1 && !join.empty()) c_.attempt("bind", {join.back(), "thread.x"});
  }

  // Values of a row that several blocks read are loaded once, each thread its elements: into registers if each block
  // reads only values loaded by the same thread, else into shared memory.
  void keep_rows() {
    for (const Parameter& parameter : c_.task.program.parameters) {
      if (parameter.role == ParameterRole::output || !c_.s.status().ok()) continue;
      Names readers;
      for (const std::string& name : c_.blocks())
        if (std::ranges::any_of(c_.block(name)->reads, [&](const Region& r) { return r.buffer == parameter.buffer; }))
          readers.push_back(name);
      if (readers.size() < 2 || element_count(parameter.buffer->shape) != results_ * elements_) continue;
      if (!keeps_) continue;
      const std::string kept = parameter.buffer->name + ".row";
      c_.s.cache_read(fmt::format("{}", fmt::join(readers, ",")), parameter.buffer->name, "global", kept);
    }
    // Values that are not kept are computed again.
    if (keeps_) return;
    for (const std::string& name : c_.blocks())
      if (const Block& block = *c_.block(name); !block.init && name != last_ && points_of(block) > results_)
        c_.attempt("inline", {name});
  }

  void schedule_rows() {
    if (!c_.s.status().ok()) return;
    for (const std::string& name : reductions_) take_apart(name);
    if (c_.block(last_)->init) write_once();
    const std::string at = place();
    if (!c_.s.status().ok()) return;
    Names others = c_.blocks();
    const auto last = std::ranges::find(others, last_);
    others.erase(last, others.end());
    std::ranges::reverse(others);
    for (const std::string& name : others) c_.s.compute_at(name, at);
    if (!c_.s.status().ok()) return;
    others.insert(others.begin(), last_);
    std::map<std::string, Loops> loops;
    for (const std::string& name : others) loops[name] = arrange(name);
    if (!c_.s.status().ok()) return;
    if (!bind_points(c_, {blocks_, {}})) return refuse("the rows cannot be bound to blocks");
    for (const std::string& name : others) give_to_threads(name, loops[name]);
  }

  void refuse(const std::string& why) {
    if (c_.s.status().ok()) c_.s.fail({schedule::refuse("sketch", last_, why, "use another schedule")});
  }

  // Each thread computes a partial result, of elements strided by the number of threads.
  void take_apart(const std::string& name) {
    const std::string all = fused_elements(name);
    const std::string own = name + ".own", thread = name + ".thread", part = name + ".lane";
    c_.s.split(all, threads_, own, thread);
    c_.s.rfactor(name, thread, part);
    parts_of_threads_.insert(part);
    joins_.insert(name);
  }

  // A reduction writes its result when it is complete.
  void write_once() {
    const Block& block = *c_.block(last_);
    std::string written = block.writes.front().buffer->name;
    for (const Region& region : block.writes)
      if (std::ranges::any_of(c_.task.program.parameters,
                              [&](const Parameter& p) { return p.buffer->name == region.buffer->name; }))
        written = region.buffer->name;
    const std::string result = last_ + ".result";
    c_.s.cache_write(last_, written, "register", result);
    last_ = result;
    if (!c_.s.status().ok()) return;
    // Its loops are the result's dimensions, in order.
    const Names loops = c_.own_loops(last_);
    axes_ = {};
    for (std::size_t d = 0; d < loops.size(); ++d)
      (shared_dimensions_.contains(d) ? axes_.shared : axes_.rows).push_back(loops[d]);
    put_short_ones_first();
  }

  // Ensures that the innermost loop over rows has several iterations.
  void put_short_ones_first() {
    std::ranges::stable_partition(axes_.rows, [&](const std::string& loop) { return c_.extent(loop) <= 1; });
  }

  // The loop of the last block into which all other blocks are moved: the rows of a block of threads.
  std::string place() {
    if (!c_.s.status().ok()) return "";
    if (split_rows_) c_.s.split(split_rows_->first, split_rows_->second, axes_.rows.back(), split_rows_->first + "_i");
    if (axes_.rows.empty()) {
      refuse("there is no loop over rows");
      return "";
    }
    Names order = axes_.rows;
    blocks_ = axes_.rows;
    if (rows_of_block_ > 1) {
      const std::string all = axes_.rows.back();
      outer_row_ = all + "_o";
      c_.s.split(all, rows_of_block_, outer_row_, all + "_i");
      order.back() = blocks_.back() = outer_row_;
      order.push_back(all + "_i");
    }
    order.insert(order.end(), axes_.shared.begin(), axes_.shared.end());
    order.insert(order.end(), axes_.along.begin(), axes_.along.end());
    c_.reorder(order);
    return blocks_.back();
  }

  // A block's loops inside the block of threads.
  struct Loops {
    std::string row, thread, own;  // "" if there is none
    Names shared;
  };

  Loops arrange(const std::string& name) {
    Loops loops;
    if (!c_.s.status().ok()) return loops;
    const auto path = schedule::find_block(c_.s.program().body, name);
    const Block block = *c_.block(name);
    Names inside = c_.own_loops(name);
    // For the last block, only the loops that are not around the others.
    std::erase_if(inside, [&](const std::string& loop) { return std::ranges::find(blocks_, loop) != blocks_.end(); });
    const bool part = parts_of_threads_.contains(name), join = joins_.contains(name);
    Names along;
    const auto outer = std::ranges::find_if(*path, [&](const Stmt& stmt) {
      return schedule::as_for(stmt) != nullptr && schedule::as_for(stmt)->var->name == outer_row_;
    });
    for (const std::string& loop : inside) {
      const Var var = schedule::as_for(schedule::find_loop(c_.s.program().body, loop)->back())->var;
      bool is_row = false, reduces = false, first = false;
      for (std::size_t i = 0; i < block.iterators.size(); ++i) {
        const Iterator& iterator = block.iterators[i];
        if (!mentions(iterator.binding, var)) continue;
        is_row |= outer != path->end() && mentions(iterator.binding, schedule::as_for(*outer)->var);
        reduces |= iterator.kind == IterKind::reduce;
        first |= i == 0;
      }
      if (is_row) loops.row = loop;
      else if (part && reduces) along.push_back(loop);
      else if ((part && first) || (join && reduces)) loops.thread = loop;
      else if (part || join || !axes_.shared.empty()) loops.shared.push_back(loop);
      else along.push_back(loop);
    }
    if (part || join) {
      if (!along.empty()) loops.own = along.front();
    } else if (!along.empty()) {
      const std::string all = fused(along, name);
      loops.own = name + ".own", loops.thread = name + ".thread";
      c_.s.split(all, threads_, loops.own, loops.thread);
    }
    Names order;
    if (join) order = loops.shared;
    for (const std::string& loop : {loops.row, loops.thread, loops.own})
      if (!loop.empty()) order.push_back(loop);
    if (!join) order.insert(order.end(), loops.shared.begin(), loops.shared.end());
    c_.reorder(order);
    if (part && !loops.shared.empty() && c_.has_loop(loops.own)) {
      c_.s.decompose_reduction(name, loops.own, name + ".init");
      started_.push_back(name);
    }
    return loops;
  }

  void give_to_threads(const std::string& name, const Loops& loops) {
    if (!loops.row.empty()) c_.s.bind(loops.row, results_contiguous_ ? "thread.x" : "thread.y");
    if (!loops.thread.empty()) c_.s.bind(loops.thread, results_contiguous_ ? "thread.y" : "thread.x");
    for (const std::string& loop : loops.shared) {
      c_.unroll(loop);
      if (std::ranges::find(started_, name) != started_.end()) c_.unroll(fmt::format("{}.init.{}", name, loop));
    }
    unroll_own(loops);
  }

  // All elements of a thread that it keeps; otherwise as many as it loads concurrently.
  void unroll_own(const Loops& loops) {
    const std::int64_t extent = c_.extent(loops.own);
    std::int64_t copies = 1;
    for (const std::string& loop : loops.shared) copies *= c_.extent(loop);
    if (loops.own.empty() || extent <= 1) return;
    if (extent <= (keeps_ ? kMostKept : kLoadsInFlight)) return c_.unroll(loops.own);
    for (std::int64_t factor = kLoadsInFlight; factor > 1 && !keeps_; factor /= 2)
      if (extent % factor == 0) {
        c_.s.split(loops.own, factor, loops.own + "_o", loops.own + "_i");
        return c_.unroll(loops.own + "_i");
      }
  }

  schedule::Context& c_;
  const Gpu& gpu_;
  Names reductions_;
  std::string last_;
  Axes axes_;  // axes of the last block
  std::optional<std::pair<std::string, std::int64_t>>
      split_rows_;                           // a loop over groups, and the number of members per group
  std::set<std::size_t> shared_dimensions_;  // dimensions of the result
  std::int64_t elements_ = 0, results_ = 1;  // elements per result; number of results
  bool results_contiguous_ = false;          // neighbors in memory belong to different results

  std::int64_t threads_ = 1, rows_of_block_ = 1, parts_ = 1;
  bool keeps_ = false;

  std::set<std::string> parts_of_threads_, joins_;  // blocks created by rfactor
  Names blocks_, started_;
  std::string outer_row_;
};

}  // namespace

bool sketch_reduction(schedule::Context& c, const Gpu& gpu) {
  for (const Parameter& parameter : c.task.program.parameters)
    if (parameter.role != ParameterRole::constant) c.follow_layout(parameter.buffer->name);
  Reduction reduction(c, gpu);
  if (!reduction.schedule()) return !c.s.status().ok();
  schedule_points(c);
  return true;
}

}  // namespace dovetail::cuda
