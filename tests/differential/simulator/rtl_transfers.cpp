// The units that move data, at their limits: load, the serial loads of compute, store, and their parts: splitter, beat
// buffers, arbiter, drain, elements, write port. agree() compares values, SRAM and cycles; the cycles that can be
// derived by hand from docs/reference/timing.md are checked here.
#include <algorithm>
#include <vector>

#include "isa/verify/token_machine.h"
#include "tests/catch.h"
#include "tests/differential/simulator/directed.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::test {

namespace {

using namespace simulator::testing;
using isa::Memory;
using simulator::Dram;
using simulator::LaunchTrace;
using simulator::StallCause;

constexpr std::uint64_t kEdge = 3 * 4096;  // inside the image
constexpr std::size_t kTransferImageBytes = 5 * 4096;

std::vector<isa::Launch> one_by_one(const std::vector<isa::Instruction>& program) {
  std::vector<isa::Launch> launches;
  for (std::size_t i = 0; i < program.size(); ++i) launches.push_back({i, 1});
  return launches;
}

// One launch each, with SRAM compared after every launch; then all of them in one launch.
void alone_and_together(const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program,
                        const Dram& dram) {
  agree(config, program, dram, one_by_one(program));
  agree(config, program, dram);
}

// Rows of every length up to two bursts and a beat, from every start around a 4 KiB boundary that they reach: unaligned
// heads and tails, bursts of exactly burst_beats, one less and one more, cut by the boundary after every beat.
template <typename MakeRow>
std::vector<isa::Instruction> rows_around_the_edge(const isa::HardwareConfig& config, Memory memory,
                                                   const MakeRow& row) {
  const auto bytes = static_cast<std::uint64_t>(config.element_bytes(memory)),
             depth = static_cast<std::uint64_t>(config.depth(memory));
  const auto burst = static_cast<std::uint64_t>(config.burst_beats * config.bus_bytes);
  const std::uint64_t longest = std::min(depth, 2 * burst / bytes + 1);
  std::vector<isa::Instruction> program;
  for (std::uint64_t length = 1; length <= longest; ++length)
    for (std::uint64_t before = 0; before <= length; ++before) {
      const std::uint64_t sram = (length + before) % (depth - length + 1);
      program.push_back(
          row(static_cast<std::uint32_t>(sram), kEdge / bytes - before, static_cast<std::uint32_t>(length)));
    }
  return program;
}

// Lengths of bursts +- an element, for configurations where all starts would take long.
template <typename MakeRow>
std::vector<isa::Instruction> bursts_around_the_edge(const isa::HardwareConfig& config, Memory memory,
                                                     const MakeRow& row) {
  const auto bytes = static_cast<std::uint64_t>(config.element_bytes(memory));
  const std::uint64_t burst =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(config.burst_beats * config.bus_bytes) / bytes);
  std::vector<isa::Instruction> program;
  for (const std::uint64_t bursts : {1u, 2u, 4u})
    for (const std::uint64_t length : {bursts * burst - 1, bursts * burst, bursts * burst + 1})
      for (const std::uint64_t before : {std::uint64_t{0}, std::uint64_t{1}, burst - 1, burst, burst + 1})
        if (length != 0) program.push_back(row(3, kEdge / bytes - before, static_cast<std::uint32_t>(length)));
  return program;
}

auto row_of(Memory memory) {
  return [memory](std::uint32_t sram, std::uint64_t at, std::uint32_t length) {
    return memory == Memory::out ? store(sram, at, length) : load(memory, sram, at, length);
  };
}

constexpr auto kLoadable = {Memory::inp, Memory::wgt, Memory::uop, Memory::acc, Memory::acc8};

isa::Instruction padded(Memory memory, const isa::HardwareConfig& config, std::uint32_t x_size, std::uint32_t y_size) {
  isa::Load load{isa::Transfer{.memory = memory,
                               .sram_base = 1,
                               .dram_base = kEdge / static_cast<std::uint64_t>(config.element_bytes(memory)) - 1}};
  load.x_size = x_size, load.y_size = y_size, load.x_stride = x_size + 1;
  return {{}, load};
}

}  // namespace

TEST_CASE("RTL: loads of every length around a 4 KiB boundary, elements smaller and larger than a beat") {
  for (const std::int64_t bus : {4, 8, 64}) {
    const auto config = tiny(bus);
    const Dram dram = image(config, {}, kTransferImageBytes);
    for (const Memory memory : kLoadable)
      alone_and_together(config, rows_around_the_edge(config, memory, row_of(memory)), dram);
  }
}

TEST_CASE("RTL: loads of whole bursts, one element less and one more, around a 4 KiB boundary") {
  for (const char* name : {"1x16x16", "4x8x8"}) {
    const auto config = isa::load_config(name).value();
    const Dram dram = image(config, {}, 16 * 4096);
    for (const Memory memory : kLoadable)
      alone_and_together(config, bursts_around_the_edge(config, memory, row_of(memory)), dram);
  }
}

TEST_CASE("RTL: pads of 0 to 15 on each side and on all sides, around data and without data") {
  const auto config = isa::load_config("1x16x16").value();
  const Dram dram = image(config, {}, kTransferImageBytes);
  for (const Memory memory : kLoadable) {
    std::vector<isa::Instruction> program;
    for (const std::uint32_t y_size : {1u, 0u}) {
      for (std::uint32_t pad = 0; pad <= 15; ++pad) {
        for (std::uint32_t isa::Transfer::*side :
             {&isa::Transfer::y_pad_0, &isa::Transfer::y_pad_1, &isa::Transfer::x_pad_0, &isa::Transfer::x_pad_1}) {
          program.push_back(padded(memory, config, 3, y_size));
          std::get<isa::Load>(program.back().body).*side = pad;
        }
        program.push_back(padded(memory, config, 3, y_size));
        auto& all = std::get<isa::Load>(program.back().body);
        all.y_pad_0 = all.y_pad_1 = all.x_pad_0 = all.x_pad_1 = pad;
      }
    }
    alone_and_together(config, program, dram);
  }
}

TEST_CASE("RTL: a LOAD or STORE with x_size 0 moves nothing, with y_size 0 only pads") {
  const auto config = tiny();
  const Dram dram = image(config, {}, kTransferImageBytes);
  std::vector<isa::Instruction> program;
  for (const Memory memory : kLoadable) {
    program.push_back(padded(memory, config, 0, 3));
    std::get<isa::Load>(program.back().body).y_pad_0 = 15;
    program.push_back(padded(memory, config, 2, 0));
    program.push_back(padded(memory, config, 1, 0));
    std::get<isa::Load>(program.back().body).y_pad_1 = 2;
  }
  program.push_back(store(0, kEdge / 4, 0));
  program.push_back(store(0, kEdge / 4, 2));
  std::get<isa::Store>(program.back().body).y_size = 0;
  alone_and_together(config, program, dram);
  // Nothing to move: a load unit's NOP is taken in s + 1 and ends in s + 2, one of compute or store ends in s + 1.
  const auto traces =
      agree(config, {padded(Memory::inp, config, 0, 3), padded(Memory::uop, config, 0, 3), store(0, 0, 0)}, dram);
  if (traces.empty()) return;
  const LaunchTrace& trace = traces.front();
  CHECK(trace.events[0].end == trace.events[0].start + 2);
  CHECK(trace.events[1].end == trace.events[1].start + 1);
  CHECK(trace.events[2].end == trace.events[2].start + 1);
}

TEST_CASE("RTL: the load unit's slots follow beats, and its requester runs ahead") {
  const auto config = isa::load_config("1x16x16").value();
  const Dram dram = image(config, {}, kTransferImageBytes);
  // Two elements of 16 bytes: four beats. Requested in s + 1, ARVALID in s + 2, first beat in s + 3, slots in s + 4 to
  // s + 7, end in s + 8.
  auto traces = agree(config, {load(Memory::inp, 0, kEdge / 16, 2)}, dram);
  if (traces.empty()) return;
  CHECK(traces[0].events[0].end == traces[0].events[0].start + 8);

  // Pads need no beats: 3 rows of 4 columns from t + 1, with t = s + 1.
  isa::Instruction pads = padded(Memory::inp, config, 4, 0);
  std::get<isa::Load>(pads.body).y_pad_0 = 3;
  traces = agree(config, {pads}, dram);
  CHECK(traces[0].events[0].end == traces[0].events[0].start + 2 + 11 + 1);

  // A long load at the drainer, and short ones after it: each starts when the previous one has requested its burst,
  // until load_waiting loads are taken in.
  std::vector<isa::Instruction> many{load(Memory::inp, 0, kEdge / 16, 200)};
  for (std::uint32_t i = 0; i < 8; ++i) many.push_back(load(Memory::inp, 200 + i, kEdge / 16 + i, 1));
  traces = agree(config, many, dram);
  const auto& events = traces[0].events;
  CHECK(std::ranges::count(events, StallCause::drain, &simulator::TraceEvent::cause) > 0);
  std::size_t most = 0;
  for (const auto& event : events) {
    const auto taken_in = static_cast<std::size_t>(std::ranges::count_if(
        events, [&](const auto& other) { return other.instruction < event.instruction && other.end > event.start; }));
    most = std::max(most, taken_in);
  }
  CHECK(most == 4);  // one at the drainer, and load_waiting after it, including the one that starts
}

TEST_CASE("RTL: stores of every length around a 4 KiB boundary, elements smaller and larger than a beat") {
  for (const std::int64_t bus : {4, 8, 64}) {
    const auto config = tiny(bus);
    const Dram dram = image(config, {}, kTransferImageBytes);
    std::vector<isa::Instruction> program = rows_around_the_edge(config, Memory::out, row_of(Memory::out));
    // Rows with gaps, overlapping, and back to back.
    for (const std::uint32_t stride : {0u, 1u, 2u, 3u, 5u})
      for (std::uint64_t at = 0; at < 4; ++at) {
        program.push_back(store(1, kEdge / 4 - 5 + at, 3));
        auto& body = std::get<isa::Store>(program.back().body);
        body.y_size = 4, body.x_stride = stride;
      }
    program.insert(program.begin(),
                   load(Memory::acc, 0, kEdge / 16, static_cast<std::uint32_t>(config.depth(Memory::acc))));
    agree(config, program, dram, one_by_one(program));
    agree_in_order(config, program, dram);
  }
}

TEST_CASE("RTL: stores of whole bursts, one element less and one more, around a 4 KiB boundary") {
  for (const char* name : {"1x16x16", "1x16x16-ext", "4x8x8"}) {
    const auto config = isa::load_config(name).value();
    const Dram dram = image(config, {}, 16 * 4096);
    std::vector<isa::Instruction> program = bursts_around_the_edge(config, Memory::out, row_of(Memory::out));
    for (isa::Instruction& instruction : program) {
      auto& body = std::get<isa::Store>(instruction.body);
      body.saturate = config.saturate && body.x_size % 2 == 1;
    }
    program.insert(
        program.begin(),
        load(Memory::acc8, 0, kEdge / static_cast<std::uint64_t>(config.element_bytes(Memory::acc8)) - 64, 300));
    agree(config, program, dram, one_by_one(program));
    agree_in_order(config, program, dram);
  }
}

TEST_CASE("RTL: a store ends with its last response, and bursts leave one idle cycle of W between them") {
  const auto config = isa::load_config("1x16x16").value();
  const Dram dram = image(config, {}, kTransferImageBytes);
  const isa::Instruction filled = load(Memory::acc, 0, kEdge / 64, 100, kPushNext);
  const auto time_of = [&](std::uint32_t elements) -> std::uint64_t {
    const auto traces = agree(config, {filled, store(0, kEdge / 16, elements, kPopPrev)}, dram);
    return traces.empty() ? 0 : traces[0].events[1].end - traces[0].events[1].start;
  };
  const std::uint64_t one = time_of(1);
  if (one == 0) return;
  // Two slots in s + 1 and s + 2, ready in s + 4, AWVALID in s + 5, W in s + 6 and s + 7, B one cycle of latency later,
  // end after that.
  CHECK(one == 9);
  CHECK(time_of(16) == 9 + 30 + 30);       // a burst of 32 beats is filled and then sent
  CHECK(time_of(32) == time_of(16) + 33);  // the second burst is filled meanwhile: its beats and the idle cycle
  CHECK(time_of(96) == time_of(16) + 5 * 33);
}

TEST_CASE("RTL: a store waits while its write buffer is full") {
  // Eight entries, two bursts: slots run ahead of W by no more.
  const auto config = tiny();
  const Dram dram = image(config, {}, kTransferImageBytes);
  const isa::Instruction rows = store(0, kEdge / 4, 16, kPopPrev);
  const auto traces = agree(config, {load(Memory::acc, 0, kEdge / 16, 16, kPushNext), rows}, dram);
  if (traces.empty()) return;
  isa::Instruction more = store(0, kEdge / 4, 4, kPopPrev);
  std::get<isa::Store>(more.body).y_size = 4,
  std::get<isa::Store>(more.body).x_stride = 1024;  // each row is its own burst, of two beats
  agree(config, {load(Memory::acc, 0, kEdge / 16, 16, kPushNext), more}, image(config, {}, 20 * 4096));
  // Eight beats of two slots each fit at once; 16 slots of work, and the remaining cycles wait for memory.
  const auto& classes = traces[0].classes[isa::index(isa::Queue::store)];
  CHECK(classes[static_cast<std::size_t>(simulator::UnitClass::work)] == 16);
  CHECK(classes[static_cast<std::size_t>(simulator::UnitClass::memory)] > 0);
}

TEST_CASE("RTL: the arbiter serves fetch before compute before load") {
  // All three request all the time: long loads in both queues while fetch has instructions to read.
  const auto config = isa::load_config("1x16x16").value();
  const Dram dram = image(config, {}, 40 * 4096);
  std::vector<isa::Instruction> program;
  for (std::uint32_t i = 0; i < 12; ++i) {
    program.push_back(load(Memory::wgt, i * 8, kEdge / 256 + i, 8));
    program.push_back(load(Memory::acc, i * 20, kEdge / 64 + i, 20));
    for (int k = 0; k < 40; ++k) program.push_back(nop(isa::Queue::store, {}));
  }
  const auto traces = agree(config, program, dram);
  if (traces.empty()) return;
  // Compute's loads finish before load's, which have more bytes and are served last.
  CHECK(traces[0].events[program.size() - 42 + 1].end < traces[0].events[program.size() - 42].end);
}

}  // namespace dovetail::test
