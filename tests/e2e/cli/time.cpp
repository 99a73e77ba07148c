// Clock, memory, milliseconds and inferences per second, in every report.
#include "base/file.h"
#include "base/json.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;
using test::Finished;
using test::kDigits;

namespace {

Json time_report(std::vector<std::string> words, const std::string& path) {
  words.insert(words.end(), {"--report", path});
  const Finished run = test::dovetail(words);
  INFO(run.error);
  REQUIRE(run.exit == 0);
  return read_json_file(path).value();
}

}  // namespace

TEST_CASE("run: cycles by the clock of the configuration's JSON, and by --clock") {
  const test::TemporaryFolder folder;
  const std::string hardware = folder / "mine.json", path = folder / "r.json";
  REQUIRE(
      write_text_file(hardware, R"({"name": "mine", "system": {"clock_mhz": 100, "memory": "bank:ddr4-2400"}})").ok());
  const std::vector<std::string> words{"run", kDigits, "--target", "accel,cpu", "--hw", hardware, "--engine", "cycle"};
  const Json own = time_report(words, path);
  CHECK(own["system"]["clock_mhz"] == 100);
  CHECK(own["system"]["memory"] == "bank:ddr4-2400,clock-ps=10000,controller=8,outstanding=16");
  CHECK(own["system"]["memory_from"] == hardware);
  const double cycles = own["cycles"], other = own["latency"]["other_ms"];
  CHECK_THAT(own["latency"]["accelerator_ms"].get<double>(), WithinRel(cycles / 100e3, 1e-9));
  CHECK_THAT(own["latency"]["ms"].get<double>(), WithinRel(cycles / 100e3 + other, 1e-9));
  CHECK_THAT(own["latency"]["inferences_per_second"].get<double>(), WithinRel(1e3 / (cycles / 100e3 + other), 1e-9));
  double steps = 0;
  for (const Json& step : own["steps"]) steps += step["ms"].get<double>();
  CHECK_THAT(steps, WithinRel(own["latency"]["ms"].get<double>(), 1e-9));

  auto faster = words;
  faster.insert(faster.end(), {"--clock", "500"});
  const Json overridden = time_report(faster, path);
  CHECK(overridden["system"]["clock_from"] == "--clock");
  CHECK(overridden["system"]["memory"] == "bank:ddr4-2400,clock-ps=2000,controller=8,outstanding=16");
  CHECK(overridden["cycles"].get<double>() > cycles);  // the same DRAM, in shorter cycles

  // A bundle compiled for a system runs with that system, and with any other that is requested.
  const std::string bundle = folder / "m.dvt";
  REQUIRE(test::dovetail({"compile", kDigits, "--target", "accel,cpu", "--hw", hardware, "-o", bundle}).exit == 0);
  const Json bundled = time_report({"run", bundle, "--engine", "cycle"}, path);
  CHECK(bundled["cycles"] == own["cycles"]);
  CHECK(bundled["system"]["clock_from"] == "the bundle");
  CHECK(time_report({"run", bundle, "--engine", "cycle", "--clock", "500"}, path)["cycles"] == overridden["cycles"]);
  CHECK_THAT(test::dovetail({"run", bundle, "--clock", "500"}).error,
             ContainsSubstring("engine functional has no clock"));
}

TEST_CASE("every report has cycles, milliseconds and inferences per second") {
  const test::TemporaryFolder folder;
  const std::string trace = folder / "t.json", page = folder / "p.html", path = folder / "r.json";
  const Finished run = test::dovetail({"run", kDigits, "--target", "accel,cpu", "--engine", "cycle", "--clock", "250",
                                       "--trace", trace, "--html", page, "--details"});
  REQUIRE(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("latency       ") && ContainsSubstring(" inferences/s\n") &&
                          ContainsSubstring(" ms at 250 MHz, in 1 step\n") && ContainsSubstring("  host        ") &&
                          ContainsSubstring("clock         250 MHz (--clock)\n"));
  CHECK_THAT(test::dovetail({"trace", trace}).out,
             ContainsSubstring(" ms at 250 MHz, ") && ContainsSubstring("latency       "));
  CHECK_THAT(test::dovetail({"inspect", page}).out, ContainsSubstring(" ms"));
  CHECK_THAT(read_text_file(page).value(), ContainsSubstring("\"clock_mhz\":250.0"));

  const Json profile =
      time_report({"profile", kDigits, "--target", "accel,cpu", "--clock", "250", "--repeat", "1"}, path);
  double cycles = 0, seconds = 0;
  for (const Json& step : profile["steps"]) {
    seconds += step["seconds"].get<double>();
    if (step["target"] != "accel") continue;
    cycles += step["cycles"].get<double>();
    CHECK(step["simulating_ms"].get<double>() > 0);
  }
  CHECK_THAT(profile["latency"]["accelerator_ms"].get<double>(), WithinRel(cycles / 250e3, 1e-9));
  CHECK_THAT(seconds * 1e3, WithinRel(profile["latency"]["ms"].get<double>(), 1e-9));

  const Json compiled = time_report({"compile", kDigits, "--target", "accel,cpu", "--clock", "250"}, path);
  CHECK_THAT(compiled["estimate"]["accelerator_ms"].get<double>(),
             WithinRel(compiled["estimate"]["cycles"].get<double>() / 250e3, 1e-9));
  CHECK(compiled["left_accelerator"].is_null());
}

TEST_CASE("a model that leaves the accelerator completely: the report says why, and what would change that") {
  const std::string model = DOVETAIL_SOURCE_DIR "/examples/digits/digits_float.onnx";
  for (const char* command : {"run", "compile", "profile"}) {
    const Finished done = test::dovetail({command, model, "--target", "accel,cpu"});
    INFO(command << done.error);
    CHECK(done.exit == 0);
    CHECK_THAT(done.out, ContainsSubstring("100.00 % cpu\n") &&
                             ContainsSubstring("not on accel  6 of 6 nodes that multiply: Conv computes in floating") &&
                             ContainsSubstring("--int8"));
  }
}

TEST_CASE("an edited configuration names the configuration that it is derived from") {
  const std::string hardware = "1x16x16-ext,inp_buffer_bytes=512,clock_mhz=200";
  const Finished run = test::dovetail({"compile", kDigits, "--target", "accel", "--hw", hardware});
  REQUIRE(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("hardware      1x16x16-ext,inp_buffer_bytes=512: 1×16×16") &&
                          ContainsSubstring("INP 512 B") &&
                          ContainsSubstring("clock         200 MHz (" + hardware + ")"));
  const Json shown = parse_json(test::dovetail({"hw", "show", hardware, "--json"}).out, "show").value();
  CHECK(shown["name"] == "1x16x16-ext,inp_buffer_bytes=512");
  CHECK(shown["system"]["clock_mhz"] == 200);
  CHECK_THAT(test::dovetail({"hw", "show", hardware}).out, ContainsSubstring("system: 200 MHz, memory ideal"));
  CHECK_THAT(test::dovetail({"isa", "--format", "sv", "--hw", hardware}).out,
             ContainsSubstring("The design point 1x16x16-ext,inp_buffer_bytes=512.") &&
                 ContainsSubstring("INP_BUFFER_BYTES = 512"));
}

TEST_CASE("bad clocks, memories and changes: exit code 2 and a remedy") {
  const test::TemporaryFolder folder;
  const std::string hardware = folder / "bad.json";
  REQUIRE(write_text_file(hardware, R"({"system": {"clock_mhz": -5}})").ok());
  const std::vector<std::vector<std::string>> lines{{"--clock", "0"},
                                                    {"--clock", "-1"},
                                                    {"--clock", "fast"},
                                                    {"--memory", "marble"},
                                                    {"--hw", "1x16x16,clock_mhz=0"},
                                                    {"--hw", "1x16x16,clok_mhz=5"},
                                                    {"--hw", "1x16x16,batch=3"},
                                                    {"--hw", "1x16x16,memory=marble"},
                                                    {"--hw", hardware}};
  for (const auto& line : lines)
    for (const char* command : {"run", "compile", "profile"}) {
      std::vector<std::string> words{command, kDigits, "--target", "accel"};
      if (std::string(command) == "run") words.insert(words.end(), {"--engine", "cycle"});
      words.insert(words.end(), line.begin(), line.end());
      const Finished refused = test::dovetail(words);
      INFO(command << " " << line[0] << " " << line[1]);
      CHECK(refused.exit == 2);
      CHECK_THAT(refused.error, ContainsSubstring("error: ") && ContainsSubstring("Hint: "));
      CHECK(refused.out.empty());
    }
}
