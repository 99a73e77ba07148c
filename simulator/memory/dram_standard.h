// A DRAM: organization, timing in DRAM clocks, and energy, read from a JSON file (docs/schema/dram.json). The presets
// are such files, simulator/memory/dram/*.json, embedded by the build. docs/reference/memory-models.md describes the
// use of the numbers and their sources.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::simulator {

// Picojoules for a command, picojoules per bit, or milliwatts. Empty: not known.
struct DramEnergy {
  std::optional<double> activate, precharge, refresh;
  std::optional<double> read_bit, write_bit, io_read_bit, io_write_bit;
  std::optional<double> standby_mw;
  bool operator==(const DramEnergy&) const = default;
};
struct DramEnergyInfo {
  std::string_view key;  // "activate"
  std::string_view unit;
  std::optional<double> DramEnergy::*value;
  double least, most;  // of a plausible value
};
inline constexpr std::array<DramEnergyInfo, 8> kDramEnergies{{
    {"activate", "pJ", &DramEnergy::activate, 0, 100'000},
    {"precharge", "pJ", &DramEnergy::precharge, 0, 100'000},
    {"refresh", "pJ", &DramEnergy::refresh, 0, 10'000'000},
    {"read", "pJ/bit", &DramEnergy::read_bit, 0.05, 100},
    {"write", "pJ/bit", &DramEnergy::write_bit, 0.05, 100},
    {"io_read", "pJ/bit", &DramEnergy::io_read_bit, 0.05, 100},
    {"io_write", "pJ/bit", &DramEnergy::io_write_bit, 0.05, 100},
    {"standby", "mW", &DramEnergy::standby_mw, 0, 20'000},
}};

struct DramStandard {
  std::string name;
  std::int64_t clock_ps = 0;
  std::int64_t nominal_clock_ps = 0;  // the file's; clock_ps differs if the part runs at another clock
  std::int64_t access_bytes = 0;      // one column command of one channel
  std::int64_t access_clocks = 0;     // its time on the data bus
  std::int64_t channels = 0, ranks = 0, bank_groups = 0, banks_per_group = 0;
  std::int64_t row_bytes = 0;  // of one bank
  std::int64_t cl = 0, cwl = 0, rcd = 0, rp = 0, ras = 0;
  std::int64_t ccd_s = 0, ccd_l = 0, rrd_s = 0, rrd_l = 0, faw = 0;
  std::int64_t wr = 0, rtp = 0, wtr_s = 0, wtr_l = 0;
  std::int64_t rtrs = 0;  // between data of two ranks
  std::int64_t rfc = 0, refi = 0;
  DramEnergy energy = {};
  std::string file = {};  // the path of a user's file, as it was given; empty: a preset
  std::string hash = {};  // of all numbers of the file
  bool operator==(const DramStandard&) const = default;
};

// The presets, in listing order.
const std::vector<DramStandard>& dram_standards();

// A number's JSON and where it comes from, as the file has it: {"value", "unit", "source", "scaling", "voltage"} of an
// energy of a preset.
struct DramEnergySource {
  double value = 0;
  std::string source, scaling;
  std::optional<double> voltage;
};
// The texts of a preset's energies, in the order of kDramEnergies; empty where the file has no energy.
const std::vector<std::array<std::optional<DramEnergySource>, kDramEnergies.size()>>& dram_energy_sources();

// Reports all errors: unknown and missing keys, values out of range, times that contradict each other.
Result<DramStandard> parse_dram(std::string_view json, std::string_view where);
Result<DramStandard> read_dram_file(const std::string& path);

// Whether the name of a DRAM in `bank:NAME` means a file.
bool is_dram_file(std::string_view name);

}  // namespace dovetail::simulator
