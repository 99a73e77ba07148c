#include "compiler/ops/reindex.h"

#include "base/check.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

// Splits the flat index of axes [begin, end) of `to` into their indices.
void split_flat(const Expr& flat, const Shape& to, std::size_t begin, std::size_t end, tensor::Indices& out) {
  std::int64_t stride = 1;
  for (std::size_t i = begin; i < end; ++i) stride *= to[i];
  bool leading = true;  // the first axis with more than one element needs no modulo
  for (std::size_t i = begin; i < end; ++i) {
    if (to[i] == 1) {
      out.push_back(tensor::index(0));
      continue;
    }
    stride /= to[i];
    Expr index = stride == 1 ? flat : loops::floor_div(flat, stride);
    if (!leading) index = loops::floor_mod(index, to[i]);
    leading = false;
    out.push_back(std::move(index));
  }
}

}  // namespace

tensor::Indices reshape_indices(const Shape& from, const tensor::Indices& indices, const Shape& to) {
  DOVETAIL_CHECK(element_count(from) == element_count(to) && element_count(from) > 0 && indices.size() == from.size(),
                 to_string(from) + " to " + to_string(to));
  tensor::Indices out;
  std::size_t source = 0, target = 0;
  while (source < from.size() || target < to.size()) {
    // Extents of 1 between two groups belong to neither.
    if (source < from.size() && from[source] == 1) {
      ++source;
      continue;
    }
    if (target < to.size() && to[target] == 1) {
      out.push_back(tensor::index(0));
      ++target;
      continue;
    }
    const std::size_t begin = target;
    Expr flat = indices[source];
    std::int64_t theirs = from[source++], ours = to[target++];
    while (theirs != ours) {
      if (theirs < ours) {
        flat = from[source] == 1 ? flat : flat * from[source] + indices[source];
        theirs *= from[source++];
      } else {
        ours *= to[target++];
      }
    }
    split_flat(flat, to, begin, target, out);
  }
  return out;
}

}  // namespace dovetail::ops
