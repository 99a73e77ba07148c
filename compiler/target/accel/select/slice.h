// Parts of operations for accelerators that share the work of a layer. A slice is the part of an operation's result
// that one accelerator computes: some images, blocks of channels, rows or columns. Its program is that of a smaller
// operation, whose operands are parts of the whole ones.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/programs/layout.h"
#include "compiler/target/accel/select/select.h"
#include "loops/ir.h"

namespace dovetail::accel {

enum class SliceAxis : std::uint8_t { whole, images, channels, rows, columns };
inline constexpr std::array<std::string_view, 5> kSliceAxisNames{"whole", "images", "channels", "rows", "columns"};

// [begin, end) of slice_units().
struct Slice {
  SliceAxis axis = SliceAxis::whole;
  std::int64_t begin = 0, end = 1;
  bool operator==(const Slice&) const = default;
};

// A part of a stored value: blocks of images and of channels, and pixels without the border.
struct Box {
  struct Range {
    std::int64_t begin = 0, end = 1;
    bool meets(const Range& other) const { return begin < other.end && other.begin < end; }
  };
  Range images, blocks, rows, columns;

  bool meets(const Box& other) const {
    return images.meets(other.images) && blocks.meets(other.blocks) && rows.meets(other.rows) &&
           columns.meets(other.columns);
  }
  std::int64_t bytes(const TensorLayout& layout) const;
};
Box whole_box(const TensorLayout& layout);

// The number of pieces along the axis at whose borders the operation can be cut: blocks of images or channels, groups,
// rows, columns. 1: it cannot be cut. `inputs`, `output`: the layouts of its operands.
std::int64_t slice_units(const Operation& operation, std::span<const TensorLayout> inputs, const TensorLayout& output,
                         SliceAxis axis, const Core& config);

// The programs of a slice, with what they access.
struct SlicedOperation {
  std::vector<loops::Program> programs;  // as operation_programs()
  // By parameter, for parameters that do not begin where those of the operation do: the distance in bytes. That of
  // weights is for int8.
  std::map<std::string, std::uint64_t> shifts;
  // Of each input; of the result. Exact for slices; for operations of several programs, of all of them.
  std::vector<Box> reads;
  Box write;
};
SlicedOperation slice_operation(const Operation& operation, std::span<const TensorLayout> inputs,
                                const TensorLayout& output, const Slice& slice, const Core& config);

// A product of activations, a transposition or a movement as `parts` times as many programs, where these can be cut.
// `keep`: parts of a movement that must stay as they are.
Operation with_more_programs(const Operation& operation, std::int64_t parts, const std::vector<bool>& keep);
// What each program of such an operation reads and writes.
struct ProgramBoxes {
  std::vector<Box> reads;   // of each input
  std::vector<Box> writes;  // of the result; empty: memory between programs of the operation
  int phase = 0;            // programs of a later phase read what those of earlier ones write in that memory
};
std::vector<ProgramBoxes> program_boxes(const Operation& operation, std::span<const TensorLayout> inputs,
                                        const TensorLayout& output, const Core& config);

}  // namespace dovetail::accel
