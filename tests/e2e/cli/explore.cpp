// From models and a space to points, a front and a page; then each point by hand.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "simulator/systemc_engine.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/process.h"
#include "tests/skip.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kDigits;

namespace {

constexpr const char* kSpace = R"({"hardware": "1x16x16-ext",
  "axes": {"acc_buffer_bytes": [16384, 131072], "bus_bytes": [8, 16], "memory": ["ideal", "ideal:latency=8,bytes=0,outstanding=4"]},
  "together": [[{"block_in": 8, "block_out": 8}, {"block_in": 16, "block_out": 16}]]})";

// The first images or labels of the example, written into the folder: enough to distinguish models, and faster to
// calibrate with.
std::string first_of(const std::string& file, std::int64_t count, const test::TemporaryFolder& folder) {
  const NdArray all = read_npy(test::kDigitsFolder + file).value();
  Shape shape = all.shape();
  const std::size_t size = all.bytes().size() / static_cast<std::size_t>(shape[0]);
  shape[0] = count;
  const NdArray first(all.dtype(), shape, all.bytes().first(size * static_cast<std::size_t>(count)));
  REQUIRE(write_npy(folder / file, first).ok());
  return folder / file;
}

std::string words_of(const std::string& command, std::vector<std::string>& words) {
  std::istringstream text(command);
  std::string program, word;
  text >> program;
  while (text >> word) words.push_back(word);
  return program;
}

}  // namespace

TEST_CASE("explore: every point, the front, and each of its points reproduced by hand") {
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "space.json", kSpace).ok());
  const std::string out = folder / "out";
  const Finished explored = test::dovetail({"explore", kDigits, folder / "space.json", "-o", out});
  INFO(explored.error << explored.out);
  REQUIRE(explored.exit == 0);
  CHECK_THAT(explored.out, ContainsSubstring("16 of 16 points") && ContainsSubstring("not a measurement"));
  const std::string csv = read_text_file(std::filesystem::path(out) / "points.csv").value();
  CHECK(std::ranges::count(csv, '\n') == 17);
  const std::string page = read_text_file(std::filesystem::path(out) / "report.html").value();
  CHECK_THAT(page, ContainsSubstring("digits_int8") && !ContainsSubstring("http://") &&
                       !ContainsSubstring("https://") && !ContainsSubstring("@DATA@"));
  const Json front = read_json_file(std::filesystem::path(out) / "front.json").value();
  REQUIRE_FALSE(front["front"].empty());
  for (const Json& point : front["front"]) {
    std::vector<std::string> words;
    CHECK(words_of(point["command"].get<std::string>(), words) == "dovetail");
    words.insert(words.end(), {"--report", folder / "r.json"});
    const Finished run = test::dovetail(words);
    INFO(point["command"] << run.error);
    REQUIRE(run.exit == 0);
    const Json latency = read_json_file(folder / "r.json").value().at("latency");
    CHECK(latency.at("cycles") == point["models"][0]["cycles"]);
    CHECK(latency.at("accelerator_ms").get<double>() == Approx(point["values"]["latency_ms"].get<double>()));

    const Finished alone =
        test::dovetail({"explore", kDigits, folder / "space.json", "--point", point["key"].get<std::string>()});
    REQUIRE(alone.exit == 0);
    CHECK(parse_json(alone.out, "point").value()["values"] == point["values"]);
  }

  // Again: nothing is left to do, and the result is the same.
  const Finished again = test::dovetail({"explore", kDigits, folder / "space.json", "-o", out, "--json"});
  REQUIRE(again.exit == 0);
  const Json second = parse_json(again.out, "again").value();
  CHECK(second["finished"] == 0);
  CHECK(second["front"].size() == front["front"].size());
  CHECK(read_text_file(std::filesystem::path(out) / "points.csv").value() == csv);

  // Another space is not mixed with it.
  REQUIRE(write_text_file(folder / "other.json", R"({"axes": {"bus_bytes": [8, 16]}})").ok());
  const Finished other = test::dovetail({"explore", kDigits, folder / "other.json", "-o", out});
  CHECK(other.exit == 2);
  CHECK_THAT(other.error, ContainsSubstring("another sweep") && ContainsSubstring("space"));
}

TEST_CASE("explore: formulas are objectives, with two models; layers of all points are in a second table") {
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "space.json", R"({"hardware": "1x16x16-ext", "axes": {"bus_bytes": [8, 16]},
      "objectives": ["energy_mj * latency_ms", {"maximize": "tops / area_mm2"}], "constraints": {"utilization": 0.1}})")
              .ok());
  REQUIRE(std::filesystem::copy_file(kDigits, folder / "again.onnx"));
  const std::string out = folder / "out";
  const Finished run = test::dovetail({"explore", kDigits, folder / "again.onnx", folder / "space.json", "-o", out,
                                       "--layers", "--no-prune", "--json", "--plots", folder / "plots"});
  INFO(run.error);
  REQUIRE(run.exit == 0);
  const Json json = Json::parse(run.out);
  std::map<std::string, double> layers_mj;  // by point
  for (const Json& point : json["points"]) {
    const Json& values = point["values"];
    const double energy = values["energy_mj"], latency = values["latency_ms"];
    CHECK(values["energy_mj * latency_ms"].get<double>() == Approx(energy * latency));
    // Two networks of 607,872 multiplications each, and as many additions.
    CHECK(values["tops"].get<double>() == Approx(4 * 607'872 / (latency * 1e-3) * 1e-12));
    CHECK(values["tops_per_w"].get<double>() == Approx(4 * 607'872 / (energy * 1e-3) * 1e-12));
    const double cycles = point["models"][0]["cycles"];
    CHECK(values["utilization"].get<double>() == Approx(607'872 / (256 * cycles)));
    for (const Json& model : point["models"]) {
      double mj = 0;
      std::uint64_t of_layers = 0;
      for (const Json& layer : model["layers"]) {
        mj += layer["energy_mj"].get<double>();
        of_layers += layer["cycles"].get<std::uint64_t>();
        std::uint64_t by_cause = 0;
        for (const Json& cause : layer["cycles_by_cause"]) by_cause += cause.get<std::uint64_t>();
        CHECK(by_cause == layer["cycles"]);
      }
      CHECK(mj == Approx(model["energy_mj"].get<double>()));
      CHECK(of_layers == model["cycles"]);
    }
  }
  const std::string points = read_text_file(std::filesystem::path(out) / "points.csv").value();
  CHECK_THAT(points, ContainsSubstring(",energy_mj * latency_ms,") && ContainsSubstring(",again cycles,again "));
  const std::string layers = read_text_file(std::filesystem::path(out) / "layers.csv").value();
  CHECK(std::ranges::count(layers, '\n') ==
        1 + 2 * 2 * static_cast<int>(json["points"][0]["models"][0]["layers"].size()));
  CHECK_THAT(layers, ContainsSubstring(",again,res1_conv2,"));
  for (const char* name :
       {"front-energy_mj___latency_ms-tops___area_mm2", "steps", "layers-again", "roofline-digits_int8"}) {
    CAPTURE(name);
    const std::string stem = (std::filesystem::path(folder / "plots") / name).string();
    CHECK(read_text_file(stem + ".svg").value().ends_with("</svg>\n"));
    CHECK(read_text_file(stem + ".pdf").value().ends_with("%%EOF\n"));
  }
  const std::string tex = read_text_file(std::filesystem::path(folder / "plots") / "front.tex").value();
  CHECK_THAT(tex, ContainsSubstring("bus\\_bytes & energy\\_mj * latency\\_ms & tops / area\\_mm2 \\\\"));
}

TEST_CASE("explore: a point for which a formula is not a finite number is infeasible") {
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "space.json",
                          R"json({"hardware": "1x16x16-ext", "axes": {"clock_mhz": [100, 350]},
      "objectives": ["(latency_ms - 0.03) ^ 0.5", "area_mm2"], "constraints": {"(tops)": 0.001}})json")
              .ok());
  const Finished run = test::dovetail(
      {"explore", kDigits, folder / "space.json", "-o", folder / "out", "--json", "--plots", folder / "p"});
  INFO(run.error);
  REQUIRE(run.exit == 0);
  std::map<std::string, std::string> states;
  const Json json = Json::parse(run.out);
  for (const Json& point : json["points"]) states[point["chosen"]["clock_mhz"].dump()] = point["state"];
  CHECK(states == std::map<std::string, std::string>{{"100", "measured"}, {"350", "infeasible"}});
}

TEST_CASE("explore: the command of a point on the front gives the point's energy, with the sweep's own numbers") {
  const test::TemporaryFolder folder;
  REQUIRE(
      write_text_file(folder / "space.json", R"({"hardware": "1x16x16-ext", "objectives": ["latency_ms", "energy_mj"],
      "axes": {"clock_mhz": [50, 350], "memory": ["ideal", "bank:lpddr4,outstanding=8"]}})")
          .ok());
  // A MAC of 0.6 pJ in place of 0.3.
  const std::string mine = folder / "my numbers.json";
  const auto write = [&](const char* value) {
    REQUIRE(write_text_file(mine, std::string(R"({"node_nm": 45, "rows": {"mac.int8": {"value": )") + value +
                                      R"(, "unit": "pJ", "source": "twice the kit's"}}})")
                .ok());
  };
  write("0.6");
  const std::string out = folder / "out";
  const std::vector<std::string> words{"explore", kDigits, folder / "space.json", "-o", out, "--energy", mine};
  const Finished explored = test::dovetail(words);
  INFO(explored.error << explored.out);
  REQUIRE(explored.exit == 0);
  const Json front = read_json_file(std::filesystem::path(out) / "front.json").value();
  REQUIRE(!front["front"].empty());
  for (const Json& point : front["front"]) {
    const std::string command = point["command"];
    CHECK_THAT(command, Catch::Matchers::EndsWith(" --energy '" + mine + "'"));
    std::vector<std::string> run;
    words_of(command.substr(0, command.find(" --energy")), run);
    run.insert(run.end(), {"--energy", mine, "--report", folder / "r.json"});
    const Finished ran = test::dovetail(run);
    INFO(command << ran.error);
    REQUIRE(ran.exit == 0);
    const Json report = read_json_file(folder / "r.json").value();
    CHECK(report["cycles"] == point["models"][0]["cycles"]);
    CHECK(report["energy"]["joules"].get<double>() * 1e3 == Approx(point["values"]["energy_mj"].get<double>()));
  }
  // A file of the same name with another number is another sweep.
  write("0.7");
  const Finished other = test::dovetail(words);
  CHECK(other.exit == 2);
  CHECK_THAT(other.error, ContainsSubstring("another sweep") && ContainsSubstring("energy"));
}

TEST_CASE("explore: the reason of less work is that of the nodes that the base machine does") {
  // In a block with attention a LayerNormalization comes first, and no machine does it. The products of attention need
  // a block_in of at least 2.
  const test::TemporaryFolder folder;
  REQUIRE(test::dovetail({"zoo", "gpt_block", "--int8", "--sequence", "16", "-o", folder / "gpt.onnx"}).exit == 0);
  REQUIRE(write_text_file(folder / "space.json", R"({"hardware": "1x16x16-ext", "axes": {"block_in": [1, 16]}})").ok());
  const Finished explored =
      test::dovetail({"explore", folder / "gpt.onnx", folder / "space.json", "-o", folder / "out", "--json"});
  INFO(explored.error);
  REQUIRE(explored.exit == 0);
  const Json report = parse_json(explored.out, "explore").value();
  for (const Json& point : report["points"]) {
    const bool equal = point["chosen"]["block_in"] == 16;
    CHECK(point["state"] == (equal ? "measured" : "infeasible"));
    if (!equal)
      CHECK_THAT(point["why"].get<std::string>(),
                 ContainsSubstring("which needs a block_in of at least 2, and it is 1") && !ContainsSubstring("norm"));
  }
}

TEST_CASE("explore: several accelerators, each point reproduced by hand and on the SystemC platform") {
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "space.json",
                          R"({"hardware": "1x16x16-ext", "axes": {"accelerators": [1, 2, 4], "bus_bytes": [8, 16]}})")
              .ok());
  const std::string out = folder / "out";
  std::vector<std::string> words{"explore", kDigits, folder / "space.json", "-o", out};
  if (simulator::find_systemc_engine()) words.insert(words.end(), {"--confirm", "systemc", "--confirm-most", "6"});
  else test::skip("--confirm systemc: this build found no SystemC (libsystemc-dev)");
  const Finished explored = test::dovetail(words);
  INFO(explored.error << explored.out);
  REQUIRE(explored.exit == 0);
  CHECK_THAT(explored.out, ContainsSubstring("inferences_per_second"));
  const Json front = read_json_file(std::filesystem::path(out) / "front.json").value();
  std::set<std::int64_t> counts;
  for (const Json& point : front["front"]) {
    const std::int64_t accelerators = point["chosen"]["accelerators"];
    counts.insert(accelerators);
    std::vector<std::string> run_words;
    words_of(point["command"].get<std::string>(), run_words);
    run_words.insert(run_words.end(), {"--report", folder / "r.json"});
    const Finished run = test::dovetail(run_words);
    INFO(point["command"] << run.error);
    REQUIRE(run.exit == 0);
    const Json latency = read_json_file(folder / "r.json").value().at("latency");
    CHECK(latency.at("cycles") == point["models"][0]["cycles"]);
    CHECK(latency.at("inferences_per_second").get<double>() ==
          Approx(static_cast<double>(accelerators) * 1e3 / latency.at("ms").get<double>()));
    CHECK(point["values"]["inferences_per_second"].get<double>() ==
          Approx(static_cast<double>(accelerators) * 1e3 / point["values"]["latency_ms"].get<double>()));
  }
  CHECK(counts == std::set<std::int64_t>{1, 2, 4});
}

TEST_CASE("explore: numeric choices, with the accuracy of each and the files that reproduce it") {
  const test::TemporaryFolder folder;
  const std::string images = first_of("test_images.npy", 90, folder), labels = first_of("test_labels.npy", 90, folder);
  REQUIRE(
      write_text_file(folder / "space.json", R"({"hardware": "1x16x16-ext", "axes": {"scales": ["any", "power-of-two"],
    "weight_scales": ["per-channel", "per-tensor"], "requant": [false, true]}})")
          .ok());
  const std::string space = folder / "space.json", out = folder / "out";
  const std::vector<std::string> words{"explore", test::kFloatDigits, space, "--samples", images, "--labels", labels};
  auto sweep = words;
  sweep.insert(sweep.end(), {"-o", out, "--json"});
  const Finished explored = test::dovetail(sweep);
  INFO(explored.error);
  REQUIRE(explored.exit == 0);
  const Json report = parse_json(explored.out, "report").value();
  CHECK(report["points"].size() == 8);
  CHECK_THAT(report["accuracy"].get<std::string>(),
             ContainsSubstring("top-1") && ContainsSubstring("those of the calibration"));
  std::map<std::string, double> accuracy;
  for (const Json& point : report["points"]) {
    if (point["state"] != "measured") continue;
    const std::string numerics =
        point["chosen"]["scales"].get<std::string>() + point["chosen"]["weight_scales"].get<std::string>();
    const double value = point["values"]["accuracy"];
    CHECK(value > 0.8);
    CHECK(value <= 1);
    // Hardware does not change the accuracy.
    CHECK(accuracy.try_emplace(numerics, value).first->second == value);
  }
  CHECK(accuracy.size() == 4);
  CHECK_THAT(read_text_file(std::filesystem::path(out) / "points.csv").value(), ContainsSubstring(",accuracy,"));
  const Json front = read_json_file(std::filesystem::path(out) / "front.json").value();
  for (const Json& point : front["front"]) {
    std::vector<std::string> run_words;
    words_of(point["command"].get<std::string>(), run_words);
    const std::string model = run_words.at(1);
    const Finished evaluated =
        test::dovetail({"evaluate", model, "--target", "cpu", "--inputs", images, "--labels", labels, "--json"});
    INFO(evaluated.error);
    REQUIRE(evaluated.exit == 0);
    const Json top1 = parse_json(evaluated.out, "evaluated").value().at("accuracy");
    CHECK(point["values"]["accuracy"].get<double>() ==
          Approx(top1.at("top1").get<double>() / top1.at("samples").get<double>()));
    run_words.insert(run_words.end(), {"--report", folder / "r.json"});
    const Finished run = test::dovetail(run_words);
    INFO(point["command"] << run.error);
    REQUIRE(run.exit == 0);
    CHECK(read_json_file(folder / "r.json").value().at("latency").at("cycles") == point["models"][0]["cycles"]);
    auto alone = words;
    alone.insert(alone.end(), {"--point", point["key"].get<std::string>()});
    const Finished one = test::dovetail(alone);
    INFO(one.error);
    REQUIRE(one.exit == 0);
    CHECK(parse_json(one.out, "point").value()["values"] == point["values"]);
  }
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& text) {
    const Finished run = test::dovetail(arguments);
    CHECK(run.exit == 2);
    CHECK_THAT(run.error, ContainsSubstring(text));
  };
  refused({"explore", test::kFloatDigits, space, "-o", out}, "add --samples");
  refused({"explore", kDigits, space, "-o", out, "--samples", images}, "quantized");
  REQUIRE(write_text_file(folder / "plain.json", R"({"axes": {"bus_bytes": [8, 16]}})").ok());
  refused({"explore", kDigits, folder / "plain.json", "-o", out, "--samples", images}, "no numeric choices");
}

TEST_CASE("explore: area is confirmed for the FPGA whose resources the space uses") {
  if (std::system("command -v yosys >/dev/null 2>&1") != 0) return test::skip("Yosys is not installed");
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "space.json", R"({"hardware": "tiny", "axes": {"bus_bytes": [8, 16]},
      "objectives": ["xcup.lut"], "constraints": {"xcup.dsp": 28}})")
              .ok());
  const Finished run =
      test::dovetail({"explore", kDigits, folder / "space.json", "-o", folder / "out", "--confirm", "area"});
  INFO(run.error << run.out);
  REQUIRE(run.exit == 0);
  // tiny: 4 x 4 products of 8 x 8 bits, and three DSPs for a product of 32 x 32 bits in each of 4 lanes.
  const std::string what = "Yosys, xcup.dsp";
  REQUIRE_THAT(run.out, ContainsSubstring(what));
  std::istringstream cells(run.out.substr(run.out.find(what) + what.size()));
  std::string estimated, counted, difference;
  cells >> estimated >> counted >> difference;
  CHECK(estimated == "28");
  CHECK(counted == "28");
  CHECK(difference == "+0.0");
  CHECK_THAT(run.out, ContainsSubstring("Yosys, xcup.lut") && ContainsSubstring("Yosys, xcup.levels") &&
                          !ContainsSubstring("Yosys, gates"));
}

TEST_CASE("explore: the gain from one more step of a resource") {
  const Finished table = test::dovetail({"explore", kDigits, "--what-if", "1x16x16-ext"});
  INFO(table.error);
  REQUIRE(table.exit == 0);
  CHECK_THAT(table.out,
             ContainsSubstring("(as it is)") && ContainsSubstring("block_out=32") && ContainsSubstring("bound by"));
  const Finished json = test::dovetail({"explore", kDigits, "--what-if", "1x16x16-ext", "--json"});
  CHECK(parse_json(json.out, "json").value()["kind"] == "what-if");
}

TEST_CASE("explore: an invalid input is refused with a remedy") {
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "space.json", kSpace).ok());
  const auto refused = [&](std::vector<std::string> arguments, const std::string& text) {
    arguments.insert(arguments.begin(), "explore");
    const Finished run = test::dovetail(arguments);
    INFO(run.error);
    CHECK(run.exit == 2);
    CHECK_THAT(run.error, ContainsSubstring(text));
    CHECK_FALSE(std::filesystem::exists(std::filesystem::path(folder / "none")));
  };
  const std::string space = folder / "space.json", none = folder / "none";
  refused({kDigits}, "a model or the space is missing");
  refused({kDigits, space}, "add -o DIR");
  refused({kDigits, space, "-o", none, "--strategy", "evolutoin"}, "evolution");
  refused({kDigits, space, "-o", none, "--weights", "1,2"}, "2 weights are given for 1 models");
  refused({kDigits, space, "-o", none, "--weights", "0"}, "above 0");
  refused({kDigits, space, "-o", none, "--confirm", "silicon"}, "rtl, systemc or area");
  refused({kDigits, space, "--point", "0123"}, "points.csv lists the keys");
  refused({DOVETAIL_SOURCE_DIR "/examples/digits/digits_float.onnx", space, "-o", none}, "quantize the model first");
  REQUIRE(write_text_file(folder / "bad.json", R"({"axes": {"buss_bytes": [8]}})").ok());
  refused({kDigits, folder / "bad.json", "-o", none}, "bus_bytes");
}

TEST_CASE("explore: a space without a feasible point ends with exit code 1 and the reasons, counted") {
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "none.json", R"({"hardware": "1x16x16-ext", "constraints": {"area_mm2": 0.001},
    "axes": {"bus_bytes": [8, 16], "clock_mhz": [100, 200]}})")
              .ok());
  const Finished none = test::dovetail({"explore", kDigits, folder / "none.json", "-o", folder / "out", "--no-check"});
  INFO(none.out << none.error);
  CHECK(none.exit == 1);
  CHECK_THAT(none.error, ContainsSubstring("no point of the space is feasible") &&
                             ContainsSubstring("4 of 4: area_mm2 ") &&
                             ContainsSubstring("> 0.001, the constraint's maximum"));
  CHECK(std::filesystem::exists(folder / "out" / "points.csv"));
}
