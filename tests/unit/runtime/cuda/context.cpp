// Memory of the device and copies, on the emulated driver: work on a stream is done only when the host waits for it, so
// that a copy that is read or overwritten too early is detected.
#include "runtime/device/cuda/context.h"

#include <numeric>

#include "tests/catch.h"
#include "tests/e2e/cli/emulated_gpu.h"
#include "tests/environment.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using runtime::cuda::Allocation;
using runtime::cuda::Context;

namespace {

std::vector<std::byte> counted(std::size_t size, int first) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(first) + 31 * i);
  return bytes;
}

}  // namespace

TEST_CASE("cuda memory: freed memory is reused, and returned to the driver where that has no more") {
  const test::EmulatedGpu gpu;
  const std::shared_ptr<Context> context = Context::open().value();
  runtime::cuda::Address first = 0;
  {
    const Allocation memory = Allocation::make(context, 1000).value();
    first = memory.address();
  }
  CHECK(Allocation::make(context, 1000)->address() == first);
  CHECK(Allocation::make(context, 900)->address() == first);  // the same size in pieces of 256 bytes
  CHECK(Allocation::make(context, 100)->address() != first);  // kept for larger requests
  const Allocation one = Allocation::make(context, 1000).value(), two = Allocation::make(context, 1000).value();
  CHECK(one.address() == first);
  CHECK(two.address() != one.address());

  const test::Environment memory("EMULATED_GPU_MEMORY", "1000000");
  { CHECK(Allocation::make(context, 600'000).ok()); }
  CHECK(Allocation::make(context, 700'000).ok());  // the 600,000 bytes were returned
  const auto refused = Allocation::make(context, 2'000'000, "tensor x");
  REQUIRE(!refused.ok());
  CHECK_THAT(to_string(refused.errors()), ContainsSubstring("CUDA_ERROR_OUT_OF_MEMORY") &&
                                              ContainsSubstring("allocating 2000000 bytes of emulated GPU, of whose "
                                                                "1000000 ") &&
                                              ContainsSubstring(" are free, for tensor x") &&
                                              ContainsSubstring("--place NODE=cpu"));
}

TEST_CASE("cuda copies: through pinned memory, of any size, after the earlier work of the stream") {
  const test::EmulatedGpu gpu;
  const std::shared_ptr<Context> context = Context::open().value();
  // Around the size of half of the pinned memory.
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{4} << 20, (std::size_t{4} << 20) + 1,
                                 (std::size_t{12} << 20) + 5, (std::size_t{20} << 20) + 3}) {
    INFO(size << " bytes");
    const Allocation memory = Allocation::make(context, size).value();
    std::vector<std::byte> bytes = counted(size, 1), back(size);
    REQUIRE(memory.copy_in(0, bytes).ok());
    std::ranges::fill(bytes, std::byte{0x77});  // it may change immediately
    REQUIRE(memory.copy_out(0, back).ok());
    CHECK((back == counted(size, 1)));  // without printing them, which is long
  }
  // Many small copies, each of which reuses pinned memory of another.
  const Allocation memory = Allocation::make(context, 100 * 64).value();
  for (std::size_t i = 0; i < 100; ++i) REQUIRE(memory.copy_in(64 * i, counted(64, static_cast<int>(i))).ok());
  for (std::size_t i = 0; i < 100; ++i) {
    std::vector<std::byte> back(64);
    REQUIRE(memory.copy_out(64 * i, back).ok());
    CHECK((back == counted(64, static_cast<int>(i))));
  }
}
