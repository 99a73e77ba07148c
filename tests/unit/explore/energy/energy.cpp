// Energy is a sum of products: it grows with each event, scales with the run, and its parts are all of it.
#include "explore/energy/energy.h"

#include <string>
#include <tuple>
#include <vector>

#include "base/file.h"
#include "isa/config.h"
#include "simulator/memory/dram_presets.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using namespace dovetail::explore;
using Catch::Matchers::ContainsSubstring;

namespace {

const EnergyTable& table() {
  static const EnergyTable made = default_energy_table().value();
  return made;
}

simulator::MemorySpec memory(const std::string& text) { return simulator::parse_memory(text).value(); }

// A run with some events of every kind.
simulator::Counters some_counters() {
  simulator::Counters counters;
  counters.queue_instructions = {10, 20, 5};
  counters.alu_uops_by_op = {1, 2, 3, 4, 5, 6, 7, 8};
  counters.alu_uops = 36;
  counters.gemm_uops = 100;
  counters.macs = 25600;
  for (simulator::Accesses& accesses : counters.sram) accesses = {.reads = 50, .writes = 40};
  for (simulator::PortEvents& port : counters.port)
    port = {.bursts = 2, .beats = 60, .buffer = {.reads = 60, .writes = 60}};
  counters.fetch = simulator::PortEvents{.bursts = 1, .beats = 70, .buffer = {.reads = 70, .writes = 70}};
  counters.dram = simulator::DramCommands{{7, 6, 50, 20, 1}};
  return counters;
}

constexpr RunTime kTime{.cycles = 1000, .clock_hz = 500e6};
constexpr LogicSize kLogic{.gates = 400'000, .flip_flops = 12'000};

Energy energy(const simulator::Counters& counters, const std::string& spec = "bank:ddr4-2400",
              std::optional<RunTime> time = kTime, std::optional<LogicSize> logic = kLogic,
              const std::string& config = "1x16x16-ext") {
  return energy_of(counters, isa::load_config(config).value(), memory(spec), time, table(), logic);
}

double part(const Energy& energy, std::string_view component) {
  for (const Energy::Part& part : energy.parts)
    if (part.component == component) return part.joules;
  return -1;
}

}  // namespace

TEST_CASE("energy: events of a DRAM whose energy is not known are named") {
  const EnergyTable table = default_energy_table().value();
  CHECK(unknown_dram_events(*simulator::parse_memory("bank:hbm2"), table).empty());
  CHECK(unknown_dram_events(*simulator::parse_memory("bank:hbm3"), table) == "refresh, standby");
  CHECK(unknown_dram_events(simulator::IdealMemory{}, table).empty());
}

TEST_CASE("energy: several accelerators have the chip's energy N times, the shared DRAM's commands and standby once") {
  RunTime four = kTime;
  four.accelerators = 4;
  for (const std::string spec : {"bank:ddr4-2400", "bank:hbm2"}) {
    const Energy one = energy(some_counters(), spec), all = energy(some_counters(), spec, four);
    CHECK(all.chip_joules() == Approx(4 * one.chip_joules()));
    CHECK(all.dram_joules() == Approx(one.dram_joules()));
  }
  CHECK(energy(some_counters(), "ideal", four).joules == Approx(4 * energy(some_counters(), "ideal").joules));
}

TEST_CASE("energy: accelerators that differ have each its own chip's energy, and share the DRAM's") {
  const isa::HardwareConfig big = isa::load_config("1x32x32").value(), small = isa::load_config("1x16x16-g3").value();
  const simulator::Counters counters = some_counters();
  simulator::Counters sum = counters;
  sum += counters;
  const RunTime time{.cycles = 1000, .clock_hz = 500e6, .accelerators = 2, .by_samples = false};
  const LogicSize more{.gates = 900'000, .flip_flops = 30'000};
  for (const std::string spec : {"bank:ddr4-2400", "ideal"}) {
    const std::vector<AcceleratorWork> each{{counters, big, more}, {counters, small, kLogic}};
    const Energy all = energy_of_each(each, sum, memory(spec), time, table());
    const double of_big = energy_of(counters, big, memory(spec), kTime, table(), more).chip_joules(),
                 of_small = energy_of(counters, small, memory(spec), kTime, table(), kLogic).chip_joules();
    CHECK(of_big != Approx(of_small));
    CHECK(all.chip_joules() == Approx(of_big + of_small));
    CHECK(all.dram_joules() == Approx(energy_of(sum, small, memory(spec), time, table(), kLogic).dram_joules()));
    // Equal ones have the energy that one configuration and their number give.
    const std::vector<AcceleratorWork> equal{{counters, small, kLogic}, {counters, small, kLogic}};
    const Energy twice = energy_of_each(equal, sum, memory(spec), time, table()),
                 expected = energy_of(sum, small, memory(spec), time, table(), kLogic);
    CHECK(twice.joules == Approx(expected.joules));
    CHECK(twice.statement == expected.statement);
    CHECK(twice.missing.size() == expected.missing.size());
  }
}

TEST_CASE("energy: accelerators that divide a sample leak N times, and their events are in the counters") {
  RunTime four = kTime;
  four.accelerators = 4;
  four.by_samples = false;
  simulator::Counters nothing;
  nothing.fetch = simulator::PortEvents{};
  for (const std::string spec : {"bank:ddr4-2400", "ideal"}) {
    const double idle = energy(nothing, spec).chip_joules();
    CHECK(energy(nothing, spec, four).chip_joules() == Approx(4 * idle));
    CHECK(energy(some_counters(), spec, four).chip_joules() ==
          Approx(energy(some_counters(), spec).chip_joules() + 3 * idle));
  }
}

TEST_CASE("energy: the parts sum to the total") {
  for (const std::string spec : {"ideal", "bank:ddr4-2400", "bank:lpddr4", "bank:hbm2", "perturbed:seed=1"}) {
    CAPTURE(spec);
    const Energy whole = energy(some_counters(), spec);
    double sum = 0;
    for (const Energy::Part& part : whole.parts) {
      CAPTURE(part.component);
      CHECK(part.joules > 0);
      sum += part.joules;
    }
    CHECK(whole.joules == Approx(sum));
    CHECK(whole.chip_joules() + whole.dram_joules() == Approx(sum));
    CHECK(whole.chip_joules() > 0);
    CHECK(whole.dram_joules() > 0);
  }
}

TEST_CASE("energy: products of the table, by hand") {
  simulator::Counters counters;
  counters.macs = 1000;
  counters.alu_uops_by_op[static_cast<std::size_t>(isa::AluOp::requant)] = 10;
  counters.epilogue_uops = 5;
  counters.dram = simulator::DramCommands{{2, 1, 10, 5, 1}};
  counters.fetch.emplace();
  const Energy whole = energy(counters);
  CHECK(part(whole, "MAC") == Approx(1000 * 0.3e-12));
  CHECK(part(whole, "ALU") == Approx((10 + 5) * 16 * 2.82e-12));  // 16 lanes
  CHECK(part(whole, "clock") == Approx(1000 * 12'000 * 0.009e-12));
  CHECK(part(whole, "leakage of logic") == Approx((400'000 * 17.39336 + 12'000 * 79.112308) * 1e-9 * 2e-6));
  CHECK(part(whole, "DRAM rows") == Approx((2 * 1560 + 1903) * 1e-12));
  CHECK(part(whole, "DRAM data") == Approx((10 * 5.75 + 5 * 5.0) * 512 * 1e-12));
  CHECK(part(whole, "DRAM I/O") == Approx(15 * 4.57 * 512 * 1e-12));
  CHECK(part(whole, "DRAM refresh") == Approx(695'000e-12));
  CHECK(part(whole, "DRAM standby") == Approx(0.413 * 2e-6));
}

TEST_CASE("energy: a DRAM file has its own energies, by hand, and lists those that it does not know") {
  const test::TemporaryFolder folder;
  Json json = parse_json(simulator::dram_presets()[0].text, "ddr4-2400").value();
  json["energy"] = Json::object();
  for (const auto& [key, value, unit] : {std::tuple("activate", 100.0, "pJ"), std::tuple("precharge", 50.0, "pJ"),
                                         std::tuple("read", 2.0, "pJ/bit"), std::tuple("write", 3.0, "pJ/bit"),
                                         std::tuple("io_read", 0.5, "pJ/bit"), std::tuple("io_write", 0.25, "pJ/bit"),
                                         std::tuple("refresh", 1000.0, "pJ"), std::tuple("standby", 200.0, "mW")})
    json["energy"][key] = {{"value", value}, {"unit", unit}, {"source", "by hand"}};
  const std::string path = folder / "mine.json";
  REQUIRE(write_text_file(path, json.dump()).ok());
  simulator::Counters counters;
  counters.dram = simulator::DramCommands{{2, 1, 10, 5, 3}};  // activates, precharges, reads, writes, refreshes
  counters.fetch.emplace();
  const Energy own = energy(counters, "bank:" + path);
  CHECK(part(own, "DRAM rows") == Approx((2 * 100 + 50) * 1e-12));
  CHECK(part(own, "DRAM data") == Approx((10 * 2 + 5 * 3) * 512 * 1e-12));  // accesses of 64 bytes
  CHECK(part(own, "DRAM I/O") == Approx((10 * 0.5 + 5 * 0.25) * 512 * 1e-12));
  CHECK(part(own, "DRAM refresh") == Approx(3 * 1000e-12));
  CHECK(part(own, "DRAM standby") == Approx(0.2 * 2e-6));  // 1000 cycles at 500 MHz
  CHECK(own.missing.empty());
  CHECK_THAT(own.statement, ContainsSubstring("; the DRAM by " + path));
  json["energy"].erase("refresh");
  json["energy"].erase("standby");
  REQUIRE(write_text_file(path, json.dump()).ok());
  const Energy less = energy(counters, "bank:" + path);
  CHECK(part(less, "DRAM rows") == Approx(250e-12));
  CHECK(part(less, "DRAM refresh") == 0);
  REQUIRE(less.missing.size() == 1);
  CHECK_THAT(less.missing[0], ContainsSubstring("refresh, standby of the DRAM ddr4-2400, whose energy is not known"));
  // A preset without all energies, and an overlay that adds one.
  REQUIRE(energy(counters, "bank:hbm3").missing.size() == 1);
  CHECK_THAT(energy(counters, "bank:hbm3").missing[0], ContainsSubstring("refresh, standby of the DRAM hbm3"));
  const EnergyTable more = overlay(table(), R"({"rows": {"dram.hbm3.refresh": {"value": 5, "unit": "pJ", "source": "x"},
      "dram.hbm3.standby": {"value": 7, "unit": "mW", "source": "x"}}})",
                                   "more.json")
                               .value();
  const Energy known =
      energy_of(counters, isa::load_config("1x16x16-ext").value(), memory("bank:hbm3"), kTime, more, kLogic);
  CHECK(known.missing.empty());
  CHECK(part(known, "DRAM refresh") == Approx(15e-12));
}

TEST_CASE("energy: the rows of the new presets, by hand") {
  simulator::Counters counters;
  counters.dram = simulator::DramCommands{{1, 1, 1, 0, 1}};
  counters.fetch.emplace();
  // Eight devices of 1.2 V: (57 - 52) mA for 32.5 ns and (57 - 37) mA for 13.75 ns.
  const Energy ddr4 = energy(counters, "bank:ddr4-3200");
  CHECK(part(ddr4, "DRAM rows") == Approx(8 * 1.2 * (5 * 32.5 + 20 * 13.75) * 1e-12));
  CHECK(part(ddr4, "DRAM data") == Approx(8 * 1.2 * (168 - 52) * 2.5 * 1e-12).epsilon(1e-3));
  CHECK(part(ddr4, "DRAM standby") == Approx(8 * 1.2 * 0.052 * 2e-6).epsilon(1e-3));
  // Four devices of 1.1 V: (122 - 92) mA for tRC = 32 + 16.25 ns; (277 - 142) mA for 295 ns.
  const Energy ddr5 = energy(counters, "bank:ddr5-4800");
  CHECK(part(ddr5, "DRAM rows") == Approx(4 * 1.1 * 30 * 48.25 * 1e-12).epsilon(1e-3));
  CHECK(part(ddr5, "DRAM refresh") == Approx(4 * 1.1 * 135 * 295 * 1e-12));
  CHECK(part(ddr5, "DRAM standby") == Approx(8 * 1.1 * 0.142 * 2e-6).epsilon(1e-3));
  CHECK(ddr4.missing.empty());
  CHECK(ddr5.missing.empty());
}

TEST_CASE("energy: more of any event costs more") {
  const simulator::Counters before = some_counters();
  const auto energy_of_tables = [](const simulator::Counters& counters) {
    return energy(counters, "bank:ddr4-2400", kTime, kLogic, "1x16x16-ext,table=true");
  };
  const double base = energy_of_tables(before).joules;
  const auto grows = [&](auto change) {
    simulator::Counters more = before;
    change(more);
    CHECK(energy_of_tables(more).joules > base);
  };
  grows([](auto& c) { ++c.macs; });
  grows([](auto& c) { ++c.epilogue_uops; });
  grows([](auto& c) { ++c.epilogue_lookups; });
  for (std::size_t op = 0; op < before.alu_uops_by_op.size(); ++op) grows([&](auto& c) { ++c.alu_uops_by_op[op]; });
  for (const isa::Memory memory : simulator::kSrams) {
    grows([&](auto& c) { ++c.sram_of(memory).reads; });
    grows([&](auto& c) { ++c.sram_of(memory).writes; });
  }
  for (std::size_t q = 0; q < 3; ++q) {
    grows([&](auto& c) { ++c.queue_instructions[q]; });
    grows([&](auto& c) { ++c.port[q].buffer.reads; });
    grows([&](auto& c) { ++c.port[q].buffer.writes; });
  }
  grows([](auto& c) { ++c.fetch->buffer.reads; });
  for (std::size_t k = 0; k < before.dram->counts.size(); ++k) grows([&](auto& c) { ++c.dram->counts[k]; });
  const double alone = energy(before).joules;
  CHECK(energy(before, "bank:ddr4-2400", RunTime{1001, 500e6}).joules > alone);
  CHECK(energy(before, "bank:ddr4-2400", RunTime{1000, 400e6}).joules > alone);  // leaks longer
  CHECK(energy(before, "bank:ddr4-2400", kTime, LogicSize{400'001, 12'000}).joules > alone);
  CHECK(energy(before, "bank:ddr4-2400", kTime, LogicSize{400'000, 12'001}).joules > alone);
  simulator::Counters more = before;
  ++more.port[0].beats;  // of a memory without commands
  CHECK(energy(more, "ideal").joules > energy(before, "ideal").joules);
}

TEST_CASE("energy: two launches cost what both cost alone") {
  const simulator::Counters one = some_counters();
  simulator::Counters two = one;
  two += one;
  for (const std::string spec : {"ideal", "bank:lpddr4"}) {
    const Energy alone = energy(one, spec);
    Energy sum = alone;
    sum += alone;
    const Energy both = energy(two, spec, RunTime{2000, 500e6});
    CHECK(both.joules == Approx(2 * alone.joules));
    CHECK(sum.joules == Approx(both.joules));
    REQUIRE(sum.parts.size() == both.parts.size());
    for (std::size_t i = 0; i < sum.parts.size(); ++i) {
      CHECK(sum.parts[i].component == both.parts[i].component);
      CHECK(sum.parts[i].joules == Approx(both.parts[i].joules));
    }
    CHECK(sum.missing == both.missing);
  }
}

TEST_CASE("energy: unknown parts are left out, and listed") {
  simulator::Counters counters = simulator::without_time(some_counters());
  const Energy functional = energy(counters, "bank:ddr4-2400", std::nullopt, std::nullopt);
  CHECK(part(functional, "clock") == -1);
  CHECK(part(functional, "leakage of SRAM") == -1);
  CHECK(part(functional, "DRAM standby") == -1);
  CHECK(part(functional, "DRAM by bytes") > 0);
  std::string missing;
  for (const std::string& what : functional.missing) missing += what + "\n";
  CHECK_THAT(missing, ContainsSubstring("the engine has no clock; --engine cycle has"));
  CHECK_THAT(missing, ContainsSubstring("the engine does not fetch"));
  CHECK_THAT(missing, ContainsSubstring("rows, refresh and standby"));

  const Energy without_logic = energy(some_counters(), "bank:ddr4-2400", kTime, std::nullopt);
  CHECK(part(without_logic, "leakage of SRAM") > 0);
  CHECK(part(without_logic, "clock") == -1);
  REQUIRE(without_logic.missing.size() == 1);
  CHECK_THAT(without_logic.missing[0], ContainsSubstring("the size of the logic is not known"));
  CHECK(energy(some_counters()).missing.empty());
}

TEST_CASE("energy: larger memories cost more for the same events") {
  const simulator::Counters counters = some_counters();
  CHECK(part(energy(counters, "ideal", kTime, kLogic, "1x16x16-ext"), "SRAM wgt") >
        part(energy(counters, "ideal", kTime, kLogic, "1x8x8"), "SRAM wgt"));
  // The shadow of ACC is twice as wide with `saturate`.
  CHECK(part(energy(counters, "ideal", kTime, kLogic, "1x16x16-ext"), "SRAM out") >
        part(energy(counters, "ideal", kTime, kLogic, "1x16x16"), "SRAM out"));
}

TEST_CASE("energy: as JSON") {
  const Json json = to_json(energy(some_counters()));
  double chip = 0;
  for (const Json& part : json["parts"])
    if (part["place"] == "chip") chip += part["joules"].get<double>();
  CHECK(json["chip_joules"].get<double>() == Approx(chip));
  CHECK(json["statement"] == "a model at 45 nm (table cmos45; clock.flip_flop at 40 nm), not a measurement");
  CHECK(json["missing"].empty());
}
