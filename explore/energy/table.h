// What one event costs, as data: rows with unit, node, voltage, source and the bounds of a sane value. The kit's table
// is explore/energy/cmos45.json; a user's file says what differs. docs/reference/energy.md describes it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "explore/energy/sram.h"
#include "isa/spec/alu_ops.h"
#include "simulator/memory/dram_standard.h"

namespace dovetail::explore {

struct EnergyRow {
  std::string key;  // "mac.int8", "alu.add", "dram.lpddr4.read"
  double value = 0;
  std::string unit;  // "pJ", "pJ/bit", "pJ/byte", "nW", "mW"
  double least = 0, most = 0;
  std::string node;  // "45 nm"
  std::optional<double> voltage{};
  std::string source;   // where the number is from
  std::string scaling;  // what was assumed on the way from there to here; empty: nothing
  std::string table;    // the table that it is of, an overlay's name where that has changed it
  bool operator==(const EnergyRow&) const = default;
};

// Picojoules but for what is said otherwise. An access has simulator::DramStandard::access_bytes.
struct DramCosts {
  double activate = 0, precharge = 0, refresh = 0;
  double read_bit = 0, write_bit = 0, io_read_bit = 0, io_write_bit = 0;
  double standby_mw = 0;
};
// The rows' values, where energy_of() finds them without searching.
struct EnergyCosts {
  double mac = 0;
  std::array<double, isa::spec::kAluOps.size()> alu{};  // of one lane, by isa::AluOp
  double flip_flop_cycle = 0;
  double gate_nw = 0, flip_flop_nw = 0;
  double ideal_byte = 0;
  std::array<DramCosts, simulator::kDramStandards.size()> dram{};  // in the order of the standards
};

struct EnergyTable {
  std::string name;    // "cmos45", "cmos45 with mine.json"
  double node_nm = 0;  // of the logic and the memories on chip
  std::vector<EnergyRow> rows;
  SramModel sram;
  std::string sram_source, sram_table;
  EnergyCosts costs;

  // "a model at 45 nm (table cmos45), not a measurement"
  std::string statement() const;
};

// The keys that a table has, in their order: those of the kit's instructions, operations and DRAM standards.
std::vector<std::string> energy_keys();

// A whole table: every key, each once. Errors: all that is wrong with it.
Result<EnergyTable> parse_energy_table(std::string_view json, std::string_view where);
// The kit's own, parsed once.
Result<EnergyTable> default_energy_table();
// `table` with what `json` says instead: {"rows": {"mac.int8": {"value": 0.1, "unit": "pJ", "source": "..."}}, "sram":
// {...}}. Errors, all of them together: unknown keys, another unit than the table's, a value out of the
// row's bounds, no source.
Result<EnergyTable> overlay(EnergyTable table, std::string_view json, std::string_view name);

}  // namespace dovetail::explore
