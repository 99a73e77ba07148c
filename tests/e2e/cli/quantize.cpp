// A user's own model: from float to int8, calibrated with arrays and with pictures.
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/environment.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kDigitsFolder;
using test::kFloatDigits;

namespace {

std::vector<std::string> quantize_words(const std::string& output, const std::string& samples) {
  return {"quantize", kFloatDigits, "-o", output, "--samples", samples};
}

Finished quantized(const test::TemporaryFolder& folder, const std::vector<std::string>& more) {
  auto line = quantize_words(folder / "q.onnx", kDigitsFolder + "test_images.npy");
  line.insert(line.end(), more.begin(), more.end());
  return test::dovetail(line);
}

std::int64_t right_of(const test::TemporaryFolder& folder, const std::string& model, const std::string& targets) {
  const Finished done =
      test::dovetail({"evaluate", model, "--target", targets, "--inputs", kDigitsFolder + "test_images.npy", "--labels",
                      kDigitsFolder + "test_labels.npy", "--report", folder / "e.json"});
  INFO(done.error);
  REQUIRE(done.exit == 0);
  return read_json_file(folder / "e.json").value()["accuracy"]["top1"].get<std::int64_t>();
}

}  // namespace

TEST_CASE("quantize: the digits keep their accuracy, and all of them run on the accelerator") {
  const test::TemporaryFolder folder;
  const Finished done = quantized(folder, {"--report", folder / "r.json", "--html", folder / "p.html"});
  INFO(done.error);
  REQUIRE(done.exit == 0);
  CHECK_THAT(done.out, ContainsSubstring("output        logits: ") &&
                           ContainsSubstring("of 360 rows choose the same class as float\n") &&
                           ContainsSubstring("layers        8, each quantized alone on 8 samples"));
  const Json report = read_json_file(folder / "r.json").value();
  CHECK(report["kind"] == "quantize");
  CHECK(report["tensors"].size() == 11);
  CHECK(report["layers"].size() == 8);
  CHECK(report["outputs"][0]["same_rows"].get<int>() >= 358);
  CHECK(report["outputs"][0]["signal_to_noise_db"].get<double>() > 30);
  CHECK(report["tensors"][0]["greatest"] == 1.0);
  CHECK_THAT(read_text_file(folder / "p.html").value(), ContainsSubstring("<h2>Layers</h2>"));
  CHECK(right_of(folder, folder / "q.onnx", "accel,cpu") >= 358);
}

TEST_CASE("quantize: every method and grid keeps the digits") {
  const test::TemporaryFolder folder;
  const std::vector<std::vector<std::string>> all{
      {"--calibration", "percentile", "--tail", "0.001"},
      {"--calibration", "kl"},
      {"--calibration", "mse", "--weights", "per-tensor", "--equalize"},
      {"--powers-of-two", "--symmetric", "--correct-biases", "--equalise"},  // former name
      {"--keep-float", "dense2"}};
  for (const auto& more : all) {
    std::vector<std::string> line{"--measure-layers", "0", "--json"};
    line.insert(line.end(), more.begin(), more.end());
    const Finished done = quantized(folder, line);
    INFO(more[0] << done.error);
    REQUIRE(done.exit == 0);
    const Json report = parse_json(done.out, "stdout").value();
    CHECK(report["outputs"][0]["same_rows"].get<int>() >= 355);
    CHECK(report["layers"].empty());
    if (more[0] == "--keep-float") CHECK(report["float_nodes"][0]["node"] == "dense2");
  }
}

TEST_CASE("quantize: pictures become inputs as the model states, in every command") {
  const test::TemporaryFolder folder;
  const NdArray images = read_npy(kDigitsFolder + "test_images.npy").value();
  for (int i = 0; i < 5; ++i) {
    std::string picture = "P5\n8 8\n255\n";
    for (std::int64_t p = 0; p < 64; ++p)
      picture += static_cast<char>(static_cast<std::uint8_t>(images.as_double(i * 64 + p) * 240));  // 16 steps of 15
    REQUIRE(write_text_file(folder / ("pictures/" + std::to_string(i) + ".pgm"), picture).ok());
  }
  const std::string pictures = folder / "pictures", model = folder / "q.onnx", preprocess = folder / "p.json";
  const Finished refused = test::dovetail(quantize_words(model, pictures));
  CHECK(refused.exit == 2);
  CHECK_THAT(refused.error,
             ContainsSubstring("no preprocessing is given for input image") && ContainsSubstring("--preprocess"));
  REQUIRE(write_text_file(preprocess, R"({"channels": "GRAY", "layout": "NCHW", "scale": 0.004166666666666667})").ok());
  auto line = quantize_words(model, pictures);
  line.insert(line.end(), {"--preprocess", preprocess});
  const Finished done = test::dovetail(line);
  INFO(done.error);
  REQUIRE(done.exit == 0);
  // The model, and a bundle of it, convert pictures in the same way: the result equals the arrays they were made from.
  const Finished compiled = test::dovetail({"compile", model, "--target", "accel,cpu", "-o", folder / "q.dvt"});
  REQUIRE(compiled.exit == 0);
  for (const std::string& what : {model, std::string(folder / "q.dvt")}) {
    std::vector<std::string> run{"run", what, "--input", "image=" + pictures, "--output-dir", folder / "a"};
    if (what == model) run.insert(run.end(), {"--target", "cpu"});
    const Finished ran = test::dovetail(run);
    INFO(ran.error);
    REQUIRE(ran.exit == 0);
    run = {"evaluate", what, "--inputs", kDigitsFolder + "test_images.npy", "--output-dir", folder / "b"};
    if (what == model) run.insert(run.end(), {"--target", "cpu"});
    REQUIRE(test::dovetail(run).exit == 0);
    const NdArray got = read_npy(folder / "a/logits.npy").value(), expected = read_npy(folder / "b/logits.npy").value();
    REQUIRE(got.shape() == Shape{5, 10});
    for (std::int64_t i = 0; i < got.count(); ++i) CHECK(got.as_double(i) == expected.as_double(i));
  }
}

TEST_CASE("quantize: invalid inputs are refused") {
  const test::TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& more) {
    const Finished done = quantized(folder, more);
    CHECK(done.exit == 2);
    return done.error;
  };
  CHECK_THAT(refused({"--calibration", "best"}),
             ContainsSubstring("the methods are min-max, percentile, entropy, kl, mse"));
  CHECK_THAT(refused({"--tail", "0.1"}), ContainsSubstring("add --calibration percentile"));
  CHECK_THAT(refused({"--weights", "none"}), ContainsSubstring("per-channel or per-tensor"));
  CHECK_THAT(refused({"--keep-float", "nobody"}), ContainsSubstring("no node of this name"));
  const Finished twice = test::dovetail({"quantize", kDigitsFolder + "digits_int8.onnx", "-o", folder / "q.onnx",
                                         "--samples", kDigitsFolder + "test_images.npy"});
  CHECK(twice.exit == 2);
  CHECK_THAT(twice.error, ContainsSubstring("the model is already quantized"));
  CHECK_FALSE(std::filesystem::exists(folder / "q.onnx"));
}

TEST_CASE("quantize: an interrupted command continues, and leaves nothing when it is done") {
  const test::TemporaryFolder folder;
  const test::Environment cache("XDG_CACHE_HOME", folder / "cache");
  // Enough samples for half a minute of runs.
  const NdArray few = read_npy(kDigitsFolder + "test_images.npy").value();
  NdArray many(few.dtype(), {40000, 1, 8, 8});
  for (std::int64_t i = 0; i < many.count(); ++i) many.set_double(i, few.as_double(i % few.count()));
  REQUIRE(write_npy(folder / "many.npy", many).ok());
  const auto limited = [&](const std::string& limit) {
    auto line = quantize_words(folder / "q.onnx", folder / "many.npy");
    line.insert(line.end(), {"--measure-layers", "0", "--limit", limit});
    return test::dovetail(line);
  };
  bool kept = false;
  for (const char* limit : {"1s", "2s", "4s", "8s", "16s"}) {
    const Finished stopped = limited(limit);
    INFO(stopped.error);
    if (stopped.exit == 0) break;  // a fast machine: the first command already left enough
    CHECK(stopped.exit == 1);
    CHECK_THAT(stopped.error, ContainsSubstring("the same command continues it; no other file was written"));
    CHECK_FALSE(std::filesystem::exists(folder / "q.onnx"));
    kept = kept || stopped.error.find("continues an interrupted run of the same command") != std::string::npos;
    if (kept) break;
  }
  CHECK(kept);
  auto short_line = quantize_words(folder / "q.onnx", kDigitsFolder + "test_images.npy");
  const Finished other = test::dovetail(short_line);
  REQUIRE(other.exit == 0);
  CHECK_THAT(other.error, !ContainsSubstring("continues"));
  // The file of the interrupted command alone.
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "cache/dovetail/quantize"), {}) == 1);
}

TEST_CASE("quantize: a limit of memory changes no result, and one that is too small is refused") {
  const test::TemporaryFolder folder;
  const auto report = [&](const std::vector<std::string>& more) {
    std::vector<std::string> line{"--json"};
    line.insert(line.end(), more.begin(), more.end());
    const Finished done = quantized(folder, line);
    INFO(done.error);
    REQUIRE(done.exit == 0);
    return parse_json(done.out, "stdout").value();
  };
  CHECK(report({"--memory-limit", "4GiB"}) == report({}));
  const Finished refused = quantized(folder, {"--memory-limit", "20MiB"});
  CHECK(refused.exit == 2);
  CHECK_THAT(refused.error, ContainsSubstring("> limit 20. Hint: set the limit to at least") &&
                                ContainsSubstring("(--memory-limit), use fewer samples"));
  CHECK_THAT(quantized(folder, {"--memory-limit", "much"}).error, ContainsSubstring("write it as 512MiB"));
}

TEST_CASE("words: a float model that leaves the accelerator gets a hint on how to quantize it") {
  const Finished done = test::dovetail(
      {"evaluate", kFloatDigits, "--target", "accel,cpu", "--inputs", kDigitsFolder + "test_images.npy"});
  REQUIRE(done.exit == 0);
  CHECK_THAT(done.out, ContainsSubstring("remedy        `dovetail quantize MODEL.onnx -o Q.onnx --samples S`"));
}
