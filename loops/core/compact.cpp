#include "loops/core/compact.h"

#include <algorithm>
#include <set>

#include "loops/linear.h"
#include "loops/rewrite.h"

namespace dovetail::loops {

namespace {

using Loops = std::vector<const CoreLoop*>;

struct CoreAccess {
  std::vector<Expr> indices;
  std::vector<std::int64_t> extents;  // extents of the box at `indices`
  Loops loops;                        // the loops around it, outermost first
  bool write;
};

class Collector {
 public:
  explicit Collector(const CompactOptions& options) : options_(options) {}

  std::map<const BufferNode*, std::vector<CoreAccess>> accesses;
  std::set<const BufferNode*> with_own_rows;

  void walk(const Core& core) {
    if (!core) return;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      loops_.push_back(loop);
      walk(loop->body);
      loops_.pop_back();
    } else if (const auto* condition = std::get_if<CoreIf>(&core->node)) {
      reads(condition->condition);
      walk(condition->then_body);
      walk(condition->else_body);
    } else if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
      for (const Core& part : sequence->body) walk(part);
    } else if (const auto* store = std::get_if<CoreStore>(&core->node)) {
      for (const StoreTarget& target : store->targets) {
        add(target.buffer.get(), target.indices, {}, true);
        reads(target.value);
        for (const Expr& index : target.indices) reads(index);
      }
    } else if (const auto* call = std::get_if<CoreCall>(&core->node)) {
      for (std::size_t i = 0; i < call->operands.size(); ++i) {
        const IntrinsicOperand& operand = call->operands[i];
        add(operand.buffer.get(), operand.indices, operand.extents, i == 0);
        if (options_.keeps_rows && options_.keeps_rows(call->intrinsic)) with_own_rows.insert(operand.buffer.get());
        for (const Expr& index : operand.indices) reads(index);
      }
      for (const Expr& immediate : call->immediates) reads(immediate);
    }
  }

 private:
  void reads(const Expr& expr) {
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* load = std::get_if<LoadExpr>(&e->node)) add(load->buffer.get(), load->indices, {}, false);
    });
  }
  void add(const BufferNode* buffer, const std::vector<Expr>& indices, std::vector<std::int64_t> extents, bool write) {
    if (extents.empty()) extents.assign(indices.size(), 1);
    accesses[buffer].push_back({indices, std::move(extents), loops_, write});
  }

  const CompactOptions& options_;
  Loops loops_;
};

// One dimension of the box that a set of accesses covers in one iteration of the outer loops: outer + [low, high].
struct TouchedRange {
  Linear outer;  // without constant; its atoms contain only variables of the outer loops
  std::int64_t low, high;
};

bool same_terms(const Linear& a, const Linear& b) {
  return a.terms.size() == b.terms.size() && std::all_of(a.terms.begin(), a.terms.end(), [&](const LinearTerm& term) {
           return std::any_of(b.terms.begin(), b.terms.end(), [&](const LinearTerm& other) {
             return term.coefficient == other.coefficient && structurally_equal(term.atom, other.atom);
           });
         });
}

std::optional<TouchedRange> touched(const CoreAccess& access, std::size_t dimension,
                                    const std::set<const VarNode*>& outer, const Bounds& bounds) {
  const Linear form = linear_form(access.indices[dimension]);
  TouchedRange range{{}, form.constant, form.constant + access.extents[dimension] - 1};
  for (const LinearTerm& term : form.terms) {
    bool outside = true, inside = true, plain = true;
    visit_exprs(term.atom, [&](const Expr& e) {
      if (const auto* n = std::get_if<VarRef>(&e->node)) (outer.count(n->var.get()) != 0 ? inside : outside) = false;
      plain &= !std::holds_alternative<LoadExpr>(e->node);
    });
    if (outside && plain) {
      range.outer.add(term.atom, term.coefficient);
      continue;
    }
    // A variable, or an expression left by fused loops: a quotient of sums.
    const auto values = inside && plain ? bound(term.atom, bounds) : std::nullopt;
    if (!values) return std::nullopt;
    const std::int64_t at_min = term.coefficient * values->min, at_max = term.coefficient * values->max;
    range.low += std::min(at_min, at_max);
    range.high += std::max(at_min, at_max);
  }
  return range;
}

std::optional<TouchedRange> touched(const std::vector<const CoreAccess*>& accesses, std::size_t dimension,
                                    const Loops& outside, const Bounds& bounds) {
  std::set<const VarNode*> outer;
  for (const CoreLoop* loop : outside) outer.insert(loop->var.get());
  std::optional<TouchedRange> result;
  for (const CoreAccess* access : accesses) {
    const auto range = touched(*access, dimension, outer, bounds);
    if (!range || (result && !same_terms(result->outer, range->outer))) return std::nullopt;
    if (!result) result = range;
    result->low = std::min(result->low, range->low);
    result->high = std::max(result->high, range->high);
  }
  return result;
}

struct Shrunk {
  Buffer buffer;
  std::vector<Expr> min;  // per dimension
};

// The row length of `buffer`, padded to whole vectors or to different memory banks.
std::int64_t row_extent(const Buffer& buffer, const Shape& shape, const CompactOptions& options, bool own_rows) {
  const std::int64_t extent = shape.back();
  if (own_rows) return extent;
  if (buffer->scope == "shared")
    return element_count(shape) == extent ? extent : extent + options.bank_bytes / size_bytes(buffer->dtype);
  const std::int64_t lanes = options.vector_bytes / size_bytes(buffer->dtype);
  return buffer->scope != "register" || lanes == 0 || extent <= lanes ? extent : (extent + lanes - 1) / lanes * lanes;
}

std::optional<Shrunk> shrink(const Buffer& buffer, const std::vector<CoreAccess>& accesses, const Bounds& bounds,
                             const CompactOptions& options, bool own_rows) {
  std::vector<const CoreAccess*> reads, writes, all;
  for (const CoreAccess& access : accesses) {
    (access.write ? writes : reads).push_back(&access);
    all.push_back(&access);
  }
  if (writes.empty()) return std::nullopt;
  Loops common = accesses.front().loops;
  for (const CoreAccess& access : accesses) {
    const auto end = std::mismatch(common.begin(), common.end(), access.loops.begin(), access.loops.end()).first;
    common.erase(end, common.end());
  }
  for (;; common.pop_back()) {
    Shrunk result;
    Shape shape;
    bool fits = true;
    for (std::size_t d = 0; d < buffer->shape.size() && fits; ++d) {
      const auto whole = touched(all, d, common, bounds);
      const auto written = touched(writes, d, common, bounds);
      const auto read = reads.empty() ? written : touched(reads, d, common, bounds);
      if (!whole || !written || !read || read->low < written->low || read->high > written->high) {
        // If the index does not contain the loops' variables: the whole dimension.
        fits = common.empty();
        result.min.push_back(int_imm(0));
        shape.push_back(buffer->shape[d]);
        continue;
      }
      Linear min = whole->outer;
      min.constant = whole->low;
      result.min.push_back(simplify(to_expr(min), bounds));
      shape.push_back(whole->high - whole->low + 1);
    }
    if (fits && !shape.empty()) shape.back() = row_extent(buffer, shape, options, own_rows);
    if (fits && shape != buffer->shape) {
      result.buffer = make_buffer(buffer->name, buffer->dtype, shape, buffer->scope);
      return result;
    }
    if (common.empty()) return std::nullopt;
  }
}

class Rewriter {
 public:
  Rewriter(const std::map<const BufferNode*, Shrunk>& shrunk, const Bounds& bounds)
      : shrunk_(shrunk), bounds_(bounds) {}

  Core rewrite(const Core& core) const {
    if (!core) return core;
    return std::visit([&](const auto& n) { return std::make_shared<const CoreNode>(CoreNode{rewritten(n)}); },
                      core->node);
  }

 private:
  CoreLoop rewritten(CoreLoop n) const {
    n.body = rewrite(n.body);
    return n;
  }
  CoreIf rewritten(const CoreIf& n) const { return {expr(n.condition), rewrite(n.then_body), rewrite(n.else_body)}; }
  CoreSequence rewritten(CoreSequence n) const {
    for (Core& part : n.body) part = rewrite(part);
    return n;
  }
  CoreStore rewritten(const CoreStore& n) const {
    CoreStore result{{}, n.block, {}, n.product_sum};
    for (const StoreTarget& target : n.targets) {
      StoreTarget moved{target.buffer, {}, expr(target.value)};
      for (const Expr& index : target.indices) moved.indices.push_back(expr(index));
      place(moved.buffer, moved.indices);
      result.targets.push_back(std::move(moved));
    }
    for (const LoadExpr& known : n.initialized) {
      LoadExpr moved = known;
      place(moved.buffer, moved.indices);
      result.initialized.push_back(std::move(moved));
    }
    return result;
  }
  CoreForget rewritten(const CoreForget& n) const {
    const auto it = shrunk_.find(n.buffer.get());
    return {it == shrunk_.end() ? n.buffer : it->second.buffer};
  }
  CoreBarrier rewritten(const CoreBarrier& n) const { return n; }
  CoreAsyncGroup rewritten(const CoreAsyncGroup& n) const { return n; }
  CoreCallGroup rewritten(const CoreCallGroup& n) const { return n; }
  CoreProxyFence rewritten(const CoreProxyFence& n) const { return n; }
  CoreAsyncCopy rewritten(const CoreAsyncCopy& n) const { return n; }  // buffers are compact before any is inserted
  CoreBoxCopy rewritten(const CoreBoxCopy& n) const { return n; }
  CoreSignal rewritten(const CoreSignal& n) const { return n; }
  CoreShuffle rewritten(const CoreShuffle& n) const { return n; }  // shuffles are not inserted yet
  CoreCall rewritten(CoreCall n) const {
    for (IntrinsicOperand& operand : n.operands) {
      for (Expr& index : operand.indices) index = expr(index);
      place(operand.buffer, operand.indices);
    }
    for (Expr& immediate : n.immediates) immediate = expr(immediate);
    return n;
  }

  void place(Buffer& buffer, std::vector<Expr>& indices) const {
    const auto it = shrunk_.find(buffer.get());
    if (it == shrunk_.end()) return;
    buffer = it->second.buffer;
    for (std::size_t d = 0; d < indices.size(); ++d) indices[d] = simplify(indices[d] - it->second.min[d], bounds_);
  }
  Expr expr(const Expr& e) const {
    return rewrite_expr(e, [&](const Expr& inner) -> Expr {
      const auto* n = std::get_if<LoadExpr>(&inner->node);
      if (n == nullptr || !shrunk_.count(n->buffer.get())) return inner;
      LoadExpr moved = *n;
      place(moved.buffer, moved.indices);
      return load(moved.buffer, moved.indices);
    });
  }

  const std::map<const BufferNode*, Shrunk>& shrunk_;
  const Bounds& bounds_;
};

}  // namespace

CoreProgram compact_buffers(CoreProgram core, const CompactOptions& options) {
  Collector collector(options);
  collector.walk(core.body);
  std::map<const BufferNode*, Shrunk> shrunk;
  for (Buffer& buffer : core.temporary) {
    const auto accesses = collector.accesses.find(buffer.get());
    if (accesses == collector.accesses.end()) continue;
    if (auto result =
            shrink(buffer, accesses->second, core.bounds, options, collector.with_own_rows.contains(buffer.get()))) {
      const BufferNode* key = buffer.get();
      buffer = result->buffer;
      shrunk.emplace(key, *std::move(result));
    }
  }
  if (!shrunk.empty()) core.body = Rewriter(shrunk, core.bounds).rewrite(core.body);
  return core;
}

}  // namespace dovetail::loops
