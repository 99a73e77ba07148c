// The layout of a value in memory, as text that every part of the compiler understands:
//   ""                                                     the model's layout, row-major
//   "i0,i2,i3,i1"                                          an index map (compiler/schedule/index_map.h)
//   "[1,10,6,6] pad 0+0,0+6,1+1,1+1 = -128 : i0,i1/16,..."  the elements in another shape of as many, padded with one
//   value (before + after by dimension), then an index map of the whole. Used for the accelerator.
//   "[1,3,9,9] fold i3 into i1 taps 3 windows 4 stride 2 dilation 1 before 0 pad ..."
//                                                          im2col along one dimension: its windows are placed in
//                                                          another dimension, before the padding. Used for convolutions
//                                                          of few channels. Elements may occur several times or not at
//                                                          all; values are copied into such a layout, and out of it
//                                                          only if windows of stride = taps are adjacent, which is
//                                                          space to depth.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/schedule/index_map.h"
#include "loops/ir.h"

namespace dovetail {

// The model's layout of a value, as text.
inline const std::string kPlainLayout;

struct Layout {
  struct Pad {
    std::int64_t before = 0, after = 0;
    bool operator==(const Pad&) const = default;
  };
  // Element [.., tap * C + c, .., window] is element [.., c, .., window * stride + tap * dilation - before] of the
  // view, C its extent along `into`; it has the padding value if the view has no such element. `within`: [.., c * taps
  // + tap, ..].
  struct Fold {
    std::size_t dimension = 0, into = 0;
    std::int64_t taps = 1, windows = 1, stride = 1, dilation = 1, before = 0;
    bool within = false;
    bool operator==(const Fold&) const = default;
  };
  static constexpr std::int64_t kMostFolded = std::int64_t{1} << 20;  // maximum extent of a folded dimension

  Shape logical;            // of the value
  Shape view;               // has as many elements; the logical shape if there is no frame
  std::vector<Fold> folds;  // applied one after the other
  std::vector<Pad> pads;    // by dimension of the folded view
  std::int64_t fill = 0;    // the value in the frame
  schedule::IndexMap map;   // of the framed view
  bool plain = true;        // row-major, without a frame: ""

  // Whether each element occurs exactly once: folds, if any, have windows that neither overlap nor leave gaps.
  bool holds_all() const;
  Shape folded(std::size_t folds) const;  // the view after the first of them
  Shape folded() const { return folded(folds.size()); }
  Shape framed() const;  // the folded view with its frame
  Shape physical_shape() const { return map.physical_shape(); }
};

// Errors: syntax, a view of another size, a fold or a map that does not fit.
Result<Layout> parse_layout(std::string_view text, const Shape& logical);
std::string framed_layout(const Shape& view, const std::vector<Layout::Pad>& pads, std::int64_t fill,
                          std::string_view index_map, const std::vector<Layout::Fold>& folds = {});

// The size in bytes of a value in that layout, including its frame. Precondition: the layout fits its shape.
std::uint64_t layout_bytes(const graph::TensorType& type, std::string_view layout);

// Converts a constant to that layout. Precondition: the layout fits its shape.
NdArray pack(const NdArray& logical, const Layout& layout);
// Converts back, for comparison with a kernel's result. Precondition: the layout contains all elements.
NdArray unpack(const NdArray& physical, const Layout& layout);

// A copy between layouts of one value: parameters "in0" in layout `from` and "out0" in layout `to`, including frames.
// Precondition: the layouts fit its shape, `from` contains all elements.
loops::Program relayout_program(const graph::TensorType& type, const std::string& from, const std::string& to);

}  // namespace dovetail
