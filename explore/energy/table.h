// The energy of each event as a table: rows with unit, node, voltage, source and the bounds of a plausible value. The
// kit's table is explore/energy/cmos45.json; a user's file has the rows that differ. docs/reference/energy.md describes
// it.
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
  std::string node;  // "45 nm"; empty: not stated, or a DRAM, which is a product of some node
  std::optional<double> voltage{};
  std::string source;   // the origin of the number
  std::string scaling;  // the assumptions of a conversion from the source; empty: not converted
  std::string table;    // the table that the row comes from; the overlay's name for a changed row
  bool operator==(const EnergyRow&) const = default;
};

// The rows' values in members, so that energy_of() need not search.
struct EnergyCosts {
  double mac = 0;
  std::array<double, isa::spec::kAluOps.size()> alu{};  // per lane, by isa::AluOp
  double flip_flop_cycle = 0;
  double gate_nw = 0, flip_flop_nw = 0;
  double ideal_byte = 0;
  std::vector<simulator::DramEnergy> dram;  // in the order of simulator::dram_standards()
};

struct EnergyTable {
  std::string name;    // "cmos45", "cmos45 with mine.json"
  double node_nm = 0;  // the node of most rows of the chip; 0: not stated
  std::vector<EnergyRow> rows;
  SramModel sram;
  std::string sram_source, sram_table, sram_node;
  EnergyCosts costs;
  std::string mixed;  // why it is not of the same chip as another number of the report; empty: it is

  // A text that names the table, and every chip row whose technology node differs from that of most rows: "a model at
  // 45 nm (table cmos45; clock.flip_flop at 40 nm), not a measurement".
  std::string statement() const;
  // The name, and a hash of all values: tables of equal keys give equal energies.
  std::string key() const;
};

// The keys of a table in their order: those of the kit's instructions, operations and DRAM presets. The rows of the
// presets come from their files (simulator/memory/dram); a preset whose energy is not known has no row.
std::vector<std::string> energy_keys();

// Parses a whole table, which has every key of the chip once. Reports all errors.
Result<EnergyTable> parse_energy_table(std::string_view json, std::string_view where);
// The kit's table, parsed once.
Result<EnergyTable> default_energy_table();
// `table` with rows replaced by those of `json`: {"rows": {"mac.int8": {"value": 0.1, "unit": "pJ", "source": "..."}},
// "sram": {...}}, "node_nm": 28}. A row is at its own "node", else at the file's "node_nm", else at a node that is not
// stated: not at that of the row that it replaces. Reports all errors: unknown keys, another unit than the table's, a
// value outside the row's bounds, no source.
Result<EnergyTable> overlay(EnergyTable table, std::string_view json, std::string_view name);

}  // namespace dovetail::explore
