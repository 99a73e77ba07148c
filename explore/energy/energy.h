// The energy of a run: each event that the engines count (docs/reference/events.md) times what the table says of it,
// and what passes with time. A pure function, cheap enough for thousands of design points. docs/reference/energy.md
// says what it covers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "explore/energy/table.h"
#include "isa/config.h"
#include "simulator/counters.h"
#include "simulator/memory/memory.h"

namespace dovetail::explore {

// How long it took, of an engine with a clock.
struct RunTime {
  std::uint64_t cycles = 0;
  double clock_hz = 0;
  // That did it side by side on one memory, each what the counters say; of commands of the DRAM they are those of all.
  std::int64_t accelerators = 1;
  double seconds() const { return clock_hz > 0 ? static_cast<double>(cycles) / clock_hz : 0; }
};

// Of the whole design without its memories, as the generic flow of hw/syn or a model of the area counts them.
struct LogicSize {
  double gates = 0, flip_flops = 0;
};

struct Energy {
  struct Part {
    std::string component;  // "MAC", "SRAM wgt", "DRAM refresh"
    bool on_chip = true;
    double joules = 0;
  };
  double joules = 0;  // of all parts
  std::vector<Part> parts;
  std::vector<std::string> missing;  // what is not in it, and why
  std::string statement;             // EnergyTable::statement()

  double chip_joules() const;
  double dram_joules() const { return joules - chip_joules(); }
  // Components of one name are added up; what is missing of one is missing of the sum.
  Energy& operator+=(const Energy& other);
};

// `counters`: of launches that took `time` together; empty: the engine has no clock, so that nothing that passes with
// time is in the result. `logic`: the design's size; empty: it is not known.
Energy energy_of(const simulator::Counters& counters, const isa::HardwareConfig& config,
                 const simulator::MemorySpec& memory, const std::optional<RunTime>& time, const EnergyTable& table,
                 const std::optional<LogicSize>& logic = std::nullopt);

// {"joules", "chip_joules", "dram_joules", "parts": [{"component", "place": "chip"|"dram", "joules"}], "missing":
// [...], "statement"}
Json to_json(const Energy& energy);

}  // namespace dovetail::explore
