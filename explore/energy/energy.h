// The energy of a run: the energy in the table for each event that the engines count (docs/reference/events.md), and
// the energy that depends on time. A pure function, cheap enough for thousands of design points.
// docs/reference/energy.md describes what it covers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "explore/energy/table.h"
#include "isa/config.h"
#include "simulator/counters.h"
#include "simulator/memory/memory.h"

namespace dovetail::explore {

// The duration of the run, from an engine with a clock.
struct RunTime {
  std::uint64_t cycles = 0;
  double clock_hz = 0;
  // Number of accelerators that ran in parallel on one memory.
  std::int64_t accelerators = 1;
  // Each of them ran its own sample: the counters are for one of them, but DRAM commands are counted for all. False:
  // they divided one sample, and all counters are for all of them.
  bool by_samples = true;
  std::int64_t samples() const { return by_samples ? accelerators : 1; }
  double seconds() const { return clock_hz > 0 ? static_cast<double>(cycles) / clock_hz : 0; }
};

// The size of the design without its memories, from the generic flow of hw/syn or from the area model.
struct LogicSize {
  double gates = 0, flip_flops = 0;
};

struct Energy {
  struct Part {
    std::string component;  // "MAC", "SRAM wgt", "DRAM refresh"
    bool on_chip = true;
    double joules = 0;
  };
  double joules = 0;  // sum over all parts
  std::vector<Part> parts;
  std::vector<std::string> missing;  // what the sum does not include, and why
  std::string statement;             // EnergyTable::statement()

  double chip_joules() const;
  double dram_joules() const { return joules - chip_joules(); }
  // Adds components by name. The sum's list of missing parts contains those of both operands.
  Energy& operator+=(const Energy& other);
};

// `counters`: the sum over launches whose total duration is `time`. `time` empty: the engine has no clock, so the
// result does not include energy that depends on time. `logic`: the design's size; empty: unknown.
Energy energy_of(const simulator::Counters& counters, const isa::HardwareConfig& config,
                 const simulator::MemorySpec& memory, const std::optional<RunTime>& time, const EnergyTable& table,
                 const std::optional<LogicSize>& logic = std::nullopt);

// What one of several accelerators that differ did.
struct AcceleratorWork {
  simulator::Counters counters;
  isa::HardwareConfig config;
  std::optional<LogicSize> logic = std::nullopt;
};
// The energy of all of them, which ran for `time` on one memory. `sum`: of their counters, with the DRAM commands.
// Precondition: there is an accelerator.
Energy energy_of_each(std::span<const AcceleratorWork> each, const simulator::Counters& sum,
                      const simulator::MemorySpec& memory, const std::optional<RunTime>& time,
                      const EnergyTable& table);

// The events of the memory's DRAM whose energy is not known, with commas: "refresh, standby". Empty: all are known.
std::string unknown_dram_events(const simulator::MemorySpec& memory, const EnergyTable& table);

// A part of a run, such as a layer.
struct RunPart {
  std::uint64_t cycles = 0;
  simulator::Counters counters;
};
// The joules of each part, and last of the rest, which belongs to no part: together those of one inference. On the chip
// a part has the energy of its events and cycles, in the DRAM a share by the beats at the port. `whole`: the energy of
// the run, whose duration is `time`.
std::vector<double> split_energy(const Energy& whole, std::span<const RunPart> parts, const isa::HardwareConfig& config,
                                 const simulator::MemorySpec& memory, const RunTime& time, const EnergyTable& table,
                                 const std::optional<LogicSize>& logic);

// {"joules", "chip_joules", "dram_joules", "parts": [{"component", "place": "chip"|"dram", "joules"}], "missing":
// [...], "statement"}
Json to_json(const Energy& energy);

}  // namespace dovetail::explore
