// The user's DRAM and technology: files from the command line, from hardware files, bundles and spaces.
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <sstream>

#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "simulator/memory/dram_presets.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/environment.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kDigits;

namespace {

// A DRAM that is slower than the preset it is made from.
void write_dram(const std::string& path, std::int64_t rcd = 60) {
  Json json = parse_json(simulator::dram_presets()[0].text, "ddr4-2400").value();
  json["name"] = "mine";
  json["timing"]["tRCD"] = rcd;
  json["timing"]["tRAS"] = 90;
  REQUIRE(write_text_file(path, json.dump()).ok());
}

Json run_report(std::vector<std::string> words, const test::TemporaryFolder& folder) {
  words.insert(words.end(), {"--report", folder / "r.json"});
  const Finished run = test::dovetail(words);
  INFO(run.error);
  REQUIRE(run.exit == 0);
  return read_json_file(folder / "r.json").value();
}

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream text(command);
  std::string word;
  std::vector<std::string> words;
  text >> word;
  CHECK(word == "dovetail");
  while (text >> word) words.push_back(word);
  return words;
}

// Runs the command in another working folder.
Finished in_folder(const std::filesystem::path& folder, const std::vector<std::string>& words) {
  std::vector<std::string> command{"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder.string(), DOVETAIL_CLI};
  command.insert(command.end(), words.begin(), words.end());
  return test::run_process(command);
}

const std::vector<std::string> kRun{"run", kDigits, "--target", "accel", "--hw", "1x16x16-ext", "--engine", "cycle"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("a DRAM file: from --memory, a hardware file and a bundle, which refuses it when it has changed") {
  const test::TemporaryFolder folder;
  const std::string dram = folder / "parts/mine.json";
  write_dram(dram);
  const Json preset = run_report(with(kRun, {"--memory", "bank:ddr4-2400"}), folder),
             own = run_report(with(kRun, {"--memory", "bank:" + dram}), folder);
  CHECK(own["cycles"].get<std::int64_t>() > preset["cycles"].get<std::int64_t>());
  const std::string text = own["system"]["memory"].get<std::string>();
  CHECK_THAT(text, ContainsSubstring("bank:" + dram + ",hash="));
  // The report's text is what --memory takes.
  CHECK(run_report(with(kRun, {"--memory", text}), folder)["cycles"] == own["cycles"]);
  // A hardware file: its own folder is where the path begins.
  Json hardware = parse_json(test::dovetail({"hw", "show", "1x16x16-ext", "--json"}).out, "hw").value();
  hardware["system"]["memory"] = "bank:parts/mine.json";
  REQUIRE(write_text_file(folder / "hw.json", hardware.dump()).ok());
  const std::vector<std::string> from_file{"run",      kDigits, "--target", "accel", "--hw", folder / "hw.json",
                                           "--engine", "cycle"};
  CHECK(run_report(from_file, folder)["cycles"] == own["cycles"]);
  // A change of the configuration is relative to the working folder, and may have a path.
  CHECK(
      run_report({"run", kDigits, "--target", "accel", "--hw", "1x16x16-ext,memory=bank:" + dram, "--engine", "cycle"},
                 folder)["cycles"] == own["cycles"]);
  // --cache: an entry is of the numbers of the file.
  const test::Environment cache{"XDG_CACHE_HOME", folder / "cache"};
  const auto is_found = [&] {
    const Finished done =
        test::dovetail({"compile", kDigits, "--target", "accel", "--hw", folder / "hw.json", "--cache", "--json"});
    return parse_json(done.out, "compile").value()["stages"][0]["name"] == "cache";
  };
  CHECK_FALSE(is_found());
  CHECK(is_found());
  write_dram(dram, 59);
  CHECK_FALSE(is_found());
  write_dram(dram);
  CHECK(is_found());
  // A bundle.
  const std::string bundle = folder / "d.dvt";
  REQUIRE(test::dovetail({"compile", kDigits, "--target", "accel", "--hw", folder / "hw.json", "-o", bundle}).exit ==
          0);
  const std::vector<std::string> run_bundle{"run", bundle, "--trust", "--engine", "cycle"};
  CHECK(run_report(run_bundle, folder)["cycles"] == own["cycles"]);
  write_dram(dram, 61);
  const Finished changed = test::dovetail(run_bundle);
  CHECK(changed.exit == 2);
  CHECK_THAT(changed.error, ContainsSubstring("the numbers of the file have changed"));
  CHECK(test::dovetail(with(run_bundle, {"--memory", "bank:" + dram})).exit == 0);
  std::filesystem::remove(dram);
  const Finished gone = test::dovetail(run_bundle);
  CHECK(gone.exit == 2);
  CHECK_THAT(gone.error, ContainsSubstring(dram));
  // An engine without a clock has no use for the file.
  CHECK_THAT(run_report({"run", bundle, "--trust", "--engine", "functional"}, folder)["system"].dump(),
             ContainsSubstring("which cannot be read: the engine has no clock"));
}

TEST_CASE("a DRAM file: profile, simulate, compare and hw show take it") {
  const test::TemporaryFolder folder;
  const std::string memory = "bank:" + (folder / "mine.json").string();
  write_dram(folder / "mine.json");
  const std::string assembly = std::string(DOVETAIL_SOURCE_DIR) + "/examples/assembly/matmul.s";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"profile", kDigits, "--target", "accel", "--hw", "1x16x16-ext",
                                              "--repeat", "1", "--memory", memory, "--json"},
                                             {"simulate", assembly, "--engine", "cycle", "--memory", memory, "--json"},
                                             {"compare", kDigits, "--target", "accel", "--hw", "1x16x16-ext",
                                              "--repeat", "1", "--memory", memory, "--json"},
                                             {"hw", "show", "1x16x16,memory=" + memory}}) {
    const Finished run = test::dovetail(words);
    INFO(words[0] << ": " << run.error);
    CHECK(run.exit == 0);
    CHECK_THAT(run.out, ContainsSubstring(memory + ",hash="));
  }
}

TEST_CASE("a DRAM file: mistakes have exit code 2 and name the file") {
  const test::TemporaryFolder folder;
  const auto refused = [&](const std::string& content) {
    REQUIRE(write_text_file(folder / "bad.json", content).ok());
    const Finished run = test::dovetail(with(kRun, {"--memory", "bank:" + (folder / "bad.json").string()}));
    CHECK(run.exit == 2);
    CHECK_THAT(run.error, ContainsSubstring("bad.json"));
  };
  refused("");
  refused("not JSON");
  refused("{}");
  refused("[1, 2]");
  refused(std::string(2 << 20, ' '));
  CHECK(test::dovetail(with(kRun, {"--memory", "bank:" + folder.path().string() + "/"})).exit == 2);
  CHECK(test::dovetail(with(kRun, {"--memory", "bank:none.json"})).exit == 2);
  CHECK(test::dovetail(with(kRun, {"--memory", "bank:"})).exit == 2);
}

TEST_CASE("a DRAM file as an axis: commands reproduce, and a changed file is another sweep") {
  const test::TemporaryFolder folder;
  write_dram(folder / "parts/mine.json");
  REQUIRE(write_text_file(folder / "space.json", R"({"hardware": "1x16x16-ext", "axes": {"bus_bytes": [8, 16],
      "memory": ["bank:parts/mine.json", "bank:parts/mine.json,controller=3"]}})")
              .ok());
  const std::vector<std::string> explore{"explore", kDigits, folder / "space.json", "-o", folder / "out", "--no-check"};
  const Finished explored = test::dovetail(explore);
  INFO(explored.error);
  REQUIRE(explored.exit == 0);
  const Json front = read_json_file(folder / "out/front.json").value()["front"];
  REQUIRE_FALSE(front.empty());
  for (const Json& point : front) {
    const std::string command = point["command"].get<std::string>();
    CAPTURE(command);
    CHECK_THAT(command, ContainsSubstring("bank:" + (folder / "parts/mine.json").string()));
    CHECK_THAT(command, ContainsSubstring(",hash="));
    const Json report = run_report(words_of(command), folder);
    CHECK(report["latency"]["cycles"] == point["models"][0]["cycles"]);
    CHECK(report["energy"]["joules"].get<double>() * 1e3 == Approx(point["values"]["energy_mj"].get<double>()));
  }
  CHECK(test::dovetail(explore).exit == 0);
  write_dram(folder / "parts/mine.json", 61);
  const Finished other = test::dovetail(explore);
  CHECK(other.exit == 2);
  CHECK_THAT(other.error, ContainsSubstring("another sweep"));
  for (const Json& point : front) {
    const Finished changed = test::dovetail(words_of(point["command"].get<std::string>()));
    CHECK(changed.exit == 2);
    CHECK_THAT(changed.error, ContainsSubstring("the numbers of the file have changed"));
  }
  // A wrong file is an error of the space.
  REQUIRE(write_text_file(folder / "parts/mine.json", "{}").ok());
  const Finished wrong = test::dovetail(explore);
  CHECK(wrong.exit == 2);
  CHECK_THAT(wrong.error, ContainsSubstring("mine.json") && ContainsSubstring("\"memory\""));
}

TEST_CASE("a DRAM file in a sweep: points are the same from another working folder, and so are their commands") {
  const test::TemporaryFolder folder;
  write_dram(folder / "sub/parts/mine.json");
  REQUIRE(
      write_text_file(folder / "sub/hw/base.json", R"({"bus_bytes": 16, "system": {"memory": "bank:../parts/mine.json",
      "memory_clock_mhz": 1000}})")
          .ok());
  const std::string model = std::filesystem::absolute(kDigits).string();
  const auto explore = [&](const std::string& from, const std::string& space, const std::string& out) {
    const Finished explored =
        in_folder(folder / from, {"explore", model, space, "-o", out, "--no-check", "--no-prune", "--json"});
    INFO(explored.error);
    REQUIRE(explored.exit == 0);
    return parse_json(explored.out, "explore").value();
  };
  // On an axis, and in the hardware file.
  const std::array spaces{R"({"axes": {"memory": ["bank:parts/mine.json", "ideal"], "bus_bytes": [8, 16]}})",
                          R"({"hardware": "hw/base.json", "axes": {"block_in": [8, 16]}})"};
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    CAPTURE(i);
    REQUIRE(write_text_file(folder / "sub/space.json", spaces[i]).ok());
    const std::string out = "out" + std::to_string(i);
    const Json first = explore(".", "sub/space.json", out), again = explore("sub", "space.json", "../" + out);
    CHECK(first["points"].size() == first["size"].get<std::size_t>());
    REQUIRE(again["points"].size() == first["points"].size());
    CHECK(again["finished"] == 0);
    for (std::size_t p = 0; p < first["points"].size(); ++p)
      CHECK(again["points"][p]["key"] == first["points"][p]["key"]);
    bool has_file = false;
    for (const auto& [from, report] : {std::pair(".", &first), std::pair("sub", &again)})
      for (const Json& row : (*report)["front"]) {
        const auto words = words_of(row["command"].get<std::string>());
        const Json& point = (*report)["points"][row["point"].get<std::size_t>()];
        const Finished run = in_folder(folder / from, with(words, {"--report", folder / "r.json"}));
        INFO(from << ": " << row["command"] << ": " << run.error);
        REQUIRE(run.exit == 0);
        const Json made = read_json_file(folder / "r.json").value();
        CHECK(made["latency"]["cycles"] == point["models"][0]["cycles"]);
        if (row["command"].get<std::string>().find("mine.json") != std::string::npos) {
          has_file = true;
          CHECK_THAT(row["command"].get<std::string>(), ContainsSubstring(",hash="));
        }
      }
    CHECK(has_file);
  }
}

TEST_CASE("a DRAM file: hw show --json and inspect give a configuration that may be stored elsewhere") {
  const test::TemporaryFolder folder;
  write_dram(folder / "sub/parts/mine.json");
  REQUIRE(
      write_text_file(folder / "sub/hw.json", R"({"system": {"memory": "bank:parts/mine.json,controller=3"}})").ok());
  const Finished shown = in_folder(folder.path(), {"hw", "show", "sub/hw.json", "--json"});
  INFO(shown.error);
  REQUIRE(shown.exit == 0);
  const std::string memory = "bank:" + (folder / "sub/parts/mine.json").string() + ",controller=3";
  CHECK(parse_json(shown.out, "hw").value()["system"]["memory"] == memory);
  REQUIRE(write_text_file(folder / "elsewhere/hw.json", shown.out).ok());
  const auto cycles = [&](const std::string& hardware) {
    return run_report({"run", kDigits, "--target", "accel", "--hw", folder / hardware, "--engine", "cycle"},
                      folder)["cycles"];
  };
  CHECK(cycles("elsewhere/hw.json") == cycles("sub/hw.json"));
  const Finished inspected = in_folder(folder.path(), {"inspect", "sub/hw.json", "--json"});
  INFO(inspected.error);
  REQUIRE(inspected.exit == 0);
  CHECK(parse_json(inspected.out, "inspect").value()["config"]["system"]["memory"] == memory);
}

TEST_CASE("pipes without a writer, folders and devices are refused as files, and nothing waits for them") {
  const test::TemporaryFolder folder;
  const std::string pipe = folder / "pipe.json", model = folder / "pipe.onnx", records = folder / "pipe.db";
  for (const std::string& path : {pipe, model, records}) REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  REQUIRE(write_text_file(folder / "space.json", R"({"axes": {"memory": ["bank:pipe.json"]}})").ok());
  std::filesystem::create_directory(folder / "folder.json");
  std::filesystem::create_symlink("/dev/zero", folder / "device.json");
  std::vector<std::vector<std::string>> commands{
      {"explore", kDigits, folder / "space.json", "-o", folder / "out"},
      {"compile", model, "--target", "cpu"},
      {"compare", model},
      {"quantize", model, "-o", folder / "q.onnx", "--samples", folder / "none.npy"},
      {"inspect", model},
      {"run", kDigits, "--target", "cpu", "--records", records}};
  for (const std::string& path : {pipe, (folder / "folder.json").string(), (folder / "device.json").string()})
    commands.insert(commands.end(), {with(kRun, {"--memory", "bank:" + path}),
                                     {"hw", "show", path},
                                     {"hw", "area", "1x16x16", "--estimate", "--technology", path},
                                     with(kRun, {"--energy", path}),
                                     {"explore", kDigits, path, "-o", folder / "out"},
                                     {"explore", kDigits, "--what-if", path}});
  for (const std::vector<std::string>& words : commands) {
    const auto start = std::chrono::steady_clock::now();
    const Finished run = test::dovetail(words);
    CAPTURE(words, run.error);
    CHECK(run.exit == 2);
    CHECK_THAT(run.error, ContainsSubstring("error: "));
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
  }
}

TEST_CASE("a technology: areas, the design's clock and energies of an example or of a file") {
  const test::TemporaryFolder folder;
  const auto area = [](const std::vector<std::string>& more) {
    const Finished run = test::dovetail(with({"hw", "area", "1x16x16-ext", "--estimate", "--json"}, more));
    INFO(run.error);
    REQUIRE(run.exit == 0);
    return parse_json(run.out, "area").value();
  };
  const Json kit = area({}), small = area({"--technology", "cmos7"});
  CHECK_THAT(small["technology"].get<std::string>(), ContainsSubstring("7 nm, example"));
  CHECK(small["gates"] == kit["gates"]);
  // The same gates and flip-flops in areas of ASAP7, by hand.
  CHECK(small["logic_mm2"].get<double>() ==
        Approx((small["gates"].get<double>() * 0.08748 + small["flip_flops"].get<double>() * 0.2916) / 0.7 * 1e-6));
  CHECK(small["clock_mhz"].get<double>() == Approx(kit["clock_mhz"].get<double>() * 40 / 15));
  // A file: the kit's numbers, with one that is doubled.
  const std::string kit_file = std::string(DOVETAIL_SOURCE_DIR) + "/hw/syn/technology.json";
  Json mine = read_json_file(kit_file).value();
  mine["sram_um2_per_bit"]["value"] = 2 * 0.407;
  mine["sram_um2_per_edge"]["value"] = 2 * 3.06;
  REQUIRE(write_text_file(folder / "mine.json", mine.dump()).ok());
  CHECK(area({"--technology", folder / "mine.json"})["sram_mm2"].get<double>() ==
        Approx(2 * kit["sram_mm2"].get<double>()));
  const auto refused = [&](const Json& json, const std::string& why) {
    REQUIRE(write_text_file(folder / "bad.json", json.dump()).ok());
    const Finished run = test::dovetail({"hw", "area", "1x16x16", "--estimate", "--technology", folder / "bad.json"});
    CHECK(run.exit == 2);
    CHECK_THAT(run.error, ContainsSubstring(why));
  };
  Json bad = mine;
  bad.erase("level_ps");
  refused(bad, "\"level_ps\"");
  bad = mine, bad["gate_um2"]["value"] = -1;
  refused(bad, "not a number from 0.001 to 500");
  bad = mine, bad["gate_um2"].erase("source");
  refused(bad, "\"source\" is missing");
  bad = mine, bad["gate_nm2"] = 1;
  refused(bad, "the key is unknown");
  bad = mine, bad["node_nm"] = 0;
  refused(bad, "not from 1 to 350");
  refused(Json::array(), "expected a JSON object");
  CHECK(test::dovetail({"hw", "area", "1x16x16", "--estimate", "--technology", "cmos9"}).exit == 2);
  CHECK(test::dovetail({"hw", "area", "1x16x16", "--technology", "cmos7"}).exit == 2);  // a result of Yosys

  // Energy: less at 7 nm; nodes that differ are named.
  const Json at_45 = run_report(kRun, folder),
             at_7 = run_report(with(kRun, {"--energy", "cmos7", "--technology", "cmos7"}), folder);
  CHECK(at_7["energy"]["chip_joules"].get<double>() < at_45["energy"]["chip_joules"].get<double>());
  CHECK(at_7["energy"]["statement"] == "a model at 7 nm (table cmos45 with cmos7), not a measurement");
  const Json at_28 = run_report(with(kRun, {"--energy", "cmos28"}), folder);
  CHECK(at_28["energy"]["chip_joules"].get<double>() < at_45["energy"]["chip_joules"].get<double>());
  CHECK(at_7["energy"]["chip_joules"].get<double>() < at_28["energy"]["chip_joules"].get<double>());
  // The kit's table has a name, too.
  CHECK(run_report(with(kRun, {"--energy", "cmos45", "--technology", "cmos45"}), folder)["energy"] == at_45["energy"]);
  CHECK(area({"--technology", "cmos45"}) == kit);
  CHECK(at_28["energy"]["statement"] == "a model at 28 nm (table cmos45 with cmos28), not a measurement");
  CHECK_THAT(run_report(with(kRun, {"--technology", "cmos7"}), folder)["energy"]["statement"].get<std::string>(),
             ContainsSubstring("they are not of the same chip"));
}

TEST_CASE("a technology in a sweep: commands reproduce, and points of technologies are not mixed") {
  const test::TemporaryFolder folder;
  REQUIRE(
      write_text_file(folder / "space.json", R"({"hardware": "1x16x16-ext", "axes": {"bus_bytes": [8, 16]}})").ok());
  const std::vector<std::string> explore{"explore", kDigits, folder / "space.json", "-o", folder / "out", "--no-check"};
  const std::vector<std::string> both{"--energy", "cmos28", "--technology", "cmos28"};
  const Finished explored = test::dovetail(with(explore, both));
  INFO(explored.error);
  REQUIRE(explored.exit == 0);
  CHECK_THAT(explored.out, ContainsSubstring("28 nm, example") && !ContainsSubstring("not of the same chip"));
  const Json front = read_json_file(folder / "out/front.json").value()["front"];
  REQUIRE_FALSE(front.empty());
  for (const Json& point : front) {
    const Json report = run_report(words_of(point["command"].get<std::string>()), folder);
    CHECK(report["latency"]["cycles"] == point["models"][0]["cycles"]);
    CHECK(report["energy"]["joules"].get<double>() * 1e3 == Approx(point["values"]["energy_mj"].get<double>()));
  }
  CHECK(test::dovetail(with(explore, {"--energy", "cmos28"})).exit == 2);  // another sweep
  const Finished mixed = test::dovetail({"explore", kDigits, folder / "space.json", "-o", folder / "mixed",
                                         "--no-check", "--technology", "cmos7", "--energy", "cmos28"});
  CHECK(mixed.exit == 0);
  CHECK_THAT(mixed.out, ContainsSubstring("they are not of the same chip"));
}
