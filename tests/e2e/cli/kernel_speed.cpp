// `dovetail kernel` for speed: profiles, comparisons of targets, baselines in C; and the export of C.
#include "base/file.h"
#include "tests/e2e/cli/kernel_command.h"
#include "tests/exported_program.h"
#include "tests/skip.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::kernel_command;
using test::kernel_json;
using test::kernel_refused;
using test::kKernels;
using test::kMatmul;

namespace {

const std::vector<std::string> kOnAccelerator{"--hw", "1x16x16-ext"};

}  // namespace

TEST_CASE("kernel profile: the roofline of a processor") {
  const Json json = kernel_json(
      {"profile", kMatmul, "--schedule", kKernels + "matmul_cpu.schedule", "--threads", "1", "--repeat", "3"});
  const Json& profile = json["profile"];
  CHECK(profile["runs"] == 3);
  CHECK(profile["operations"] == 2.0 * 256 * 256 * 256);
  CHECK(profile["bytes"] == 3 * 256 * 256 * 4);
  CHECK(profile["seconds_low"] <= profile["seconds"]);
  CHECK(profile["seconds"] <= profile["seconds_high"]);
  const test::Finished text = kernel_command({"profile", kMatmul, "--threads", "1", "--repeat", "2"});
  CHECK_THAT(text.out, ContainsSubstring("profiled      matmul: 3 loops") && ContainsSubstring("768 KiB moved"));
  if (profile.contains("roofline"))
    CHECK_THAT(text.out, ContainsSubstring("intensity     42.7 operations a byte") && ContainsSubstring("reached"));
}

TEST_CASE("kernel profile: the cycles of the accelerator by what they were spent on") {
  std::vector<std::string> command{"profile",    kKernels + "matmul_int8.loops",
                                   "--schedule", kKernels + "matmul_int8_accel.schedule",
                                   "--target",   "accel"};
  command.insert(command.end(), kOnAccelerator.begin(), kOnAccelerator.end());
  const Json profile = kernel_json(command)["profile"];
  CHECK(profile["cycles"] == 10346);
  CHECK(profile["roofline"]["bound"] == "arithmetic");
  CHECK(profile.contains("timing"));
  const test::TemporaryFolder folder;
  command.insert(command.end(), {"--html", folder / "run.html"});
  const test::Finished text = kernel_command(command);
  CHECK_THAT(read_text_file(folder / "run.html").value(), ContainsSubstring("product"));
  kernel_refused({"profile", kMatmul, "--html", folder / "none.html"}, "nothing ran on the accelerator");
  CHECK_THAT(text.out, ContainsSubstring("cycles        10,346") && ContainsSubstring("gemm") &&
                           ContainsSubstring("of the bound"));
}

TEST_CASE("kernel compare: each target with its own schedule") {
  std::vector<std::string> command{"compare",    kKernels + "matmul_int8.loops",
                                   "--target",   "interpreter,cpu",
                                   "--target",   "accel",
                                   "--schedule", "accel=" + kKernels + "matmul_int8_accel.schedule",
                                   "--repeat",   "2"};
  command.insert(command.end(), kOnAccelerator.begin(), kOnAccelerator.end());
  const Json rows = kernel_json(command)["compared"];
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["target"] == "interpreter");
  CHECK(rows[1]["steps"] == 0);
  CHECK(rows[2]["steps"] == 37);
  CHECK(rows[2]["profile"]["cycles"] == 10346);
  for (const Json& row : rows) CHECK(row["agrees"] == true);
  // A target that does not take the program is a row with the reason.
  const test::Finished other = kernel_command({"compare", kMatmul, "--target", "cpu,accel", "--repeat", "1"});
  CHECK(other.exit == 0);
  CHECK_THAT(other.out, ContainsSubstring("not available") && ContainsSubstring("to the accelerator"));
  kernel_refused({"compare", kMatmul, "--target", "cpu,cpu"}, "listed twice");
  kernel_refused({"compare", kMatmul, "--target", "cpu,gpu"}, "gpu");
  kernel_refused({"run", kMatmul, "--target", "cpu,accel"}, "has one target");
  kernel_refused({"compare", kMatmul, "--schedule", "cpu=" + kMatmul, "--schedule", "cpu=" + kMatmul},
                 "two files are given");
  kernel_refused({"compare", kMatmul, "--target", "cpu", "--schedule", "accel=" + kMatmul}, "accel is not compared");
  kernel_refused({"run", kMatmul, "--target", "cpu", "--schedule", "accel=" + kMatmul}, "nothing runs on accel");
}

TEST_CASE("kernel bench: a C function with the same values, and one with others") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  const test::TemporaryFolder folder;
  const auto build = [&](const std::string& name, const std::string& source) {
    REQUIRE(write_text_file(folder / (name + ".c"), source).ok());
    const auto built =
        test::run_process({compiler, "-O2", "-shared", "-fPIC", "-o", folder / (name + ".so"), folder / (name + ".c")});
    INFO(built.error);
    REQUIRE(built.exit == 0);
    return std::string(folder / (name + ".so"));
  };
  const std::string right = build("right", read_text_file(kKernels + "matmul_baseline.c").value());
  const Json bench = kernel_json(
      {"bench", kMatmul, "--schedule", kKernels + "matmul_cpu.schedule", "--baseline", right + ":matmul"})["bench"];
  CHECK(bench["agrees"] == true);
  CHECK(bench["baseline_agrees"] == true);
  CHECK(bench["pairs"] >= 3);
  CHECK(bench["speedup_low"] <= bench["speedup_high"]);
  CHECK(bench["baseline_seconds"] > 0);
  // A product that forgets the last column, one that crashes, and missing ones.
  const std::string others = build("others", R"(void wrong(const float* x, const float* w, float* y) {
  for (int i = 0; i < 256; ++i)
    for (int j = 0; j < 255; ++j) {
      y[i * 256 + j] = 0;
      for (int r = 0; r < 256; ++r) y[i * 256 + j] += x[i * 256 + r] * w[j * 256 + r];
    }
}
void crashes(const float* x) { *(volatile int*)0 = *x; }
)");
  kernel_refused({"bench", kMatmul, "--baseline", others + ":wrong"}, "the baseline computes other values", 1);
  kernel_refused({"bench", kMatmul, "--baseline", others + ":crashes"}, "signal 11", 1);
  kernel_refused({"bench", kMatmul, "--baseline", others + ":nothing"}, "the library has no function nothing");
  kernel_refused({"bench", kMatmul, "--baseline", kMatmul + ":f"}, "the library cannot be loaded");
  kernel_refused({"bench", kMatmul, "--baseline", "lib.so"}, "write LIB.so:FUNCTION");
  kernel_refused({"bench", kMatmul}, "--baseline");
}

TEST_CASE("kernel export: C and objects of a scheduled program, which pass their tests") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  const auto passes = [&](const std::string& format, std::vector<std::string> words) {
    const test::TemporaryFolder folder;
    const std::string files = folder / "k";
    words.insert(words.begin(), "export");
    words.insert(words.end(), {"-o", files, "--format", format, "--name", "product"});
    const Json json = kernel_json(words);
    CHECK(json["format"] == format);
    CHECK(json["kernels"] == 1);
    CHECK(test::build_and_run(files, "product", compiler, {"-O1"}) == "");
  };
  passes("c", {kMatmul, "--size", "m=8", "--schedule", kKernels + "matmul_cpu.schedule"});
  passes("object", {kKernels + "matmul_int8.loops", "--size", "rows=8"});  // integers, whose sums have one value
  kernel_refused({"export", kMatmul}, "-o");
  kernel_refused({"export", kMatmul, "-o", "k", "--format", "elf"}, "elf");
  kernel_refused({"export", kMatmul, "-o", "k", "--cpu", "avx2"}, "C runs on every processor");
  kernel_refused({"export", kMatmul, "-o", "k", "--name", "a b"}, "a b");
}
