// Lower bounds on a program's time on a machine, for any schedule: the time of its multiplications, of its ALU steps,
// of its bytes.
#pragma once

#include <cstdint>
#include <string>
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
  std::uint64_t dram = 0;  // both: the longer one, or their sum where the two directions share the memory's rate
  // GEMM and ALU share stage R.
  std::uint64_t compute() const { return gemm + alu; }
  std::uint64_t tightest() const;
  std::string_view tightest_name() const;  // "compute", "DRAM read", "DRAM write", "DRAM read and write"
};

// `accelerators`: that share the work, and the memory's ports.
Bounds bounds_of(const isa::HardwareConfig& config, const MemorySpec& memory, const Counters& counters,
                 std::int64_t accelerators = 1);
Json to_json(const Bounds& bounds);

// The most bytes per cycle that a memory transfers through ports of `bus_bytes`, as many as `accelerators` use. The
// port's two directions are independent; they share the data bus in memory `bank`, and nothing in memory `ideal`.
struct PeakRate {
  double each_way = 0;
  double both_ways = 0;  // from each_way to twice that
  // The bytes of one direction whose transfer is at best as long as that of `read` and `write` together.
  double charged(std::uint64_t read, std::uint64_t written) const;
};
PeakRate peak_rate(const MemorySpec& memory, std::int64_t bus_bytes, std::int64_t accelerators = 1);
// In `unit`, which is `factor` bytes per cycle: "8.00 bytes each way", "19.21 bytes, shared by reads and writes",
// "32.00 bytes each way, 38.42 together".
std::string to_string(const PeakRate& rate, double factor, std::string_view unit);

}  // namespace dovetail::simulator
