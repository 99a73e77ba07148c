// The memory for timing a program depends on the machine's live state, not on the program's length. This executable's
// own operator new counts.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "simulator/cycle/cycle.h"
#include "tests/catch.h"
#include "tests/skip.h"

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kCounts = false;  // the sanitizer's operator new must not be replaced
#else
constexpr bool kCounts = true;
#endif
std::atomic<std::int64_t> in_use{0}, most{0};

}  // namespace

#ifndef __SANITIZE_ADDRESS__
namespace {

void* counted(std::size_t size) {
  // Its size is stored before the block, at the distance that keeps new's alignment.
  constexpr std::size_t kHeader = alignof(std::max_align_t);
  auto* block = static_cast<char*>(std::malloc(size + kHeader));
  if (block == nullptr) throw std::bad_alloc();
  *reinterpret_cast<std::size_t*>(block) = size;
  const std::int64_t now = in_use += static_cast<std::int64_t>(size);
  for (std::int64_t before = most; before < now && !most.compare_exchange_weak(before, now);) {
  }
  return block + kHeader;
}
void forget(void* pointer) {
  if (pointer == nullptr) return;
  char* block = static_cast<char*>(pointer) - alignof(std::max_align_t);
  in_use -= static_cast<std::int64_t>(*reinterpret_cast<std::size_t*>(block));
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* pointer) noexcept { forget(pointer); }
void operator delete[](void* pointer) noexcept { forget(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { forget(pointer); }
void operator delete[](void* pointer, std::size_t) noexcept { forget(pointer); }
#endif

namespace dovetail::simulator {

namespace {

// Loads, computation and stores with a ring of tokens, repeated `rounds` times.
std::vector<isa::Instruction> stream(std::size_t rounds) {
  std::vector<isa::Instruction> program;
  program.push_back({{}, isa::Load{{.memory = isa::Memory::uop, .y_size = 1, .x_size = 1, .x_stride = 1}}});
  for (std::size_t k = 0; k < rounds; ++k) {
    const bool first = k < 4, last = k + 4 >= rounds;
    const auto slot = static_cast<std::uint32_t>(k % 4);
    program.push_back({{.pop_next = !first, .push_next = true},
                       isa::Load{{.memory = isa::Memory::inp,
                                  .sram_base = 16 * slot,
                                  .dram_base = 16,
                                  .y_size = 4,
                                  .x_size = 4,
                                  .x_stride = 8}}});
    isa::Gemm gemm;
    gemm.uop_end = 1;
    gemm.iter_out = 4, gemm.iter_in = 4;
    gemm.dst_factor_out = gemm.src_factor_out = 4, gemm.dst_factor_in = gemm.src_factor_in = 1;
    program.push_back({{.pop_prev = true, .pop_next = k > 0, .push_prev = !last, .push_next = true}, gemm});
    program.push_back(
        {{.pop_prev = true, .push_prev = k + 1 < rounds},
         isa::Store{{.memory = isa::Memory::out, .dram_base = 1024, .y_size = 2, .x_size = 8, .x_stride = 16}}});
  }
  return program;
}

struct Cost {
  std::uint64_t cycles = 0;
  std::int64_t bytes = 0;  // at most, in addition to earlier allocations
};

Cost time(std::size_t rounds, const std::string& memory, bool trace) {
  const std::vector<isa::Instruction> program = stream(rounds);
  Dram dram{0, std::vector<std::byte>(1 << 16)};
  const std::int64_t before = in_use;
  most = before;
  const auto simulator =
      make_cycle_timing(isa::HardwareConfig{}, {.memory = parse_memory(memory).value(), .trace = trace});
  const auto counters = simulator->launch(program, dram);
  INFO((counters.ok() ? "" : to_string(counters.errors())));
  REQUIRE(counters.ok());
  return {simulator->timing()->cycles, most - before};
}

}  // namespace

TEST_CASE("timing a program that is ten times as long needs no more memory") {
  if (!kCounts) return test::skip("AddressSanitizer keeps its own operator new");
  for (const char* memory : {"ideal", "bank:ddr4-2400", "ideal:latency=2000,outstanding=64"}) {
    const Cost one = time(1000, memory, false), ten = time(10000, memory, false);
    CAPTURE(memory, one.cycles, one.bytes, ten.cycles, ten.bytes);
    CHECK(ten.cycles > 9 * one.cycles);
    CHECK(ten.bytes < one.bytes + 1024);
    // A record of every instruction is counted, which shows that the count works.
    CHECK(time(1000, memory, true).bytes > one.bytes + 3000 * static_cast<std::int64_t>(sizeof(TraceEvent)));
  }
}

}  // namespace dovetail::simulator
