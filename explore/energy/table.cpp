#include "explore/energy/table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/json.h"
#include "explore/energy/table_source.h"
#include "isa/nearest.h"

namespace dovetail::explore {

namespace {

constexpr std::size_t kLeastPoints = 8;  // for a fit of four coefficients

// Collects the errors of one table.
class TableReader {
 public:
  TableReader(std::string_view where, std::string_view what) : where_(where), what_(what) {}

  void wrong(const std::string& place, std::string why, std::string hint) {
    problems_.push_back({std::string(what_), fmt::format("{}{}{}", where_, place.empty() ? "" : ", ", place),
                         std::move(why), std::move(hint)});
  }
  Result<void> end() const { return problems_; }

  std::optional<double> number(const Json& json, std::string_view key, const std::string& place) {
    if (json.is_object() && json.contains(key) && json[key].is_number()) return json[key].get<double>();
    wrong(place, fmt::format("\"{}\" is missing or not a number", key), "give a number in the unit of the row");
    return std::nullopt;
  }
  std::string text(const Json& json, std::string_view key, const std::string& place, std::string_view hint) {
    if (json.is_object() && json.contains(key) && json[key].is_string() && !json[key].get<std::string>().empty())
      return json[key].get<std::string>();
    wrong(place, fmt::format("\"{}\" is missing or not text", key), std::string(hint));
    return {};
  }
  // Reports members that are not in `known`.
  void check_keys(const Json& json, std::span<const std::string_view> known, const std::string& place) {
    if (!json.is_object()) return wrong(place, "expected a JSON object", "see docs/reference/energy.md");
    for (const auto& [key, value] : json.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        wrong(place, fmt::format("the key \"{}\" is unknown", key), isa::suggestion(key, known));
  }

 private:
  std::string_view where_, what_;
  Diagnostics problems_;
};

constexpr std::string_view kSourceHint = "name the source of the number: a data sheet, a synthesis run, a paper";

void check_value(TableReader& reader, const EnergyRow& row) {
  if (!(row.value >= row.least && row.value <= row.most))
    reader.wrong(row.key,
                 fmt::format("{:g} {} is outside {:g} to {:g}, the range for this event", row.value, row.unit,
                             row.least, row.most),
                 fmt::format("check the unit: values are in {}", row.unit));
}

// "45 nm"
std::string read_node(TableReader& reader, const Json& json, const std::string& place) {
  constexpr std::string_view kHint = "for example \"28 nm\"";
  const std::string text = reader.text(json, "node", place, kHint);
  char* end = nullptr;
  const double node = std::strtod(text.c_str(), &end);
  if (!text.empty() && !(std::string_view(end) == " nm" && node >= 1 && node <= 350))
    reader.wrong(place, fmt::format("\"node\" is \"{}\", not 1 nm to 350 nm", text), std::string(kHint));
  return text;
}
double nanometers(const std::string& node) { return std::strtod(node.c_str(), nullptr); }

// Reads the members of a row that an overlay may have, and a whole table must have.
void read_row(TableReader& reader, const Json& json, EnergyRow& row) {
  if (!json.is_object()) return reader.wrong(row.key, "the row is not a JSON object", "give value, unit and source");
  if (const auto value = reader.number(json, "value", row.key)) row.value = *value;
  row.source = reader.text(json, "source", row.key, kSourceHint);
  if (json.contains("node")) row.node = read_node(reader, json, row.key);
  if (json.contains("voltage")) row.voltage = reader.number(json, "voltage", row.key);
  row.scaling = json.contains("scaling") ? reader.text(json, "scaling", row.key, "give text, or leave it out") : "";
}

std::optional<SramPoint> read_point(TableReader& reader, const Json& json, std::size_t index) {
  const std::string place = fmt::format("sram, point {}", index);
  constexpr std::string_view kHint = "give [bytes, bits of a word, read in pJ, write in pJ, leakage in mW]";
  const bool numbers = json.is_array() && json.size() == 5 &&
                       std::all_of(json.begin(), json.end(), [](const Json& value) { return value.is_number(); });
  if (!numbers) {
    reader.wrong(place, "the point is not a list of five numbers", std::string(kHint));
    return std::nullopt;
  }
  const SramPoint point{json[0].get<double>(), json[1].get<double>(), json[2].get<double>(), json[3].get<double>(),
                        json[4].get<double>()};
  const double bits = 8 * point.bytes;
  if (!(point.word_bits >= 1 && bits >= point.word_bits && bits <= 1e12)) {
    reader.wrong(
        place, fmt::format("{:g} bytes in words of {:g} bits are not a possible memory", point.bytes, point.word_bits),
        std::string(kHint));
    return std::nullopt;
  }
  // Plausible energies per bit of a word, from a latch at 2 nm to a megabyte at 180 nm; and leakage per bit of the
  // memory.
  const auto per_bit = [&](double value) { return value / point.word_bits >= 1e-4 && value / point.word_bits <= 100; };
  if (!per_bit(point.read_pj) || !per_bit(point.write_pj) ||
      !(point.leakage_mw > 0 && point.leakage_mw / bits <= 1e-3)) {
    reader.wrong(place,
                 fmt::format("{:g} and {:g} pJ for words of {:g} bits, {:g} mW for {:g} bits: outside 0.0001 to 100 pJ "
                             "per bit of a word, or above 1 uW per bit",
                             point.read_pj, point.write_pj, point.word_bits, point.leakage_mw, bits),
                 std::string(kHint));
    return std::nullopt;
  }
  return point;
}

void read_sram(TableReader& reader, const Json& json, EnergyTable& table, std::string_view from) {
  constexpr std::array<std::string_view, 8> kKeys{"unit",    "leakage_unit", "macro_bits", "node",
                                                  "voltage", "source",       "scaling",    "points"};
  reader.check_keys(json, kKeys, "sram");
  if (!json.is_object()) return;
  for (const auto& [key, unit] : {std::pair{"unit", "pJ"}, std::pair{"leakage_unit", "mW"}})
    if (json.value(key, "") != unit)
      reader.wrong("sram", fmt::format("\"{}\" is not \"{}\"", key, unit),
                   "convert the points to this unit, and name the unit");
  table.sram_source = reader.text(json, "source", "sram", kSourceHint);
  table.sram_table = from;
  if (json.contains("node")) table.sram_node = read_node(reader, json, "sram");
  if (json.contains("macro_bits")) {
    const auto bits = reader.number(json, "macro_bits", "sram");
    if (bits && !(*bits >= 8 && *bits <= 65536))
      reader.wrong("sram", fmt::format("\"macro_bits\" {:g} is outside 8 to 65536", *bits),
                   "typical macros have 64 to 512 bits");
    else if (bits) table.sram.macro_bits = *bits;
  }
  std::vector<SramPoint> points;
  if (json.contains("points") && json["points"].is_array())
    for (const Json& point : json["points"])
      if (const auto read = read_point(reader, point, points.size())) points.push_back(*read);
  if (points.size() < kLeastPoints)
    return reader.wrong("sram",
                        fmt::format("the table has {} points, but needs at least {}", points.size(), kLeastPoints),
                        "give sizes and widths around those of the design's memories");
  table.sram.points = std::move(points);
  fit(table.sram);
  for (const SramFit* fit : {&table.sram.read, &table.sram.write, &table.sram.leakage})
    if (!std::isfinite(fit->worst_error) || fit->worst_error > 2)
      return reader.wrong("sram", "the formula does not fit the points: its error is more than twice a value",
                          "give several sizes with several widths each, all in the same technology");
}

// The chip's rows by technology node. Rows whose names begin with the same word ("alu.") are combined if they are at
// one node.
std::map<std::string, std::vector<std::string>> nodes_of(const EnergyTable& table) {
  std::map<std::string, std::set<std::string>> of_group;  // nodes by the first part of the name
  const auto group = [](const std::string& key) { return key.substr(0, key.find('.')); };
  const auto on_chip = [](const EnergyRow& row) { return !row.key.starts_with("dram."); };
  std::map<std::string, std::size_t> sizes;
  for (const EnergyRow& row : table.rows)
    if (on_chip(row)) of_group[group(row.key)].insert(row.node), ++sizes[group(row.key)];
  std::map<std::string, std::vector<std::string>> nodes;
  for (const EnergyRow& row : table.rows) {
    if (!on_chip(row)) continue;
    const bool whole = of_group[group(row.key)].size() == 1 && sizes[group(row.key)] > 1;
    const std::string name = whole ? group(row.key) + ".*" : row.key;
    std::vector<std::string>& names = nodes[row.node];
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  nodes[table.sram_node].emplace_back("sram");
  return nodes;
}
std::string node_of_most(const std::map<std::string, std::vector<std::string>>& nodes) {
  return std::ranges::max_element(nodes, {},
                                  [](const auto& each) { return each.first.empty() ? 0 : each.second.size(); })
      ->first;
}

std::string dram_key(const simulator::DramStandard& standard, std::string_view what) {
  return fmt::format("dram.{}.{}", standard.name, what);
}

void bind(EnergyTable& table) {
  const auto value = [&](const std::string& key) {
    for (const EnergyRow& row : table.rows)
      if (row.key == key) return row.value;
    DOVETAIL_CHECK(false, "no row " + key);
    return 0.0;
  };
  EnergyCosts& costs = table.costs;
  table.node_nm = nanometers(node_of_most(nodes_of(table)));
  costs.mac = value("mac.int8");
  for (const isa::spec::AluOpInfo& op : isa::spec::kAluOps)
    costs.alu[static_cast<std::size_t>(op.op)] = value(fmt::format("alu.{}", op.name));
  costs.flip_flop_cycle = value("clock.flip_flop");
  costs.gate_nw = value("leakage.gate");
  costs.flip_flop_nw = value("leakage.flip_flop");
  costs.ideal_byte = value("dram.ideal.byte");
  costs.dram.assign(simulator::dram_standards().size(), {});
  for (std::size_t i = 0; i < costs.dram.size(); ++i)
    for (const simulator::DramEnergyInfo& info : simulator::kDramEnergies) {
      const auto row =
          std::ranges::find(table.rows, dram_key(simulator::dram_standards()[i], info.key), &EnergyRow::key);
      if (row != table.rows.end()) costs.dram[i].*info.value = row->value;
    }
}

// The rows of the presets, from their files.
void add_presets(EnergyTable& table) {
  for (std::size_t i = 0; i < simulator::dram_standards().size(); ++i)
    for (std::size_t k = 0; k < simulator::kDramEnergies.size(); ++k) {
      const simulator::DramEnergyInfo& info = simulator::kDramEnergies[k];
      if (const auto& energy = simulator::dram_energy_sources()[i][k])
        table.rows.push_back({.key = dram_key(simulator::dram_standards()[i], info.key),
                              .value = energy->value,
                              .unit = std::string(info.unit),
                              .least = info.least,
                              .most = info.most,
                              .node = {},
                              .voltage = energy->voltage,
                              .source = energy->source,
                              .scaling = energy->scaling,
                              .table = table.name});
    }
}

// The row of an energy of a preset that is not known; nullopt: there is no preset or energy of this name.
std::optional<EnergyRow> unknown_row(std::string_view key) {
  for (const simulator::DramStandard& standard : simulator::dram_standards())
    for (const simulator::DramEnergyInfo& info : simulator::kDramEnergies)
      if (key == dram_key(standard, info.key))
        return EnergyRow{.key = std::string(key),
                         .unit = std::string(info.unit),
                         .least = info.least,
                         .most = info.most,
                         .node = {},
                         .source = {},
                         .scaling = {},
                         .table = {}};
  return std::nullopt;
}

}  // namespace

std::string EnergyTable::statement() const {
  const auto nodes = nodes_of(*this);
  const std::string most = node_of_most(nodes);
  const auto text = [](const std::string& node) { return node.empty() ? "a node that is not stated" : node; };
  std::string others;
  for (const auto& [node, names] : nodes)
    if (node != most) others += fmt::format("; {} at {}", fmt::join(names, ", "), text(node));
  return fmt::format("a model at {} (table {}{}), not a measurement{}{}", text(most), name, others,
                     mixed.empty() ? "" : "; ", mixed);
}

std::string EnergyTable::key() const {
  Hash hash;
  for (const EnergyRow& row : rows) hash.add(fmt::format("{} {}\n", row.key, row.value));
  hash.add(fmt::format("{}\n", sram.macro_bits));
  for (const SramPoint& point : sram.points)
    hash.add(
        fmt::format("{} {} {} {} {}\n", point.bytes, point.word_bits, point.read_pj, point.write_pj, point.leakage_mw));
  return fmt::format("{}, {}", name, hash.text());
}

namespace {

std::vector<std::string> chip_keys() {
  std::vector<std::string> keys{"mac.int8"};
  for (const isa::spec::AluOpInfo& op : isa::spec::kAluOps) keys.push_back(fmt::format("alu.{}", op.name));
  for (const std::string_view key : {"clock.flip_flop", "leakage.gate", "leakage.flip_flop", "dram.ideal.byte"})
    keys.emplace_back(key);
  return keys;
}

}  // namespace

std::vector<std::string> energy_keys() {
  std::vector<std::string> keys = chip_keys();
  for (const simulator::DramStandard& standard : simulator::dram_standards())
    for (const simulator::DramEnergyInfo& info : simulator::kDramEnergies) keys.push_back(dram_key(standard, info.key));
  return keys;
}

Result<EnergyTable> parse_energy_table(std::string_view json, std::string_view where) {
  DOVETAIL_ASSIGN(const Json parsed, parse_json(json, where));
  TableReader reader(where, "cannot read an energy table");
  constexpr std::array<std::string_view, 4> kKeys{"name", "about", "rows", "sram"};
  reader.check_keys(parsed, kKeys, "");
  if (!parsed.is_object()) return *reader.end().errors().begin();
  EnergyTable table;
  table.name = reader.text(parsed, "name", "", "name the table");
  const Json rows = parsed.value("rows", Json::object());
  for (const std::string& key : chip_keys()) {
    EnergyRow row;
    row.key = key;
    row.table = table.name;
    if (!rows.contains(key)) {
      reader.wrong(key, "the row is missing",
                   "a complete table needs all rows; an overlay needs only those that differ");
      continue;
    }
    const Json& json_row = rows[key];
    read_row(reader, json_row, row);
    row.unit = reader.text(json_row, "unit", key, "for example \"pJ\"");
    const Json bounds = json_row.is_object() ? json_row.value("bounds", Json()) : Json();
    if (bounds.is_array() && bounds.size() == 2 && bounds[0].is_number() && bounds[1].is_number()) {
      row.least = bounds[0].get<double>();
      row.most = bounds[1].get<double>();
      check_value(reader, row);
    } else {
      reader.wrong(key, "\"bounds\" are missing", "give the least and the largest plausible value");
    }
    table.rows.push_back(std::move(row));
  }
  if (parsed.contains("sram")) read_sram(reader, parsed["sram"], table, table.name);
  else reader.wrong("sram", "the key is missing", "give the points that the formula is fitted to");
  DOVETAIL_TRY(reader.end());
  add_presets(table);
  bind(table);
  return table;
}

Result<EnergyTable> default_energy_table() {
  static const EnergyTable table = [] {
    auto parsed = parse_energy_table(kEnergyTable, "explore/energy/cmos45.json");
    DOVETAIL_CHECK(parsed.ok(), to_string(parsed.errors()));
    return *std::move(parsed);
  }();
  return table;
}

Result<EnergyTable> overlay(EnergyTable table, std::string_view json, std::string_view name) {
  DOVETAIL_ASSIGN(const Json parsed, parse_json(json, name));
  TableReader reader(name, "cannot read an energy overlay");
  constexpr std::array<std::string_view, 4> kKeys{"about", "node_nm", "rows", "sram"};
  reader.check_keys(parsed, kKeys, "");
  if (!parsed.is_object()) return *reader.end().errors().begin();
  std::string own_node;
  if (parsed.contains("node_nm"))
    if (const auto node = reader.number(parsed, "node_nm", "")) {
      if (*node >= 1 && *node <= 350) own_node = fmt::format("{:g} nm", *node);
      else reader.wrong("node_nm", fmt::format("{:g} nm is outside 1 to 350", *node), "give it in nanometers");
    }
  const std::vector<std::string> names = energy_keys();
  const std::vector<std::string_view> keys(names.begin(), names.end());
  const Json rows = parsed.value("rows", Json::object());
  if (!rows.is_object()) reader.wrong("rows", "expected a JSON object", "give {\"mac.int8\": {\"value\": 0.1, ...}}");
  else
    for (const auto& [key, json_row] : rows.items()) {
      if (std::ranges::find(table.rows, key, &EnergyRow::key) == table.rows.end())
        if (auto row = unknown_row(key)) table.rows.push_back(*std::move(row));
      const auto row = std::ranges::find(table.rows, key, &EnergyRow::key);
      if (row == table.rows.end()) {
        reader.wrong(key, "there is no row of this name", isa::suggestion(key, keys));
        continue;
      }
      constexpr std::array<std::string_view, 6> kRowKeys{"value", "unit", "source", "node", "voltage", "scaling"};
      reader.check_keys(json_row, kRowKeys, key);
      if (!json_row.is_object()) continue;
      const std::string unit = reader.text(json_row, "unit", key, fmt::format("it is \"{}\"", row->unit));
      if (!unit.empty() && unit != row->unit)
        reader.wrong(key, fmt::format("the unit is \"{}\", but must be \"{}\"", unit, row->unit), "convert the value");
      if (!key.starts_with("dram.")) row->node = own_node;
      read_row(reader, json_row, *row);
      if (unit == row->unit) check_value(reader, *row);
      row->table = name;
    }
  if (parsed.contains("sram")) {
    table.sram_node = own_node;
    read_sram(reader, parsed["sram"], table, name);
  }
  DOVETAIL_TRY(reader.end());
  table.name = fmt::format("{} with {}", table.name, name);
  bind(table);
  return table;
}

}  // namespace dovetail::explore
