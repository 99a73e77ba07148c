// `dovetail kernel` for schedules: the prompt, rejected steps, and tuning.
#include "base/file.h"
#include "tests/e2e/cli/kernel_command.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::kernel_command;
using test::kernel_json;
using test::kernel_refused;
using test::kKernels;
using test::kMatmul;

namespace {

// What `kernel edit` prints for these lines.
test::Finished edited(const std::string& lines, std::vector<std::string> options = {}) {
  const test::TemporaryFolder folder;
  const std::string script = folder / "lines";
  REQUIRE(write_text_file(script, lines).ok());
  options.insert(options.begin(), {"edit", kMatmul, "-x", script});
  return kernel_command(options);
}

}  // namespace

TEST_CASE("kernel: a rejected step shows the loops with its place") {
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "bad.schedule", "split y.i 4 -> a b\nparallel y.r\n").ok());
  const test::Finished refused = kernel_command({"check", kMatmul, "--schedule", folder / "bad.schedule"});
  CHECK(refused.exit == 2);
  CHECK_THAT(refused.error, ContainsSubstring("  for a in 64                      # 264 KiB\n") &&
                                ContainsSubstring("        for y.r in 256             # 12 B     <-- parallel y.r\n") &&
                                ContainsSubstring("error: cannot parallel y.r (step `parallel y.r`)"));
  // What a step made legal, and what it changed.
  const test::Finished explained =
      kernel_command({"print", kMatmul, "--schedule", kKernels + "matmul_cpu.schedule", "--explain"});
  CHECK_THAT(explained.out, ContainsSubstring("now legal: vectorize ji\n"));
}

TEST_CASE("kernel edit: steps, suggestions, undo and a saved schedule") {
  const test::TemporaryFolder folder;
  const std::string saved = folder / "saved.schedule";
  const test::Finished all = edited(
      "# a comment\nsplit y.i 4 -> it ii\nvectorize y.r\nsuggest it\nparallel it\nundo\n"
      "undo\nredo\nshow y.j\nexplain\nsave " +
      saved + "\nquit\nparallel it\n");
  INFO(all.error);
  CHECK(all.exit == 0);
  CHECK_THAT(all.out, ContainsSubstring("(kernel) split y.i 4 -> it ii\nsplit y.i 4 -> it ii\n  the same counts\n"
                                        "  now legal: parallel it, parallel ii\n") &&
                          ContainsSubstring("rejected: cannot vectorize y.r") &&
                          ContainsSubstring("<-- vectorize y.r") && ContainsSubstring("  parallel it ") &&
                          ContainsSubstring("(kernel) undo\n1 steps\n(kernel) undo\n0 steps\n"));
  CHECK_THAT(all.out, !ContainsSubstring("(kernel) quit\n(kernel)"));  // nothing after quit is read
  CHECK(read_text_file(saved).value() == "split y.i 4 -> it ii\n");
  const Json checked = kernel_json({"check", kMatmul, "--schedule", saved});
  CHECK(checked["program"]["trace"] == "split y.i 4 -> it ii\n");
  // The lines continue after a schedule.
  CHECK_THAT(edited("undo\nshow\n", {"--schedule", saved}).out,
             ContainsSubstring("no step is left to take back") && ContainsSubstring("for it in 64"));
}

TEST_CASE("kernel edit: the text of the program, its time, and its cycles where it has them") {
  const test::Finished all = edited("show program\ntime\ncycles\nhelp\n", {"--threads", "1"});
  CHECK(all.exit == 0);
  CHECK_THAT(all.out, ContainsSubstring("program matmul {") && ContainsSubstring("GOP/s on cpu") &&
                          ContainsSubstring("rejected: cannot lower matmul to the accelerator") &&
                          ContainsSubstring("suggest NAME"));
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "lines", "cycles\n").ok());
  const test::Finished counted =
      kernel_command({"edit", kKernels + "matmul_int8.loops", "--hw", "1x16x16-ext", "--schedule",
                      kKernels + "matmul_int8_accel.schedule", "-x", folder / "lines"});
  CHECK_THAT(counted.out, ContainsSubstring("10,346 cycles with engine cycle"));
}

TEST_CASE("kernel edit: lines that are not understood end with status 2, after all others") {
  const test::Finished wrong = edited("paint\nshow nothing\nsuggest\nsave\nsplit y.i 4\n");
  CHECK(wrong.exit == 2);
  CHECK_THAT(wrong.error, ContainsSubstring("lines:1: paint") && ContainsSubstring("lines:2: nothing") &&
                              ContainsSubstring("no loop is named") && ContainsSubstring("no file is named"));
  CHECK_THAT(wrong.out, ContainsSubstring("split y.i 4 -> y.i_0 y.i_1"));
  kernel_refused({"edit", kMatmul, "--json"}, "--json");
  kernel_refused({"print", kMatmul, "-x", kMatmul}, "`kernel print` does not use it");
}

TEST_CASE("kernel tune: samples on the accelerator, and the best as a file") {
  const test::TemporaryFolder folder;
  std::string steps = read_text_file(kKernels + "matmul_int8_accel.schedule").value();
  const auto replace = [&](const std::string& from, const std::string& to) {
    REQUIRE(steps.find(from) != steps.npos);
    steps.replace(steps.find(from), from.size(), to);
  };
  replace("split y.i 64", "sample rows among 16,64 = 16\nsplit y.i $rows");
  replace("split y.j 64", "sample columns among 7,64 = 7\nsplit y.j $columns");
  REQUIRE(write_text_file(folder / "s.schedule", steps).ok());
  const std::vector<std::string> program{kKernels + "matmul_int8.loops", "--hw", "1x16x16-ext", "--target", "accel"};
  std::vector<std::string> tune{"tune", "--schedule", folder / "s.schedule", "-o", folder / "best.schedule"};
  tune.insert(tune.end(), program.begin(), program.end());
  const Json json = kernel_json(tune);
  CHECK(json["tuning"]["best_cost"] == 10346);
  CHECK(json["tuning"]["best_decisions"] == Json{{"columns", "64"}, {"rows", "64"}});
  CHECK(json["tuning"]["illegal"] > 0);
  std::vector<std::string> run{"run", "--schedule", folder / "best.schedule", "--check"};
  run.insert(run.end(), program.begin(), program.end());
  CHECK(kernel_json(run)["run"]["cycles"] == 10346);
}

TEST_CASE("kernel tune: a limit ends the search, and the best so far counts") {
  const test::TemporaryFolder folder;
  std::string text = read_text_file(kMatmul).value();
  text.replace(text.find("input w"), 7, "constant w");  // so that the compiler's schedule has many choices
  REQUIRE(write_text_file(folder / "weights.loops", text).ok());
  const Json json = kernel_json(
      {"tune", folder / "weights.loops", "--trials", "100000", "--limit", "4s", "-o", folder / "best.schedule"});
  CHECK(json["tuning"]["ended"] == "stopped");
  CHECK(json["tuning"]["best_cost"] <= json["tuning"]["default_cost"]);
  CHECK(kernel_command({"check", folder / "weights.loops", "--schedule", folder / "best.schedule"}).exit == 0);
}

TEST_CASE("kernel tune: on the processor without a schedule, within its limits") {
  const test::TemporaryFolder folder;
  const test::Finished tuned = kernel_command(
      {"tune", kMatmul, "--size", "m=64", "--size", "n=64", "--trials", "2", "-o", folder / "best.schedule"});
  INFO(tuned.error);
  REQUIRE(tuned.exit == 0);
  CHECK_THAT(tuned.out, ContainsSubstring("2 measured") && ContainsSubstring("the compiler's schedules"));
  const Json ran = kernel_json({"run", kMatmul, "--size", "m=64", "--size", "n=64", "--schedule",
                                folder / "best.schedule", "--target", "cpu", "--check"});
  CHECK(ran["run"]["agrees"] == true);
  kernel_refused({"tune", kMatmul, "--schedule", kKernels + "matmul_cpu.schedule"}, "it has no sample step");
  kernel_refused({"tune", kMatmul, "--target", "host"}, "no schedules to tune");
  kernel_refused({"tune", kMatmul, "--search", "guess"}, "guess");
  kernel_refused({"tune", kMatmul, "-o", "/nowhere/best.schedule"}, "/nowhere");
}
