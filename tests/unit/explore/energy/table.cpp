// The energy table is data, each row with a source; overlays change it within its bounds, and the formula of SRAM fits
// its points.
#include "explore/energy/table.h"

#include <algorithm>
#include <string>

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::explore;
using Catch::Matchers::ContainsSubstring;

namespace {

const EnergyRow& row_of(const EnergyTable& table, std::string_view key) {
  const auto row = std::find_if(table.rows.begin(), table.rows.end(), [&](const EnergyRow& r) { return r.key == key; });
  REQUIRE(row != table.rows.end());
  return *row;
}

std::string refusal(const std::string& json) {
  const auto table = overlay(default_energy_table().value(), json, "mine.json");
  return table.ok() ? "taken" : to_string(table.errors());
}

std::string with_row(const std::string& key, const std::string& row) {
  return R"({"rows": {")" + key + "\": " + row + "}}";
}

}  // namespace

TEST_CASE("energy table: every row has a unit, bounds and a source") {
  const EnergyTable table = default_energy_table().value();
  // Two energies of the preset hbm3 are not known.
  CHECK(table.rows.size() == energy_keys().size() - 2);
  for (const EnergyRow& row : table.rows) {
    CAPTURE(row.key);
    CHECK(!row.unit.empty());
    CHECK(row.source.size() > 20);
    CHECK(row.least <= row.value);
    CHECK(row.value <= row.most);
    CHECK(row.least < row.most);
    CHECK((!row.node.empty() || row.key.starts_with("dram.")));
  }
  CHECK(!table.sram_source.empty());
  CHECK_THAT(table.statement(),
             ContainsSubstring("a model at 45 nm (table cmos45; clock.flip_flop at 40 nm), not a measurement"));
  CHECK(table.node_nm == 45);
}

TEST_CASE("energy table: the formula of SRAM fits its points") {
  const SramModel sram = default_energy_table().value().sram;
  CHECK(sram.points.size() == 29);
  // docs/reference/energy.md states these errors.
  CHECK(sram.read.mean_error < 0.12);
  CHECK(sram.read.worst_error < 0.32);
  CHECK(sram.write.mean_error < 0.04);
  CHECK(sram.write.worst_error < 0.11);
  CHECK(sram.leakage.mean_error < 0.31);
  CHECK(sram.leakage.worst_error < 1.04);
  double worst = 0;
  for (const SramPoint& point : sram.points)
    worst = std::max(worst, std::abs(sram.read_pj(8 * point.bytes, point.word_bits) / point.read_pj - 1));
  CHECK(worst == sram.read.worst_error);
}

TEST_CASE("energy table: more bits and wider words never cost less") {
  const SramModel sram = default_energy_table().value().sram;
  for (double bits = 1 << 10; bits < 1e9; bits *= 2)
    for (double width = 8; width <= 4096; width *= 2) {
      CAPTURE(bits, width);
      CHECK(sram.read_pj(2 * bits, width) > sram.read_pj(bits, width));
      CHECK(sram.read_pj(bits, 2 * width) > sram.read_pj(bits, width));
      CHECK(sram.write_pj(2 * bits, width) > sram.write_pj(bits, width));
      CHECK(sram.write_pj(bits, 2 * width) > sram.write_pj(bits, width));
      CHECK(sram.leakage_mw(2 * bits, width) > sram.leakage_mw(bits, width));
    }
}

TEST_CASE("energy table: the fit recovers the formula of generated points") {
  SramModel model;
  for (const double bytes : {256.0, 4096.0, 65536.0, 1048576.0})
    for (const double bits : {16.0, 64.0, 256.0}) {
      const double n = 8 * bytes, value = 0.5 * bits + 0.02 * std::sqrt(n) + 0.001 * bits * std::sqrt(n);
      model.points.push_back({bytes, bits, value, 2 * value, 1e-6 * n});
    }
  fit(model);
  CHECK(model.read.worst_error < 1e-6);
  CHECK(model.write.worst_error < 1e-6);
  CHECK(model.leakage.worst_error < 1e-6);
  CHECK(model.read.coefficients[0] == Approx(0.5).epsilon(1e-4));
  CHECK(model.read.coefficients[2] == Approx(0.001).epsilon(1e-4));
  CHECK(model.leakage.coefficients[3] == Approx(1e-6).epsilon(1e-4));
}

TEST_CASE("energy overlay: its rows replace those of the table, with their source") {
  const EnergyTable table = default_energy_table().value();
  const auto changed = overlay(
      table,
      R"({"node_nm": 28, "rows": {"mac.int8": {"value": 0.1, "unit": "pJ", "node": "28 nm", "source": "ours"}}})",
      "mine.json");
  REQUIRE(changed.ok());
  const EnergyRow& row = row_of(*changed, "mac.int8");
  CHECK(row.value == 0.1);
  CHECK(row.source == "ours");
  CHECK(row.node == "28 nm");
  CHECK(row.table == "mine.json");
  CHECK(changed->costs.mac == 0.1);
  CHECK(changed->costs.flip_flop_cycle == table.costs.flip_flop_cycle);
  CHECK(row_of(*changed, "alu.add") == row_of(table, "alu.add"));
  // Most rows are still the kit's: the table is at their node.
  CHECK(changed->statement() ==
        "a model at 45 nm (table cmos45 with mine.json; mac.int8 at 28 nm; clock.flip_flop at 40 nm), not a "
        "measurement");
  CHECK(changed->node_nm == 45);
}

TEST_CASE("energy overlay: rows of mixed technologies are named, and the table is at the node of most") {
  // All rows of the chip but the ALU's, at the file's node: mac.int8, clock.flip_flop, two of leakage and SRAM are at 7
  // nm, the rows of alu, one name, at 45.
  const auto overlaid = [](const std::string& sram, const std::string& node) {
    std::string rows;
    for (const auto& [key, unit] : {std::pair{"mac.int8", "pJ"}, std::pair{"clock.flip_flop", "pJ"},
                                    std::pair{"leakage.gate", "nW"}, std::pair{"leakage.flip_flop", "nW"}}) {
      const double value = row_of(default_energy_table().value(), key).value;
      rows += (rows.empty() ? "\"" : ", \"") + std::string(key) + R"(": {"value": )" + std::to_string(value) +
              R"(, "unit": ")" + unit + R"(", "source": "ours"})";
    }
    return overlay(default_energy_table().value(), "{" + node + R"("rows": {)" + rows + "}" + sram + "}", "mine.json")
        .value();
  };
  std::string points;
  for (const int bytes : {256, 4096, 65536})
    for (const int bits : {16, 64, 256})
      points += (points.empty() ? "[" : ", [") + std::to_string(bytes) + "," + std::to_string(bits) + ",1,2,1e-3]";
  const std::string sram =
      R"(, "sram": {"unit": "pJ", "leakage_unit": "mW", "source": "ours", "points": [)" + points + "]}";
  const EnergyTable mixed = overlaid(sram, R"("node_nm": 7, )");
  CHECK(mixed.statement() == "a model at 7 nm (table cmos45 with mine.json; alu.* at 45 nm), not a measurement");
  CHECK(mixed.node_nm == 7);
  // A row is not at the node of the row that it replaces.
  CHECK_THAT(overlaid("", "").statement(),
             ContainsSubstring("mac.int8, clock.flip_flop, leakage.* at a node that is not stated"));
}

TEST_CASE("energy overlay: points of SRAM are fitted again") {
  std::string points;
  for (const int bytes : {256, 4096, 65536})
    for (const int bits : {16, 64, 256})
      points += (points.empty() ? "" : ",") + std::string("[") + std::to_string(bytes) + "," + std::to_string(bits) +
                "," + std::to_string(0.01 * bits) + "," + std::to_string(0.02 * bits) + "," +
                std::to_string(1e-5 * bytes) + "]";
  const auto changed =
      overlay(default_energy_table().value(),
              R"({"sram": {"unit": "pJ", "leakage_unit": "mW", "source": "ours", "points": [)" + points + "]}}", "m");
  REQUIRE(changed.ok());
  CHECK(changed->sram.read_pj(8 * 4096, 64) == Approx(0.64));
  CHECK(changed->sram.write_pj(8 * 4096, 64) == Approx(1.28));
  CHECK(changed->sram_source == "ours");
}

TEST_CASE("energy overlay: invalid values are refused, with a remedy") {
  CHECK_THAT(refusal(with_row("mac.int9", "{}")),
             ContainsSubstring("there is no row of this name. Hint: did you mean `mac.int8`?"));
  CHECK_THAT(refusal(R"({"row": {}})"), ContainsSubstring("the key \"row\" is unknown. Hint: did you mean `rows`?"));
  CHECK_THAT(refusal(with_row("mac.int8", R"({"value": 0.1, "unit": "nJ", "source": "x"})")),
             ContainsSubstring("the unit is \"nJ\", but must be \"pJ\""));
  CHECK_THAT(refusal(with_row("mac.int8", R"({"value": -0.1, "unit": "pJ", "source": "x"})")),
             ContainsSubstring("-0.1 pJ is outside 0.003 to 10"));
  CHECK_THAT(refusal(with_row("mac.int8", R"({"value": 1.6e17, "unit": "pJ", "source": "x"})")),
             ContainsSubstring("1.6e+17 pJ is outside 0.003 to 10, the range for this event. Hint: check the unit"));
  CHECK_THAT(refusal(with_row("mac.int8", R"({"value": 0.1, "unit": "pJ"})")),
             ContainsSubstring("\"source\" is missing or not text. Hint: name the source of the number"));
  CHECK_THAT(refusal(with_row("mac.int8", R"({"value": "0.1", "unit": "pJ", "source": "x"})")),
             ContainsSubstring("\"value\" is missing or not a number"));
  CHECK_THAT(refusal(with_row("mac.int8", R"({"value": 0.1, "unit": "pJ", "source": "x", "bounds": [0, 9]})")),
             ContainsSubstring("the key \"bounds\" is unknown"));
  CHECK_THAT(refusal(with_row("mac.int8", R"({"value": 0.1, "unit": "pJ", "source": "x", "node": "N7"})")),
             ContainsSubstring("\"node\" is \"N7\", not 1 nm to 350 nm. Hint: for example \"28 nm\""));
  CHECK_THAT(refusal(R"({"node_nm": 4500})"), ContainsSubstring("4500 nm is outside 1 to 350"));
  CHECK_THAT(refusal("[]"), ContainsSubstring("expected a JSON object"));
  CHECK_THAT(refusal("{"), ContainsSubstring("mine.json"));
  CHECK_THAT(refusal(R"({"sram": {"unit": "pJ", "leakage_unit": "mW", "source": "x", "points": [[1, 2, 3]]}})"),
             ContainsSubstring("the point is not a list of five numbers"));
  CHECK_THAT(refusal(R"({"sram": {"unit": "nJ", "leakage_unit": "mW", "source": "x", "points": []}})"),
             ContainsSubstring("\"unit\" is not \"pJ\""));
  CHECK_THAT(
      refusal(R"({"sram": {"unit": "pJ", "leakage_unit": "mW", "source": "x", "points": [[64, 32, 1e9, 1, 1]]}})"),
      ContainsSubstring("0.0001 to 100 pJ per bit"));
  // All errors at once.
  const std::string both =
      refusal(R"({"rows": {"mac.int9": {}, "alu.add": {"value": 99, "unit": "pJ", "source": "x"}}})");
  CHECK_THAT(both, ContainsSubstring("mac.int9"));
  CHECK_THAT(both, ContainsSubstring("99 pJ is outside 0.001 to 10"));
}

TEST_CASE("energy table: a table with a missing row is refused") {
  CHECK_THAT(to_string(parse_energy_table(R"({"name": "t", "node_nm": 7, "rows": {}})", "t.json").errors()),
             ContainsSubstring("the row is missing"));
}
