// Accelerators that divide layers, or the images of a batch, from the command line.
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "simulator/systemc_engine.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {

std::string zoo_model(const test::TemporaryFolder& folder, const std::string& name,
                      const std::vector<std::string>& sizes = {}) {
  const std::string file = folder / (name + ".onnx");
  std::vector<std::string> words{"zoo", name, "--int8", "-o", file};
  words.insert(words.end(), sizes.begin(), sizes.end());
  const Finished made = test::dovetail(words);
  INFO(made.error);
  REQUIRE(made.exit == 0);
  return file;
}

Json run_report(const test::TemporaryFolder& folder, std::vector<std::string> words) {
  words.insert(words.begin(), "run");
  words.insert(words.end(), {"--report", folder / "r.json"});
  const Finished run = test::dovetail(words);
  INFO(run.error);
  REQUIRE(run.exit == 0);
  return read_json_file(folder / "r.json").value();
}

}  // namespace

TEST_CASE("run: two accelerators divide the layers, with all tensors of the reference") {
  const test::TemporaryFolder folder;
  const std::string model = zoo_model(folder, "resnet8"), hw = "1x16x16-g3",
                    divided = hw + ",accelerators=2,split=layers";
  const auto with = [&](const std::string& hardware, const std::vector<std::string>& more) {
    std::vector<std::string> words{model, "--target", "accel,cpu", "--check", "--hw", hardware};
    words.insert(words.end(), more.begin(), more.end());
    return run_report(folder, words);
  };
  const Json one = with(hw, {"--engine", "cycle"}),
             two = with(hw, {"--engine", "cycle", "--accelerators", "2", "--split", "layers"}),
             named = with(divided, {"--engine", "cycle"});
  CHECK(two["system"]["split"] == "layers");
  CHECK(two["cycles"].get<double>() < 0.75 * one["cycles"].get<double>());
  CHECK(named["cycles"] == two["cycles"]);
  // One sample, not two.
  CHECK(two["latency"]["inferences_per_second"].get<double>() == Approx(1e3 / two["latency"]["ms"].get<double>()));
  if (simulator::find_systemc_engine()) CHECK(with(divided, {"--engine", "systemc"})["cycles"] == two["cycles"]);
  CHECK(with(divided, {"--engine", "functional"})["outputs"] == one["outputs"]);
}

TEST_CASE("run and profile report how the accelerators divide each layer") {
  const test::TemporaryFolder folder;
  const std::string model = zoo_model(folder, "resnet8"), bundle = folder / "two.dvt";
  const std::vector<std::string> divided{model, "--target", "accel,cpu", "--hw",
                                         "1x16x16-g3,accelerators=2,split=layers"};
  const auto words = [&](const std::string& command, std::vector<std::string> more) {
    std::vector<std::string> all{command};
    all.insert(all.end(), divided.begin(), divided.end());
    all.insert(all.end(), more.begin(), more.end());
    const Finished made = test::dovetail(all);
    INFO(made.error);
    REQUIRE(made.exit == 0);
    return made.out;
  };
  const Json run = Json::parse(words("run", {"--json"})),
             profile = Json::parse(words("profile", {"--json", "--repeat", "1"}));
  REQUIRE(!run["divided"].empty());
  CHECK(profile["divided"] == run["divided"]);
  bool shared = false;
  for (const Json& layer : run["divided"]) {
    CAPTURE(layer);
    if (layer["by"].is_null()) continue;
    std::set<std::size_t> accelerators;
    std::int64_t pieces = 0;
    for (const Json& part : layer["parts"]) {
      accelerators.insert(part["accelerator"].get<std::size_t>());
      pieces += part["end"].get<std::int64_t>() - part["begin"].get<std::int64_t>();
    }
    CHECK(pieces == layer["pieces"]);
    shared |= accelerators == std::set<std::size_t>{0, 1};
  }
  CHECK(shared);
  CHECK_THAT(words("run", {"--details"}), ContainsSubstring("divided by") && ContainsSubstring(" + "));
  CHECK_THAT(words("profile", {"--details", "--repeat", "1"}), ContainsSubstring("divided by"));
  words("compile", {"-o", bundle});
  CHECK(run_report(folder, {bundle, "--trust"})["divided"] == run["divided"]);
  const Json alone = run_report(folder, {model, "--target", "accel,cpu", "--hw", "1x16x16-g3"});
  CHECK(alone["divided"] == Json::array());
}

TEST_CASE("a bundle for several accelerators runs on as many, or on one") {
  const test::TemporaryFolder folder;
  const std::string model = zoo_model(folder, "resnet8"), bundle = folder / "four.dvt";
  const Finished compiled = test::dovetail(
      {"compile", model, "--target", "accel,cpu", "--hw", "1x16x16-g3,accelerators=4,split=layers", "-o", bundle});
  INFO(compiled.error);
  REQUIRE(compiled.exit == 0);
  const Json four = run_report(folder, {bundle, "--trust", "--engine", "cycle"}),
             one = run_report(folder, {bundle, "--trust", "--engine", "cycle", "--accelerators", "1"});
  CHECK(four["system"]["accelerators"] == 4);
  CHECK(four["outputs"] == one["outputs"]);
  CHECK(four["cycles"].get<double>() < one["cycles"].get<double>());
  const Finished three = test::dovetail({"run", bundle, "--trust", "--engine", "cycle", "--accelerators", "3"});
  CHECK(three.exit == 2);
  CHECK_THAT(three.error, ContainsSubstring("the bundle's programs are divided between 4 accelerators"));
}

TEST_CASE("accelerators that differ divide the layers, and a bundle has the configuration of each") {
  const test::TemporaryFolder folder;
  const std::string model = zoo_model(folder, "resnet8"), bundle = folder / "two.dvt", one = "1x32x32",
                    both = "1x32x32+1x16x16-ext,bus_bytes=16,split=layers";
  const auto with = [&](const std::string& hardware, const std::string& engine) {
    return run_report(folder, {model, "--target", "accel,cpu", "--check", "--hw", hardware, "--engine", engine});
  };
  const Json alone = with(one, "cycle"), two = with(both, "cycle");
  CHECK(two["system"]["accelerators"] == 2);
  CHECK(two["system"]["others"][0]["name"] == "1x16x16-ext,bus_bytes=16");
  CHECK(two["cycles"].get<double>() < 0.8 * alone["cycles"].get<double>());
  CHECK(two["energy"]["joules"].get<double>() > 0);
  if (simulator::find_systemc_engine()) CHECK(with(both, "systemc")["cycles"] == two["cycles"]);
  CHECK(with(both, "functional")["outputs"] == alone["outputs"]);

  const Finished compiled = test::dovetail({"compile", model, "--target", "accel,cpu", "--hw", both, "-o", bundle});
  INFO(compiled.error);
  REQUIRE(compiled.exit == 0);
  CHECK_THAT(compiled.out, ContainsSubstring("1x32x32: ") && ContainsSubstring("1x16x16-ext,bus_bytes=16: "));
  CHECK(run_report(folder, {bundle, "--trust", "--engine", "cycle"})["cycles"] == two["cycles"]);
  CHECK(run_report(folder, {bundle, "--trust", "--engine", "cycle", "--hw", both})["cycles"] == two["cycles"]);
  const Finished other = test::dovetail({"run", bundle, "--trust", "--hw", one});
  CHECK(other.exit == 2);
  CHECK_THAT(other.error, ContainsSubstring("1x32x32+1x16x16-ext,bus_bytes=16"));
  const Finished fewer = test::dovetail({"run", bundle, "--trust", "--engine", "cycle", "--accelerators", "1"});
  CHECK(fewer.exit == 2);
  CHECK_THAT(fewer.error, ContainsSubstring("2 accelerators that differ"));

  const Finished area = test::dovetail({"hw", "area", both, "--estimate", "--json"}),
                 area_of_one = test::dovetail({"hw", "area", one, "--estimate", "--json"}),
                 area_of_other = test::dovetail({"hw", "area", "1x16x16-ext,bus_bytes=16", "--estimate", "--json"});
  REQUIRE(area.exit == 0);
  const auto mm2 = [](const Finished& made) { return Json::parse(made.out)["area_mm2"].get<double>(); };
  CHECK(mm2(area) == Approx(mm2(area_of_one) + mm2(area_of_other)));
}

TEST_CASE("what takes one configuration refuses accelerators that differ") {
  const test::TemporaryFolder folder;
  const std::string both = "1x16x16-g3+1x16x16-g2,split=layers";
  const auto refused = [&](const std::vector<std::string>& words, const std::string& why) {
    const Finished run = test::dovetail(words);
    CAPTURE(words);
    CHECK(run.exit == 2);
    CHECK_THAT(run.error, ContainsSubstring(why));
  };
  const std::string model = zoo_model(folder, "ds_cnn");
  refused({"tune", model, "--target", "accel", "--hw", both, "--records", folder / "r.db"}, "takes one configuration");
  refused({"explore", model, "--what-if", both}, "takes one configuration");
  refused({"rtl", "build", "--hw", both}, "takes one configuration");
  REQUIRE(write_text_file(folder / "space.json", R"({"hardware": ")" + both + R"(", "axes": {"bus_bytes": [8, 16]}})")
              .ok());
  refused({"explore", model, folder / "space.json"}, "takes one configuration");
  refused({"compile", model, "--target", "accel,cpu", "--hw", both, "--emit", folder / "regions"},
          "an emitted program is for one configuration");
  refused({"run", model, "--hw", "1x16x16-g3+1x16x16-g2"}, "1x16x16-g3+1x16x16-g2,split=layers");
  refused({"run", model, "--hw", both, "--engine", "cycle", "--split", "samples"}, "which divide layers");
}

TEST_CASE("stages work on the images of a batch, and a single image is refused") {
  const test::TemporaryFolder folder;
  const Json report =
      run_report(folder, {zoo_model(folder, "resnet8", {"--batch", "3"}), "--target", "accel,cpu", "--hw",
                          "1x16x16-g3,accelerators=2,split=stages", "--engine", "cycle", "--check"});
  CHECK(report["system"]["split"] == "stages");
  const Finished single = test::dovetail({"compile", zoo_model(folder, "resnet8"), "--target", "accel,cpu", "--hw",
                                          "1x16x16-g3,accelerators=2,split=stages"});
  CHECK(single.exit == 2);
  CHECK_THAT(single.error, ContainsSubstring("cannot divide the model into stages") &&
                               ContainsSubstring("compile it for a batch of at least 2, or divide its layers"));
  // A row of a comparison, since other configurations may run.
  const Finished compared = test::dovetail(
      {"compare", folder / "resnet8.onnx", "--target", "accel", "--hw", "1x16x16-g3,accelerators=2,split=stages"});
  CHECK(compared.exit == 1);
  CHECK_THAT(compared.error, ContainsSubstring("stages work on blocks of 1 image of a batch") &&
                                 ContainsSubstring("or divide its layers (split=layers)"));
  const Finished matrices = test::dovetail({"compile", zoo_model(folder, "bert_tiny", {"--sequence", "16"}), "--target",
                                            "accel,cpu", "--hw", "1x16x16-g3,accelerators=2,split=stages"});
  CHECK(matrices.exit == 2);
  CHECK_THAT(matrices.error, ContainsSubstring("a matrix has the rows of all images"));
  const Finished unknown = test::dovetail({"run", folder / "resnet8.onnx", "--engine", "cycle", "--split", "rows"});
  CHECK(unknown.exit == 2);
  CHECK_THAT(unknown.error, ContainsSubstring("invalid value for --split"));
}

TEST_CASE("a bundle divides what it was compiled for, and more accelerators are never slower") {
  const test::TemporaryFolder folder;
  const std::string model = zoo_model(folder, "ds_cnn"), bundle = folder / "three.dvt";
  std::uint64_t before = UINT64_MAX;
  for (const std::string accelerators : {"1", "2", "3", "4"}) {
    const Json report = run_report(folder, {model, "--target", "accel,cpu", "--hw", "1x16x16-g3", "--engine", "cycle",
                                            "--accelerators", accelerators, "--split", "layers"});
    CHECK(report["cycles"].get<std::uint64_t>() <= before);
    before = report["cycles"];
    for (const Json& step : report["steps"])
      for (const Json& layer : step.value("layers", Json::array()))
        CHECK(layer["of_tightest_bound"].get<double>() < 1.5);
  }
  const Finished compiled = test::dovetail(
      {"compile", model, "--target", "accel,cpu", "--hw", "1x16x16-g3,accelerators=3,split=layers", "-o", bundle});
  REQUIRE(compiled.exit == 0);
  const Finished other = test::dovetail({"run", bundle, "--trust", "--engine", "cycle", "--split", "stages"});
  CHECK(other.exit == 2);
  CHECK_THAT(other.error, ContainsSubstring("accelerators that divide layers"));
}

TEST_CASE("explore: dividing layers is an axis, and each point is reproduced by its command") {
  const test::TemporaryFolder folder;
  const std::string model = zoo_model(folder, "resnet8"), out = folder / "out";
  REQUIRE(write_text_file(folder / "space.json", R"({"hardware": "1x16x16-g3", "axes": {"accelerators": [1, 2],
    "split": ["samples", "layers"], "memory": ["ideal", "ideal:ports=2"]},
    "objectives": ["latency_ms", "area_mm2", "inferences_per_second"]})")
              .ok());
  std::vector<std::string> words{"explore", model, folder / "space.json", "-o", out};
  if (simulator::find_systemc_engine()) words.insert(words.end(), {"--confirm", "systemc", "--confirm-most", "4"});
  const Finished explored = test::dovetail(words);
  INFO(explored.error);
  REQUIRE(explored.exit == 0);
  const Json front = read_json_file(std::filesystem::path(out) / "front.json").value()["front"];
  bool divided = false;
  for (const Json& point : front) {
    const Json& chosen = point["chosen"];
    if (chosen["split"] != "layers" || chosen["accelerators"] != 2) continue;
    divided = true;
    const Json report = run_report(folder, {model, "--target", "accel,cpu", "--engine", "cycle", "--hw",
                                            point["machine"], "--memory", chosen["memory"]});
    CHECK(report["cycles"] == point["models"][0]["cycles"]);
    CHECK(report["energy"]["joules"].get<double>() * 1e3 == Approx(point["models"][0]["energy_mj"].get<double>()));
  }
  CHECK(divided);
}
