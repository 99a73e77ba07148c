// infer_regions, declared in loops/verify.h.
#include <algorithm>
#include <set>

#include "loops/linear.h"
#include "loops/range.h"
#include "loops/rewrite.h"
#include "loops/verify.h"

namespace dovetail::loops {
namespace {

class RegionFinder {
 public:
  RegionFinder(const Block& block, const IntrinsicTable& intrinsics) : block_(block), intrinsics_(intrinsics) {
    // An iterator of extent 1 is treated as having two values, so that regions still contain it: a region for both
    // values is also valid for the one.
    for (const Iterator& iterator : block.iterators)
      bounds_[iterator.var.get()] = {0, std::max<std::int64_t>(iterator.extent - 1, 1)};
  }

  BlockRegions run() {
    walk(block_.init);
    walk(block_.body);
    if (block_.predicate) read(block_.predicate);
    return std::move(found_);
  }

 private:
  void walk(const Stmt& stmt) {
    if (stmt) std::visit([&](const auto& n) { visit(n); }, stmt->node);
  }

  void visit(const For& n) {
    bounds_[n.var.get()] = {0, std::max<std::int64_t>(n.extent, 1) - 1};
    inner_.insert(n.var.get());
    walk(n.body);
  }
  void visit(const If& n) {
    read(n.condition);
    walk(n.then_body);
    walk(n.else_body);
  }
  void visit(const Sequence& n) {
    for (const Stmt& stmt : n.body) walk(stmt);
  }
  void visit(const Block& n) {  // an inner block: its iterators are replaced by their bindings
    for (const Iterator& iterator : n.iterators)
      bindings_[iterator.var.get()] = substitute(iterator.binding, bindings_);
    if (n.predicate) read(n.predicate);
    walk(n.init);
    walk(n.body);
  }
  void visit(const Store& n) {
    for (const StoreTarget& target : n.targets) {
      for (const Expr& index : target.indices) read(index);
      read(target.value);
    }
    for (const StoreTarget& target : n.targets) add(found_.writes, target.buffer, target.indices, {}, {});
  }
  void visit(const IntrinsicCall& n) {
    for (const Expr& immediate : n.immediates) read(immediate);
    const Intrinsic* row = find_intrinsic(intrinsics_, n.intrinsic);
    if (row == nullptr || row->semantics.parameters.size() != n.operands.size()) {
      take_declared(n, block_.reads, found_.reads);
      take_declared(n, block_.writes, found_.writes);
      return;
    }
    const Block whole{"semantics", {}, nullptr, {}, {}, nullptr, row->semantics.body, {}};
    const BlockRegions semantics = infer_regions(whole, intrinsics_);
    const auto touches = [](const std::vector<Region>& regions, const Buffer& buffer) {
      return std::any_of(regions.begin(), regions.end(), [&](const Region& region) { return region.buffer == buffer; });
    };
    for (std::size_t i = 0; i < n.operands.size(); ++i) {
      const IntrinsicOperand& operand = n.operands[i];
      const Buffer& parameter = row->semantics.parameters[i].buffer;
      for (const Expr& index : operand.indices) read(index);
      if (touches(semantics.reads, parameter))
        add(found_.reads, operand.buffer, operand.indices, operand.steps, parameter->shape);
      if (touches(semantics.writes, parameter))
        add(found_.writes, operand.buffer, operand.indices, operand.steps, parameter->shape);
    }
  }

  static void take_declared(const IntrinsicCall& n, const std::vector<Region>& declared, std::vector<Region>& found) {
    for (const Region& region : declared)
      if (std::any_of(n.operands.begin(), n.operands.end(),
                      [&](const IntrinsicOperand& operand) { return operand.buffer == region.buffer; }))
        found.push_back(region);
  }

  void read(const Expr& expr) {
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* n = std::get_if<LoadExpr>(&e->node)) add(found_.reads, n->buffer, n->indices, {}, {});
    });
  }

  // The box of the elements first + sum(axis * step), 0 <= axis < extents.
  void add(std::vector<Region>& regions, const Buffer& buffer, const std::vector<Expr>& first,
           const std::vector<std::vector<std::int64_t>>& steps, const Shape& extents) {
    Region region{buffer, {}};
    for (std::size_t dim = 0; dim < first.size(); ++dim) {
      std::int64_t low = 0, high = 0;
      for (std::size_t axis = 0; axis < steps.size() && axis < extents.size(); ++axis) {
        const std::int64_t reach = steps[axis][dim] * (extents[axis] - 1);
        (reach < 0 ? low : high) += reach;
      }
      region.ranges.push_back(box(first[dim], low, high, buffer->shape[dim]));
    }
    merge(regions, std::move(region));
  }

  RangeExpr box(const Expr& index, std::int64_t low, std::int64_t high, std::int64_t extent) const {
    const RangeExpr everything{int_imm(0), extent};
    if (index->dtype != DType::int64) return everything;
    const Linear form = linear_form(simplify(substitute(index, bindings_), bounds_));
    Linear outer, moving;
    outer.constant = form.constant;
    for (const LinearTerm& term : form.terms) {
      bool mentions_inner = false, mentions_outer = false, loads = false;
      visit_exprs(term.atom, [&](const Expr& e) {
        if (const auto* n = std::get_if<VarRef>(&e->node))
          (inner_.count(n->var.get()) != 0 ? mentions_inner : mentions_outer) = true;
        loads |= std::holds_alternative<LoadExpr>(e->node);
      });
      if (loads || (mentions_inner && mentions_outer)) return everything;
      (mentions_inner ? moving : outer).add(term.atom, term.coefficient);
    }
    const auto range = range_of(moving, bounds_);
    if (!range || range->assumed) return everything;
    outer.constant += range->min + low;
    std::int64_t length = range->max - range->min + 1 + high - low;
    if (outer.terms.empty()) {  // a constant box: elements outside the buffer are never accessed
      const std::int64_t end = std::min(outer.constant + length, extent);
      outer.constant = std::clamp<std::int64_t>(outer.constant, 0, extent);
      length = std::max<std::int64_t>(end - outer.constant, 1);
    }
    return {to_expr(outer), length};
  }

  // Merges the region with one of the same buffer if all their corners differ by constants.
  static void merge(std::vector<Region>& regions, Region region) {
    for (Region& other : regions) {
      if (other.buffer != region.buffer) continue;
      std::vector<RangeExpr> joined;
      for (std::size_t dim = 0; dim < region.ranges.size(); ++dim) {
        const RangeExpr& a = other.ranges[dim];
        const RangeExpr& b = region.ranges[dim];
        Linear distance = linear_form(b.min);
        distance.add(linear_form(a.min), -1);
        if (!distance.terms.empty()) break;
        const std::int64_t end = std::max(a.extent, distance.constant + b.extent);
        const std::int64_t begin = std::min<std::int64_t>(0, distance.constant);
        joined.push_back({begin == 0 ? a.min : b.min, end - begin});
      }
      if (joined.size() != region.ranges.size()) continue;
      other.ranges = std::move(joined);
      return;
    }
    regions.push_back(std::move(region));
  }

  const Block& block_;
  const IntrinsicTable& intrinsics_;
  Bounds bounds_;
  std::set<const VarNode*> inner_;
  VarMap bindings_;
  BlockRegions found_;
};

}  // namespace

namespace {

// The box of an operand from its first element; empty: not known, because it does not match, or moves to lower indices.
std::vector<std::int64_t> operand_extents(const IntrinsicOperand& operand, const Shape& shape) {
  std::vector<std::int64_t> extents(operand.buffer->shape.size(), 1);
  if (operand.steps.size() != shape.size()) return {};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (operand.steps[axis].size() != extents.size()) return {};
    for (std::size_t d = 0; d < extents.size(); ++d) {
      if (operand.steps[axis][d] < 0) return {};
      extents[d] += operand.steps[axis][d] * (shape[axis] - 1);
    }
  }
  return extents;
}

}  // namespace

BlockRegions infer_regions(const Block& block, const IntrinsicTable& intrinsics) {
  return RegionFinder(block, intrinsics).run();
}

Program complete_calls(Program program, const IntrinsicTable& intrinsics) {
  const auto complete = [&](const Stmt& stmt) -> Stmt {
    if (const auto* call = std::get_if<IntrinsicCall>(&stmt->node)) {
      const Intrinsic* row = find_intrinsic(intrinsics, call->intrinsic);
      if (row == nullptr || row->semantics.parameters.size() != call->operands.size()) return stmt;
      IntrinsicCall completed = *call;
      for (std::size_t i = 0; i < completed.operands.size(); ++i)
        completed.operands[i].extents =
            operand_extents(completed.operands[i], row->semantics.parameters[i].buffer->shape);
      return make_stmt(std::move(completed));
    }
    const auto* block = std::get_if<Block>(&stmt->node);
    if (block == nullptr || !block->reads.empty() || !block->writes.empty()) return stmt;
    Block completed = *block;
    BlockRegions regions = infer_regions(*block, intrinsics);
    completed.reads = std::move(regions.reads);
    completed.writes = std::move(regions.writes);
    return make_stmt(std::move(completed));
  };
  if (program.body) program.body = rewrite_stmt(program.body, complete);
  return program;
}

}  // namespace dovetail::loops
