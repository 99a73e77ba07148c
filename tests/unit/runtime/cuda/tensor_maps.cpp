// Tensor maps that the runtime passes to kernels, on the emulated driver, which checks NVIDIA's rules.
#include "runtime/device/cuda/tensor_maps.h"

#include "runtime/device/cuda/context.h"
#include "tests/catch.h"
#include "tests/e2e/cli/emulated_gpu.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using namespace dovetail::runtime::cuda;

TEST_CASE("cuda tensor maps: the driver accepts valid maps of bundles, and refuses others with its status") {
  const test::EmulatedGpu gpu;
  const std::shared_ptr<Context> context = Context::open().value();
  const Allocation memory = Allocation::make(context, std::size_t{6} * 40 * 72 * 2).value();
  EncodedTensorMap encoded;
  const auto status = [&](const bundle::CudaTensorMap& map, std::size_t offset = 0) {
    const auto done = encode(context->driver(), map, memory.address() + offset, encoded);
    return done.ok() ? std::string() : to_string(done.errors());
  };
  CHECK(status({{}, 2, {6, 40, 72}, {1, 16, 32}, 64}).empty());
  CHECK(status({{}, 2, {240, 72}, {240, 64}, 128}).empty());
  CHECK(status({{}, 1, {240, 144}, {8, 32}, 32}).empty());
  CHECK_THAT(status({{}, 2, {240, 72}, {240, 64}, 128}, 8),
             ContainsSubstring("CUDA_ERROR_INVALID_VALUE") && ContainsSubstring("describing a tensor of which"));
  CHECK(!status({{}, 2, {240, 72}, {240, 64}, 128}, 16).empty());  // its last row ends after the memory
  CHECK(!status({{}, 2, {240, 70}, {240, 64}, 128}).empty());
  CHECK(!status({{}, 2, {240, 72}, {257, 64}, 128}).empty());
  CHECK(!status({{}, 2, {240, 72}, {240, 72}, 128}).empty());
}

TEST_CASE("cuda tensor maps: a driver without them is too old, and the diagnostic says what needs them") {
  EncodedTensorMap encoded;
  const auto done = encode(Driver{}, {{}, 2, {16, 64}, {16, 64}, 128}, 0, encoded);
  REQUIRE(!done.ok());
  CHECK_THAT(to_string(done.errors()), ContainsSubstring("drivers older than CUDA 12.0") &&
                                           ContainsSubstring("compile for an older architecture: --gpu sm_80"));
}
