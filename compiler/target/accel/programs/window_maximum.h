// Max-pooling in ACC: a window is reduced along the columns of the image, then along its rows, in place. Positions of
// the image with the same remainder of the stride share a place. One of these places has a single element of each
// window, where its maximum is computed, so that results are consecutive.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/target/accel/programs/programs.h"
#include "compiler/tensor/tensor.h"
#include "loops/ir.h"

namespace dovetail::accel {

// Windows along one axis of the image. The first window begins `pad` positions before the image.
struct WindowAxis {
  std::int64_t kernel, stride, results, pad, image;

  std::int64_t remainders() const { return std::min(kernel, stride); }
  // The tap of each window that no other window with the same remainder shares; also its remainder.
  std::int64_t single() const { return std::max<std::int64_t>(0, kernel - stride); }
  // The positions of the image with this remainder that windows read.
  Positions positions(std::int64_t remainder) const;
  // The index in positions() of this tap of the first window; it grows by one for each window. -1: before the image.
  std::int64_t first(std::int64_t tap) const;
  // Whether this tap of every window is inside of the image.
  bool is_inside(std::int64_t tap) const;
  // The part of the image, from its beginning, that windows read.
  std::int64_t extent() const { return std::min(image, (results - 1) * stride + kernel - pad); }
};
WindowAxis window_rows(const MaxPoolSpec& spec);
WindowAxis window_columns(const MaxPoolSpec& spec);

// `part` makes the elements at these rows and columns of the image; `name` identifies the places of the windows.
// Preconditions: is_separable(spec), reduces_in_place(spec).
loops::Buffer window_maximum(
    tensor::Definition& definition, const MaxPoolSpec& spec,
    const std::function<loops::Buffer(const std::string& name, const Positions& rows, const Positions& columns)>& part);

// Whether windows that reach beyond the image can be reduced in place: each has the element where its maximum is
// computed, and along each axis at least as many other places are inside of the image as outside.
bool reduces_in_place(const MaxPoolSpec& spec);

}  // namespace dovetail::accel
