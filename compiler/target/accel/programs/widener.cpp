#include "compiler/target/accel/programs/widener.h"

#include <fmt/format.h>

namespace dovetail::accel {

using namespace loops;
using tensor::Axes;
using tensor::Indices;

Expr position(const Expr& e, const Positions& at, std::int64_t border) {
  const Expr scaled = at.step == 1 ? e : e * at.step;
  return at.first + border == 0 ? scaled : scaled + (at.first + border);
}

Widener::Widener(tensor::Definition& d, Widening widening, const Core& config)
    : d_(d), block_(make_layout(config, 1, 1, 1, 1).block) {
  if (widening == Widening::gemm) identity_ = weights("I", {block_, block_});
}

Buffer Widener::operator()(const std::string& prefix, const Buffer& x, const Border& border, const Axes& axes) const {
  return widen(prefix, axes, identity_, [&](const Indices& i, const Expr& channel) {
    return load(x, {i[0], channel, i[2] + border.top, i[3] + border.left});
  });
}
Buffer Widener::operator()(const std::string& prefix, const Buffer& x, const Positions& rows, const Positions& columns,
                           const Axes& axes) const {
  return widen(prefix, axes, identity_, [&](const Indices& i, const Expr& channel) {
    return load(x, {i[0], channel, position(i[2], rows, 0), position(i[3], columns, 0)});
  });
}
Buffer Widener::operator()(const std::string& prefix, const Buffer& x, const MoveSpec::Term& term, std::size_t t,
                           const Axes& axes) const {
  const std::int64_t block = term.x.block, first = term.first_block * block;
  return widen(prefix, axes, term.selects() ? weights(fmt::format("I{}", t), {block, block}) : identity_,
               [&](const Indices& i, const Expr& channel) {
                 return load(
                     x, {i[0], first == 0 ? channel : channel + first, position(i[2], term.rows, term.x.border.top),
                         position(i[3], term.columns, term.x.border.left)});
               });
}

Buffer Widener::multiplied(const std::string& prefix, const std::string& name, const Buffer& x, const Border& border,
                           const Axes& axes, const Buffer& start) const {
  return widen(
      prefix, axes, weights(name, {block_, block_}),
      [&](const Indices& i, const Expr& channel) {
        return load(x, {i[0], channel, i[2] + border.top, i[3] + border.left});
      },
      start);
}

Buffer Widener::weights(const std::string& name, const Shape& shape) const {
  return d_.constant(name, DType::int8, shape);
}

Buffer Widener::widen(const std::string& prefix, const Axes& axes, const Buffer& weights, const Element& element,
                      const Buffer& start) const {
  if (!weights)
    return d_.compute(prefix + "load", DType::int32, axes,
                      [&](const Indices& i) { return cast(DType::int32, element(i, i[1])); });
  const std::int64_t block = weights->shape[1];
  const auto product = [&](const Indices& i, const Indices& r) {
    return cast(DType::int32, element(i, floor_div(i[1], block) * block + r[0])) *
           cast(DType::int32, load(weights, {floor_mod(i[1], block), r[0]}));
  };
  const std::string name = prefix + "widen";
  if (!start) return d_.reduce(name, DType::int32, axes, {{"c", block}}, tensor::sum_reducer(), product);
  return d_.reduce_from(
      name, DType::int32, axes, {{"c", block}}, tensor::sum_reducer(),
      [&](const Indices& i) { return binary(BinaryOp::add, load(start, i), int32(0)); }, product);
}

}  // namespace dovetail::accel
