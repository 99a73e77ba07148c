#include "compiler/schedule/footprint.h"

#include <algorithm>

#include "base/check.h"
#include "compiler/schedule/nest.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"

namespace dovetail::schedule {

using namespace loops;

std::int64_t TileExtent::at(std::span<const std::int64_t> tile) const {
  std::int64_t extent = constant;
  // Called for every candidate of a search: few are divided.
  for (const auto& [loop, coefficient, divisor] : terms)
    extent += coefficient * (divisor == 1 ? tile[loop] - 1 : (tile[loop] - 1) / divisor);
  return extent;
}

namespace {

using DenseExtent = Footprint::DenseExtent;

TileExtent tile_extent(const DenseExtent& extent) {
  TileExtent result{extent.constant, {}};
  for (std::size_t i = 0; i < extent.coefficients.size(); ++i)
    if (extent.coefficients[i] != 0) result.terms.push_back({i, extent.coefficients[i], extent.divisors[i]});
  return result;
}

// The loop that an iterator of a naive nest is bound to; null if the binding is another expression.
const VarNode* loop_of(const Iterator& iterator) {
  const auto* bound = std::get_if<VarRef>(&iterator.binding->node);
  return bound ? bound->var.get() : nullptr;
}

// By iterator, the dimension of the written buffer that it alone indexes.
std::map<const VarNode*, std::size_t> written_dimensions(const Block& block) {
  std::map<const VarNode*, std::size_t> dimensions;
  visit_stmts(block.body, [&](const Stmt& stmt) {
    const auto* assignment = std::get_if<Store>(&stmt->node);
    if (!assignment) return;
    for (std::size_t d = 0; d < assignment->targets[0].indices.size(); ++d)
      if (const auto* index = std::get_if<VarRef>(&assignment->targets[0].indices[d]->node))
        dimensions.emplace(index->var.get(), d);
  });
  return dimensions;
}

// An atom of an index: an iterator, or its quotient by a constant.
struct DividedIterator {
  const VarNode* iterator;
  std::int64_t divisor;
};
std::optional<DividedIterator> divided_iterator(const Expr& atom) {
  if (const auto* whole = std::get_if<VarRef>(&atom->node)) return DividedIterator{whole->var.get(), 1};
  const auto* division = std::get_if<Binary>(&atom->node);
  if (!division || division->op != BinaryOp::floor_div) return std::nullopt;
  const auto* iterator = std::get_if<VarRef>(&division->a->node);
  const auto* divisor = std::get_if<IntImm>(&division->b->node);
  if (!iterator || !divisor || divisor->value <= 0) return std::nullopt;
  return DividedIterator{iterator->var.get(), divisor->value};
}

// The number of quotients of a range of values; nullopt if it is not a DenseExtent.
std::optional<DenseExtent> quotients(DenseExtent extent, std::int64_t divisor) {
  if (divisor == 1) return extent;
  const auto terms = std::ranges::count_if(extent.coefficients, [](std::int64_t c) { return c != 0; });
  if (terms == 0) {
    extent.constant = (extent.constant - 1) / divisor + 1;
    return extent;
  }
  const auto only = std::ranges::find_if(extent.coefficients, [](std::int64_t c) { return c != 0; });
  if (terms > 1 || extent.constant != 1 || *only != 1) return std::nullopt;
  extent.divisors[static_cast<std::size_t>(only - extent.coefficients.begin())] *= divisor;
  return extent;
}

// sum += factor * (range - 1); false if both divide a loop by different divisors.
bool add_range(DenseExtent& sum, const DenseExtent& range, std::int64_t factor) {
  sum.constant += factor * (range.constant - 1);
  for (std::size_t i = 0; i < sum.coefficients.size(); ++i) {
    if (range.coefficients[i] == 0) continue;
    if (sum.coefficients[i] != 0 && sum.divisors[i] != range.divisors[i]) return false;
    sum.coefficients[i] += factor * range.coefficients[i];
    sum.divisors[i] = range.divisors[i];
  }
  return true;
}

}  // namespace

void Footprint::add_loop(const std::string& name, std::int64_t extent) {
  if (find(name)) return;
  loops_.push_back(std::ranges::count(shared_.loops, name) > 0 ? shared_.name : name);
  whole_.push_back(extent);
}

Footprint::Footprint(const Program& program, Shared shared) : shared_(std::move(shared)) {
  const std::vector<Path> paths = blocks_below(program.body);
  const auto is_result = [&](const Block& block) {
    return std::ranges::any_of(program.parameters, [&](const Parameter& parameter) {
      return parameter.role == ParameterRole::output && parameter.buffer == block.writes.front().buffer;
    });
  };
  for (const Path& path : paths) {
    const Block& block = *as_block(path.back());
    for (const Iterator& iterator : block.iterators)
      if (const VarNode* loop = loop_of(iterator); loop && (iterator.kind != IterKind::spatial || is_result(block)))
        add_loop(loop->name, iterator.extent);
  }
  // Propagates from the results to their operands: a producer's iterators cover what its readers access of its result.
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    const Block& block = *as_block(path->back());
    const auto result = ranges_.find(block.writes.front().buffer->name);
    const auto dimensions = written_dimensions(block);
    std::map<const VarNode*, DenseExtent> iterators;
    for (const Iterator& iterator : block.iterators) {
      DenseExtent extent = fixed(iterator.extent);
      const VarNode* loop = loop_of(iterator);
      const auto free = loop ? find(loop->name) : std::nullopt;
      const auto dimension = dimensions.find(iterator.var.get());
      if (free) {
        extent = fixed(1);
        extent.coefficients[*free] = 1;
      } else if (result != ranges_.end() && dimension != dimensions.end()) {
        extent = result->second[dimension->second].extent;
      }
      iterators.emplace(iterator.var.get(), std::move(extent));
    }
    add_reads(block, iterators);
  }
  for (const auto& [buffer, ranges] : ranges_) {
    std::vector<TileExtent>& box = boxes_.emplace_back(buffer, std::vector<TileExtent>()).second;
    for (const Range& range : ranges) box.push_back(tile_extent(range.extent));
  }
}

// If several readers have separate loops along a dimension, such as two reductions, a tile of one is not a tile of the
// others: those loops count with their full extent.
void Footprint::fold_others(Range& known, Range& added) const {
  DenseExtent &a = known.extent, &b = added.extent;
  const auto is_own = [](const DenseExtent& of, const DenseExtent& other, std::size_t loop) {
    return of.coefficients[loop] != 0 && other.coefficients[loop] == 0;
  };
  bool a_has = false, b_has = false;
  for (std::size_t i = 0; i < loops_.size(); ++i) a_has |= is_own(a, b, i), b_has |= is_own(b, a, i);
  if (!(a_has || known.folded) || !b_has) return;
  known.folded = true;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const bool of_a = is_own(a, b, i);
    if (!of_a && !is_own(b, a, i)) continue;
    DenseExtent& owner = of_a ? a : b;
    owner.constant += owner.coefficients[i] * ((whole_[i] - 1) / owner.divisors[i]);
    owner.coefficients[i] = 0;
  }
}

void Footprint::add_reads(const Block& block, const std::map<const VarNode*, DenseExtent>& iterators) {
  Bounds bounds;
  for (const Iterator& iterator : block.iterators) bounds[iterator.var.get()] = {0, iterator.extent - 1};
  const auto range_of = [&](const Expr& index, std::int64_t whole) {
    const Range all{0, fixed(whole)};
    const Expr simple = simplify(index, bounds);
    if (simple->dtype != DType::int64) return all;
    const Linear form = linear_form(simple);
    Range range{form.constant, fixed(1)};
    for (const LinearTerm& term : form.terms) {
      const auto quotient = divided_iterator(term.atom);
      const auto iterator = quotient ? iterators.find(quotient->iterator) : iterators.end();
      if (iterator == iterators.end()) return all;
      const auto extent = quotients(iterator->second, quotient->divisor);
      if (!extent || !add_range(range.extent, *extent, std::abs(term.coefficient))) return all;
      if (term.coefficient < 0) range.low += term.coefficient * (bounds.at(quotient->iterator).max / quotient->divisor);
    }
    return range;
  };
  const auto add = [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    if (!load || load->buffer == block.writes.front().buffer) return;
    std::vector<Range> ranges;
    for (std::size_t d = 0; d < load->indices.size(); ++d)
      ranges.push_back(range_of(load->indices[d], load->buffer->shape[d]));
    const auto [known, added] = ranges_.emplace(load->buffer->name, ranges);
    if (added) return;
    for (std::size_t d = 0; d < ranges.size(); ++d) {
      Range& range = known->second[d];
      fold_others(range, ranges[d]);
      const std::int64_t low = std::min(range.low, ranges[d].low);
      range.extent.constant =
          std::max(range.low + range.extent.constant, ranges[d].low + ranges[d].extent.constant) - low;
      range.low = low;
      for (std::size_t i = 0; i < loops_.size(); ++i) {
        const DenseExtent& other = ranges[d].extent;
        if (other.coefficients[i] == 0) continue;
        range.extent.divisors[i] = range.extent.coefficients[i] == 0
                                       ? other.divisors[i]
                                       : std::min(range.extent.divisors[i], other.divisors[i]);
        range.extent.coefficients[i] = std::max(range.extent.coefficients[i], other.coefficients[i]);
      }
    }
  };
  if (block.init) visit_exprs(block.init, add);
  visit_exprs(block.body, add);
}

std::optional<std::size_t> Footprint::find(std::string_view loop) const {
  const auto found = std::ranges::find(loops_, std::ranges::count(shared_.loops, loop) > 0 ? shared_.name : loop);
  return found == loops_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - loops_.begin()));
}

const std::vector<TileExtent>* Footprint::box(std::string_view buffer) const {
  const auto found = std::ranges::find(boxes_, buffer, [](const auto& box) -> std::string_view { return box.first; });
  return found == boxes_.end() ? nullptr : &found->second;
}

std::int64_t Footprint::elements(std::string_view buffer, std::span<const std::int64_t> tile) const {
  const std::vector<TileExtent>* extents = box(buffer);
  DOVETAIL_CHECK(extents, std::string(buffer) + " must be read");
  std::int64_t product = 1;
  for (const TileExtent& extent : *extents) product *= extent.at(tile);
  return product;
}

}  // namespace dovetail::schedule
