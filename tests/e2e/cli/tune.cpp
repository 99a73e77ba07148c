// From a model to a database of schedules, and back to a compiler that uses them.
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kDigits;

namespace {

std::uint64_t cycles_of(const std::vector<std::string>& more) {
  const test::TemporaryFolder folder;
  std::vector<std::string> arguments{"run",      kDigits, "--target", "accel",    "--hw",           "1x16x16-ext",
                                     "--engine", "cycle", "--check",  "--report", folder / "r.json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Finished run = test::dovetail(arguments);
  INFO(run.error << run.out);
  REQUIRE(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("all equal"));
  const auto cycles = read_json_file(folder / "r.json").value().at("latency").at("cycles").get<std::uint64_t>();
  CHECK(cycles > 0);
  return cycles;
}

}  // namespace

TEST_CASE("tune: its schedules are recorded, compiled, faster, and compute the same") {
  const test::TemporaryFolder folder;
  const std::string records = folder / "r.db";
  const std::vector<std::string> model{kDigits, "--target", "accel", "--hw", "1x16x16-ext"};
  const auto with = [&](std::string command, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{std::move(command)};
    arguments.insert(arguments.end(), model.begin(), model.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::dovetail(arguments);
  };
  const Finished tuned =
      with("tune", {"--trials", "6", "--records", records, "--report", folder / "t.json", "--html", folder / "t.html"});
  INFO(tuned.error << tuned.out);
  REQUIRE(tuned.exit == 0);
  CHECK_THAT(tuned.out, ContainsSubstring("in the geometric mean of the tasks"));
  const Json report = read_json_file(folder / "t.json").value();
  CHECK(report["kind"] == "tune");
  CHECK(report["gains"]["accel"]["network"].get<double>() >= 1);
  std::size_t trials = 0;
  for (const Json& task : report["tasks"]) {
    trials += task["trials"].size();
    CHECK(task["best_cost"].get<double>() <= task["default_cost"].get<double>());
    CHECK(task["unit"] == "cycles");
  }
  CHECK(trials > report["tasks"].size());  // some have few schedules on such small hardware
  CHECK(trials <= 6 * report["tasks"].size());
  const std::string page = read_text_file(folder / "t.html").value();
  CHECK_THAT(page, ContainsSubstring("<svg") && ContainsSubstring("dense1") && !ContainsSubstring("<script"));

  const Finished compiled = with("compile", {"--records", records});
  INFO(compiled.error);
  REQUIRE(compiled.exit == 0);
  // The report counts the records that make the network faster: all of them, where the network is not slower with all.
  CHECK_THAT(compiled.out, ContainsSubstring(" by records") && ContainsSubstring("record: ") &&
                               !ContainsSubstring("schedules     0 of "));
  CHECK(cycles_of({"--records", records}) <= cycles_of({}));
  // There are no records for another memory.
  CHECK_THAT(with("compile", {"--records", records, "--memory", "ideal:latency=100"}).out,
             ContainsSubstring("schedules     0 of ") && ContainsSubstring("no record"));

  // The same command again measures only new candidates, of one kernel.
  const Finished again = with("tune", {"--trials", "2", "--task", "res1_conv1", "--search", "random", "--records",
                                       records, "--report", folder / "u.json"});
  INFO(again.error << again.out);
  REQUIRE(again.exit == 0);
  const Json more = read_json_file(folder / "u.json").value();
  REQUIRE(more["tasks"].size() == 1);
  CHECK(more["tasks"][0]["known"].get<int>() > 0);
}

TEST_CASE("tune: products that end with their epilogue") {
  const test::TemporaryFolder folder;
  for (const std::string hardware : {"1x16x16-g2", "1x16x16-g3"}) {
    const Finished tuned = test::dovetail({"tune", kDigits, "--target", "accel", "--hw", hardware, "--records",
                                           folder / (hardware + ".db"), "--trials", "2"});
    INFO(tuned.error);
    CHECK(tuned.exit == 0);
  }
}

TEST_CASE("tune: of two processes on one database one is killed; no record is lost or duplicated") {
  const test::TemporaryFolder folder;
  const auto tune = [&](int trials, int seed, const std::string& report) {
    return fmt::format(
        "{} tune {} --target accel --hw 1x16x16-ext --search random --early-stop 0 --batch 2 --task conv2 --task "
        "res1_conv1 --records {} --trials {} --seed {} --report {} > /dev/null 2>&1",
        DOVETAIL_CLI, kDigits, (folder / "r.db").string(), trials, seed, report);
  };
  const std::string report = folder / "survivor.json";
  // The first would take minutes.
  const Finished both = test::run_process(
      {"/bin/sh", "-c",
       fmt::format(
           "{} & first=$!; {} & second=$!; sleep 1.5; pkill -9 -P $first; kill -9 $first; wait $second; echo $?",
           tune(100000, 1, folder / "killed.json"), tune(40, 2, report))});
  INFO(both.out << both.error);
  CHECK(both.out == "0\n");
  const Finished exported = test::dovetail({"records", "export", folder / "r.db"});
  REQUIRE(exported.exit == 0);
  std::set<std::pair<std::string, std::string>> keys;
  std::size_t lines = 0;
  std::istringstream text(exported.out);
  for (std::string line; std::getline(text, line); ++lines) {
    const Json record = Json::parse(line);
    keys.insert({record["task"], record["decisions"].dump()});
  }
  CHECK(keys.size() == lines);
  const Json survivor = read_json_file(report).value();
  std::size_t found = 0;
  for (const Json& task : survivor["tasks"])
    for (const Json& trial : task["trials"]) {
      ++found;
      Json decisions = Json::object();
      std::istringstream words(trial["decisions"].get<std::string>());
      for (std::string word; words >> word;)
        decisions[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
      CHECK(keys.contains({task["task"], decisions.dump()}));
    }
  CHECK(found >= 40);
}

TEST_CASE("tune: Ctrl-C ends it with its results so far, which stay recorded") {
  const test::TemporaryFolder folder;
  // As soon as the defaults of the eight tasks are recorded, and some candidates.
  const Finished interrupted = test::run_process(
      {"/bin/sh", "-c",
       fmt::format(
           "{} tune {} --target accel --hw 1x16x16-ext --search random --early-stop 0 --trials 100000 --batch 1 "
           "--records {} & tuner=$!; until [ $({} records export {} 2> /dev/null | wc -l) -ge 12 ]; do sleep 0.1; "
           "done; "
           "kill -INT $tuner; wait $tuner; echo ended by $?",
           DOVETAIL_CLI, kDigits, (folder / "r.db").string(), DOVETAIL_CLI, (folder / "r.db").string())});
  INFO(interrupted.error);
  CHECK_THAT(interrupted.out, ContainsSubstring("stopped") && ContainsSubstring("ended by 130"));
  const Finished list = test::dovetail({"records", "list", folder / "r.db"});
  CHECK(list.exit == 0);
  CHECK_THAT(list.out, ContainsSubstring("conv"));
}

TEST_CASE("tune: tasks without a model, by name") {
  const test::TemporaryFolder folder;
  const Finished list = test::dovetail({"tune", "--list", "--target", "accel"});
  REQUIRE(list.exit == 0);
  CHECK_THAT(list.out, ContainsSubstring("accel.conv3x3_small") && !ContainsSubstring("cpu.matmul"));
  CHECK_THAT(test::dovetail({"tune", "--list"}).out, ContainsSubstring("cpu.matmul"));
  // For the requested hardware.
  const auto key_on = [&](const char* hardware) {
    const Finished one = test::dovetail({"tune", "--list", "--json", "--task", "accel.conv1x1", "--hw", hardware});
    REQUIRE(one.exit == 0);
    return parse_json(one.out, "list").value().at("tasks").at(0).at("task").get<std::string>();
  };
  CHECK(key_on("1x16x16") != key_on("1x16x16-ext"));
  const Finished tuned = test::dovetail({"tune", "--task", "accel.conv3x3_small", "--hw", "1x16x16-ext", "--trials",
                                         "8", "--records", folder / "r.db", "--json"});
  INFO(tuned.error);
  REQUIRE(tuned.exit == 0);
  const Json report = parse_json(tuned.out, "tune").value();
  REQUIRE(report.at("tasks").size() == 1);
  CHECK(report.at("model") == "built-in tasks");
  CHECK_THAT(test::dovetail({"records", "list", folder / "r.db"}).out, ContainsSubstring("accel.conv3x3_small"));

  const auto refused = [&](std::vector<std::string> arguments, const char* why) {
    arguments.insert(arguments.begin(), "tune");
    arguments.insert(arguments.end(), {"--records", folder / "r.db"});
    const Finished run = test::dovetail(arguments);
    INFO(run.error);
    CHECK(run.exit == 2);
    CHECK_THAT(run.error, ContainsSubstring(why));
  };
  refused({}, "nothing to tune");
  refused({"--task", "accel.conv9x9"}, "choose one of accel.conv3x3");
  refused({"--task", "accel.conv1x1", "--target", "cpu"}, "the task is for target accel");
  refused({"--task", "accel.conv1x1", "--shape", "N=1"}, "--shape");
}

TEST_CASE("tune: --list prints the tasks, and bad usage says what is missing") {
  const Finished list = test::dovetail({"tune", kDigits, "--target", "accel", "--hw", "tiny", "--list"});
  REQUIRE(list.exit == 0);
  CHECK_THAT(list.out, ContainsSubstring("convolution") && ContainsSubstring("accel"));
  CHECK_THAT(test::dovetail({"tune", kDigits, "--target", "accel"}).error, ContainsSubstring("--records"));
  const auto refused = [](const std::vector<std::string>& more) {
    const test::TemporaryFolder folder;
    std::vector<std::string> arguments{"tune", kDigits, "--target", "accel", "--records", folder / "r.db"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished run = test::dovetail(arguments);
    CHECK(run.exit == 2);
    return run.error;
  };
  CHECK_THAT(refused({"--search", "tabu"}), ContainsSubstring("random") && ContainsSubstring("guided"));
  CHECK_THAT(refused({"--task", "nothing"}), ContainsSubstring("no task \"nothing\""));
  CHECK_THAT(refused({"--trials", "0"}), ContainsSubstring("--trials"));
  CHECK_THAT(refused({"--time", "5steps"}), ContainsSubstring("the value must be a number with a unit"));
}
