// Max-pooling in ACC: a window is reduced along the columns of the image, then along its rows, in place. Positions of
// the image have their own places by their remainder of the stride, and one of these has a single element of each
// window, where its maximum is made: so results follow each other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/target/accel/programs/programs.h"
#include "compiler/tensor/tensor.h"
#include "loops/ir.h"

namespace dovetail::accel {

// Windows along one axis of the image, the first of which begins `pad` before it.
struct WindowAxis {
  std::int64_t kernel, stride, results, pad, image;

  std::int64_t remainders() const { return std::min(kernel, stride); }
  // The remainder of a single element of each window, and its place in the window.
  std::int64_t single() const { return std::max<std::int64_t>(0, kernel - stride); }
  // Those of a remainder that windows read: positions of the image.
  Positions positions(std::int64_t remainder) const;
  // Which of these is at this place of the first window: it is one further on for each window. -1: before the image.
  std::int64_t first(std::int64_t tap) const;
  // Whether the image has that place of every window.
  bool is_inside(std::int64_t tap) const;
  // Of the image, how much windows read from its begin on.
  std::int64_t extent() const { return std::min(image, (results - 1) * stride + kernel - pad); }
};
WindowAxis window_rows(const MaxPoolSpec& spec);
WindowAxis window_columns(const MaxPoolSpec& spec);

// `part` makes what is at these rows and columns of the image; `name`: which places of the windows that is.
// Preconditions: is_separable(spec), reduces_in_place(spec).
loops::Buffer window_maximum(
    tensor::Definition& definition, const MaxPoolSpec& spec,
    const std::function<loops::Buffer(const std::string& name, const Positions& rows, const Positions& columns)>& part);

// Whether windows that reach beyond the image can be reduced so: each has the element where its maximum is made, and
// along each axis as many other places are inside of the image as do not.
bool reduces_in_place(const MaxPoolSpec& spec);

}  // namespace dovetail::accel
