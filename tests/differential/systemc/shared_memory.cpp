// Several accelerators that share a DramModule are served in turn, whatever the order of SystemC's processes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/catch.h"
#include "tests/differential/systemc/platform.h"

namespace dovetail::test {

namespace {

constexpr std::uint64_t kElementBytes = 4, kMemoryBytes = 0x10000;

// On `tiny`: 40 loads and 40 stores of 16 elements, each queue as fast as its memory lets it.
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
  std::vector<std::byte> image(kMemoryBytes);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::byte>(i * 7 + i / 256);
  return run_platform({.config = isa::load_config("tiny").value(), .memory = memory, .made = std::move(made)}, jobs,
                      image);
}

const char* const kMemories[] = {"ideal", "ideal:latency=3,outstanding=1", "bank:ddr4-2400", "perturbed:seed=9"};

}  // namespace

TEST_CASE("accelerators that share a memory take the same cycles whatever the order of SystemC's processes") {
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

TEST_CASE("accelerators that share a memory are served in turn: equal programs end within a burst of each other") {
  const std::vector<Job> jobs{traffic(0), traffic(1), traffic(2)};
  // One burst at a time in each direction: whoever is passed over falls behind.
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
