// Shapes instead of a model, and parts of a model, on the command line: values are checked, layers are named, and the
// cycles of a layer do not depend on other layers.
#include <filesystem>
#include <map>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/process.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {

const std::string kShapes = std::string(DOVETAIL_SOURCE_DIR) + "/examples/shapes/";

// The cycles of each step of the accelerator, by its only layer.
std::map<std::string, std::int64_t> cycles_of(const std::vector<std::string>& model, const std::string& hardware) {
  const test::TemporaryFolder folder;
  std::vector<std::string> words{"profile"};
  words.insert(words.end(), model.begin(), model.end());
  for (const char* word : {"--target", "accel,cpu", "--offload", "always", "--repeat", "1", "--hw"})
    words.emplace_back(word);
  words.push_back(hardware);
  words.insert(words.end(), {"--report", folder / "r.json"});
  const Finished run = test::dovetail(words);
  INFO(run.out << run.error);
  REQUIRE(run.exit == 0);
  std::map<std::string, std::int64_t> cycles;
  const Json report = Json::parse(*read_text_file(folder / "r.json"));
  for (const Json& row : report["steps"])
    if (row["target"] == "accel") cycles[row["name"].get<std::string>()] = row["cycles"].get<std::int64_t>();
  return cycles;
}

}  // namespace

TEST_CASE("layers: each is checked, named, and timed as if it were alone") {
  for (const char* hardware : {"1x16x16", "1x16x16-g3", "1x8x8,bus_bytes=16"}) {
    const Finished run = test::dovetail({"run",
                                         "--layer",
                                         "stem: conv 3x30x30 -> 16 k3 s2 p1 relu",
                                         "--layer",
                                         "depthwise 16x14x14 k3 psame bias",
                                         "--layer",
                                         "head: gemm 4x40 -> 24",
                                         "--layer",
                                         "attention heads=2 seq=16 dim=16",
                                         "--layer",
                                         "maxpool 16x8x8 k2 s2",
                                         "--layer",
                                         "add 16x8x8",
                                         "--target",
                                         "accel,cpu",
                                         "--offload",
                                         "always",
                                         "--engine",
                                         "cycle",
                                         "--hw",
                                         hardware,
                                         "--check"});
    INFO(hardware << run.out << run.error);
    REQUIRE(run.exit == 0);
    CHECK_THAT(run.out, ContainsSubstring("head") && ContainsSubstring("equal"));
  }
  const std::vector<std::string> stem{"--layer", "stem: conv 3x30x30 -> 16 k3 s2 p1"},
      head{"--layer", "head: gemm 4x40 -> 24"};
  const std::vector<std::string> both{stem[0], stem[1], head[0], head[1]};
  const auto together = cycles_of(both, "1x16x16-ext"), alone = cycles_of(stem, "1x16x16-ext");
  CHECK(together.at("stem") == alone.at("stem"));
  CHECK(together.at("head") == cycles_of(head, "1x16x16-ext").at("head"));
}

TEST_CASE("layers: files of SCALE-Sim, Timeloop and ZigZag run in every command") {
  const test::TemporaryFolder folder;
  for (const char* file : {"gemm.csv", "timeloop.yaml", "zigzag.yaml"}) {
    const Finished run = test::dovetail({"run", kShapes + file, "--target", "accel", "--hw", "1x16x16-ext", "--check"});
    if (run.error.find("no YAML library") != std::string::npos) continue;
    INFO(file << run.out << run.error);
    REQUIRE(run.exit == 0);
  }
  REQUIRE(write_text_file(
              folder / "two.csv",
              "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
              "first, 12, 12, 3, 3, 8, 16, 1,\nDPsecond, 12, 12, 3, 3, 16, 1, 2,\n")
              .ok());
  const std::string two = folder / "two.csv";
  const Finished compared = test::dovetail(
      {"compare", two, "--layer", "gemm 2x20 -> 20", "--target", "accel,cpu", "--repeat", "1", "--json"});
  INFO(compared.error);
  REQUIRE(compared.exit == 0);
  const Json models = Json::parse(compared.out)["models"];
  REQUIRE(models.size() == 2);
  CHECK(models[1]["file"] == "gemm 2x20 -> 20");
  // 10 x 10 results of 3 x 3 x 8 products for 16 filters, and 5 x 5 of 3 x 3 for 16 channels.
  CHECK(models[0]["macs"] == 10 * 10 * 9 * 8 * 16 + 5 * 5 * 9 * 16);
  CHECK(models[0]["rows"][0]["agreement"]["equal"] == true);

  REQUIRE(
      write_text_file(folder / "space.json", R"({"hardware": "1x16x16-ext", "axes": {"bus_bytes": [8, 16]}})").ok());
  const Finished swept =
      test::dovetail({"explore", two, "--layer", "gemm 2x20 -> 20", folder / "space.json", "-o", folder / "sweep"});
  INFO(swept.error);
  REQUIRE(swept.exit == 0);
  CHECK_THAT(swept.out, ContainsSubstring("equal of 2 points"));
  const Json front = Json::parse(*read_text_file(folder / "sweep/front.json"));
  CHECK_THAT(front["front"][0]["command"].get<std::string>(),
             ContainsSubstring("dovetail run --layer 'gemm 2x20 -> 20' --target accel"));
  const std::string page = *read_text_file(folder / "sweep/report.html");
  CHECK_THAT(page, ContainsSubstring("\"first\"") && ContainsSubstring("DPsecond"));

  const Finished compiled = test::dovetail({"compile", two, "--target", "accel", "-o", folder / "two.dvt", "--verify"});
  REQUIRE(compiled.exit == 0);
  CHECK(test::dovetail({"run", folder / "two.dvt", "--engine", "cycle"}).exit == 0);
  // The cache distinguishes sources.
  const test::Environment cache("XDG_CACHE_HOME", folder / "cache");
  for (const char* layer : {"gemm 2x20 -> 20", "gemm 2x20 -> 24", "gemm 2x20 -> 20"})
    CHECK_THAT(test::dovetail({"run", "--layer", layer, "--target", "accel", "--cache"}).out, ContainsSubstring(layer));
}

TEST_CASE("layers: parts of a model run with its own weights") {
  const test::TemporaryFolder folder;
  const std::string bert = folder / "bert.onnx";
  REQUIRE(test::dovetail({"zoo", "bert_tiny", "--int8", "--sequence", "16", "-o", bert}).exit == 0);
  const Finished block = test::dovetail({"run", bert, "--only", "layer1.*", "--target", "accel,cpu", "--hw",
                                         "1x16x16-g3", "--engine", "cycle", "--check"});
  INFO(block.out << block.error);
  REQUIRE(block.exit == 0);
  CHECK_THAT(block.out, ContainsSubstring("bert.onnx --only layer1.*"));
  const Finished between = test::dovetail({"run", bert, "--from", "layer1.norm1/steps", "--to", "layer1.add2/steps",
                                           "--target", "accel", "--hw", "1x16x16-g3", "--check"});
  INFO(between.out << between.error);
  REQUIRE(between.exit == 0);
  const auto layer = cycles_of({bert, "--only", "layer1.inner*"}, "1x16x16-g3");
  CHECK(layer.size() == 1);
}

TEST_CASE("layers: mistakes are named with their place and remedy") {
  const test::TemporaryFolder folder;
  const auto said = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--target", "accel"});
    const Finished run = test::dovetail(words);
    CHECK(run.exit == 2);
    CHECK(run.out == "");
    return run.error;
  };
  CHECK_THAT(said({"run", "--layer", "conv 64x56 -> 64 k3"}),
             ContainsSubstring("character 6") && ContainsSubstring("for example \"conv 64x56x56 -> 64 k3 s1 p1\""));
  CHECK_THAT(said({"run"}), ContainsSubstring("no model is given") && ContainsSubstring("--layer"));
  CHECK_THAT(said({"compare"}), ContainsSubstring("no model is given") && ContainsSubstring("--layer"));
  CHECK_THAT(said({"profile", "nonesuch.csv"}), ContainsSubstring("nonesuch.csv"));
  CHECK_THAT(said({"compile", kShapes + "gemm.csv", "--layer", "add 4"}), ContainsSubstring("give a file or --layer"));
  CHECK_THAT(said({"run", kShapes + "gemm.csv", "--only", "queri"}), ContainsSubstring("no node of such a name"));
  REQUIRE(write_text_file(folder / "bad.csv", "Layer, M, N, K,\na, 1, 2,\n").ok());
  CHECK_THAT(said({"run", folder / "bad.csv"}),
             ContainsSubstring("bad.csv, line 2): the line has 3 columns, and must have 4"));
}
