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

enum class Effort { quick, slow, import_only };
struct Case {
  const char* model;
  Effort effort;
};
// The weights of the light models are all equal, and so are their outputs: running two of them shows as much as running all for minutes.
constexpr Case kCases[] = {
    {"mnist_cnn", Effort::quick},
    {"cifar10_cnn", Effort::quick},
    {"resnet8_f32", Effort::quick},
    {"vww96_f32", Effort::quick},
    {"ad_autoencoder_f32", Effort::quick},
    {"kws_dscnn_w8", Effort::quick},
    {"cct_2_32_opset20", Effort::quick},
    {"ultraface_slim_320", Effort::slow},
    {"ultraface_slim_320_simplified", Effort::slow},
    {"superres_x3", Effort::slow},
    {"magika_v3_3", Effort::slow},
    {"squeezenet1.1", Effort::slow},
    {"light_squeezenet", Effort::slow},
    {"light_shufflenet", Effort::slow},
    {"light_inception_v1", Effort::import_only},
    {"light_inception_v2", Effort::import_only},
    {"light_resnet50", Effort::import_only},
    {"light_densenet121", Effort::import_only},
    {"light_zfnet512", Effort::import_only},
    {"light_bvlc_alexnet", Effort::import_only},
    {"light_vgg19", Effort::import_only},
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
  if (each.effort == Effort::import_only || (each.effort == Effort::slow && test::test_scale() < 2)) return;
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
  if (each.effort == Effort::quick) return;
  const path file = test::model_file(each.model);
  if (file.empty()) return;
  const auto imported = import::import_onnx_file(file);
  if (!imported) FAIL(to_string(imported.errors()));
  CHECK_FALSE(imported->graph.outputs.empty());
  for (const std::string& note : imported->report.notes) CHECK_THAT(note, Catch::Matchers::ContainsSubstring("batch"));
}

}  // namespace dovetail
