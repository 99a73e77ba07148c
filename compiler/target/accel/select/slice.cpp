#include "compiler/target/accel/select/slice.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "compiler/target/accel/programs/block_groups.h"
#include "compiler/target/accel/select/operation_program.h"

namespace dovetail::accel {

namespace {

std::int64_t image_blocks(const TensorLayout& layout) { return layout.padded_n() / layout.batch; }
std::int64_t channel_blocks(const TensorLayout& layout) { return layout.padded_c() / layout.block; }

std::uint64_t bytes_of_images(const TensorLayout& layout) {
  return static_cast<std::uint64_t>(layout.bytes() / image_blocks(layout));
}
std::uint64_t bytes_of_block(const TensorLayout& layout) {
  return static_cast<std::uint64_t>(layout.bytes() / image_blocks(layout) / channel_blocks(layout));
}

// Positions in an image that windows at these positions of the result read.
struct WindowRange {
  std::int64_t begin, end;  // in the image
  std::int64_t pad;         // positions before it that the first window reads
};
WindowRange window_range(std::int64_t first, std::int64_t last, std::int64_t stride, std::int64_t kernel,
                         std::int64_t dilation, std::int64_t pad, std::int64_t image) {
  const std::int64_t from = first * stride - pad, to = (last - 1) * stride + (kernel - 1) * dilation + 1 - pad;
  return {std::clamp<std::int64_t>(from, 0, image - 1), std::clamp<std::int64_t>(to, 1, image),
          std::max<std::int64_t>(0, -from)};
}

// The part of a tensor, and its box. Rows and columns that are left out become a part of the border.
struct Part {
  TensorLayout layout;
  Box box;
};

// Blocks of images or channels, whose extent is `extent`.
Part blocks_of(const TensorLayout& whole, std::int64_t TensorLayout::*extent, std::int64_t block,
               Box::Range Box::*range, std::int64_t begin, std::int64_t end) {
  Part part{whole, whole_box(whole)};
  part.layout.*extent = std::min(whole.*extent - begin * block, (end - begin) * block);
  part.box.*range = {begin, end};
  return part;
}
Part rows_of(const TensorLayout& whole, std::int64_t begin, std::int64_t end) {
  Part part{whole, whole_box(whole)};
  part.layout.border.top += begin;
  part.layout.border.bottom += whole.h - end;
  part.layout.h = end - begin;
  part.box.rows = {begin, end};
  return part;
}
Part columns_of(const TensorLayout& whole, std::int64_t begin, std::int64_t end) {
  Part part{whole, whole_box(whole)};
  part.layout.border.left += begin;
  part.layout.border.right += whole.w - end;
  part.layout.w = end - begin;
  if (whole.rows > 0) part.layout.rows = std::min(whole.rows - begin * whole.batch, (end - begin) * whole.batch);
  part.box.columns = {begin, end};
  return part;
}

bool is_image(const TensorLayout& layout) { return layout.rows == 0; }

// Which axes each kind of operation can be cut along, and how its operands are cut with its result.
class Slicer {
 public:
  Slicer(const Operation& operation, std::span<const TensorLayout> inputs, const TensorLayout& output,
         const Core& config)
      : operation_(operation), inputs_(inputs), output_(output), config_(config) {}

  std::int64_t units(SliceAxis axis) const {
    const std::int64_t units =
        std::visit([&](const auto& body) { return this->units_of(body, axis); }, operation_.body);
    return std::max<std::int64_t>(1, units);
  }

  SlicedOperation slice(const Slice& slice) {
    slice_ = slice;
    output_part_ = part_of(output_);
    for (const TensorLayout& input : inputs_) input_parts_.push_back({input, whole_box(input)});
    Operation part{{}, operation_.inputs, operation_.output, operation_.borders, {}};
    part.body = std::visit([&](const auto& body) { return this->body_of(body); }, operation_.body);
    std::vector<TensorLayout> layouts;
    for (const Part& input : input_parts_) layouts.push_back(input.layout);
    sliced_.programs = operation_programs(part, layouts, output_part_.layout, config_);
    shift("Y", output_);
    for (const Part& input : input_parts_) sliced_.reads.push_back(input.box);
    sliced_.write = output_part_.box;
    return std::move(sliced_);
  }

 private:
  using Body = decltype(Operation::body);

  bool one_image_block() const { return image_blocks(output_) == 1; }
  bool images_only() const { return is_image(output_) && std::ranges::all_of(inputs_, is_image); }

  std::int64_t units_elementwise(SliceAxis axis, bool pixels) const {
    if (axis == SliceAxis::images) return images_only() ? image_blocks(output_) : 1;
    if (axis == SliceAxis::channels) return one_image_block() ? channel_blocks(output_) : 1;
    if (!pixels) return 1;
    if (axis == SliceAxis::rows) return images_only() ? output_.h : 1;
    return axis == SliceAxis::columns && output_.rows > 0 ? output_.w : 1;
  }
  std::int64_t units_of(const ConvOperation& conv, SliceAxis axis) const {
    const bool constant_b = !conv.addition || conv.addition->spec.constant_b;
    if (!constant_b && image_blocks(inputs_[1]) != image_blocks(output_)) return 1;
    if (axis == SliceAxis::channels)
      return !one_image_block() ? 1 : conv.spec.groups > 1 ? conv.spec.groups : channel_blocks(output_);
    if (axis == SliceAxis::columns && (conv.spec.kernel_w > 1 || conv.spec.stride_w > 1 || conv.spec.pad_left > 0))
      return 1;
    return units_elementwise(axis, !conv.pooling);
  }
  std::int64_t units_of(const AddOperation&, SliceAxis axis) const { return units_elementwise(axis, true); }
  std::int64_t units_of(const ProductOperation& product, SliceAxis axis) const {
    if (product.constant && axis != SliceAxis::channels) return 1;
    if (product.spec.vector_b && axis == SliceAxis::columns) return 1;
    return units_elementwise(axis, true);
  }
  std::int64_t units_of(const MaxPoolOperation&, SliceAxis axis) const { return units_elementwise(axis, true); }
  std::int64_t units_of(const LinesOperation&, SliceAxis axis) const { return units_elementwise(axis, true); }
  std::int64_t units_of(const TableOperation&, SliceAxis axis) const { return units_elementwise(axis, true); }
  std::int64_t units_of(const SoftmaxOperation& softmax, SliceAxis axis) const {
    if (axis == SliceAxis::channels || axis == SliceAxis::images) return 1;
    if (softmax.spec.mask == SoftmaxMask::none) return units_elementwise(axis, true);
    return axis == SliceAxis::columns && output_.rows > 0 ? softmax.spec.groups : 1;
  }
  std::int64_t units_of(const NormalizationOperation&, SliceAxis axis) const {
    return axis == SliceAxis::channels ? 1 : units_elementwise(axis, true);
  }
  std::int64_t units_of(const MoveOperation& move, SliceAxis axis) const {
    return axis == SliceAxis::images && !move.position && move.folds.empty() ? units_elementwise(axis, false) : 1;
  }
  std::int64_t units_of(const TransposeOperation&, SliceAxis) const { return 1; }
  std::int64_t units_of(const MatMulOperation&, SliceAxis) const { return 1; }

  // The part of a tensor that has the result's extent along the axis.
  Part part_of(const TensorLayout& whole) const {
    switch (slice_.axis) {
      case SliceAxis::whole: break;
      case SliceAxis::images:
        return blocks_of(whole, &TensorLayout::n, whole.batch, &Box::images, slice_.begin, slice_.end);
      case SliceAxis::channels: {
        const std::int64_t blocks = channel_blocks(whole) / units(SliceAxis::channels);
        return blocks_of(whole, &TensorLayout::c, whole.block, &Box::blocks, slice_.begin * blocks,
                         slice_.end * blocks);
      }
      case SliceAxis::rows: return rows_of(whole, slice_.begin, slice_.end);
      case SliceAxis::columns: {
        const std::int64_t columns = whole.w / units(SliceAxis::columns);
        return columns_of(whole, slice_.begin * columns, slice_.end * columns);
      }
    }
    return {whole, whole_box(whole)};
  }
  void cut(std::size_t input) { input_parts_[input] = part_of(inputs_[input]); }

  // The parameter begins where the part of the tensor does.
  void shift(const std::string& parameter, const TensorLayout& whole) {
    const Box box = part_of(whole).box;
    const std::uint64_t bytes = static_cast<std::uint64_t>(box.images.begin) * bytes_of_images(whole) +
                                static_cast<std::uint64_t>(box.blocks.begin) * bytes_of_block(whole);
    if (bytes > 0) sliced_.shifts[parameter] = bytes;
  }
  // A parameter with as many bytes for each of the result's channels.
  void shift_channels(const std::string& parameter, std::int64_t bytes) {
    if (slice_.axis == SliceAxis::channels && output_part_.box.blocks.begin > 0)
      sliced_.shifts[parameter] = static_cast<std::uint64_t>(output_part_.box.blocks.begin * output_.block * bytes);
  }
  void shift_constants(const std::string& parameter, std::int64_t words) {
    shift_channels(parameter, config_.batch * words * 4);
  }

  static AddOperation sum_of(const AddSpec& spec) {
    AddOperation sum;
    sum.spec = spec;
    return sum;
  }
  template <typename Spec>
  void cut_windows(Spec& spec) {
    const TensorLayout& x = inputs_[0];
    if (slice_.axis != SliceAxis::rows) return cut(0);
    const WindowRange rows =
        window_range(slice_.begin, slice_.end, spec.stride_h, spec.kernel_h, spec.dilation_h, spec.pad_top, x.h);
    input_parts_[0] = rows_of(x, rows.begin, rows.end);
    spec.pad_top = rows.pad;
  }

  Body body_of(const ConvOperation& conv) {
    ConvOperation part;
    part.spec = conv.spec;
    part.pooling = conv.pooling;
    part.table = conv.table;
    if (slice_.axis == SliceAxis::channels) {
      if (conv.spec.groups > 1) {
        part.spec.groups = slice_.end - slice_.begin;
        cut(0);
        shift("X", inputs_[0]);
      }
      ConvSpec whole = conv.spec;
      whole.x = inputs_[0];
      whole.y = output_;
      whole.pushes = conv.pushes();
      const Shape weights = weight_shape(whole);
      if (!conv.spec.uniform_weights || whole.pushes > 0) shift_channels("W", element_count(weights) / weights[0]);
      shift_constants("K", conv.spec.epilogue.words());
      shift_channels("P", config_.block_in);
    } else if (slice_.axis != SliceAxis::whole) {
      cut_windows(part.spec);
      shift("X", inputs_[0]);
    }
    if (part.spec.pads_in_load) part.spec.pads_in_load = reads_pads(part.spec);
    if (part.pooling)
      for (TensorLayout* layout : {&part.pooling->x, &part.pooling->y}) {
        layout->n = output_part_.layout.n;
        layout->c = output_part_.layout.c;
      }
    if (conv.addition) {
      part.addition = sum_of(conv.addition->spec);
      if (conv.addition->spec.constant_b) {
        shift_constants("KS", conv.addition->spec.epilogue.words());
      } else {
        cut(1);
        shift("B", inputs_[1]);
      }
    }
    return part;
  }
  // Whether the part of the convolution reads pads at all.
  bool reads_pads(const ConvSpec& spec) const {
    const TensorLayout &x = input_parts_[0].layout, &y = output_part_.layout;
    if (output_.h != y.h || slice_.axis == SliceAxis::rows)
      return spec.pad_top > 0 || spec.pad_left > 0 ||
             (y.h - 1) * spec.stride_h + (spec.kernel_h - 1) * spec.dilation_h - spec.pad_top >= x.h ||
             (y.w - 1) * spec.stride_w + (spec.kernel_w - 1) * spec.dilation_w - spec.pad_left >= x.w;
    return true;
  }
  Body body_of(const AddOperation& add) {
    cut(0);
    shift("A", inputs_[0]);
    if (add.spec.constant_b) {
      shift_constants("K", add.spec.epilogue.words());
      shift_channels("P", config_.block_in);
    } else {
      cut(1);
      shift("B", inputs_[1]);
    }
    return sum_of(add.spec);
  }
  Body body_of(const ProductOperation& product) {
    cut(0);
    shift("A", inputs_[0]);
    ProductOperation part{product.spec, 0, 0, 1, product.constant};
    if (product.constant) {
      TensorLayout factors = output_;
      factors.border = {};
      shift("B", factors);
      return part;
    }
    // A vector has one pixel.
    if (!product.spec.vector_b || slice_.axis == SliceAxis::images || slice_.axis == SliceAxis::channels) {
      cut(1);
      shift("B", inputs_[1]);
    }
    return part;
  }
  Body body_of(const MaxPoolOperation& pool) {
    MaxPoolOperation part = pool;
    cut_windows(part.spec);
    shift("X", inputs_[0]);
    return part;
  }
  Body body_of(const LinesOperation& lines) {
    cut(0);
    for (const char* x : {"X0", "X1"}) shift(x, inputs_[0]);
    if (lines.spec.by_channel()) shift_constants("K", lines.spec.words());
    return lines;
  }
  Body body_of(const TableOperation& table) {
    cut(0);
    shift("X0", inputs_[0]);
    return TableOperation{table.spec, {}};
  }
  Body body_of(const SoftmaxOperation& softmax) {
    cut(0);
    SoftmaxOperation part{softmax.spec, {}, softmax.scale, std::nullopt};
    if (softmax.spec.mask != SoftmaxMask::none && slice_.axis == SliceAxis::columns)
      part.spec.groups = slice_.end - slice_.begin;
    return part;
  }
  Body body_of(const NormalizationOperation& normalization) {
    cut(0);
    shift("X", inputs_[0]);
    return NormalizationOperation{normalization.spec, {}, {}};
  }
  Body body_of(const MoveOperation& move) {
    for (std::size_t i = 0; i < inputs_.size() && slice_.axis != SliceAxis::whole; ++i) {
      cut(i);
      for (const MoveSpec& part : move.parts)
        for (std::size_t t = 0; t < part.terms.size(); ++t)
          if (part.terms[t].input == i) shift("X" + std::to_string(t), inputs_[i]);
    }
    return move;
  }
  Body body_of(const TransposeOperation& transpose) { return transpose; }
  Body body_of(const MatMulOperation& matmul) { return matmul; }

  const Operation& operation_;
  std::span<const TensorLayout> inputs_;
  const TensorLayout& output_;
  const Core& config_;
  Slice slice_;
  Part output_part_;
  std::vector<Part> input_parts_;
  SlicedOperation sliced_;
};

// The first of `count` things of part `part` of `parts`.
std::int64_t begin_of(std::int64_t part, std::int64_t parts, std::int64_t count) { return part * count / parts; }

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The boxes of groups in a matrix whose rows are pixels.
Box group_box(const TensorLayout& matrix, const GroupPlaces& at, std::int64_t group, std::int64_t rows,
              std::int64_t channels) {
  const std::int64_t row = at.first_row + group * at.rows, channel = at.first_channel + group * at.channels;
  Box box = whole_box(matrix);
  box.columns = {row / matrix.batch, ceil_div(row + rows, matrix.batch)};
  box.blocks = {channel / matrix.block, ceil_div(channel + channels, matrix.block)};
  return box;
}

Box hull(const std::vector<Box>& boxes) {
  Box all = boxes.front();
  for (const Box& box : boxes)
    for (const auto range : {&Box::images, &Box::blocks, &Box::rows, &Box::columns}) {
      (all.*range).begin = std::min((all.*range).begin, (box.*range).begin);
      (all.*range).end = std::max((all.*range).end, (box.*range).end);
    }
  return all;
}

Box::Range range_of(const Positions& positions) {
  return {positions.first, positions.first + (positions.count - 1) * positions.step + 1};
}

// Adds `count` programs of a phase that read all of `input`, and write memory between programs.
void add_inner(std::vector<ProgramBoxes>& all, std::size_t count, std::size_t input,
               std::span<const TensorLayout> inputs, int phase) {
  ProgramBoxes boxes;
  boxes.phase = phase;
  boxes.reads.resize(inputs.size(), Box{{0, 0}, {0, 0}, {0, 0}, {0, 0}});
  if (phase == 0) boxes.reads[input] = whole_box(inputs[input]);
  all.insert(all.end(), count, boxes);
}

}  // namespace

std::int64_t Box::bytes(const TensorLayout& layout) const {
  const auto count = [](const Range& range) { return range.end - range.begin; };
  return count(images) * layout.batch * count(blocks) * layout.block * count(rows) * count(columns);
}

Box whole_box(const TensorLayout& layout) {
  return {{0, image_blocks(layout)}, {0, channel_blocks(layout)}, {0, layout.h}, {0, layout.w}};
}

std::int64_t slice_units(const Operation& operation, std::span<const TensorLayout> inputs, const TensorLayout& output,
                         SliceAxis axis, const Core& config) {
  return axis == SliceAxis::whole ? 1 : Slicer(operation, inputs, output, config).units(axis);
}

SlicedOperation slice_operation(const Operation& operation, std::span<const TensorLayout> inputs,
                                const TensorLayout& output, const Slice& slice, const Core& config) {
  return Slicer(operation, inputs, output, config).slice(slice);
}

Operation with_more_programs(const Operation& operation, std::int64_t parts, const std::vector<bool>& keep) {
  Operation divided = operation;
  if (auto* matmul = std::get_if<MatMulOperation>(&divided.body)) {
    std::vector<MatMulSpec> products;
    for (const MatMulSpec& product : matmul->products) {
      const std::int64_t batch = product.y.batch, groups = std::min(parts, product.groups),
                         rows = groups < parts ? std::min(parts / groups, ceil_div(product.rows, batch)) : 1;
      for (std::int64_t g = 0; g < groups; ++g)
        for (std::int64_t r = 0; r < rows; ++r) {
          MatMulSpec part = product;
          const std::int64_t group = begin_of(g, groups, product.groups),
                             row = begin_of(r, rows, ceil_div(product.rows, batch)) * batch;
          part.groups = begin_of(g + 1, groups, product.groups) - group;
          part.rows = std::min(begin_of(r + 1, rows, ceil_div(product.rows, batch)) * batch, product.rows) - row;
          for (GroupPlaces* at : {&part.a_at, &part.b_at, &part.y_at}) {
            at->first_row += group * at->rows;
            at->first_channel += group * at->channels;
          }
          part.a_at.first_row += row;
          part.y_at.first_row += row;
          products.push_back(std::move(part));
        }
    }
    matmul->products = std::move(products);
  }
  if (auto* move = std::get_if<MoveOperation>(&divided.body)) {
    std::vector<MoveSpec> pieces;
    for (std::size_t p = 0; p < move->parts.size(); ++p) {
      const MoveSpec& part = move->parts[p];
      const std::int64_t count = !keep.empty() && keep[p] ? 1 : std::min(parts, part.blocks);
      for (std::int64_t i = 0; i < count; ++i) {
        MoveSpec piece = part;
        const std::int64_t first = begin_of(i, count, part.blocks);
        piece.first_block += first;
        piece.blocks = begin_of(i + 1, count, part.blocks) - first;
        for (MoveSpec::Term& term : piece.terms) term.first_block += first;
        pieces.push_back(std::move(piece));
      }
    }
    move->parts = std::move(pieces);
  }
  return divided;
}

std::vector<ProgramBoxes> program_boxes(const Operation& operation, std::span<const TensorLayout> inputs,
                                        const TensorLayout& output, const Core& config) {
  std::vector<ProgramBoxes> all;
  const Box none{{0, 0}, {0, 0}, {0, 0}, {0, 0}};
  const auto arranging = static_cast<std::size_t>(config.block_out / config.block_in);
  if (const auto* move = std::get_if<MoveOperation>(&operation.body)) {
    for (const MoveSpec& part : move->parts) {
      ProgramBoxes boxes;
      boxes.reads.resize(inputs.size(), none);
      for (const MoveSpec::Term& term : part.terms) {
        Box box = whole_box(inputs[term.input]);
        box.blocks = {term.first_block, term.first_block + part.blocks};
        box.rows = range_of(term.rows);
        box.columns = range_of(term.columns);
        Box& read = boxes.reads[term.input];
        read = read.blocks.end == 0 ? box : hull({read, box});
      }
      Box write = whole_box(output);
      write.blocks = {part.first_block, part.first_block + part.blocks};
      if (!move->position) {  // else at any rows
        write.rows = range_of(part.rows);
        write.columns = range_of(part.columns);
      }
      boxes.writes = {write};
      all.push_back(std::move(boxes));
    }
  } else if (const auto* transpose = std::get_if<TransposeOperation>(&operation.body)) {
    int phase = 0;
    if (transpose->arranged) add_inner(all, arranging, 0, inputs, phase++);
    for (const TransposeSpec& part : transpose->parts) {
      ProgramBoxes boxes;
      boxes.phase = phase;
      boxes.reads = {phase == 0 ? whole_box(inputs[0]) : none};
      boxes.writes = {group_box(output, {part.first_result_row, 0, 0, 0}, 0, part.channels, part.rows)};
      all.push_back(std::move(boxes));
    }
  } else if (const auto* matmul = std::get_if<MatMulOperation>(&operation.body)) {
    int phase = 0;
    if (matmul->arranged) add_inner(all, arranging, 1, inputs, phase++);
    if (!matmul->transposes.empty()) {
      add_inner(all, matmul->transposes.size(), 1, inputs, phase++);
      if (arranged_transposed(*matmul, config)) add_inner(all, arranging, 1, inputs, phase++);
    }
    for (const MatMulSpec& product : matmul->products) {
      ProgramBoxes boxes;
      boxes.phase = phase;
      std::vector<Box> reads;
      for (std::int64_t group = 0; group < product.groups; ++group) {
        reads.push_back(group_box(inputs[0], product.a_at, group, product.rows, product.depth));
        boxes.writes.push_back(group_box(output, product.y_at, group, product.rows, product.channels));
      }
      boxes.reads = {hull(reads), phase == 0 ? whole_box(inputs[1]) : none};
      all.push_back(std::move(boxes));
    }
  }
  return all;
}

}  // namespace dovetail::accel
