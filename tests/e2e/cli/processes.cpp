// Sweeps and tuning in several processes, which mpirun starts on this machine: they give the results of one process,
// also where processes fail or are killed.
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/process.h"
#include "tests/skip.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kDigits;

namespace {

constexpr const char* kMpirun = "/usr/bin/mpirun";

constexpr const char* kManyPoints = R"({"hardware": "1x16x16-ext",
  "axes": {"acc_buffer_bytes": [16384, 131072], "bus_bytes": [8, 16], "wgt_buffer_bytes": [16384, 65536],
           "memory": ["ideal", "bank:ddr4-2400"], "clock_mhz": [200, 400]},
  "together": [[{"block_in": 8, "block_out": 8}, {"block_in": 16, "block_out": 16}]]})";

bool has_mpi() {
  const bool here =
      std::filesystem::exists(kMpirun) &&
      std::filesystem::exists(std::filesystem::path(DOVETAIL_BINARY_DIR) / "lib" / "dovetail" / "libdovetail_mpi.so");
  if (!here) test::skip("there is no mpirun, or the kit was built without MPI");
  return here;
}

// The commands of one launch, one for each process.
Finished mpirun(const std::vector<std::vector<std::string>>& processes) {
  std::vector<std::string> words{kMpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"};
  for (const std::vector<std::string>& process : processes) {
    if (&process != &processes.front()) words.emplace_back(":");
    words.insert(words.end(), {"-n", "1"});
    words.insert(words.end(), process.begin(), process.end());
  }
  return test::run_process(words);
}
std::vector<std::string> explore_words(const std::string& model, const std::string& space, const std::string& out) {
  return {DOVETAIL_CLI, "explore", model, space, "-o", out, "--no-check"};
}

std::string csv_of(const std::string& folder) {
  const auto text = read_text_file(std::filesystem::path(folder) / "points.csv");
  return text.ok() ? *text : "";
}

}  // namespace

TEST_CASE("processes: a sweep has the same points as in one process") {
  if (!has_mpi()) return;
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "space.json", kManyPoints).ok());
  const auto command = [&](const char* out) { return explore_words(kDigits, folder / "space.json", folder / out); };
  REQUIRE(test::run_process(command("alone")).exit == 0);
  const Finished together = mpirun({command("together"), command("together"), command("together")});
  INFO(together.error << together.out);
  REQUIRE(together.exit == 0);
  CHECK_THAT(together.out, ContainsSubstring("64 of 64 points") && ContainsSubstring("processes     3, "));
  CHECK(together.out.find("explored") == together.out.rfind("explored"));  // only one process prints
  CHECK(csv_of(folder / "together") == csv_of(folder / "alone"));
}

TEST_CASE("processes: a process with other files, or none, ends the sweep with its name") {
  if (!has_mpi()) return;
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "space.json", kManyPoints).ok());
  REQUIRE(
      write_text_file(folder / "other.json", R"({"hardware": "1x16x16-ext", "axes": {"bus_bytes": [8, 16]}})").ok());
  const auto with = [&](const std::string& model, const std::string& space) {
    return mpirun(
        {explore_words(kDigits, folder / "space.json", folder / "out"), explore_words(model, space, folder / "out")});
  };
  const Finished other = with(kDigits, folder / "other.json");
  CHECK(other.exit != 0);
  CHECK_THAT(other.error, ContainsSubstring("processes work on different tasks (process 1 on "));
  const Finished none = with(folder / "none.onnx", folder / "space.json");
  CHECK(none.exit != 0);
  CHECK_THAT(none.error, ContainsSubstring("process 1 on ") && ContainsSubstring("none.onnx"));
  const Finished jobs =
      mpirun({{DOVETAIL_CLI, "explore", kDigits, folder / "space.json", "-o", folder / "out", "--jobs", "2"},
              explore_words(kDigits, folder / "space.json", folder / "out")});
  CHECK(jobs.exit != 0);
  CHECK_THAT(jobs.error, ContainsSubstring("--jobs"));
}

TEST_CASE("processes: a killed process loses no finished point") {
  if (!has_mpi()) return;
  const test::TemporaryFolder folder;
  Json space = parse_json(kManyPoints, "space").value();
  space["axes"]["uop_buffer_bytes"] = {8192, 16384, 32768};
  space["axes"]["inp_buffer_bytes"] = {16384, 32768};
  REQUIRE(write_text_file(folder / "space.json", space.dump()).ok());
  const std::string out = folder / "out";
  const auto command = [&](const std::string& into) { return explore_words(kDigits, folder / "space.json", into); };
  // As soon as the database holds a measured point, this process is killed.
  std::vector<std::string> killed{
      "/bin/sh", "-c",
      fmt::format("(until grep -qs measured {}/points.db*; do sleep 0.05; done; kill -9 $$) & exec \"$@\"", out), "sh"};
  for (const std::string& word : command(out)) killed.push_back(word);
  const Finished failed = mpirun({command(out), killed});
  INFO(failed.error << failed.out);
  CHECK(failed.exit != 0);
  CHECK_THAT(failed.error, ContainsSubstring("signal 9"));
  // The same command continues: finished points are not measured again.
  std::vector<std::string> again = command(out);
  again.emplace_back("--json");
  const Finished rest = test::run_process(again);
  INFO(rest.error);
  REQUIRE(rest.exit == 0);
  const auto finished = parse_json(rest.out, "rest").value().at("finished").get<std::int64_t>();
  CHECK(finished > 0);
  CHECK(finished < 384);
  REQUIRE(test::run_process(command(folder / "alone")).exit == 0);
  CHECK(csv_of(out) == csv_of(folder / "alone"));
}

TEST_CASE("processes: tuning finds the same candidates as one process") {
  if (!has_mpi()) return;
  const test::TemporaryFolder folder;
  const auto tune = [&](const std::string& name) {
    return std::vector<std::string>{DOVETAIL_CLI,
                                    "tune",
                                    kDigits,
                                    "--target",
                                    "accel",
                                    "--hw",
                                    "1x16x16",
                                    "--trials",
                                    "6",
                                    "--records",
                                    folder / (name + ".db"),
                                    "--report",
                                    folder / (name + ".json")};
  };
  REQUIRE(test::run_process(tune("alone")).exit == 0);
  const Finished together = mpirun({tune("together"), tune("together")});
  INFO(together.error << together.out);
  REQUIRE(together.exit == 0);
  const Json one = read_json_file(folder / "alone.json").value(),
             two = read_json_file(folder / "together.json").value();
  CHECK(one["tasks"] == two["tasks"]);
}
