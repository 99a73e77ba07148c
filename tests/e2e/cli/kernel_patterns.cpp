// `dovetail kernel` on patterns beyond networks. Their values are compared with NumPy by tests/tools/test_kernels.py.
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

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

TEST_CASE("kernel: steps on loops whose conditions read what they write are taken or refused by dependences") {
  const test::TemporaryFolder folder;
  const auto check = [&](const std::string& body, const std::string& steps) {
    const std::string program = folder / "p.loops", schedule = folder / "p.schedule";
    REQUIRE(write_text_file(program, "program p { output y: int64[64] y[i in 64] = 0 " + body + " }").ok());
    REQUIRE(write_text_file(schedule, steps).ok());
    return test::dovetail({"kernel", "run", program, "--schedule", schedule, "--check"});
  };
  // Each iteration reads and writes its element.
  CHECK(check("for i in 64 { if y[i] < 1 { y[i] = -5 } }", "parallel i\n").exit == 0);
  CHECK(check("y[i in 64 where y[i] < 1] = -5", "parallel y.1.i\n").exit == 0);
  for (const std::string body :
       {"for i in 64 { if y[63 - i] < 1 { y[i] = 2 } }", "y[i in 64 where y[63 - i] < 1] = 2"}) {
    CAPTURE(body);
    const test::Finished refused = check(body, body.starts_with("for") ? "parallel i\n" : "parallel y.1.i\n");
    CHECK(refused.exit == 2);
    CHECK_THAT(refused.error, ContainsSubstring("cannot parallel"));
  }
}
