// Float models against ONNX Runtime's outputs: import, and the reference on what import yields.
#include <cmath>

#include "compiler/import/onnx.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/reference.h"
#include "tests/e2e/models/sample.h"

namespace dovetail {
namespace {

using test::fs::path;

constexpr double kTolerance = 1e-4;  // of the largest value: two orders of summation of up to 25088 binary32 products

struct Case {
  const char* model;
  bool slow;  // more than about two seconds a sample
};
constexpr Case kCases[] = {
    {"mnist_cnn", false},         {"cifar10_cnn", false},        {"resnet8_f32", false},      {"vww96_f32", false},         {"ad_autoencoder_f32", false},
    {"kws_dscnn_w8", false},      {"cct_2_32_opset20", false},   {"ultraface_slim_320", true}, {"ultraface_slim_320_simplified", true},
    {"superres_x3", true},        {"magika_v3_3", true},         {"squeezenet1.1", true},     {"light_squeezenet", true},   {"light_shufflenet", true},
    {"light_inception_v1", true}, {"light_inception_v2", true},  {"light_resnet50", true},    {"light_densenet121", true},  {"light_zfnet512", true},
    {"light_bvlc_alexnet", true}, {"light_vgg19", true},
};

void check_sample(const Reference& reference, const path& sample) {
  INFO(sample.filename().string());
  const graph::Graph& graph = reference.graph();
  const auto outputs = reference.run(test::read_arrays(sample, graph, graph.inputs, "in"));
  if (!outputs) FAIL(to_string(outputs.errors()));
  for (const auto& [name, expected] : test::read_arrays(sample, graph, graph.outputs, "out")) {
    const NdArray& actual = outputs->at(name);
    REQUIRE(actual.shape() == expected.shape());
    double largest = 0, difference = 0;
    for (std::int64_t i = 0; i < expected.count(); ++i) {
      largest = std::max(largest, std::abs(expected.as_double(i)));
      const double apart = std::abs(actual.as_double(i) - expected.as_double(i));
      difference = std::max(difference, std::isnan(apart) ? INFINITY : apart);
    }
    INFO("output " << name << ": largest value " << largest);
    CHECK(difference <= kTolerance * largest);
  }
}

}  // namespace

TEST_CASE("float models give the outputs of ONNX Runtime") {
  const Case& each = GENERATE(from_range(std::begin(kCases), std::end(kCases)));
  INFO(each.model);
  if (each.slow && test::test_scale() < 2) return;
  const path file = test::model_file(each.model);
  if (file.empty()) return;
  auto imported = import::import_onnx_file(file);
  if (!imported) FAIL(to_string(imported.errors()));
  REQUIRE(passes::fold_constants(imported->graph).ok());
  const auto reference = Reference::make(imported->graph);
  if (!reference) FAIL(to_string(reference.errors()));
  const auto samples = test::samples_of(file);
  REQUIRE_FALSE(samples.empty());
  for (std::size_t i = 0; i < (test::test_scale() < 2 ? std::min<std::size_t>(2, samples.size()) : samples.size()); ++i) check_sample(*reference, samples[i]);
}

// Slower models are at least imported: their shapes are inferred and their outputs have the declared types.
TEST_CASE("every float model imports") {
  const Case& each = GENERATE(from_range(std::begin(kCases), std::end(kCases)));
  INFO(each.model);
  if (!each.slow) return;
  const path file = test::model_file(each.model);
  if (file.empty()) return;
  const auto imported = import::import_onnx_file(file);
  if (!imported) FAIL(to_string(imported.errors()));
  CHECK_FALSE(imported->graph.outputs.empty());
  for (const std::string& note : imported->report.notes) CHECK_THAT(note, Catch::Matchers::ContainsSubstring("batch"));
}

}  // namespace dovetail
