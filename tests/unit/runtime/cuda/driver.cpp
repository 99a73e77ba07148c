// The meaning of the driver's statuses, and which image of a step a device runs.
#include "runtime/device/cuda/driver.h"

#include "runtime/device/cuda/context.h"
#include "tests/catch.h"
#include "tests/e2e/cli/emulated_gpu.h"
#include "tests/environment.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using runtime::cuda::Driver;

TEST_CASE("cuda driver: each status has a remedy") {
  const test::EmulatedGpu gpu;
  const auto driver = Driver::find().value();
  const auto said = [&](int status) { return to_string(driver->check(status, "loading").errors()); };
  CHECK(driver->check(0, "loading").ok());
  // An image made by a newer compiler: CUDA_ERROR_INVALID_IMAGE, NO_BINARY_FOR_GPU, INVALID_PTX,
  // UNSUPPORTED_PTX_VERSION.
  for (const int status : {200, 209, 218, 222})
    CHECK_THAT(said(status), ContainsSubstring("update the driver: it must be as new as the NVRTC that compiled"));
  CHECK_THAT(said(2), ContainsSubstring("run fewer samples at once"));
  CHECK_THAT(said(100), ContainsSubstring("CUDA_VISIBLE_DEVICES"));
  // Statuses after which, by cuda.h, the process must end.
  for (const int status : {214, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911}) {
    CHECK(runtime::cuda::status::is_sticky(status));
    CHECK_THAT(said(status), ContainsSubstring("this process can no longer use the device"));
  }
  for (const int status : {0, 1, 2, 100, 200, 209, 701}) CHECK(!runtime::cuda::status::is_sticky(status));
}

TEST_CASE("cuda driver: a device runs code of its major version, its family, its exact version, or PTX of older ones") {
  const test::EmulatedGpu gpu;
  const auto chosen = [](const char* capability, const std::vector<bundle::CudaImage>& images) -> int {
    const test::Environment device("EMULATED_GPU_CAPABILITY", capability);
    const auto index = runtime::cuda::Context::open().value()->choose(images);
    return index.ok() ? static_cast<int>(*index) : -1;
  };
  const auto code = [](const char* architecture, bool ptx = false) {
    return bundle::CudaImage{architecture, ptx, bundle::Blob({std::byte{1}})};
  };
  const std::vector<bundle::CudaImage> images{code("sm_80"), code("sm_80", true), code("sm_90a"), code("sm_100f")};
  CHECK(chosen("75", images) == -1);
  CHECK(chosen("80", images) == 0);
  CHECK(chosen("86", images) == 0);
  CHECK(chosen("90", images) == 2);
  CHECK(chosen("100", images) == 3);
  CHECK(chosen("103", images) == 3);  // the same family
  CHECK(chosen("120", images) == 1);
  CHECK(chosen("103", {code("sm_100a")}) == -1);
  CHECK(chosen("100", {code("sm_103f")}) == -1);
}
