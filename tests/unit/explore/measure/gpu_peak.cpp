// Peak rates of a GPU, on the emulated one: the kernels compute correct values, so they do the counted work; and
// NVIDIA's compiler accepts them.
#include "explore/measure/gpu_peak.h"

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "compiler/target/cuda/nvrtc.h"
#include "explore/measure/gpu_peak_texts.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cuda/launches.h"
#include "tests/catch.h"
#include "tests/e2e/cli/emulated_gpu.h"
#include "tests/skip.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using runtime::cuda::Allocation;

namespace {

cuda::MatrixMultiply warp_of(DType factor) {
  return cuda::find_matrix_multiply(factor, factor, factor == DType::int8 ? DType::int32 : DType::float32).value();
}
cuda::MatrixMultiply group_of(DType factor) {
  return cuda::find_group_multiply(factor, factor, factor == DType::int8 ? DType::int32 : DType::float32, 128).value();
}

std::string text_of(const std::vector<cuda::MatrixMultiply>& all) {
  std::string text;
  for (const cuda::MatrixMultiply& mma : all) text += explore::tensor_peak(mma).text;
  return text;
}

// The result of each thread of one block.
std::vector<std::uint32_t> sums_of(const bundle::CudaImage& image, const explore::TensorPeak& peak,
                                   std::int32_t steps) {
  const std::shared_ptr<runtime::cuda::Context> context = runtime::cuda::Context::open().value();
  bundle::CudaCode code;
  code.kernels.push_back(
      {{{peak.name, {1, 1, 1}, {peak.threads, 1, 1}, {{false, 0, 0}, {false, 1, 0}}, false, peak.shared_bytes}},
       {image},
       0});
  const Allocation out = Allocation::make(context, peak.threads * 4).value(),
                   count = Allocation::make(context, sizeof steps).value();
  REQUIRE(count.copy_in(0, std::as_bytes(std::span(&steps, 1))).ok());
  const std::array<runtime::cuda::Address, 2> tensors{out.address(), count.address()};
  const auto work = runtime::cuda::make_launches(context, code, 0);
  REQUIRE(work.ok());
  REQUIRE((*work)->begin(tensors, 0).ok());
  std::vector<std::uint32_t> sums(peak.threads);
  REQUIRE(out.copy_out(0, std::as_writable_bytes(std::span(sums))).ok());
  return sums;
}

}  // namespace

TEST_CASE("gpu peak: kernels for tensor cores do the stated products, as often as requested") {
  const test::EmulatedGpu gpu;
  auto binary = cuda::Nvrtc::find().value()->compile(
      text_of({group_of(DType::int8), warp_of(DType::int8), warp_of(DType::float16), warp_of(DType::bfloat16),
               warp_of(DType::float32)}),
      "sm_90a");
  if (!binary) FAIL(to_string(binary.errors()));
  const bundle::CudaImage image{"sm_90a", false, bundle::Blob(std::move(binary->cubin))};
  // Bytes in lines of 32: each sum of products of two rows, twice in a step.
  const explore::TensorPeak group = explore::tensor_peak(group_of(DType::int8));
  const auto factor = [](std::uint32_t byte) {
    const std::uint32_t word = (byte / 4 + 1) * 2654435761U;
    return static_cast<std::int32_t>(static_cast<std::int8_t>(word >> (8 * (byte % 4))));
  };
  std::array<std::int64_t, 32> a{}, b{};
  for (std::uint32_t row = 0; row < 64 + 128; ++row)
    for (std::uint32_t k = 0; k < 32; ++k) {
      // In every second group of four lines the two halves are exchanged.
      const std::uint32_t line = row < 64 ? row : row - 64;
      (row < 64 ? a : b)[k] += factor(row * 32 + (k ^ (line / 4 % 2 * 16)));
    }
  std::int64_t all = 0;
  for (std::size_t k = 0; k < 32; ++k) all += a[k] * b[k];
  const auto total = [](const std::vector<std::uint32_t>& sums) {
    std::uint32_t sum = 0;
    for (const std::uint32_t one : sums) sum += one;
    return sum;
  };
  CHECK(total(sums_of(image, group, 3)) == static_cast<std::uint32_t>(all * 2 * 3));
  CHECK(group.operations == 2 * 2 * 64 * 128 * 32);

  const explore::TensorPeak warp = explore::tensor_peak(warp_of(DType::int8));
  const std::vector<std::uint32_t> once = sums_of(image, warp, 1), thrice = sums_of(image, warp, 3);
  bool grows = true;
  for (std::size_t i = 0; i < once.size(); ++i) grows &= thrice[i] == 3 * once[i] && once[i] != 0;
  CHECK(grows);
  CHECK(warp.operations == 4 * explore::kPeakChains * 2 * 16 * 8 * 32);
  for (const DType type : {DType::float16, DType::bfloat16, DType::float32}) {
    float sum = 0;
    const std::uint32_t bits = sums_of(image, explore::tensor_peak(warp_of(type)), 2).front();
    std::memcpy(&sum, &bits, 4);
    CHECK(sum != 0);
    CHECK(std::isfinite(sum));
  }
}

TEST_CASE("gpu peak: NVIDIA's compiler accepts every kernel") {
  const auto compiler = cuda::Nvrtc::find();
  if (!compiler) return test::skip("no NVRTC: " + compiler.errors().front().why);
  const std::string warps = text_of({warp_of(DType::float16), warp_of(DType::bfloat16), warp_of(DType::float32),
                                     warp_of(DType::int8)}),
                    groups = text_of({group_of(DType::float16), group_of(DType::bfloat16), group_of(DType::float32),
                                      group_of(DType::int8)});
  const std::string others = explore::multiply_text() + explore::copy_text();
  for (const auto& [text, architecture] :
       {std::pair(warps, "sm_80"), std::pair(warps + groups, "sm_90a"), std::pair(others, "sm_80")}) {
    const auto binary = (*compiler)->compile(text, architecture);
    if (!binary) FAIL(to_string(binary.errors()));
    CHECK(binary->cubin.size() > 1000);
  }
}
