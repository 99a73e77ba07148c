#include "explore/measure/gpu_peak_texts.h"

#include <fmt/format.h>

namespace dovetail::explore {

namespace {

// Bits of a register of factors: the common bits of all, and those that `h` may change.
struct Bits {
  std::uint32_t same, any;
};
Bits bits_of(DType factor) {
  switch (factor) {
    case DType::float16: return {0x3c003c00, 0x83ff83ff};
    case DType::bfloat16: return {0x3f803f80, 0x807f807f};
    case DType::float32: return {0x3f800000, 0x807fffff};
    default: return {0, 0xffffffff};  // all bits of bytes
  }
}

std::string list(const std::string& before, std::uint64_t count) {
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i) text += fmt::format("{}{}{}]", i == 0 ? "" : ", ", before, i);
  return text;
}

TensorPeak of_warp(const cuda::MatrixMultiply& mma, const std::string& sum) {
  constexpr std::uint64_t kThreads = 128, kWarp = 32;
  const Bits bits = bits_of(mma.left);
  TensorPeak peak{fmt::format("mma_{}_peak", mma.kind), {}, kThreads, 0, 0};
  peak.operations = kThreads / kWarp * kPeakChains * 2 * static_cast<std::uint64_t>(mma.rows * mma.columns * mma.depth);
  std::string calls;
  for (std::uint64_t i = 0; i < kPeakChains; ++i)
    calls += fmt::format("    mma_{}({}, f[0], f[1], f[2], f[3], f[{}], f[{}]);\n", mma.kind,
                         list(fmt::format("c[{}][", i), 4), i % 4, (i + 1) % 4);
  peak.text = fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}) {1}({2}* __restrict__ out, const int* __restrict__ steps) "
      "{{\n"
      "  unsigned f[4];\n"
      "  for (int i = 0; i < 4; ++i) f[i] = {3:#x}u ^ (((threadIdx.x + 1) * 2654435761u >> i) & {4:#x}u);\n"
      "  {2} c[{5}][4] = {{}}, all = 0;\n"
      "  for (int i = 0; i < *steps; ++i) {{\n{6}  }}\n"
      "  for (int i = 0; i < {5}; ++i)\n"
      "    for (int j = 0; j < 4; ++j) all += c[i][j];\n"
      "  out[blockIdx.x * {0} + threadIdx.x] = all;\n}}\n",
      kThreads, peak.name, sum, bits.same, bits.any, kPeakChains, calls);
  return peak;
}

// Lines of 32 bytes, the rows of A and then those of B; two products in each group.
TensorPeak of_group(const cuda::MatrixMultiply& mma, const std::string& sum) {
  constexpr std::uint64_t kThreads = 128, kLine = 32, kCalls = 2;
  const auto rows = static_cast<std::uint64_t>(mma.rows), columns = static_cast<std::uint64_t>(mma.columns);
  const Bits bits = bits_of(mma.left);
  TensorPeak peak{fmt::format("wgmma_{}_peak", mma.kind), {}, kThreads, (rows + columns) * kLine, 0};
  peak.operations = kCalls * 2 * rows * columns * static_cast<std::uint64_t>(mma.depth);
  std::string calls;
  for (std::uint64_t i = 0; i < kCalls; ++i)
    calls += fmt::format(
        "    wgmma_{0}<{1}, false, false>(matrix_at<16, {2}, {3}>(factors), matrix_at<16, {2}, {3}>(factors + {4}), "
        "{5});\n",
        mma.kind, columns, 8 * kLine, kLine, rows * kLine / 4, list("c[", columns / 2));
  peak.text = fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}) {1}({2}* __restrict__ out, const int* __restrict__ steps) "
      "{{\n"
      "  unsigned* const factors = reinterpret_cast<unsigned*>(given_shared());\n"
      "  for (unsigned i = threadIdx.x; i < {3}; i += {0}) factors[i] = {4:#x}u ^ ((i + 1) * 2654435761u & {5:#x}u);\n"
      "  {2} c[{6}] = {{}}, all = 0;\n"
      "  fence_for_units();\n"
      "  __syncthreads();\n"
      "  for (int i = 0; i < *steps; ++i) {{\n"
      "    hold_registers(c);\n"
      "    arrive_for_calls();\n{7}"
      "    commit_calls();\n"
      "    wait_for_calls<1>();\n"
      "  }}\n"
      "  wait_for_calls<0>();\n"
      "  hold_registers(c);\n"
      "  for (int i = 0; i < {6}; ++i) all += c[i];\n"
      "  out[blockIdx.x * {0} + threadIdx.x] = all;\n}}\n",
      kThreads, peak.name, sum, peak.shared_bytes / 4, bits.same, bits.any, columns / 2, calls);
  return peak;
}

}  // namespace

// The results are written, so that the compiler does not remove the computation.
std::string multiply_text() {
  std::string declare, step, sum;
  for (std::uint64_t i = 0; i < kPeakChains; ++i) {
    declare += fmt::format("  float v{} = x + {}.0f;\n", i, i);
    step += fmt::format("    v{0} = fmaf(v{0}, 0.999f, x);\n", i);
    sum += fmt::format("{}v{}", i == 0 ? "" : " + ", i);
  }
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}) multiply(float* out) {{\n"
      "  const float x = 0.001f * (float)threadIdx.x;\n{1}"
      "  for (int i = 0; i < {2}; ++i) {{\n{3}  }}\n"
      "  out[blockIdx.x * {0} + threadIdx.x] = {4};\n}}\n",
      kPeakThreads, declare, kPeakSteps, step, sum);
}

std::string copy_text() {
  return fmt::format(
      "struct alignas({1}) Piece {{ float a, b, c, d; }};\n"
      "extern \"C\" __global__ void __launch_bounds__({0}) copy(Piece* to, Piece* from) {{\n"
      "  const unsigned i = blockIdx.x * {0} + threadIdx.x;\n  to[i] = from[i];\n}}\n",
      kPeakThreads, kBytesOfPeakThread);
}

TensorPeak tensor_peak(const cuda::MatrixMultiply& mma) {
  const std::string sum = mma.sum == DType::int32 ? "int" : "float";
  return mma.of_group() ? of_group(mma, sum) : of_warp(mma, sum);
}

}  // namespace dovetail::explore
