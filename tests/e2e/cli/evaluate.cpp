// Accuracy on many samples, and agreement between models and targets.
#include <cmath>

#include "base/json.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kDigits;
using test::kDigitsFolder;

namespace {

std::vector<std::string> evaluate_words(const std::string& model, const std::string& targets) {
  return {"evaluate", model,
          "--target", targets,
          "--inputs", kDigitsFolder + "test_images.npy",
          "--labels", kDigitsFolder + "test_labels.npy"};
}

}  // namespace

TEST_CASE("evaluate: accuracy of the digits, and agreement with the float model") {
  const test::TemporaryFolder folder;
  auto line = evaluate_words(kDigits, "accel,cpu");
  line.insert(line.end(), {"--against", kDigitsFolder + "digits_float.onnx", "--against-target", "cpu", "--threads",
                           "2", "--report", folder / "r.json", "--output-dir", folder / "out"});
  const Finished done = test::dovetail(line);
  INFO(done.error);
  REQUIRE(done.exit == 0);
  CHECK_THAT(done.out, ContainsSubstring("top-1         359 of 360, 99.72 %\n") &&
                           ContainsSubstring("top-5         360 of") &&
                           ContainsSubstring("samples       360 in 360 runs on 2 threads") &&
                           ContainsSubstring("agreement     logits: "));
  const Json report = read_json_file(folder / "r.json").value();
  CHECK(report["accuracy"]["top1"] == 359);
  CHECK(report["against"]["accuracy"]["top1"] == 359);
  CHECK(report["agreement"][0]["same"].get<int>() >= 355);
  CHECK(report["agreement"][0]["largest_difference"].get<double>() > 0);
  // The logits of the integer form, which other code has computed: equal except for scale and zero point.
  const NdArray logits = read_npy(folder / "out/logits.npy").value(),
                expected = read_npy(kDigitsFolder + "expected_int8_logits.npy").value();
  REQUIRE(logits.shape() == expected.shape());
  const double scale = (logits.as_double(1) - logits.as_double(0)) / (expected.as_double(1) - expected.as_double(0));
  CHECK(scale > 0);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < logits.count(); ++i)
    wrong += std::abs(logits.as_double(i) - logits.as_double(0) -
                      scale * (expected.as_double(i) - expected.as_double(0))) > 1e-3 * scale;
  CHECK(wrong == 0);
}

TEST_CASE("evaluate: another metric") {
  const test::TemporaryFolder folder;
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> line{"evaluate", kDigits,    "--target",
                                  "cpu",      "--inputs", kDigitsFolder + "test_images.npy"};
    line.insert(line.end(), more.begin(), more.end());
    return test::dovetail(line);
  };
  // The outputs are their own labels: no error.
  REQUIRE(with({"--output-dir", folder / "out"}).exit == 0);
  const Finished exact =
      with({"--labels", folder / "out/logits.npy", "--metric", "error", "--report", folder / "r.json"});
  INFO(exact.error);
  REQUIRE(exact.exit == 0);
  CHECK_THAT(exact.out, ContainsSubstring("largest error 0\n"));
  const Json report = read_json_file(folder / "r.json").value();
  CHECK(report["metric"]["name"] == "error");
  CHECK(report["metric"]["figures"]["r2"] == 1.0);
  CHECK_FALSE(report.contains("accuracy"));
  const Finished unlabeled = with({"--metric", "error"});
  CHECK(unlabeled.exit == 2);
  CHECK_THAT(unlabeled.error, ContainsSubstring("--metric): the metric needs labels"));
}

TEST_CASE("evaluate: two targets of one model, bundles, and mismatched inputs") {
  const test::TemporaryFolder folder;
  const std::string bundle = folder / "m.dvt", model = kDigits;
  auto line = evaluate_words(model, "cpu");
  line.insert(line.end(), {"--against-target", "accel,cpu"});
  const Finished done = test::dovetail(line);
  INFO(done.error);
  CHECK_THAT(done.out, ContainsSubstring("agreement     logits: 360 of 360, 100.00 % agree (same top-1 class)\n") &&
                           ContainsSubstring("difference    logits: at most 0, "));
  REQUIRE(test::dovetail({"compile", model, "--target", "accel", "-o", bundle}).exit == 0);
  const Finished bundled =
      test::dovetail({"evaluate", bundle, "--inputs", kDigitsFolder + "test_images.npy", "--trust"});
  INFO(bundled.error);
  CHECK(bundled.exit == 0);
  CHECK_THAT(bundled.out, ContainsSubstring("360 in 360 runs") && !ContainsSubstring("top-1"));
  CHECK(test::dovetail({"evaluate", model, "--target", "cpu"}).exit == 2);
  const Finished wrong =
      test::dovetail({"evaluate", model, "--target", "cpu", "--inputs", kDigitsFolder + "test_labels.npy"});
  CHECK(wrong.exit == 2);
  CHECK_THAT(wrong.error, ContainsSubstring("the model expects float32[1, 1, 8, 8]"));
}
