// Widens int8 operands to int32 in ACC: by a block "<prefix>load", or by "<prefix>widen", a product with the identity.
#pragma once

#include <functional>
#include <string>

#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/programs/programs.h"
#include "compiler/tensor/tensor.h"

namespace dovetail::accel {

// The index in a buffer with this border of position `e` among `at`.
loops::Expr position(const loops::Expr& e, const Positions& at, std::int64_t border);

class Widener {
 public:
  Widener(tensor::Definition& d, Widening widening, const Core& config);

  loops::Buffer operator()(const std::string& prefix, const loops::Buffer& x, const Border& border,
                           const tensor::Axes& axes) const;
  // Widens these rows and columns of x.
  loops::Buffer operator()(const std::string& prefix, const loops::Buffer& x, const Positions& rows,
                           const Positions& columns, const tensor::Axes& axes) const;
  // Widens term `t` of a move.
  loops::Buffer operator()(const std::string& prefix, const loops::Buffer& x, const MoveSpec::Term& term, std::size_t t,
                           const tensor::Axes& axes) const;

  // Widens x by a product with the parameter `weights` (identity_weights), which multiplies it by a factor, and adds it
  // to `start`, whose place the result takes, unless that is null: the addition of 0 that initializes it has no
  // instruction.
  loops::Buffer multiplied(const std::string& prefix, const std::string& weights, const loops::Buffer& x,
                           const Border& border, const tensor::Axes& axes, const loops::Buffer& start) const;

  // Widens the element of an operand for each position and channel.
  using Element = std::function<loops::Expr(const tensor::Indices& position, const loops::Expr& channel)>;
  loops::Buffer operator()(const std::string& prefix, const tensor::Axes& axes, const Element& element) const {
    return widen(prefix, axes, identity_, element);
  }

 private:
  loops::Buffer weights(const std::string& name, const Shape& shape) const;
  loops::Buffer widen(const std::string& prefix, const tensor::Axes& axes, const loops::Buffer& weights,
                      const Element& element, const loops::Buffer& start = nullptr) const;

  tensor::Definition& d_;
  std::int64_t block_;  // of the layout
  loops::Buffer identity_;
};

}  // namespace dovetail::accel
