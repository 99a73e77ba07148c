// RotaryEmbedding: rotates pairs of elements of each head by an angle depending on their position. The caches contain
// cosines and sines, a row per position; position_ids select the rows, or the caches have a row for each position of
// each batch. The input is [batch, heads, positions, size], or [batch, positions, heads * size] with the attribute
// num_heads.
#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

struct Rotary {
  std::int64_t batch, positions, size, turned;  // the first `turned` elements of a head are rotated
};

Result<Rotary> rotary_of(const Operands& operands) {
  const Shape& x = operands.type(0).shape;
  const std::int64_t heads = graph::int_attribute(operands.node, "num_heads", 0);
  if (x.size() != 4 && (x.size() != 3 || heads < 1 || x[2] % heads != 0))
    return refuse(operands, fmt::format("input has shape {}, num_heads is {}", to_string(x), heads),
                  "give [batch, heads, positions, size], or [batch, positions, heads * size] and num_heads");
  Rotary rotary{x[0], x[x.size() - 2], x.size() == 4 ? x[3] : x[2] / heads, 0};
  if (x.size() == 3) rotary.positions = x[1];
  const std::int64_t given = graph::int_attribute(operands.node, "rotary_embedding_dim", 0);
  rotary.turned = given == 0 ? rotary.size : given;
  if (rotary.turned < 0 || rotary.turned > rotary.size || rotary.turned % 2 != 0)
    return refuse(operands, fmt::format("{} of {} elements of a head are rotated", rotary.turned, rotary.size),
                  "rotary_embedding_dim must be even, and at most the size of a head");
  for (const std::size_t cache : {1, 2}) {
    const Shape& shape = operands.type(cache).shape;
    const bool fits = operands.has(3) ? shape.size() == 2 && shape[1] == rotary.turned / 2
                                      : shape == Shape{rotary.batch, rotary.positions, rotary.turned / 2};
    if (!fits)
      return refuse(
          operands, fmt::format("input {} has shape {}", cache, to_string(shape)),
          fmt::format("expected {} with {} columns",
                      operands.has(3) ? "[rows, columns]" : "[batch, positions, columns]", rotary.turned / 2));
  }
  if (operands.type(1).shape != operands.type(2).shape)
    return refuse(operands,
                  fmt::format("the caches have shapes {} and {}", to_string(operands.type(1).shape),
                              to_string(operands.type(2).shape)),
                  "make them equal");
  if (operands.has(3) && operands.type(3).shape != Shape{rotary.batch, rotary.positions})
    return refuse(operands,
                  fmt::format("position_ids has shape {}, expected [{}, {}]", to_string(operands.type(3).shape),
                              rotary.batch, rotary.positions),
                  "give one per position");
  return rotary;
}

Result<Types> infer_rotary(const Operands& operands) {
  DOVETAIL_ASSIGN([[maybe_unused]] const Rotary rotary, rotary_of(operands));
  return Types{operands.type(0)};
}

Result<loops::Program> define_rotary(const Operands& operands) {
  DOVETAIL_ASSIGN(const Rotary rotary, rotary_of(operands));
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  const bool interleaved = graph::int_attribute(operands.node, "interleaved", 0) != 0;
  const std::int64_t half = rotary.turned / 2;
  Naive program(operands);
  return program.map([&](const Indices& i) {
    const bool joined = i.size() == 3;  // heads and their elements share an axis
    const Expr &position = joined ? i[1] : i[2], &last = i.back();
    const Expr d = joined ? loops::floor_mod(last, rotary.size) : last;
    const Expr x = loops::load(program.in(0), i);
    // Whether the element is the first of its pair, the index of the angle, and the distance to the other element of
    // the pair.
    const Expr is_first =
        interleaved ? tensor::equal(loops::floor_mod(d, 2), tensor::index(0)) : tensor::less(d, tensor::index(half));
    const Expr angle = interleaved ? loops::floor_div(d, 2) : loops::select(is_first, d, d - loops::int_imm(half));
    const Expr distance = tensor::index(interleaved ? 1 : half);
    Indices other = i;
    other.back() = loops::select(is_first, last + distance, last - distance);
    const auto cached = [&](std::size_t cache) {
      const Indices row = operands.has(3) ? Indices{loops::load(program.in(3), {i[0], position}), angle}
                                          : Indices{i[0], position, angle};
      return loops::cast(wide, loops::load(program.in(cache), row));
    };
    const Expr own = loops::cast(wide, x) * cached(1),
               cross = loops::cast(wide, loops::load(program.in(0), other)) * cached(2);
    const Expr turned = loops::cast(dtype, loops::select(is_first, own - cross, own + cross));
    if (rotary.turned == rotary.size) return turned;
    return loops::select(tensor::less(d, tensor::index(rotary.turned)), turned, x);
  });
}

}  // namespace

std::vector<OpDef> rotary_embedding_ops() {
  constexpr auto integer = AttributeKind::integer;
  return {{"RotaryEmbedding",
           Category::opaque,
           infer_rotary,
           define_rotary,
           {},
           {{{"X", kFloat, 'T'},
             {"cos_cache", kFloat, 'T'},
             {"sin_cache", kFloat, 'T'},
             {"position_ids", kInt64, 0, Presence::optional}},
            {{"interleaved", integer}, {"num_heads", integer}, {"rotary_embedding_dim", integer}}}}};
}

}  // namespace dovetail::ops
