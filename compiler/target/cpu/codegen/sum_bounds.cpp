#include "compiler/target/cpu/codegen/sum_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/schedule/nest.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

double most(const Expr& value) {
  const auto range = bound(value, {});
  return range ? std::max(std::abs(static_cast<double>(range->min)), std::abs(static_cast<double>(range->max)))
               : kUnknown;
}

// Upper bounds of the initial value of all elements and of each added term.
struct Parts {
  double start = 0, added = 0;
};

// How often the block writes one element: iterators that select the element do not count.
double writes_of_element(const Block& block, const StoreTarget& target) {
  double count = 1;
  for (const Iterator& iterator : block.iterators) {
    const bool chooses = std::ranges::any_of(
        target.indices, [&](const Expr& index) { return structurally_equal(index, ref(iterator.var)); });
    if (!chooses) count *= static_cast<double>(iterator.extent);
  }
  return count;
}

void add_store(const Block& block, const Stmt& stmt, std::map<std::string, Parts>& parts) {
  const auto* store = stmt ? std::get_if<Store>(&stmt->node) : nullptr;
  if (store == nullptr) return;
  for (const StoreTarget& target : store->targets) {
    Parts& of = parts[target.buffer->name];
    const auto* sum = std::get_if<Binary>(&target.value->node);
    const bool adds =
        sum != nullptr && sum->op == BinaryOp::add && structurally_equal(sum->a, load(target.buffer, target.indices));
    if (adds) of.added += writes_of_element(block, target) * most(sum->b);
    else of.start = std::max(of.start, most(target.value));
  }
}

}  // namespace

std::map<std::string, double> sum_bounds(const Program& program) {
  std::map<std::string, Parts> parts;
  for (const schedule::Path& path : schedule::blocks_below(program.body)) {
    const Block& block = *schedule::as_block(path.back());
    if (!std::holds_alternative<Store>(block.body->node))
      for (const Region& write : block.writes) parts[write.buffer->name].start = kUnknown;
    add_store(block, block.init, parts);
    add_store(block, block.body, parts);
  }
  std::map<std::string, double> bounds;
  for (const Buffer& buffer : program.allocations) {
    const auto known = parts.find(buffer->name);
    if (known == parts.end() || buffer->dtype != DType::int32) continue;
    const double all = known->second.start + known->second.added;
    if (all <= static_cast<double>(std::numeric_limits<std::int32_t>::max())) bounds[buffer->name] = all;
  }
  return bounds;
}

}  // namespace dovetail::cpu
