// The tuning driver on tasks whose costs a function gives: its results, its records, and its handling of failures.
#include "compiler/tune/tune.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/hash.h"
#include "compiler/schedule/context.h"
#include "compiler/tune/search.h"
#include "loops/parse.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using namespace dovetail::tune;

namespace {

// Three numbers to decide. The program does not change; the measurer computes the costs.
bool write_numbers(schedule::Context& c) {
  const std::vector<std::int64_t> candidates{1, 2, 3, 4, 5, 6, 7, 8};
  c.sample("a", candidates, 8);
  c.sample("b", candidates, 8);
  c.sample("c", candidates, 1);
  return true;
}
const schedule::Sketch kNumbers{"numbers", 1, write_numbers};

TuningTask task_of(int extent, int uses = 1) {
  auto program = loops::parse_program(
      fmt::format(
          "program p {{ input x: int32[{0}] output y: int32[{0}] for i in {0} {{ block b {{ spatial v in {0} = i "
          "reads x[v] writes y[v] y[v] = x[v] }} }} }}",
          extent),
      "test");
  REQUIRE(program.ok());
  return {{"test", "numbers", *std::move(program)}, kNumbers, fmt::format("kernel{}", extent), uses};
}

struct Machine {
  int measured = 0;
  std::function<void()> after = [] {};
  bool noisy = false;
  bool refuses_again = false;  // a candidate that was measured before, except the default
  std::string governor = "performance";
};

// The minimum is at a = 3, b = 2, c = 5.
double cost_of(const std::map<std::string, int>& at) {
  return 100 + 10 * std::abs(at.at("a") - 3) + 20 * std::abs(at.at("b") - 2) + 5 * std::abs(at.at("c") - 5);
}

class NumbersMeasurer : public Measurer {
 public:
  explicit NumbersMeasurer(Machine& machine) : machine_(machine) {}
  std::string_view unit() const override { return "ticks"; }
  std::string machine() const override { return "a test"; }
  std::string conditions() const override { return "governor " + machine_.governor; }
  bool deterministic() const override { return !machine_.noisy; }
  std::vector<Measurement> measure(std::span<const schedule::Scheduled* const> candidates) override {
    std::vector<Measurement> all;
    for (const schedule::Scheduled* candidate : candidates) {
      std::map<std::string, int> at;
      for (const schedule::Decision& decision : candidate->decisions) at[decision.name] = std::stoi(decision.value);
      ++machine_.measured;
      const bool is_default = at["a"] == 8 && at["b"] == 8 && at["c"] == 1;
      const std::uint64_t hash = fnv1a(fmt::format("{} {} {}", at["a"], at["b"], at["c"]));
      const std::uint64_t kind = hash % 9;
      const bool best = cost_of(at) == 100;
      if (kind < 3 && !is_default && !best && !machine_.noisy) {
        all.push_back({.outcome = std::array{Outcome::crashed, Outcome::timed_out, Outcome::wrong}[kind],
                       .why = "as the test has it"});
      } else {
        // Simulates noise: a candidate is measured too fast the first time.
        const bool first = seen_.insert(hash).second;
        const double luck = machine_.noisy && !is_default && first ? 0.5 : 1;
        if (machine_.refuses_again && !is_default && !first)
          all.push_back({.outcome = Outcome::refused, .why = "not twice"});
        else all.push_back({.outcome = Outcome::measured, .cost = cost_of(at) * luck});
      }
    }
    machine_.after();
    return all;
  }

 private:
  Machine& machine_;
  std::set<std::uint64_t> seen_;
};

TuneOptions options_for(Machine& machine) {
  TuneOptions options;
  options.measurer = [&machine](const schedule::Task&) {
    return Result<std::unique_ptr<Measurer>>(std::make_unique<NumbersMeasurer>(machine));
  };
  options.trials = 200;
  return options;
}

}  // namespace

TEST_CASE("tune: a third of the candidates crash, hang or are wrong, and every search finds the best") {
  for (const SearchRow& search : searches()) {
    DYNAMIC_SECTION(search.name) {
      Machine machine;
      TuneOptions options = options_for(machine);
      options.search = search.name;
      options.trials = 512;
      options.early_stop = 0;
      const auto results = tune::tune({task_of(4)}, options);
      REQUIRE(results.ok());
      const TaskResult& result = results->front();
      CHECK(result.default_cost == 100 + 50 + 120 + 20);
      CHECK(result.best_cost == 100);
      CHECK(result.best_decisions == schedule::Decisions{{"a", "3"}, {"b", "2"}, {"c", "5"}});
      const auto failed =
          std::ranges::count_if(result.trials, [](const Trial& trial) { return trial.outcome != Outcome::measured; });
      CHECK(failed > static_cast<std::ptrdiff_t>(result.trials.size()) / 5);
      std::set<std::string> distinct;
      for (const Trial& trial : result.trials) distinct.insert(trial.decisions);
      CHECK(distinct.size() == result.trials.size());
    }
  }
}

TEST_CASE("tune: trials go to all tasks, and the network's gain counts how often each task is used") {
  Machine machine;
  TuneOptions options = options_for(machine);
  options.trials = 24;
  options.search = "random";
  const auto results = tune::tune({task_of(4, 3), task_of(5)}, options);
  REQUIRE(results.ok());
  CHECK((*results)[0].trials.size() + (*results)[1].trials.size() == 48);
  CHECK(!(*results)[0].trials.empty());
  CHECK(!(*results)[1].trials.empty());
  const Gain gain = gain_of(*results);
  const double first = (*results)[0].gain(), second = (*results)[1].gain();
  CHECK(gain.geometric_mean == Approx(std::sqrt(first * second)));
  CHECK(gain.network == Approx((3 + 1) / (3 / first + 1 / second)));
}

TEST_CASE("tune: recorded candidates are learned from, and not measured again") {
  const test::TemporaryFolder folder;
  auto records = Records::open(folder / "r.db", Records::Open::write);
  REQUIRE(records.ok());
  Machine machine;
  TuneOptions options = options_for(machine);
  options.records = &*records;
  options.trials = 40;
  const auto first = tune::tune({task_of(4)}, options);
  REQUIRE(first.ok());
  CHECK(records->all()->size() == 41);  // including the default
  options.seed = 2;
  machine.governor = "powersave";  // it is the same machine
  const auto second = tune::tune({task_of(4)}, options);
  REQUIRE(second.ok());
  CHECK(second->front().known == 40);
  CHECK(second->front().conditions == "governor powersave");
  const auto all = records->all().value();
  CHECK(std::ranges::count(all, "governor performance", &Record::conditions) == 40);
  CHECK(std::ranges::count(all, "governor powersave", &Record::conditions) == 41);  // with the default
  CHECK(second->front().best_cost <= first->front().best_cost);
  std::set<std::string> distinct;
  for (const auto& results : {*first, *second})
    for (const Trial& trial : results.front().trials) distinct.insert(trial.decisions);
  CHECK(distinct.size() == 80);
  CHECK(machine.measured == 82);
  const auto best = records->best(first->front().key, "a test", 1);
  REQUIRE(best.ok());
  REQUIRE(best->record);
  CHECK(best->record->cost == second->front().best_cost);
}

TEST_CASE("tune: records of an older sketch are not learned from") {
  const test::TemporaryFolder folder;
  auto records = Records::open(folder / "r.db", Records::Open::write);
  REQUIRE(records.ok());
  Machine machine;
  TuneOptions options = options_for(machine);
  options.records = &*records;
  options.trials = 8;
  REQUIRE(tune::tune({task_of(4)}, options).ok());
  TuningTask newer = task_of(4);
  newer.sketch.version = 2;
  const auto results = tune::tune({newer}, options);
  REQUIRE(results.ok());
  CHECK(results->front().known == 0);
  CHECK(records->best(results->front().key, "a test", 2)->of_other_sketches == 9);
}

TEST_CASE("tune: a stopped search keeps its records") {
  const test::TemporaryFolder folder;
  auto records = Records::open(folder / "r.db", Records::Open::write);
  REQUIRE(records.ok());
  Machine machine;
  Work work;
  machine.after = [&] {
    if (machine.measured >= 20) work.stop("interrupted", "");
  };
  TuneOptions options = options_for(machine);
  options.records = &*records;
  options.work = &work;
  const auto results = tune::tune({task_of(4)}, options);
  REQUIRE(results.ok());
  CHECK(results->front().ended == "stopped");
  CHECK(results->front().trials.size() == 16);  // two batches; the third was cut short
  CHECK(records->all()->size() == 17);
}

TEST_CASE("tune: a search that is stopped before its first measurement ends too") {
  Machine machine;
  Work work;
  work.stop("interrupted", "");
  TuneOptions options = options_for(machine);
  options.work = &work;
  const auto results = tune::tune({task_of(4)}, options);
  REQUIRE(results.ok());
  CHECK(results->front().trials.empty());
  CHECK(machine.measured == 0);
}

TEST_CASE("tune: the search of a small space ends when it is exhausted") {
  Machine machine;
  TuneOptions options = options_for(machine);
  options.trials = 1000;
  options.early_stop = 0;
  options.search = "random";
  const auto results = tune::tune({task_of(4)}, options);
  REQUIRE(results.ok());
  CHECK(results->front().trials.size() == 8 * 8 * 8 - 1);
  CHECK(results->front().ended == "no schedules left");
}

TEST_CASE("tune: a task without further gain ends early") {
  Machine machine;
  TuneOptions options = options_for(machine);
  options.trials = 511;
  options.early_stop = 32;
  options.search = "random";
  const auto results = tune::tune({task_of(4)}, options);
  REQUIRE(results.ok());
  CHECK(results->front().trials.size() < 511);
  CHECK(results->front().ended == "no gain in the last trials");
}

TEST_CASE("tune: a candidate that cannot be measured again is reported, and not taken") {
  Machine machine;
  machine.noisy = machine.refuses_again = true;
  TuneOptions options = options_for(machine);
  options.search = "random";
  options.trials = 32;
  const auto results = tune::tune({task_of(4)}, options);
  REQUIRE(results.ok());
  const TaskResult& result = results->front();
  CHECK(result.best_decisions == result.default_decisions);
  CHECK(std::ranges::count(result.trials, Outcome::refused, &Trial::outcome) == 3);
  CHECK(std::ranges::count(result.trials, "not twice", &Trial::why) == 3);
}

TEST_CASE("tune: where costs vary, the luckiest of many samples is measured again") {
  Machine machine;
  machine.noisy = true;
  TuneOptions options = options_for(machine);
  options.trials = 64;
  const auto results = tune::tune({task_of(4)}, options);
  REQUIRE(results.ok());
  std::map<std::string, int> best;
  for (const auto& [name, value] : results->front().best_decisions) best[name] = std::stoi(value);
  CHECK(results->front().best_cost == cost_of(best));
}

TEST_CASE("tune: a task whose default cannot be measured is an error that names it") {
  TuneOptions options;
  options.measurer = [](const schedule::Task&) -> Result<std::unique_ptr<Measurer>> {
    class Broken : public Measurer {
      std::string_view unit() const override { return "ticks"; }
      std::string machine() const override { return "broken"; }
      std::vector<Measurement> measure(std::span<const schedule::Scheduled* const> candidates) override {
        return std::vector<Measurement>(candidates.size(), {.outcome = Outcome::wrong, .why = "7 is not 8"});
      }
    };
    return std::unique_ptr<Measurer>(std::make_unique<Broken>());
  };
  const auto results = tune::tune({task_of(4)}, options);
  REQUIRE_FALSE(results.ok());
  CHECK_THAT(to_string(results.errors()),
             Catch::Matchers::ContainsSubstring("kernel4") && Catch::Matchers::ContainsSubstring("wrong, 7 is not 8"));
}
