// Host programs at the border of a region: logical tensors to packed ones and back.
#include "compiler/target/accel/region.h"
#include "compiler/tensor/tensor.h"

namespace dovetail::accel {

using namespace loops;
using tensor::Axes;
using tensor::Indices;

namespace {

// Indices of the logical tensor for image coordinates: rank 4 directly; other ranks are matrices, whose row counts the leading extents.
std::vector<Expr> logical_indices(const Shape& shape, const Expr& n, const Expr& c, const Expr& y, const Expr& x) {
  if (shape.size() == 4) return {n, c, y, x};
  std::vector<Expr> indices(shape.size());
  indices.back() = c;
  Expr rest = n;
  for (std::size_t d = shape.size() - 1; d-- > 0;) {
    indices[d] = d == 0 ? rest : floor_mod(rest, shape[d]);
    rest = floor_div(rest, shape[d]);
  }
  return indices;
}

Expr below(const Expr& e, std::int64_t limit) { return binary(BinaryOp::lt, e, int_imm(limit)); }

}  // namespace

Program pack_program(const std::string& name, const Shape& logical, const TensorLayout& layout) {
  tensor::Definition d(name);
  const Buffer in = d.input("in0", DType::int8, logical);
  const Shape shape = layout.physical_shape();
  const Axes axes{{"n", shape[0]}, {"c", shape[1]}, {"y", shape[2]}, {"x", shape[3]}, {"nb", shape[4]}, {"cb", shape[5]}};
  const Buffer out = d.compute("out0", DType::int8, axes, [&](const Indices& i) {
    const Expr n = i[0] * layout.batch + i[4], c = i[1] * layout.block + i[5], y = i[2] - layout.border.top, x = i[3] - layout.border.left;
    Expr inside;
    const auto require = [&](const Expr& condition) { inside = inside ? logical_and(inside, condition) : condition; };
    if (layout.padded_n() != layout.n) require(below(n, layout.n));
    if (layout.padded_c() != layout.c) require(below(c, layout.c));
    if (!layout.border.empty()) {
      require(binary(BinaryOp::ge, y, int_imm(0)));
      require(below(y, layout.h));
      require(binary(BinaryOp::ge, x, int_imm(0)));
      require(below(x, layout.w));
    }
    const Expr value = load(in, logical_indices(logical, n, c, y, x));
    // Channels and images beyond the model's meet zero weights or are never read: the border's value serves there too.
    return inside ? select(inside, value, int_imm(layout.border_value, DType::int8)) : value;
  });
  return d.build({out});
}

Program unpack_program(const std::string& name, const Shape& logical, const TensorLayout& layout) {
  tensor::Definition d(name);
  const Buffer in = d.input("in0", DType::int8, layout.physical_shape());
  Axes axes;
  for (std::size_t i = 0; i < logical.size(); ++i) axes.push_back({"d" + std::to_string(i), logical[i]});
  const Buffer out = d.compute("out0", DType::int8, axes, [&](const Indices& i) {
    Expr n = i[0], c, y = int_imm(0), x = int_imm(0);
    if (logical.size() == 4) {
      c = i[1], y = i[2], x = i[3];
    } else {
      for (std::size_t d = 1; d + 1 < logical.size(); ++d) n = n * logical[d] + i[d];
      c = i.back();
    }
    return load(in, {floor_div(n, layout.batch), floor_div(c, layout.block), y + layout.border.top, x + layout.border.left, floor_mod(n, layout.batch),
                     floor_mod(c, layout.block)});
  });
  return d.build({out});
}

}  // namespace dovetail::accel
