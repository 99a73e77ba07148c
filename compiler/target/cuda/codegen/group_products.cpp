// The text of group_products.cuh: wgmma.mma_async with 64 rows of sums, for each number of columns. Each register of
// sums is a separate operand, so there is a function for each number of registers.
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "base/dtype.h"
#include "compiler/target/cuda/codegen/source.h"
#include "compiler/target/cuda/intrinsics.h"

namespace dovetail::cuda {

namespace {

std::string_view factor_type(DType type) {
  switch (type) {
    case DType::float16: return "f16";
    case DType::bfloat16: return "bf16";
    case DType::int8: return "s8";
    case DType::uint8: return "u8";
    case DType::float32: return "tf32";
    default: break;
  }
  DOVETAIL_CHECK(false, "not a type of a factor");
}

std::string function_of(const MatrixMultiply& mma) {
  const std::int64_t sums = mma.columns / 2;  // per lane: 64 rows over 128 lanes
  const bool whole = mma.sum == DType::int32, may_turn = size_bytes(mma.left) == 2;
  std::string parameters, registers, operands;
  for (std::int64_t i = 0; i < sums; ++i) {
    parameters += fmt::format(", {}& c{}", whole ? "int" : "float", i);
    registers += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    operands += fmt::format("{}\"+{}\"(c{})", i == 0 ? "" : ", ", whole ? 'r' : 'f', i);
  }
  // Accumulates (p); neither factor is negated (floats only); 16-bit factors may be transposed.
  const std::string more =
      (whole ? "" : ", 1, 1") + (may_turn ? fmt::format(", %{}, %{}", sums + 2, sums + 3) : std::string());
  const std::string turned = may_turn ? ", \"n\"(int(a_turned)), \"n\"(int(b_turned))" : "";
  return fmt::format(
      "template <int columns, bool a_turned, bool b_turned>\n"
      "inline void wgmma_{}(unsigned long long a, unsigned long long b{}) {{\n"
      "  static_assert(columns == {});\n"
      "  asm volatile(\"{{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{} {{{}}}, "
      "%{}, %{}, p{}; }}\"\n      : {}\n      : \"l\"(a), \"l\"(b){});\n}}\n",
      mma.kind, parameters, mma.columns, mma.columns, mma.depth, whole ? "s32" : "f32", factor_type(mma.left),
      factor_type(mma.right), registers, sums, sums + 1, more, operands, turned);
}

}  // namespace

std::string_view group_products() {
  static const std::string text = [] {
    std::string made = "#pragma once\n";
    for (const MatrixMultiply& mma : group_multiplies()) made += function_of(mma);
    return made;
  }();
  return text;
}

}  // namespace dovetail::cuda
