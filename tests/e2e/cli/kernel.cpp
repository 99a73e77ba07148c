// `dovetail kernel`: a loop program of the user's own on each target, with a schedule by hand.
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "tests/e2e/cli/kernel_command.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kernel_command;
using test::kKernels;

namespace {

Json json_of(const Finished& finished) {
  INFO(finished.error);
  REQUIRE(finished.exit == 0);
  return parse_json(finished.out, "output").value();
}

template <typename T>
void write(const std::string& path, const std::vector<T>& values) {
  REQUIRE(write_npy(path, NdArray::from<T>({static_cast<std::int64_t>(values.size())}, values)).ok());
}

}  // namespace

TEST_CASE("kernel: examples run on interpreter and processor with the same values") {
  for (const std::string name : {"matmul", "matmul_int8", "jacobi_2d"})
    for (const std::string target : {"interpreter", "host", "cpu"}) {
      INFO(name << " on " << target);
      const Json ran = json_of(kernel_command(
          {"run", kKernels + name + ".loops", "--target", target, "--check", "--json", "--threads", "2"}));
      CHECK(ran["run"]["agrees"] == true);
      CHECK(ran["run"]["operations"] > 0);
    }
}

TEST_CASE("kernel: a schedule keeps the values, and brings a program to the accelerator") {
  const Json cpu =
      json_of(kernel_command({"run", kKernels + "matmul.loops", "--size", "m=100", "--size", "k=77", "--schedule",
                              kKernels + "matmul_cpu.schedule", "--target", "cpu", "--check", "--json"}));
  CHECK(cpu["run"]["agrees"] == true);
  for (const std::string engine : {"functional", "cycle"}) {
    const Json accel = json_of(
        kernel_command({"run", kKernels + "matmul_int8.loops", "--schedule", kKernels + "matmul_int8_accel.schedule",
                        "--hw", "1x16x16-ext", "--target", "accel", "--engine", engine, "--check", "--json"}));
    CHECK(accel["run"]["agrees"] == true);
    CHECK(accel["run"].contains("cycles") == (engine == "cycle"));
    if (engine == "cycle") CHECK(accel["run"]["cycles"] == 10346);  // as docs/howto/schedule-by-hand.md counts them
  }
  const Finished functional =
      kernel_command({"run", kKernels + "matmul_int8.loops", "--schedule", kKernels + "matmul_int8_accel.schedule",
                      "--hw", "1x16x16-ext", "--target", "accel", "--engine", "functional"});
  CHECK(functional.exit == 0);
  // The simulator's time is not that of the accelerator.
  CHECK_THAT(functional.out, ContainsSubstring("which has no clock") && !ContainsSubstring("GOP/s"));
  const Finished explained =
      kernel_command({"print", kKernels + "matmul.loops", "--schedule", kKernels + "matmul_cpu.schedule", "--explain"});
  CHECK(explained.exit == 0);
  CHECK_THAT(explained.out, ContainsSubstring("as written\n  33,554,432 operations") &&
                                ContainsSubstring("split y.i 4 -> it ii") &&
                                ContainsSubstring("for it in 64 parallel"));
}

TEST_CASE("kernel: a sparse product has the values of its rows") {
  const test::TemporaryFolder folder;
  write<std::int64_t>(folder / "begin.npy", {0, 2, 2, 5});
  write<std::int32_t>(folder / "column.npy", {0, 3, 1, 2, 3});
  write<float>(folder / "values.npy", {1, 2, 3, 4, 5});
  write<float>(folder / "x.npy", {1, 10, 100, 1000});
  for (const std::string target : {"interpreter", "cpu"}) {
    std::vector<std::string> command{
        "run", kKernels + "csr_product.loops", "--target", target, "--output-dir", folder / "out", "--check"};
    for (const char* size : {"rows=3", "columns=4", "elements=5"}) command.insert(command.end(), {"--size", size});
    for (const char* input : {"begin", "column", "values", "x"})
      command.insert(command.end(), {"--input", std::string(input) + "=" + std::string(folder / input) + ".npy"});
    const Finished ran = kernel_command(command);
    INFO(ran.error);
    REQUIRE(ran.exit == 0);
    const auto y = read_npy(std::string(folder / "out/y.npy"));
    REQUIRE(y.ok());
    const auto values = y->data<float>();
    CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{2001, 0, 5430});
  }
}

TEST_CASE("kernel: a bundle runs as any other") {
  const test::TemporaryFolder folder;
  const Finished made =
      kernel_command({"compile", kKernels + "matmul_int8.loops", "--target", "cpu", "-o", folder / "k.dvt"});
  INFO(made.error);
  REQUIRE(made.exit == 0);
  CHECK(test::dovetail({"run", folder / "k.dvt"}).exit == 0);
  REQUIRE(
      kernel_command({"compile", kKernels + "matmul_int8.loops", "--target", "host", "-o", folder / "h.dvt"}).exit ==
      0);
  CHECK(test::dovetail({"export", folder / "h.dvt", "-o", folder / "c"}).exit == 0);
}

TEST_CASE("kernel: bad input is refused with its place") {
  const test::TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& why, int exit = 2) {
    const Finished finished = kernel_command(arguments);
    CHECK(finished.exit == exit);
    CHECK_THAT(finished.error, ContainsSubstring(why));
  };
  const std::string matmul = kKernels + "matmul.loops";
  refused({"paint", matmul}, "the actions are print, check, run, edit");
  refused({"run", "missing.loops"}, "missing.loops");
  refused({"print", matmul, "--size", "q=3"}, "it declares no size q. Hint: its sizes are k, m, n");
  refused({"print", matmul, "--size", "m=-3"}, "--size");
  refused({"compile", matmul, "--target", "cpu"}, "-o");
  refused({"print", matmul, "--check"}, "--check");
  refused({"run", matmul, "--target", "gpu"}, "gpu");
  REQUIRE(write_text_file(folder / "bad.schedule", "split y.i 4 -> a b\nparallel y.r\n").ok());
  refused({"check", matmul, "--schedule", folder / "bad.schedule"}, "step `parallel y.r`");
  REQUIRE(write_text_file(folder / "bad.loops", "program p {\n output y: int8[3]\n y[i in 4] = 1\n}\n").ok());
  refused({"check", folder / "bad.loops"}, "bad.loops:3:2");
  refused({"check", kKernels + "csr_product.loops", "--target", "accel"}, "cannot");
  refused({"run", kKernels + "csr_product.loops"}, "values", 1);
}
