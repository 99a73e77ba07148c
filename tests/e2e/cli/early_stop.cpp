// `simulate --until`: the state of a program before its end.
#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/e2e/cli/two_launches.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {

struct UntilFolder : test::ProgramFolder {
  using ProgramFolder::ProgramFolder;
  Finished simulate(const std::string& engine, const std::string& until,
                    const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"simulate", path("p.s"), "--engine", engine, "--until", until};
    words.insert(words.end(), more.begin(), more.end());
    return test::dovetail(words);
  }
  // acc[0][lane] and y[lane] at that place.
  std::pair<std::int32_t, std::int8_t> state(const std::string& engine, const std::string& until,
                                             std::size_t lane = 0) const {
    const Finished run =
        simulate(engine, until, {"--sram-out", "acc=" + path("acc.npy"), "--output", path("y.npy") + "@y"});
    INFO(engine << " " << until << ": " << run.error);
    REQUIRE(run.exit == 0);
    return {read_npy(path("acc.npy")).value().data<std::int32_t>()[lane],
            read_npy(path("y.npy")).value().data<std::int8_t>()[lane]};
  }
};

using State = std::pair<std::int32_t, std::int8_t>;

}  // namespace

TEST_CASE("simulate --until an instruction stops before it, in SRAM and in memory") {
  const UntilFolder shop;
  for (const std::string engine : {"functional", "cycle"}) {
    CHECK(shop.state(engine, "#0", 1) == State{0, 0});
    CHECK(shop.state(engine, "plus", 1) == State{2, 0});
    CHECK(shop.state(engine, ":7", 1) == State{2, 0});
    CHECK(shop.state(engine, "#3", 1) == State{5, 0});
    CHECK(shop.state(engine, "y", 1) == State{5, 0});
    CHECK(shop.state(engine, "dram 0x1207", 1) == State{5, 0});
    CHECK(shop.state(engine, "acc[0]", 1) == State{0, 0});
    CHECK(shop.state(engine, "token compute->store", 1) == State{2, 0});
    CHECK(shop.state(engine, "again", 1) == State{5, 5});  // the second launch
    CHECK(shop.state(engine, "#5", 1) == State{105, 5});
  }
}

TEST_CASE("simulate --until a cycle stops in the same state as `debug` at that cycle") {
  const UntilFolder shop;
  const auto debug = [&](const std::string& commands) {
    REQUIRE(write_text_file(shop.path("commands"), commands).ok());
    return test::dovetail({"debug", shop.path("p.s"), "-x", shop.path("commands")}).out;
  };
  const std::string where = debug("step 2\nwhere\n");
  const std::int64_t start = std::stoll(where.substr(where.rfind("next cycle ") + 11));  // of `plus`
  CHECK(shop.state("cycle", "@" + std::to_string(start - 1), 1) == State{2, 0});
  CHECK(shop.state("cycle", "@" + std::to_string(start), 1) == State{5, 0});
  CHECK(shop.state("cycle", "0@" + std::to_string(start), 1) == State{5, 0});
  CHECK(shop.state("cycle", "1@0", 1) == State{5, 5});
  // At its last cycle a launch has run completely.
  const Finished whole = test::dovetail(
      {"simulate", shop.path("p.s"), "--engine", "cycle", "--launch", "0:4", "--report", shop.path("r.json")});
  REQUIRE(whole.exit == 0);
  const auto cycles = read_json_file(shop.path("r.json")).value()["timing"]["launches"][0].get<std::int64_t>();
  CHECK(shop.state("cycle", "@" + std::to_string(cycles), 1) == State{5, 5});
  const Finished beyond = shop.simulate("cycle", "@" + std::to_string(cycles + 1));
  CHECK(beyond.exit == 1);
  CHECK_THAT(beyond.error, ContainsSubstring("launch 0 ends after " + std::to_string(cycles) + " cycles"));
}

TEST_CASE("simulate --until reports the place where it stopped, and the counters so far") {
  const UntilFolder shop;
  const Finished run = shop.simulate("cycle", "again", {"--report", shop.path("r.json"), "--check"});
  REQUIRE(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("stopped       before #4 (" + shop.path("p.s") + ":10) `alu.add") &&
                          ContainsSubstring("in cycle 0 of launch 1") &&
                          ContainsSubstring("4 instructions: 0 load queue, 3 compute queue, 1 store queue; 1 tokens") &&
                          ContainsSubstring("races         none"));
  const Json report = read_json_file(shop.path("r.json")).value();
  CHECK(report["until"] == Json{{"place", "again"}, {"launch", 1}, {"instruction", 4}, {"cycle", 0}});
  CHECK(report["counters"]["instructions"]["total"] == 4);
  CHECK(report["counters"]["bytes_stored"] == 16);
  // The same on an engine without a clock.
  const Finished other = shop.simulate("functional", "again", {"--report", shop.path("r.json")});
  CHECK(read_json_file(shop.path("r.json")).value()["counters"] == report["counters"]);
  CHECK(read_json_file(shop.path("r.json")).value()["until"] ==
        Json{{"place", "again"}, {"launch", 1}, {"instruction", 4}});
}

TEST_CASE("simulate --until: a place that is not reached, and a failure before it") {
  const UntilFolder shop;
  for (const std::string engine : {"functional", "cycle"}) {
    const Finished never = shop.simulate(engine, "acc[7]", {"--dram-out", shop.path("out.bin")});
    CHECK(never.exit == 1);
    CHECK_THAT(never.error, ContainsSubstring("ends without reaching it") && ContainsSubstring("Hint: "));
    CHECK_FALSE(std::filesystem::exists(shop.path("out.bin")));
    // The place is not in the launches that run.
    CHECK(shop.simulate(engine, "again", {"--launch", "0:4"}).exit == 1);
  }
  std::string lost = test::kTwoLaunches;
  lost.erase(lost.find(" push_next"), 10);
  const UntilFolder hung(lost);
  for (const std::string engine : {"functional", "cycle"}) {
    CHECK(hung.state(engine, "plus", 1) == State{2, 0});
    const Finished failed = hung.simulate(engine, "#3");
    CHECK(failed.exit == 1);
    CHECK_THAT(failed.error, ContainsSubstring("deadlock"));
    CHECK(hung.simulate(engine, "plus", {"--check"}).exit == 1);  // which reports it first
  }
}

TEST_CASE("simulate --until: unknown places are errors, and so are engines that only run to the end") {
  const UntilFolder shop;
  const auto refused = [&](const std::string& engine, const std::string& until,
                           const std::vector<std::string>& more = {}) {
    const Finished run = shop.simulate(engine, until, more);
    CHECK(run.exit == 2);
    CHECK_THAT(run.error, ContainsSubstring("Hint: "));
    return run.error;
  };
  CHECK_THAT(refused("cycle", "#6"), ContainsSubstring("the program has 6 instructions"));
  CHECK_THAT(refused("cycle", ":1"), ContainsSubstring("no instruction comes from this line"));
  CHECK_THAT(refused("cycle", "agian"), ContainsSubstring("no label") && ContainsSubstring("did you mean `again`?"));
  CHECK_THAT(refused("cycle", "acc[9999]"), ContainsSubstring("not within the 2048 elements"));
  CHECK_THAT(refused("cycle", "token a->b"), ContainsSubstring("this is not a token FIFO"));
  CHECK_THAT(refused("cycle", "dram here"), ContainsSubstring("this is not an address"));
  CHECK_THAT(refused("cycle", "#1 #2"), ContainsSubstring("this word is unexpected"));
  CHECK_THAT(refused("cycle", " "), ContainsSubstring("the value is empty"));
  CHECK_THAT(refused("cycle", "@x"), ContainsSubstring("the value must be @CYCLE or LAUNCH@CYCLE"));
  CHECK_THAT(refused("cycle", "2@0"), ContainsSubstring("the program has 2 launches"));
  CHECK_THAT(refused("functional", "@10"), ContainsSubstring("has no clock") && ContainsSubstring("--engine cycle"));
  CHECK_THAT(refused("rtl", "#1"), ContainsSubstring("engine rtl runs a launch to its end"));
  CHECK_THAT(refused("cycle", "#1", {"--trace", shop.path("t.json")}), ContainsSubstring("--trace"));
  CHECK_THAT(refused("cycle", "#1", {"--html", shop.path("t.html")}), ContainsSubstring("--html"));
}
