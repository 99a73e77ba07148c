#include "loops/threads/neighbors.h"

#include "loops/rewrite.h"

namespace dovetail::loops {

Linear offset_of(const BufferNode& buffer, const std::vector<Expr>& indices, const Bounds& bounds) {
  Linear offset;
  std::int64_t stride = 1;
  for (std::size_t d = indices.size(); d-- > 0;) {
    offset.add(linear_form(simplify(indices[d], bounds)), stride);
    stride *= buffer.shape[d];
  }
  return offset;
}

std::int64_t aligned_neighbors(const BufferNode& buffer, const Linear& offset, const VarNode* var, std::int64_t extent,
                               std::int64_t most_bytes) {
  bool moves = false;
  std::int64_t divides = offset.constant;  // the OR of all terms: its lowest set bit divides them
  for (const LinearTerm& term : offset.terms) {
    const auto* n = std::get_if<VarRef>(&term.atom->node);
    if (n != nullptr && n->var.get() == var) {
      moves = term.coefficient == 1;
      continue;
    }
    bool mentioned = false;
    visit_exprs(term.atom, [&](const Expr& e) {
      const auto* inner = std::get_if<VarRef>(&e->node);
      mentioned |= inner != nullptr && inner->var.get() == var;
    });
    if (mentioned) return 0;
    divides |= term.coefficient;
  }
  if (!moves) return 0;
  std::int64_t count = most_bytes / size_bytes(buffer.dtype);
  while (count > 1 && (divides | extent) % count != 0) count /= 2;
  return count;
}

}  // namespace dovetail::loops
