// `dovetail kernel` on patterns beyond networks. Their values are compared with NumPy by tests/tools/test_kernels.py.
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/process.h"
#include "tests/skip.h"

using Catch::Matchers::ContainsSubstring;
using namespace dovetail;

namespace {

test::Finished kernel(const std::string& action, const std::string& name, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"kernel", action, DOVETAIL_SOURCE_DIR "/examples/kernels/" + name + ".loops"});
  return test::dovetail(arguments);
}

}  // namespace

TEST_CASE("kernel: the accelerator refuses what no schedule brings to it, with the reason") {
  const test::Finished floats = kernel("check", "csr_product", {"--target", "accel"});
  CHECK(floats.exit == 2);
  CHECK_THAT(floats.error, ContainsSubstring("(result y): it is float32, and the accelerator computes int8 and int32"));
  CHECK_THAT(floats.error, ContainsSubstring("an index of it is data, and addresses of the accelerator are fixed"));
  const test::Finished scatter = kernel("check", "histogram", {"--target", "accel"});
  CHECK(scatter.exit == 2);
  CHECK_THAT(scatter.error, ContainsSubstring("(buffer own): an index of it is data"));
}

TEST_CASE("kernel: data that leads outside of a buffer ends a run with the buffer and the origin of the index") {
  for (const std::string target : {"interpreter", "cpu"}) {
    const test::Finished ran = kernel("run", "csr_product", {"--target", target});  // random numbers as row bounds
    CHECK(ran.exit == 1);
    CHECK_THAT(ran.error, ContainsSubstring("values") && ContainsSubstring("outside"));
  }
}

TEST_CASE("kernel: programs become kernels of a GPU, by a schedule by hand or the compiler's own") {
  const test::Finished own = kernel("check", "csr_product", {"--target", "cuda"});
  if (own.exit != 0 && own.error.find("NVRTC") != own.error.npos)
    return test::skip("there is no NVRTC, NVIDIA's run-time compiler");
  INFO(own.error);
  CHECK(own.exit == 0);
  CHECK_THAT(own.out, ContainsSubstring("also for cuda"));
  const std::string schedule = DOVETAIL_SOURCE_DIR "/examples/kernels/matmul_gpu.schedule";
  const test::Finished by_hand = kernel("check", "matmul", {"--target", "cuda", "--schedule", schedule});
  INFO(by_hand.error);
  CHECK(by_hand.exit == 0);
  const test::Finished wrong =
      kernel("check", "matmul",
             {"--target", "cuda", "--schedule", DOVETAIL_SOURCE_DIR "/examples/kernels/matmul_cpu.schedule"});
  CHECK(wrong.exit == 2);
  CHECK_THAT(wrong.error, ContainsSubstring("the CUDA back end"));
}
