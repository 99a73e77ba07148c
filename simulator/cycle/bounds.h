// What no schedule of a program's work can beat on a machine: the time of its multiplications, of its ALU steps, of its
// bytes.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "isa/config.h"
#include "simulator/memory/memory.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

struct Bounds {
  std::uint64_t gemm = 0;       // GEMM steps, resets included, one a cycle
  std::uint64_t alu = 0;        // ALU steps, one a cycle at best
  std::uint64_t dram_read = 0;  // bytes loaded and fetched, at the port's or the memory's rate, whichever is less
  std::uint64_t dram_write = 0;
  // GEMM and ALU share stage R.
  std::uint64_t compute() const { return gemm + alu; }
  std::uint64_t tightest() const;
  std::string_view tightest_name() const;  // "compute", "DRAM read", "DRAM write"
};

Bounds bounds_of(const isa::HardwareConfig& config, const MemorySpec& memory, const Counters& counters);
Json to_json(const Bounds& bounds);

// Bytes that a memory moves in a cycle at best, of each direction, through a port of `bus_bytes`.
double peak_bytes_per_cycle(const MemorySpec& memory, std::int64_t bus_bytes);

}  // namespace dovetail::simulator
