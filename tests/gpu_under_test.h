// The GPU that a test with the tag [gpu] runs on: the emulated one (tests/emulated_gpu), or the machine's, where `./dev
// test --cuda` sets DOVETAIL_TEST_GPU=device. In effect for the lifetime of a GpuUnderTest.
#pragma once

#include <cstdlib>
#include <optional>
#include <string_view>

#include "tests/e2e/cli/emulated_gpu.h"

namespace dovetail::test {

inline bool tests_device() {
  const char* const which = std::getenv("DOVETAIL_TEST_GPU");
  return which != nullptr && std::string_view(which) == "device";
}

class GpuUnderTest {
 public:
  GpuUnderTest() {
    if (!tests_device()) emulated_.emplace();
  }

 private:
  std::optional<EmulatedGpu> emulated_;
};

}  // namespace dovetail::test
