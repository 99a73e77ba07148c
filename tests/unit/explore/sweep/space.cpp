// Spaces of design points: their files, the order of points, and invalid files.
#include "explore/sweep/space.h"

#include <filesystem>
#include <set>

#include "base/file.h"
#include "simulator/memory/dram_presets.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail::explore {

namespace {

Result<Space> parse(const std::string& text) { return Space::parse(*parse_json(text, "space.json"), "space.json"); }

std::string errors_of(const std::string& text) {
  const auto space = parse(text);
  return space.ok() ? "" : to_string(space.errors());
}

std::vector<std::string> keys_of(const std::vector<Objective>& objectives) {
  std::vector<std::string> keys;
  for (const Objective& objective : objectives) keys.push_back(objective.key());
  return keys;
}

}  // namespace

TEST_CASE("space: formulas are objectives and constraints") {
  const auto space = parse(R"({"axes": {"bus_bytes": [8, 16]},
    "objectives": ["energy_mj * latency_ms", {"maximize": "tops / area_mm2"}, "tops_per_w", {"minimize": "tops"}],
    "constraints": {"gates": 60000, "tops": 0.1, "latency_ms - energy_mj": -1, "power_w": {"least": 0.1, "most": 2}}})");
  REQUIRE(space.ok());
  CHECK(keys_of(space->objectives()) ==
        std::vector<std::string>{"energy_mj * latency_ms", "tops / area_mm2", "tops_per_w", "tops"});
  const std::vector<bool> larger{false, true, true, false};
  for (std::size_t i = 0; i < larger.size(); ++i) CHECK(space->objectives()[i].larger == larger[i]);
  const auto& constraints = space->constraints();
  REQUIRE(constraints.size() == 4);
  CHECK((constraints[0].most == 60000.0 && !constraints[0].least));
  CHECK((constraints[1].least == 0.1 && !constraints[1].most));  // more is better
  CHECK(constraints[2].most == -1.0);
  CHECK((constraints[3].least == 0.1 && constraints[3].most == 2.0));
  const auto error = [&](const std::string& rest) {
    return errors_of(R"({"axes": {"bus_bytes": [8, 16]}, )" + rest + "}");
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(error(R"("objectives": ["latencyms * 2"])"), ContainsSubstring("latencyms, at character 1"));
  CHECK_THAT(error(R"("objectives": [{"maximise": "tops"}])"), ContainsSubstring("minimize"));
  CHECK_THAT(error(R"("objectives": ["tops", {"minimize": "tops"}])"), ContainsSubstring("listed twice"));
  CHECK_THAT(error(R"("constraints": {"tops": {"at_most": 3}})"), ContainsSubstring("is not a bound"));
  CHECK_THAT(error(R"("constraints": {"tops": {}})"), ContainsSubstring("must be a number above 0"));
  CHECK_THAT(error(R"("constraints": {"accuracy / area_mm2": 2})"), ContainsSubstring("only with numeric axes"));
}

TEST_CASE("space: points are numbered with the system's parameters last") {
  const auto space = parse(R"({"hardware": "1x16x16-ext",
    "axes": {"clock_mhz": [100, 200], "bus_bytes": [8, 16], "wgt_buffer_bytes": {"from": 65536, "to": 262144, "times": 2}},
    "together": [[{"block_in": 8, "block_out": 8}, {"block_in": 16, "block_out": 16}]]})");
  REQUIRE(space.ok());
  REQUIRE(space->size() == 2 * 2 * 3 * 2);
  CHECK(space->axes().back().name == "clock_mhz");
  std::set<std::string> keys;
  for (std::uint64_t i = 0; i < space->size(); ++i) {
    const auto machine = space->machine(space->genes(i));
    REQUIRE(machine.ok());
    keys.insert(key_of(*machine));
    // Neighbors share their hardware.
    if (i % 2 == 1) CHECK(space->machine(space->genes(i - 1))->hardware == machine->hardware);
  }
  CHECK(keys.size() == space->size());
  const auto machine = space->machine(space->genes(1));
  CHECK(machine->system.clock_mhz == 200);
  CHECK(machine->hardware.block_in == 8);
  CHECK(machine->hardware.requant);
  CHECK(space->name_of(*machine) == "1x16x16-ext,block_in=8,block_out=8,wgt_buffer_bytes=65536,clock_mhz=200");
  // --hw accepts its name.
  const auto again = isa::load_machine(space->name_of(*machine));
  REQUIRE(again.ok());
  CHECK(key_of(*again) == key_of(*machine));
}

TEST_CASE("space: accelerators are of the system, and make throughput an objective") {
  const auto space =
      parse(R"({"hardware": "1x16x16,accelerators=2", "axes": {"accelerators": [1, 2, 4], "bus_bytes": [8, 16]},
    "constraints": {"inferences_per_second": 10}})");
  REQUIRE(space.ok());
  CHECK(space->axes().back().name == "accelerators");
  CHECK(keys_of(space->objectives()) ==
        std::vector<std::string>{"latency_ms", "area_mm2", "energy_mj", "inferences_per_second"});
  CHECK(space->objectives().back().larger);
  std::set<std::string> keys;
  for (std::uint64_t i = 0; i < space->size(); ++i) {
    const auto machine = space->machine(space->genes(i));
    REQUIRE(machine.ok());
    keys.insert(key_of(*machine));
    // The name states one accelerator where the space's own machine has two.
    const auto again = isa::load_machine(space->name_of(*machine));
    REQUIRE(again.ok());
    CHECK(again->system == machine->system);
    CHECK(again->system.accelerators == std::int64_t{1} << i % 3);
  }
  CHECK(keys.size() == space->size());
  CHECK(parse(R"({"axes": {"bus_bytes": [8, 16]}})")->objectives().size() == 3);
  CHECK_THAT(errors_of(R"({"axes": {"accelerators": [0, 65]}})"), Catch::Matchers::ContainsSubstring("from 1 to 64"));
}

TEST_CASE("space: numeric choices are not part of the machine, and make accuracy an objective") {
  const auto space = parse(R"({"hardware": "1x16x16-ext",
    "axes": {"scales": ["any", "power-of-two"], "symmetric": [false, true], "requant": [false, true]},
    "together": [[{"weight_scales": "per-channel", "calibration": "min-max"}, {"weight_scales": "per-tensor", "calibration": "mse"}]],
    "constraints": {"accuracy": 0.9}})");
  REQUIRE(space.ok());
  CHECK(space->has_numerics());
  CHECK(space->objectives().back().key() == "accuracy");
  std::set<std::string> keys, machines, numerics;
  for (std::uint64_t i = 0; i < space->size(); ++i) {
    const Genes genes = space->genes(i);
    const auto machine = space->machine(genes);
    REQUIRE(machine.ok());
    keys.insert(space->key(*machine, genes));
    machines.insert(key_of(*machine));
    numerics.insert(space->numerics(genes).text());
    CHECK(space->genes_of(space->chosen(genes)) == genes);
  }
  CHECK(keys.size() == space->size());
  CHECK(machines.size() == 2);
  CHECK(numerics.size() == 8);
  const Numerics last = space->numerics(space->genes_of({{"scales", "power-of-two"},
                                                         {"symmetric", true},
                                                         {"requant", true},
                                                         {"weight_scales", "per-tensor"},
                                                         {"calibration", "mse"}}));
  CHECK(last.options() == " --calibration mse --powers-of-two --weights per-tensor --symmetric");
  CHECK(last.text() == "mse-power-of-two-per-tensor-symmetric");
  CHECK_FALSE(parse(R"({"axes": {"bus_bytes": [8, 16]}})")->has_numerics());
  const std::string wrong =
      errors_of(R"({"axes": {"scales": ["power"], "symmetric": ["yes"], "weight_scales": ["per-row"]}})");
  for (const char* part : {"power-of-two", "write true or false", "per-channel"}) {
    CAPTURE(wrong);
    CHECK_THAT(wrong, Catch::Matchers::ContainsSubstring(part));
  }
  CHECK_THAT(errors_of(R"({"axes": {"bus_bytes": [8, 16]}, "objectives": ["accuracy", "area_mm2"]})"),
             Catch::Matchers::ContainsSubstring("only with numeric axes"));
}

TEST_CASE("space: clocks that would have no effect are errors") {
  CHECK_THAT(errors_of(R"({"axes": {"memory": ["ideal", "bank:hbm2,clock-ps=1000"]}})"),
             Catch::Matchers::ContainsSubstring("remove clock-ps"));
  const auto space = parse(R"({"axes": {"memory": ["ideal", "bank:hbm2", "bank:hbm2,dram-ps=900"],
                                        "memory_clock_mhz": [800, 1000]}})");
  REQUIRE(space.ok());
  const auto why = [&](const char* memory) {
    const auto machine = space->machine(space->genes_of({{"memory", memory}, {"memory_clock_mhz", 800}}));
    return machine.ok() ? "" : to_string(machine.errors());
  };
  CHECK(why("bank:hbm2").empty());
  CHECK_THAT(why("ideal"), Catch::Matchers::ContainsSubstring("has no separate clock"));
  CHECK_THAT(why("bank:hbm2,dram-ps=900"), Catch::Matchers::ContainsSubstring("memory_clock_mhz 800 does too"));
}

TEST_CASE("space: bounds of a constraint that exclude every value are an error") {
  const auto error = [](const char* bounds) {
    return errors_of(std::string(R"({"axes": {"bus_bytes": [8, 16]}, "constraints": {"power_w": )") + bounds + "}}");
  };
  CHECK_THAT(error(R"({"least": 2, "most": 1})"), Catch::Matchers::ContainsSubstring("least 2 > most 1"));
  CHECK(error(R"({"least": 2, "most": 2})").empty());
}

TEST_CASE("space: a DRAM file counts by its numbers, whatever the working folder") {
  const test::TemporaryFolder folder;
  Json dram = parse_json(simulator::dram_presets()[0].text, "ddr4-2400").value();
  const auto write = [&](const char* path, const char* name, std::int64_t rcd) {
    dram["name"] = name, dram["timing"]["tRCD"] = rcd;
    REQUIRE(write_text_file(folder / path, dram.dump()).ok());
  };
  write("parts/a.json", "mine", 20), write("parts/b.json", "mine", 21), write("parts/same.json", "mine", 20);
  const auto read = [&](const std::string& where, const char* second) {
    const Json json{{"axes", {{"memory", Json::array({"bank:parts/a.json", second})}}}};
    return Space::parse(json, where);
  };
  const auto absolute = read(folder / "space.json", "bank:parts/b.json"),
             relative = read(std::filesystem::relative(folder / "space.json").string(), "bank:parts/b.json");
  REQUIRE((absolute.ok() && relative.ok()));
  CHECK(absolute->text() == relative->text());
  for (std::uint64_t i = 0; i < 2; ++i) {
    const Genes genes = absolute->genes(i);
    CHECK(absolute->key(*absolute->machine(genes), genes) == relative->key(*relative->machine(genes), genes));
  }
  CHECK(absolute->key(*absolute->machine({0}), {0}) != absolute->key(*absolute->machine({1}), {1}));
  const auto twice = read(folder / "space.json", "bank:parts/same.json");
  REQUIRE_FALSE(twice.ok());
  CHECK_THAT(to_string(twice.errors()),
             Catch::Matchers::ContainsSubstring("bank:parts/same.json") &&
                 Catch::Matchers::ContainsSubstring("DRAM files with the same numbers are one choice"));
}

TEST_CASE("space: the paths of a hardware file and of its DRAM file begin in the space's folder") {
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "hw/dram.json", simulator::dram_presets()[0].text).ok());
  const auto write = [&](int bus_bytes) {
    REQUIRE(write_text_file(folder / "hw/mine.json",
                            Json{{"bus_bytes", bus_bytes}, {"system", {{"memory", "bank:dram.json"}}}}.dump())
                .ok());
  };
  write(16);
  const auto read = [&](const std::string& hardware) {
    return Space::parse(Json{{"hardware", hardware}, {"axes", {{"block_in", {8, 16}}}}}, (folder / "s.json").string());
  };
  const auto space = read("hw/mine.json");
  INFO((space.ok() ? "" : to_string(space.errors())));
  REQUIRE(space.ok());
  CHECK(space->base().hardware.bus_bytes == 16);
  CHECK(space->base().system.memory == "bank:" + (folder / "hw/dram.json").string());
  CHECK(space->name_of(space->base()) == (folder / "hw/mine.json").string());
  CHECK(read("hw/mine.json,clock_mhz=200")->base().system.clock_mhz == 200);
  CHECK(read("1x16x16,memory=bank:hw/dram.json")->base().system.memory == "bank:" + (folder / "hw/dram.json").string());
  CHECK(read("1x16x16")->base().hardware.name == "1x16x16");
  const auto missing = read("mine.json");
  REQUIRE_FALSE(missing.ok());
  CHECK_THAT(to_string(missing.errors()), Catch::Matchers::ContainsSubstring("relative to the space's file") &&
                                              Catch::Matchers::ContainsSubstring("\"hardware\""));
  // A hardware file that has changed is another space.
  const std::string before = space->text();
  write(8);
  CHECK(read("hw/mine.json")->text() != before);
}

TEST_CASE("space: a combination that no configuration may have is an error of the point, not of the file") {
  const auto space = parse(R"({"axes": {"block_in": [16, 4096], "block_out": [16, 1024]}})");
  REQUIRE(space.ok());
  CHECK(space->machine({0, 0}).ok());
  CHECK_FALSE(space->machine({1, 1}).ok());
}

TEST_CASE("space: all errors are listed") {
  const std::string all = errors_of(R"({"axes": {"block_inn": [16], "bus_bytes": [], "batch": {"from": 1, "to": 4},
    "memory": ["idael"], "acc_buffer_bytes": [65536, 65536]}, "objectives": ["speed"], "constraints": {"area_mm2": -1}, "axis": {}})");
  for (const char* part : {"block_inn", "the list of values is empty", "neither a list nor a range", "idael",
                           "listed twice", "speed", "must be a number above 0", "\"axis\""}) {
    CAPTURE(part, all);
    CHECK(all.find(part) != std::string::npos);
  }
  CHECK(errors_of(R"({"axes": {"batch": [1, 3]}})").find("power of two") != std::string::npos);
  CHECK(errors_of(R"({"axes": {"batch": [1]}, "together": [[{"batch": 1}]]})").find("two axes") != std::string::npos);
  for (const char* other : {R"({"batch": 2})", R"({"batch": 2, "block_in": 16, "bus_bytes": 8})"})
    CHECK(errors_of(fmt::format(R"({{"together": [[{{"batch": 1, "block_in": 8}}, {}]]}})", other))
              .find("sets other parameters than the first object, which sets batch+block_in") != std::string::npos);
  CHECK(errors_of("{}").find("no axis") != std::string::npos);
  CHECK(errors_of("[]").find("expected a JSON object") != std::string::npos);
  CHECK(errors_of(R"({"hardware": "1x16", "axes": {"batch": [1]}})").find("1x16") != std::string::npos);
}

}  // namespace dovetail::explore
