// Several accelerators that share a DramModule are served in turn, whatever the order of SystemC's processes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "simulator/cycle/shared_machines.h"
#include "tests/catch.h"
#include "tests/differential/systemc/platform.h"

namespace dovetail::test {

namespace {

constexpr std::uint64_t kElementBytes = 4, kSharedBytes = 0x10000;

// On `tiny`: 40 loads and 40 stores of 16 elements, each queue as fast as its memory allows.
Job traffic(std::uint64_t number) {
  const std::uint64_t base = number * 0x4000;
  const auto transfer = [&](auto body, isa::Memory memory, std::uint64_t address) {
    body.memory = memory, body.dram_base = (base + address) / kElementBytes, body.y_size = 1;
    body.x_size = body.x_stride = 16;
    return body;
  };
  Job job{.program = {}, .program_base = base + 0x3000};
  job.program.push_back({{.push_next = true}, transfer(isa::Load{}, isa::Memory::acc8, 0)});
  job.program.push_back({{.pop_prev = true}, transfer(isa::Store{}, isa::Memory::out, 0x2000)});
  for (std::uint64_t i = 0; i < 40; ++i) {
    job.program.push_back({{}, transfer(isa::Load{}, isa::Memory::inp, 64 * i)});
    job.program.push_back({{}, transfer(isa::Store{}, isa::Memory::out, 0x2000 + 64 * (i % 16))});
  }
  return job;
}

PlatformRun run(const std::vector<Job>& jobs, const char* memory, std::vector<std::size_t> made) {
  std::vector<std::byte> image(kSharedBytes);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::byte>(i * 7 + i / 256);
  return run_platform({.config = isa::load_config("tiny").value(), .memory = memory, .made = std::move(made)}, jobs,
                      image);
}

// The same jobs on the machines of the cycle engine.
std::vector<std::uint64_t> cycles_of(const std::vector<Job>& jobs, const char* memory) {
  using namespace simulator;
  const isa::HardwareConfig config = isa::load_config("tiny").value();
  const auto model = make_memory(parse_memory(memory).value(), config.bus_bytes);
  SharedMachines machines(config, *model, jobs.size());
  std::vector<std::size_t> running(jobs.size());
  std::iota(running.begin(), running.end(), 0);
  machines.begin(0, running);  // each job has separate addresses already
  Dram image{0, std::vector<std::byte>(kSharedBytes)};
  std::vector<std::unique_ptr<Execution>> executions;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    executions.push_back(std::make_unique<Execution>(config, Values::left_out));
    machines[i].begin(executions[i]->begin(jobs[i].program, 0, image, jobs[i].program_base, false));
  }
  for (Cycle cycle; (cycle = machines.next()) != kUnknown;) machines.step(cycle);
  std::vector<std::uint64_t> cycles;
  for (std::size_t i = 0; i < jobs.size(); ++i) cycles.push_back(machines[i].result().cycles);
  return cycles;
}

const char* const kMemories[] = {"ideal", "ideal:latency=3,outstanding=1", "bank:ddr4-2400", "perturbed:seed=9"};

}  // namespace

TEST_CASE("SystemC: accelerators that share a memory take the same cycles, whatever the order of SystemC's processes") {
  const std::vector<Job> jobs{traffic(0), traffic(1), traffic(2)};
  for (const char* memory : kMemories) {
    CAPTURE(memory);
    const PlatformRun first = run(jobs, memory, {0, 1, 2});
    REQUIRE(first.done == std::vector{true, true, true});
    std::vector<std::size_t> made{0, 1, 2};
    while (std::next_permutation(made.begin(), made.end())) {
      CAPTURE(made);
      const PlatformRun other = run(jobs, memory, made);
      CHECK(other.cycles == first.cycles);
      CHECK(other.bytes == first.bytes);
    }
  }
}

TEST_CASE("SystemC: accelerators that share a memory take the same cycles as the machines of the cycle engine") {
  std::vector<Job> jobs{traffic(0), traffic(1), traffic(2), traffic(3)};
  // One accelerator ends early, one late: the turns skip those that have ended.
  jobs[1].program.resize(10);
  const std::vector<isa::Instruction> again = jobs[2].program;
  jobs[2].program.insert(jobs[2].program.end(), again.begin(), again.end());
  for (const char* memory : kMemories)
    for (std::size_t count = 1; count <= jobs.size(); ++count) {
      CAPTURE(memory, count);
      const std::vector<Job> some(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(count));
      const PlatformRun platform = run(some, memory, {});
      CHECK(platform.done == std::vector<bool>(count, true));
      CHECK(cycles_of(some, memory) == platform.cycles);
    }
}

TEST_CASE(
    "SystemC: accelerators that share a memory are served in turn: equal programs end within a burst of each other") {
  const std::vector<Job> jobs{traffic(0), traffic(1), traffic(2)};
  // One burst at a time in each direction: a port that is passed over would fall back.
  const PlatformRun shared = run(jobs, "ideal:latency=10,outstanding=1", {});
  REQUIRE(shared.done == std::vector{true, true, true});
  const PlatformRun alone = run({traffic(0)}, "ideal:latency=10,outstanding=1", {});
  const auto [least, most] = std::minmax_element(shared.cycles.begin(), shared.cycles.end());
  CAPTURE(alone.cycles, shared.cycles);
  CHECK(*least > 2 * alone.cycles.front());
  // The others' last bursts: 4 beats and the latency each.
  CHECK(*most - *least <= 2 * (4 + 10 + 2));
}

}  // namespace dovetail::test
