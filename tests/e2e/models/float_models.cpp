// Float models compared with ONNX Runtime's outputs: import, then every way of running them that kWays lists.
#include <cmath>
#include <functional>

#include "compiler/import/onnx.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "runtime/executor.h"
#include "tests/e2e/models/sample.h"
#include "tests/targets.h"

namespace dovetail {
namespace {

using test::fs::path;

constexpr double kTolerance =
    1e-4;  // relative to the largest value: two orders of summation of up to 25088 binary32 products

enum class Effort {
  quick,
  slow,           // on the reference only with DOVETAIL_TEST_SCALE
  compiled_only,  // minutes on the reference, and on targets only with DOVETAIL_TEST_SCALE
};
struct FloatCase {
  const char* model;
  Effort effort;
};
// The weights of the light models are all equal, and so are their outputs: two of them show as much as all of them,
// which would take minutes.
constexpr FloatCase kFloatCases[] = {
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
    {"light_inception_v1", Effort::compiled_only},
    {"light_inception_v2", Effort::compiled_only},
    {"light_resnet50", Effort::compiled_only},
    {"light_densenet121", Effort::compiled_only},
    {"light_zfnet512", Effort::compiled_only},
    {"light_bvlc_alexnet", Effort::compiled_only},
    {"light_vgg19", Effort::compiled_only},
};

using Values = std::map<std::string, NdArray>;
using Run = std::function<Result<Values>(const Values& inputs)>;

Result<Run> on_reference(const import::Imported& model) {
  graph::Graph graph = model.graph;
  DOVETAIL_TRY(passes::fold_constants(graph));
  DOVETAIL_ASSIGN(Reference reference, Reference::make(std::move(graph)));
  return Run([reference](const Values& inputs) { return reference.run(inputs); });
}

// `dovetail run --target NAME`: the whole pipeline and the executor.
Result<Run> on_target(const import::Imported& model, const std::string& target) {
  CompileOptions options;
  options.available = test::kit_targets();
  options.targets = {target};
  DOVETAIL_ASSIGN(Compiled compiled, compile(model, options));
  DOVETAIL_ASSIGN(const auto simulators, runtime::simulator_factory("functional"));
  DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(std::move(compiled.bundle), simulators));
  return Run([executor](const Values& inputs) mutable -> Result<Values> {
    DOVETAIL_ASSIGN(runtime::RunResult result, executor.run(inputs));
    return std::move(result.outputs);
  });
}

constexpr std::string_view kReference = "reference";
// To test another target, add its name here.
constexpr std::string_view kWays[] = {kReference, "cpu"};

Result<Run> make_run(std::string_view way, const import::Imported& model) {
  return way == kReference ? on_reference(model) : on_target(model, std::string(way));
}

void check_sample(const graph::Graph& graph, Run& run, const path& sample) {
  INFO(sample.filename().string());
  const auto outputs = run(test::read_arrays(sample, graph, graph.inputs, "in"));
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
  const FloatCase& each = GENERATE(from_range(std::begin(kFloatCases), std::end(kFloatCases)));
  const std::string_view way = GENERATE(from_range(std::begin(kWays), std::end(kWays)));
  INFO(each.model << " on " << way);
  const bool scaled = test::test_scale() >= 2, reference = way == kReference;
  if (each.effort == Effort::compiled_only && (reference || !scaled)) return;
  if (each.effort == Effort::slow && reference && !scaled) return;
  const path file = test::model_file(each.model);
  if (file.empty()) return;
  const auto imported = import::import_onnx_file(file);
  if (!imported) FAIL(to_string(imported.errors()));
  auto run = make_run(way, *imported);
  if (!run) FAIL(to_string(run.errors()));
  const auto samples = test::samples_of(file);
  REQUIRE_FALSE(samples.empty());
  for (std::size_t i = 0; i < (test::test_scale() < 2 ? std::min<std::size_t>(2, samples.size()) : samples.size()); ++i)
    check_sample(imported->graph, *run, samples[i]);
}

// Slower models are at least imported: their shapes are inferred and their outputs have the declared types.
TEST_CASE("every float model imports") {
  const FloatCase& each = GENERATE(from_range(std::begin(kFloatCases), std::end(kFloatCases)));
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
