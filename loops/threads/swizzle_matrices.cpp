#include "loops/threads/swizzle_matrices.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loops/linear.h"
#include "loops/threads/accesses.h"
#include "loops/threads/rewrite_accesses.h"

namespace dovetail::loops {

namespace {

constexpr std::int64_t kPieceBytes = 16, kGroup = 8;  // number of rows whose 16-byte chunks are exchanged

// The division of a buffer of rows and columns into panels.
struct Panels {
  Buffer from, to;
  std::int64_t swizzle_bytes = 0;
  std::int64_t piece = 0;             // in elements
  std::int64_t width = 0;             // columns of a panel
  std::int64_t rows = 0, panels = 0;  // extents of the buffer's last two dimensions
  bool depth_inner = true;            // the depth is along the columns
  std::int64_t panel_bytes() const { return rows * swizzle_bytes; }

  std::vector<Expr> place(std::vector<Expr> indices, const Bounds& bounds) const {
    const Expr column = indices.back(), row = indices[indices.size() - 2];
    const std::int64_t pieces = width / piece;
    const Expr of_row = floor_mod(floor_div(row, kGroup / pieces), pieces);
    indices.resize(indices.size() - 2);
    if (panels > 1) indices.push_back(floor_div(column, width));
    indices.push_back(row);
    indices.push_back(binary(BinaryOp::bit_xor, floor_mod(floor_div(column, piece), pieces), of_row));
    indices.push_back(floor_mod(column, piece));
    for (Expr& index : indices) index = simplify(index, bounds);
    return indices;
  }
};

bool is_multiple(const Expr& index, std::int64_t of, const Bounds& bounds) {
  const Linear form = linear_form(simplify(index, bounds));
  return form.constant % of == 0 &&
         std::ranges::all_of(form.terms, [&](const LinearTerm& term) { return term.coefficient % of == 0; });
}

class Swizzler {
 public:
  Swizzler(ThreadKernel& kernel, const std::vector<WarpOperation>& operations, const Bounds& bounds,
           const std::string& where, const BoxCopies& boxes)
      : kernel_(kernel), operations_(operations), bounds_(bounds), where_(where), boxes_(boxes) {}

  Result<void> run() {
    each_call(kernel_.body, [&](const CoreCall& call) {
      for (std::size_t i = 1; call.later && i < call.operands.size(); ++i) cut(call, i);
    });
    if (!errors_.empty()) return errors_;
    if (cut_.empty()) return {};
    kernel_.body = with_matrices(kernel_.body);
    if (!errors_.empty()) return errors_;
    kernel_.body = rewrite_accesses(
        kernel_.body, {},
        [&](const Buffer& touched, std::vector<Expr> indices, const auto&) -> std::pair<Buffer, std::vector<Expr>> {
          const auto found = cut_.find(touched.get());
          if (found == cut_.end()) return {touched, std::move(indices)};
          return {found->second.to, found->second.place(std::move(indices), bounds_)};
        });
    for (Buffer& shared : kernel_.shared)
      if (const auto found = cut_.find(shared.get()); found != cut_.end()) {
        shared = found->second.to;
        kernel_.matrices.insert(shared.get());
      }
    return {};
  }

 private:
  void refuse(const CoreCall& call, const BufferNode& buffer, std::string why) {
    errors_.push_back({"cannot lower to threads", fmt::format("{}, call of {}", where_, call.intrinsic),
                       fmt::format("matrix {}: {}", buffer.name, why), "remove the tensorize step"});
  }

  // Rows are all axes of an operand except the last, outermost first; the last is the depth.
  void cut(const CoreCall& call, std::size_t number) {
    const IntrinsicOperand& operand = call.operands[number];
    const BufferNode& buffer = *operand.buffer;
    const std::size_t rank = buffer.shape.size();
    if (rank < 2) return refuse(call, buffer, "the matrix has no rows");
    const auto moves_alone = [&](std::size_t axis, std::size_t dimension, std::int64_t by) {
      for (std::size_t d = 0; d < rank; ++d)
        if (operand.steps[axis][d] != (d == dimension ? by : 0)) return false;
      return true;
    };
    Panels made;
    made.from = operand.buffer;
    made.depth_inner = moves_alone(operand.steps.size() - 1, rank - 1, 1);
    const std::size_t row_dimension = made.depth_inner ? rank - 2 : rank - 1;
    bool regular = made.depth_inner || moves_alone(operand.steps.size() - 1, rank - 2, 1);
    std::int64_t rows = 1;
    const WarpOperation& operation = *find_operation(operations_, call.intrinsic);
    const Shape& shape_of_operand = operation.semantics.parameters[number].buffer->shape;
    for (std::size_t axis = operand.steps.size() - 1; axis-- > 0;) {
      regular &= moves_alone(axis, row_dimension, rows);
      rows *= shape_of_operand[axis];
    }
    if (!regular) return refuse(call, buffer, "the last two dimensions are not the matrix's rows and depth");
    if (operation.depth_inner && !made.depth_inner)
      return refuse(call, buffer,
                    "the matrix is contiguous along its rows, but the instruction needs it contiguous along its depth");
    const std::int64_t bytes = size_bytes(buffer.dtype), columns = buffer.shape[rank - 1];
    made.rows = buffer.shape[rank - 2];
    for (const std::int64_t swizzle : {128, 64, 32})
      if (made.swizzle_bytes == 0 && columns * bytes % swizzle == 0) made.swizzle_bytes = swizzle;
    if (made.swizzle_bytes == 0 || made.rows % kGroup != 0)
      return refuse(call, buffer,
                    fmt::format("{} rows of {} bytes do not divide into groups of {} rows of 32 bytes", made.rows,
                                columns * bytes, kGroup));
    made.piece = kPieceBytes / bytes;
    made.width = made.swizzle_bytes / bytes;
    made.panels = columns / made.width;
    const auto known = cut_.find(&buffer);
    if (known != cut_.end()) {
      if (known->second.depth_inner != made.depth_inner)
        refuse(call, buffer, "calls read the matrix in both orientations");
      return;
    }
    Shape shape(buffer.shape.begin(), buffer.shape.end() - 2);
    if (made.panels > 1) shape.push_back(made.panels);
    shape.insert(shape.end(), {made.rows, made.width / made.piece, made.piece});
    made.to = make_buffer(buffer.name, buffer.dtype, std::move(shape), buffer.scope);
    cut_.emplace(&buffer, std::move(made));
  }

  // Adds the matrix layouts that the unit needs to the calls.
  Core with_matrices(const Core& core) {
    if (!core) return core;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      CoreLoop copy = *loop;
      copy.body = with_matrices(loop->body);
      return make_core(std::move(copy));
    }
    if (const auto* n = std::get_if<CoreIf>(&core->node))
      return core_if(n->condition, with_matrices(n->then_body), with_matrices(n->else_body));
    if (const auto* n = std::get_if<CoreSequence>(&core->node)) {
      std::vector<Core> body;
      for (const Core& part : n->body) body.push_back(with_matrices(part));
      return core_sequence(std::move(body));
    }
    if (const auto* box = std::get_if<CoreBoxCopy>(&core->node)) return of_panels(*box);
    const auto* call = std::get_if<CoreCall>(&core->node);
    if (call == nullptr || !call->later) return core;
    CoreCall copy = *call;
    copy.matrices.resize(copy.operands.size());
    for (std::size_t i = 1; i < copy.operands.size(); ++i) {
      IntrinsicOperand& operand = copy.operands[i];
      const Panels& cut = cut_.at(operand.buffer.get());
      const std::size_t rank = operand.indices.size();
      const Expr row = operand.indices[rank - 2], column = operand.indices[rank - 1];
      // A step of the depth is within one panel; if rows are the contiguous dimension, they begin at a panel.
      const std::int64_t depth_piece = 2 * cut.piece;
      if (!is_multiple(row, kGroup, bounds_) ||
          !is_multiple(column, cut.depth_inner ? depth_piece : cut.width, bounds_))
        refuse(*call, *operand.buffer, "a call does not begin at a group of eight rows and a panel");
      operand.buffer = cut.to;
      operand.indices = cut.place(std::move(operand.indices), bounds_);
      operand.steps.clear();
      operand.extents.assign(operand.indices.size(), 1);
      constexpr std::int64_t kUnused = kPieceBytes;  // unused if a row's depth is within one panel
      copy.matrices[i] = CoreMatrix{cut.depth_inner, cut.depth_inner ? kUnused : cut.panel_bytes(),
                                    kGroup * cut.swizzle_bytes, cut.swizzle_bytes};
    }
    return make_core(std::move(copy));
  }

  // One copy for each panel, and for as many of its rows as the unit supports.
  Core of_panels(const CoreBoxCopy& box) const {
    const Panels& cut = cut_.at(box.to.get());
    std::int64_t lines = std::min(cut.rows, boxes_.most_extent / kGroup * kGroup);
    while (cut.rows % lines != 0) lines -= kGroup;
    const std::size_t last = box.box.size() - 1;
    const std::size_t of_rows = static_cast<std::size_t>(
        std::ranges::find_if(box.box, [](std::int64_t extent) { return extent > 1; }) - box.box.begin());
    std::vector<Core> copies;
    for (std::int64_t panel = 0; panel < cut.panels; ++panel)
      for (std::int64_t row = 0; row < cut.rows; row += lines) {
        CoreBoxCopy part = box;
        part.to = cut.to;
        std::vector<Expr> first = box.to_indices;
        first[first.size() - 2] = int_imm(row);
        first.back() = int_imm(panel * cut.width);
        part.to_indices = cut.place(std::move(first), bounds_);
        part.from_indices[of_rows] = simplify(part.from_indices[of_rows] + row, bounds_);
        part.from_indices[last] = simplify(part.from_indices[last] + panel * cut.width, bounds_);
        part.box[of_rows] = lines;
        part.box[last] = cut.width;
        part.swizzle = cut.swizzle_bytes;
        copies.push_back(make_core(std::move(part)));
      }
    return core_sequence(std::move(copies));
  }

  ThreadKernel& kernel_;
  const std::vector<WarpOperation>& operations_;
  const Bounds& bounds_;
  const std::string& where_;
  const BoxCopies& boxes_;
  std::map<const BufferNode*, Panels> cut_;
  Diagnostics errors_;
};

}  // namespace

Result<void> swizzle_matrices(ThreadKernel& kernel, const std::vector<WarpOperation>& operations, const Bounds& bounds,
                              const std::string& where, const BoxCopies& boxes) {
  return Swizzler(kernel, operations, bounds, where, boxes).run();
}

}  // namespace dovetail::loops
