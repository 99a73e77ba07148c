#include "loops/interpreter/access.h"

#include <algorithm>

#include "loops/linear.h"
#include "loops/rewrite.h"

namespace dovetail::loops {

std::vector<std::int64_t> row_major_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::optional<Affine> flat_offset(const BufferNode& buffer, const std::vector<Expr>& indices) {
  const auto strides = row_major_strides(buffer.shape);
  Affine flat;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i]->dtype != DType::int64) return std::nullopt;
    const Linear form = linear_form(indices[i]);  // indices are already simplified
    flat.constant += form.constant * strides[i];
    for (const LinearTerm& term : form.terms) {
      const auto* n = std::get_if<VarRef>(&term.atom->node);
      if (n == nullptr) return std::nullopt;
      flat.coefficients[n->var.get()] += term.coefficient * strides[i];
    }
  }
  std::erase_if(flat.coefficients, [](const auto& entry) { return entry.second == 0; });
  return flat;
}

bool same_place(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), structurally_equal);
}

}  // namespace dovetail::loops
