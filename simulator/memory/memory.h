// The DRAM at the memory port, in the view of all timing engines: times without data. One object serves one launch
// after the other and is reset at cycle 0 of each. docs/reference/timing.md, section 5, is the contract.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "simulator/memory/byte_rate.h"
#include "simulator/memory/delay.h"
#include "simulator/memory/dram_command.h"
#include "simulator/memory/dram_standard.h"

namespace dovetail::simulator {

using Cycle = std::uint64_t;

enum class Direction : std::uint8_t { read, write };

// Accepted: `cycle` is the cycle of the first read beat (the others follow in consecutive cycles), or of the write
// response. Refused: `cycle` is the earliest one in which the request can succeed.
struct Answer {
  bool accepted = false;
  Cycle cycle = 0;
  bool operator==(const Answer&) const = default;
};

struct MemoryStatistics {
  std::uint64_t read_bursts = 0, write_bursts = 0;
  std::uint64_t read_bytes = 0, write_bytes = 0;  // whole beats
  // For memory `bank`: at a miss, the bank is closed; at a conflict, another row is open.
  std::uint64_t row_hits = 0, row_misses = 0, row_conflicts = 0;
  bool operator==(const MemoryStatistics&) const = default;
};

class Memory {
 public:
  virtual ~Memory() = default;

  // Each port has a data path of the bus's width in each direction, with its own outstanding bursts; accept() and
  // explain() are for the port of the last use_port(), which is 0 after reset().
  virtual std::size_t ports() const { return 1; }
  virtual void use_port(std::size_t /*port*/) {}

  // Must be called in cycle order, reads before writes within a cycle. A refused request must be repeated, unchanged,
  // until it is accepted; repeating it too early, or pausing, has no effect. `address` is that of the first beat, a
  // multiple of the beat. Preconditions: beats > 0; the burst is within 4 KiB.
  virtual Answer accept(Cycle cycle, Direction direction, std::uint64_t address, std::uint32_t beats) = 0;

  // The causes of the time from the acceptance of the direction's last burst to its response: latency, bandwidth,
  // row_miss and refresh, which sum to it. Costs nothing unless it is called. Precondition: a burst has been accepted
  // since the last reset.
  virtual MemorySplit explain(Direction direction) const = 0;

  // Resets to cycle 0 of a launch. Statistics continue.
  virtual void reset() = 0;

  // The launch is done in this cycle: returns the DRAM's commands since the reset, including the refreshes that were
  // due meanwhile but delayed no access. Empty: the model has no DRAM. Call once, before the next reset.
  virtual std::optional<DramCommands> finish(Cycle done) = 0;

  virtual MemoryStatistics statistics() const = 0;
};

// A pipeline: every burst has the same latency, and each direction moves a fixed number of bytes per cycle.
// At most `outstanding` bursts of a direction are in flight; one that completes in cycle c makes room in c + 1.
struct IdealMemory {
  std::int64_t latency =
      64;  // cycles from acceptance to the first read beat, and from the last written byte to the response; >= 1
  // Each way. An integer is the width of a data path: a burst takes whole cycles of it. Any other number is a rate: a
  // burst begins where the one before ended, within a cycle.
  ByteRate bytes_per_cycle = {};
  std::int64_t outstanding = 16;  // bursts of each direction; >= 1
  std::int64_t ports = 1;         // of several accelerators: that of number k is k modulo ports
  bool operator==(const IdealMemory&) const = default;
};

// DRAM with banks, rows and refresh: docs/reference/memory-models.md.
struct BankMemory {
  DramStandard standard;
  std::int64_t clock_ps = 2000;  // clock period of the accelerator
  std::int64_t controller_cycles =
      8;  // accelerator cycles from a request's acceptance to the DRAM's command queue, and back
  std::int64_t outstanding = 16;  // bursts of each direction
  std::int64_t ports = 1;         // as in IdealMemory; all share the DRAM
  bool operator==(const BankMemory&) const = default;
};

// For tests: the ideal pipeline, with a delay added to each burst's acceptance and to its latency. Both depend only on
// the seed, the direction and the burst's number.
struct PerturbedMemory {
  IdealMemory base;
  std::uint64_t seed = 0;
  std::int64_t most_latency = 100;  // added: 0 to this
  std::int64_t most_refusal = 12;   // cycles: 0 to this, with 0 every second time
  bool operator==(const PerturbedMemory&) const = default;
};

using MemorySpec = std::variant<IdealMemory, BankMemory, PerturbedMemory>;

// "ideal", "ideal:latency=64,bytes=8,outstanding=16", "bank:ddr4-2400",
// "bank:hbm2,clock-ps=1000,controller=8,outstanding=16", "bank:parts/mine.json" (a DRAM file),
// "perturbed:seed=7,latency=100,refusal=12". Errors: unknown kinds, keys and standards, with the list of those known;
// values out of range; a DRAM file that is wrong, or that has other numbers than its hash in the text.
Result<MemorySpec> parse_memory(std::string_view text);
std::string to_string(const MemorySpec& spec);  // parse_memory's inverse; a DRAM file has its hash
std::int64_t ports_of(const MemorySpec& spec);
// With an absolute path of a DRAM file.
MemorySpec with_absolute_file(MemorySpec spec);

// Precondition: spec comes from parse_memory or is within the ranges that it enforces.
std::unique_ptr<Memory> make_memory(const MemorySpec& spec, std::int64_t bus_bytes);

}  // namespace dovetail::simulator
