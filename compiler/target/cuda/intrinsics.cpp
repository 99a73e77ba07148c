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
constexpr std::array<MatrixMultiply, 4> kRows{{{DType::float16, DType::float32, 16, "float16"},
                                               {DType::bfloat16, DType::float32, 16, "bfloat16"},
                                               {DType::int8, DType::int32, 32, "int8"},
                                               {DType::float32, DType::float32, 8, "tf32"}}};

Intrinsic row(const MatrixMultiply& mma) {
  const std::string text = fmt::format(R"(program mma {{
    output C: {0}[2, 8, 4, 2]
    input A: {1}[2, 8, {2}]
    input B: {1}[4, 2, {2}]
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
                                       name(mma.sum), name(mma.factor), mma.depth);
  auto program = parse_program(text, mma.name());
  DOVETAIL_CHECK(program.ok(), "it is a loop program: " + (program.ok() ? "" : to_string(program.errors())));
  Intrinsic intrinsic;
  intrinsic.name = mma.name();
  intrinsic.semantics = *std::move(program);
  intrinsic.scopes = {"register", "shared", "shared"};
  intrinsic.execution = ExecutionScope::warp;
  // A register holds `packed` neighbours of the depth; four lanes have a run of it, and then the next one.
  const std::int64_t packed = 4 / size_bytes(mma.factor);
  intrinsic.layouts = {"i1,i2|i0,i3", fmt::format("i1,i2/{0}%4|i2/{1},i0,i2%{0}", packed, 4 * packed),
                       fmt::format("i0,i1,i2/{0}%4|i2/{1},i2%{0}", packed, 4 * packed)};
  return intrinsic;
}

LaneMap lane_map(const std::string& layout, const Shape& shape) {
  const auto fragment = schedule::parse_fragment(layout, shape);
  DOVETAIL_CHECK(fragment.ok(), "a fragment of the library: " + (fragment.ok() ? "" : to_string(fragment.errors())));
  LaneMap map;
  for (std::size_t i = 0; i < fragment->map.parts.size(); ++i) {
    const schedule::IndexMap::Part& part = fragment->map.parts[i];
    (i < fragment->lanes ? map.lanes : map.registers)
        .push_back({static_cast<std::size_t>(part.dimension), part.divisor, part.extent});
  }
  DOVETAIL_CHECK(LaneMap::count(map.lanes) == kWarpLanes, layout);
  return map;
}

}  // namespace

std::string MatrixMultiply::name() const {
  return fmt::format("cuda.mma.m{}n{}k{}.{}", kMmaRows, kMmaColumns, depth, kind);
}

std::optional<MatrixMultiply> find_matrix_multiply(DType factor, DType sum) {
  for (const MatrixMultiply& mma : kRows)
    if (mma.factor == factor && mma.sum == sum) return mma;
  return std::nullopt;
}

std::optional<MatrixMultiply> find_matrix_multiply(std::string_view name) {
  for (const MatrixMultiply& mma : kRows)
    if (mma.name() == name) return mma;
  return std::nullopt;
}

const IntrinsicTable& intrinsics() {
  static const IntrinsicTable table = [] {
    IntrinsicTable made;
    for (const MatrixMultiply& mma : kRows) made.push_back(row(mma));
    return made;
  }();
  return table;
}

const std::vector<WarpOperation>& warp_operations() {
  static const std::vector<WarpOperation> operations = [] {
    std::vector<WarpOperation> made;
    for (const Intrinsic& intrinsic : intrinsics()) {
      WarpOperation operation{intrinsic.name, intrinsic.semantics, {}};
      for (std::size_t i = 0; i < intrinsic.layouts.size(); ++i)
        operation.operands.push_back(lane_map(intrinsic.layouts[i], intrinsic.semantics.parameters[i].buffer->shape));
      made.push_back(std::move(operation));
    }
    return made;
  }();
  return operations;
}

}  // namespace dovetail::cuda
