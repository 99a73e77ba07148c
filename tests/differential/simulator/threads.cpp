// A simulator object has no external state: many at a time give the same results as one after the other.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "simulator/cycle/cycle.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"

namespace dovetail::simulator {

namespace {

struct Task {
  test::GeneratedProgram program;
  MemorySpec memory;
};
struct Outcome {
  std::vector<LaunchTrace> traces;
  std::vector<std::byte> dram;
  Counters counters;
  bool operator==(const Outcome&) const = default;
};

Outcome run_task(const Task& task) {
  const auto simulator = make_cycle(task.program.config, {.memory = task.memory, .trace = true});
  Dram dram{task.program.dram_base, task.program.dram};
  Outcome outcome;
  for (const isa::Launch& launch : task.program.launches) {
    const auto counters =
        simulator->launch(std::span(task.program.program).subspan(launch.begin, launch.count), dram, launch.begin);
    if (!counters.ok()) return {};
    outcome.counters += *counters;
    outcome.traces.push_back(*simulator->timing());
  }
  outcome.dram = dram.bytes;
  return outcome;
}

std::vector<Outcome> run_all(const std::vector<Task>& tasks, std::size_t threads) {
  std::vector<Outcome> outcomes(tasks.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> workers;
  for (std::size_t t = 0; t < threads; ++t)
    workers.emplace_back([&] {
      for (std::size_t i = next++; i < tasks.size(); i = next++) outcomes[i] = run_task(tasks[i]);
    });
  for (std::thread& worker : workers) worker.join();
  return outcomes;
}

}  // namespace

TEST_CASE("simulations on one, two and four threads have the same cycles, events and values") {
  std::vector<Task> tasks;
  for (std::uint64_t seed = 1; seed <= test::scaled(40); ++seed) {
    const test::GeneratedProgram program = test::generate(test::random_config(seed), {.seed = seed});
    for (const char* memory : {"ideal", "bank:ddr4-2400", "perturbed:seed=3"})
      tasks.push_back({program, parse_memory(memory).value()});
  }
  const std::vector<Outcome> expected = run_all(tasks, 1);
  for (const Outcome& outcome : expected) REQUIRE_FALSE(outcome.traces.empty());
  for (const std::size_t threads : {2, 4}) {
    const std::vector<Outcome> outcomes = run_all(tasks, threads);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      INFO(threads << " threads, task " << i << ": " << test::describe(tasks[i].program));
      CHECK((outcomes[i] == expected[i]));
    }
  }
}

}  // namespace dovetail::simulator
