#include "compiler/target/cuda/intrinsics.h"

#include <array>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/schedule/index_map.h"
#include "loops/parse.h"

namespace dovetail::cuda {

using namespace loops;

namespace {

// sm_80 and later have all of them.
constexpr std::array<MatrixMultiply, 6> kRows{{{DType::float16, DType::float16, DType::float32, 16, "float16"},
                                               {DType::bfloat16, DType::bfloat16, DType::float32, 16, "bfloat16"},
                                               {DType::int8, DType::int8, DType::int32, 32, "int8"},
                                               {DType::uint8, DType::int8, DType::int32, 32, "uint8_int8"},
                                               {DType::int8, DType::uint8, DType::int32, 32, "int8_uint8"},
                                               {DType::float32, DType::float32, DType::float32, 8, "tf32"}}};

// Columns of a group's product. The instructions support all multiples of 8 up to 256 (fewer for bytes); these divide
// tiles.
constexpr std::array<std::int64_t, 5> kGroupColumns{16, 32, 64, 128, 256};

std::vector<MatrixMultiply> all_rows() {
  std::vector<MatrixMultiply> rows(kRows.begin(), kRows.end());
  for (const MatrixMultiply& row : group_multiplies()) rows.push_back(row);
  return rows;
}

Intrinsic group_row(const MatrixMultiply& mma) {
  const std::string text =
      fmt::format(R"(program wgmma {{
    output C: {0}[4, 2, 8, {3}, 4, 2]
    input A: {1}[4, 2, 8, {2}]
    input B: {4}[{3}, 4, 2, {2}]
    for w in 4 {{ for h in 2 {{ for g in 8 {{ for f in {3} {{ for q in 4 {{ for p in 2 {{ for k in {2} {{
      block wgmma {{
        spatial vw in 4 = w
        spatial vh in 2 = h
        spatial vg in 8 = g
        spatial vf in {3} = f
        spatial vq in 4 = q
        spatial vp in 2 = p
        reduce vk in {2} = k
        reads C[vw, vh, vg, vf, vq, vp], A[vw, vh, vg, vk], B[vf, vq, vp, vk]
        writes C[vw, vh, vg, vf, vq, vp]
        C[vw, vh, vg, vf, vq, vp] = C[vw, vh, vg, vf, vq, vp] + {0}(A[vw, vh, vg, vk]) * {0}(B[vf, vq, vp, vk])
      }}
    }} }} }} }} }} }} }}
  }})",
                  name(mma.sum), name(mma.left), mma.depth, mma.columns / kMmaColumns, name(mma.right));
  auto program = parse_program(text, mma.name());
  DOVETAIL_CHECK(program.ok(), "must be a loop program: " + (program.ok() ? "" : to_string(program.errors())));
  Intrinsic intrinsic;
  intrinsic.name = mma.name();
  intrinsic.semantics = *std::move(program);
  intrinsic.scopes = {"register", "shared", "shared"};
  intrinsic.execution = ExecutionScope::warpgroup;
  intrinsic.completion = Completion::commit_wait;
  intrinsic.layouts = {"i0,i2,i4|i3,i1,i5", "", ""};
  return intrinsic;
}

Intrinsic row(const MatrixMultiply& mma) {
  if (mma.of_group()) return group_row(mma);
  const std::string text = fmt::format(R"(program mma {{
    output C: {0}[2, 8, 4, 2]
    input A: {1}[2, 8, {2}]
    input B: {3}[4, 2, {2}]
    for h in 2 {{ for g in 8 {{ for q in 4 {{ for p in 2 {{ for k in {2} {{
      block mma {{
        spatial vh in 2 = h
        spatial vg in 8 = g
        spatial vq in 4 = q
        spatial vp in 2 = p
        reduce vk in {2} = k
        reads C[vh, vg, vq, vp], A[vh, vg, vk], B[vq, vp, vk]
        writes C[vh, vg, vq, vp]
        C[vh, vg, vq, vp] = C[vh, vg, vq, vp] + {0}(A[vh, vg, vk]) * {0}(B[vq, vp, vk])
      }}
    }} }} }} }} }}
  }})",
                                       name(mma.sum), name(mma.left), mma.depth, name(mma.right));
  auto program = parse_program(text, mma.name());
  DOVETAIL_CHECK(program.ok(), "must be a loop program: " + (program.ok() ? "" : to_string(program.errors())));
  Intrinsic intrinsic;
  intrinsic.name = mma.name();
  intrinsic.semantics = *std::move(program);
  intrinsic.scopes = {"register", "shared", "shared"};
  intrinsic.execution = ExecutionScope::warp;
  // A register holds `packed` neighbors of the depth; four lanes hold consecutive registers, then the next group
  // follows.
  const std::int64_t packed = 4 / size_bytes(mma.left);
  intrinsic.layouts = {"i1,i2|i0,i3", fmt::format("i1,i2/{0}%4|i2/{1},i0,i2%{0}", packed, 4 * packed),
                       fmt::format("i0,i1,i2/{0}%4|i2/{1},i2%{0}", packed, 4 * packed)};
  return intrinsic;
}

LaneMap lane_map(const std::string& layout, const Shape& shape) {
  if (layout.empty()) return {};  // as given by the call
  const auto fragment = schedule::parse_fragment(layout, shape);
  DOVETAIL_CHECK(fragment.ok(), "must be a fragment: " + (fragment.ok() ? "" : to_string(fragment.errors())));
  LaneMap map;
  for (std::size_t i = 0; i < fragment->map.parts.size(); ++i) {
    const schedule::IndexMap::Part& part = fragment->map.parts[i];
    (i < fragment->lanes ? map.lanes : map.registers)
        .push_back({static_cast<std::size_t>(part.dimension), part.divisor, part.extent});
  }
  DOVETAIL_CHECK(LaneMap::count(map.lanes) % kWarpLanes == 0, layout);
  return map;
}

}  // namespace

std::string MatrixMultiply::name() const {
  return fmt::format("cuda.{}.m{}n{}k{}.{}", of_group() ? "wgmma" : "mma", rows, columns, depth, kind);
}

std::optional<MatrixMultiply> find_matrix_multiply(DType left, DType right, DType sum) {
  for (const MatrixMultiply& mma : kRows)
    if (mma.left == left && mma.right == right && mma.sum == sum) return mma;
  return std::nullopt;
}

std::optional<MatrixMultiply> find_matrix_multiply(std::string_view name) {
  for (const MatrixMultiply& mma : all_rows())
    if (mma.name() == name) return mma;
  return std::nullopt;
}

std::vector<MatrixMultiply> group_multiplies() {
  std::vector<MatrixMultiply> rows;
  for (const MatrixMultiply& mma : kRows)
    for (const std::int64_t columns : kGroupColumns)
      rows.push_back({mma.left, mma.right, mma.sum, mma.depth, mma.kind, kGroupRows, columns});
  return rows;
}

std::optional<MatrixMultiply> find_group_multiply(DType left, DType right, DType sum, std::int64_t columns) {
  for (const MatrixMultiply& mma : group_multiplies())
    if (mma.left == left && mma.right == right && mma.sum == sum && mma.columns == columns) return mma;
  return std::nullopt;
}

const IntrinsicTable& intrinsics() {
  static const IntrinsicTable table = [] {
    IntrinsicTable made;
    for (const MatrixMultiply& mma : all_rows()) made.push_back(row(mma));
    return made;
  }();
  return table;
}

const std::vector<WarpOperation>& warp_operations() {
  static const std::vector<WarpOperation> operations = [] {
    std::vector<WarpOperation> made;
    for (const Intrinsic& intrinsic : intrinsics()) {
      WarpOperation operation{intrinsic.name, intrinsic.semantics, {}};
      operation.later = intrinsic.completion == Completion::commit_wait;
      constexpr int kEitherWay = 2;  // bytes of factors of which the rows may be contiguous too
      operation.depth_inner =
          operation.later && size_bytes(intrinsic.semantics.parameters[1].buffer->dtype) != kEitherWay;
      for (std::size_t i = 0; i < intrinsic.layouts.size(); ++i)
        operation.operands.push_back(lane_map(intrinsic.layouts[i], intrinsic.semantics.parameters[i].buffer->shape));
      made.push_back(std::move(operation));
    }
    return made;
  }();
  return operations;
}

}  // namespace dovetail::cuda
