// Lower bounds on a program's time on a machine, for any schedule: the time of its multiplications, of its ALU steps,
// of its bytes.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "isa/config.h"
#include "simulator/memory/memory.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

struct Bounds {
  std::uint64_t gemm = 0;       // GEMM steps, resets included, one per cycle
  std::uint64_t alu = 0;        // ALU steps, at best one per cycle
  std::uint64_t dram_read = 0;  // bytes loaded and fetched, at the lower of the port's and the memory's rate
  std::uint64_t dram_write = 0;
  // GEMM and ALU share stage R.
  std::uint64_t compute() const { return gemm + alu; }
  std::uint64_t tightest() const;
  std::string_view tightest_name() const;  // "compute", "DRAM read", "DRAM write"
};

Bounds bounds_of(const isa::HardwareConfig& config, const MemorySpec& memory, const Counters& counters);
Json to_json(const Bounds& bounds);

// The bytes that a memory moves per cycle at best, in each direction, through a port of `bus_bytes`.
double peak_bytes_per_cycle(const MemorySpec& memory, std::int64_t bus_bytes);

}  // namespace dovetail::simulator
