// Many samples: evaluating and quantizing.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "capi/arguments.h"
#include "capi/compiler/model.h"
#include "capi/include/dovetail.h"
#include "capi/session.h"
#include "capi/status.h"
#include "capi/tensor.h"
#include "cli/report/evaluation_text.h"
#include "cli/shell/arguments.h"
#include "compiler/import/onnx.h"
#include "compiler/quantize/quantize.h"
#include "driver/evaluation.h"
#include "driver/forward.h"
#include "driver/metrics/metric.h"
#include "driver/quantize_work.h"
#include "driver/quantized_file.h"
#include "driver/sample_files.h"
#include "driver/samples.h"

namespace dovetail::capi {

namespace {

struct Evaluation {
  std::vector<std::pair<std::string, NdArray>> outputs;
  Json json;
};

Result<Evaluation> evaluate(Session& session, Inputs tensors, const std::optional<NdArray>& labels,
                            const char* scores) {
  const bundle::Bundle& bundle = session.loaded().bundle;
  if (!bundle.other_shapes.empty())
    return Diagnostic{"cannot evaluate", session.loaded().where, "the bundle has programs for several shapes",
                      "compile the model for one shape"};
  if (!bundle.states.empty())
    return Diagnostic{"cannot evaluate", session.loaded().where,
                      "the bundle has states, and samples do not follow each other",
                      "compile the model without states, or run the session on each sample"};
  DOVETAIL_ASSIGN(const driver::Samples samples, driver::Samples::make(bundle, std::move(tensors)));
  std::map<std::string, std::vector<NdArray>> results;
  std::optional<std::uint64_t> cycles = 0;
  const Callbacks& callbacks = session.settings().callbacks;
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t run = 0; run < samples.runs(); ++run) {
    callbacks.progress("runs", run, samples.runs());
    if (callbacks.cancelled()) return callbacks.stopped("dvt_session_evaluate");
    DOVETAIL_ASSIGN(runtime::RunResult result, session.run(samples.inputs(run)));
    for (auto& [name, array] : result.outputs) results[name].push_back(std::move(array));
    for (const runtime::StepProfile& step : result.steps)
      for (const runtime::TimedLaunch& launch : step.launches) *cycles += launch.trace.cycles;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  Evaluation evaluation;
  std::map<std::string, NdArray> stacked;
  for (const bundle::TensorIndex index : bundle.outputs) {
    const std::string& name = tensor_at(bundle, index).name;
    if (stacked.contains(name)) continue;
    stacked.emplace(name, samples.stacked(results.at(name)));
    evaluation.outputs.emplace_back(name, stacked.at(name));
  }
  evaluation.json = {{"samples", samples.rows()}, {"runs", samples.runs()}, {"seconds", seconds.count()}};
  if (*cycles > 0) evaluation.json["cycles"] = *cycles;
  if (!labels) return evaluation;
  const auto output = scores == nullptr ? std::nullopt : std::optional<std::string>(scores);
  DOVETAIL_ASSIGN(const auto figures, driver::measure({"accuracy", {}}, {stacked, *labels, output}));
  evaluation.json["accuracy"] = cli::accuracy_json(figures);
  return evaluation;
}

Result<quantize::Options> quantize_options_of(const dvt_quantize_options& given, const Callbacks& callbacks) {
  quantize::Options options;
  DOVETAIL_ASSIGN(options.method, quantize::parse_method(text_or(given.calibration, "min-max")));
  if (given.tail != 0) {
    if (options.method != quantize::Method::percentile || !(given.tail > 0 && given.tail < 0.5))
      return bad_argument("dvt_quantize: options, tail",
                          fmt::format("it is {}; percentiles alone have it, above 0 and below 0.5", given.tail),
                          "use calibration \"percentile\" and for example 0.001");
    options.tail = given.tail;
  }
  if (given.per_tensor != 0) options.weights = quantize::WeightScales::per_tensor;
  if (given.weight_bits != 0 && given.weight_bits != 4 && given.weight_bits != 8)
    return bad_argument("dvt_quantize: options, weight_bits", fmt::format("it is {}", given.weight_bits),
                        "use 4, or 8 (or 0) for int8");
  if (given.weight_bits != 0) options.weight_bits = static_cast<int>(given.weight_bits);
  if (given.powers_of_two != 0) options.grid.scales = quantize::Scales::power_of_two;
  if (given.symmetric != 0) options.grid.zero_point = quantize::ZeroPoint::middle;
  options.keep_float = texts_of(given.keep_float);
  options.equalize = given.equalize != 0;
  options.correct_biases = given.correct_biases != 0;
  DOVETAIL_TRY(check_value(given.measured_samples, 0, 1'000'000, "dvt_quantize: options, measured_samples"));
  options.layer_samples = given.measured_samples;
  options.progress = [callbacks](const quantize::Step& step) -> Result<void> {
    callbacks.progress(std::string(step.what), step.done, step.all);
    if (callbacks.cancelled()) return callbacks.stopped("dvt_quantize");
    return {};
  };
  return options;
}

Result<void> quantize(const Model& model, Inputs tensors, const dvt_quantize_options& given, dvt_model** out,
                      char** json) {
  DOVETAIL_ASSIGN(const Callbacks callbacks, Callbacks::of(given.callbacks, "dvt_quantize: options, callbacks"));
  DOVETAIL_ASSIGN(quantize::Options options, quantize_options_of(given, callbacks));
  import::ImportOptions import_options;
  DOVETAIL_ASSIGN(const auto shapes, cli::parse_shapes(texts_of(given.shapes)));
  if (shapes.size() > 1)
    return bad_argument("dvt_quantize: options, shapes", "they give several shapes for one name", "give one");
  import_options.shapes = shapes.front();
  DOVETAIL_ASSIGN(import::Imported imported, import::import_onnx_file(model.path, import_options));
  for (const std::string& note : imported.report.notes) callbacks.log(DVT_LOG_NOTE, note);
  if (imported.graph.outputs.empty() || imported.graph.inputs.empty())
    return Diagnostic{"cannot quantize", model.name, "the model has no input or no output",
                      "give a model with an input and an output"};
  const bundle::Bundle inputs = driver::inputs_of(imported.graph, model.name);
  std::optional<driver::QuantizeSums> sums;
  if (given.resume != 0) {
    DOVETAIL_ASSIGN(sums, driver::QuantizeSums::of({imported, model.path, tensors, options, texts_of(given.shapes)},
                                                   [callbacks] { return callbacks.cancelled(); }));
    options.keeper = sums->keeper();
  }
  DOVETAIL_ASSIGN(const driver::Samples samples, driver::Samples::make(inputs, std::move(tensors)));
  const auto limit = given.memory_limit == nullptr ? std::nullopt : std::optional<std::string>(given.memory_limit);
  DOVETAIL_ASSIGN(options.memory, driver::quantize_budget(limit, imported.graph));
  DOVETAIL_ASSIGN(
      const quantize::Quantized quantized,
      quantize::quantize(imported.graph, {samples.runs(), [&](std::int64_t run) { return samples.inputs(run); }},
                         options, driver::compiled_forward()));
  if (sums && !sums->problem().empty()) callbacks.log(DVT_LOG_WARNING, to_string(sums->problem()));
  DOVETAIL_ASSIGN(const driver::QuantizedFile file,
                  driver::quantized_file(quantized.graph, imported, model.path, import_options, model.name,
                                         imported.report.metadata));
  const std::vector<std::byte>& bytes = file.bytes;
  if (!file.note.empty()) callbacks.log(DVT_LOG_NOTE, file.note);
  const std::vector<std::string> findings = quantize::degenerate(quantized);
  for (const std::string& finding : findings) callbacks.log(DVT_LOG_WARNING, finding);
  if (json != nullptr) {
    Json report{{"kind", "quantize"},
                {"model", model.name},
                {"bytes", bytes.size()},
                {"rows", samples.rows()},
                {"warnings", findings}};
    report.update(quantized.to_json());
    *json = owned_json(report);
  }
  DOVETAIL_ASSIGN(*out, model_in_memory(bytes, fmt::format("{}, quantized", model.name)));
  if (sums) sums->remove();
  return {};
}

}  // namespace

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

dvt_status* dvt_session_evaluate(dvt_session* session, const dvt_named_tensor* samples, size_t count,
                                 const DLTensor* labels, const char* output, dvt_tensors** outputs, char** json) {
  if (json != nullptr) *json = nullptr;
  if (outputs != nullptr) *outputs = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(session, "dvt_session_evaluate: session"));
    DOVETAIL_ASSIGN(Inputs arrays, arrays_of(samples, count, "dvt_session_evaluate: samples"));
    std::optional<NdArray> classes;
    if (labels != nullptr) {
      DOVETAIL_ASSIGN(const View view, view_of(labels, "dvt_session_evaluate: labels"));
      classes = view.copy();
    }
    const capi::Session::Call call(*session->session);
    DOVETAIL_ASSIGN(Evaluation evaluation, evaluate(*session->session, std::move(arrays), classes, output));
    if (outputs != nullptr) {
      DOVETAIL_ASSIGN(*outputs, tensors_of(std::move(evaluation.outputs), session->session->settings().callbacks));
    }
    give_json(json, evaluation.json);
    return {};
  });
}

dvt_status* dvt_measure(const char* metric, const dvt_named_tensor* outputs, size_t count, const DLTensor* labels,
                        const char* output, char** json) {
  if (json != nullptr) *json = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(metric, "dvt_measure: metric"));
    DOVETAIL_TRY(require(labels, "dvt_measure: labels"));
    DOVETAIL_ASSIGN(const driver::Metric parsed, driver::parse_metric(metric));
    DOVETAIL_ASSIGN(const Inputs arrays, arrays_of(outputs, count, "dvt_measure: outputs"));
    DOVETAIL_ASSIGN(const View expected, view_of(labels, "dvt_measure: labels"));
    const auto name = output == nullptr ? std::nullopt : std::optional<std::string>(output);
    DOVETAIL_ASSIGN(const auto figures, driver::measure(parsed, {arrays, expected.copy(), name}));
    give_json(json, cli::metric_json(parsed, figures));
    return {};
  });
}

dvt_status* dvt_quantize(const dvt_model* model, const dvt_named_tensor* samples, size_t count,
                         const dvt_quantize_options* options, dvt_model** out, char** json) {
  if (json != nullptr) *json = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_quantize: out"));
    *out = nullptr;
    DOVETAIL_TRY(require(model, "dvt_quantize: model"));
    DOVETAIL_ASSIGN(const dvt_quantize_options given,
                    options_of(options, "dvt_quantize: options", offsetof(dvt_quantize_options, weight_bits)));
    for (const auto* texts : {&given.keep_float, &given.shapes})
      DOVETAIL_TRY(check_texts(*texts, "dvt_quantize: options"));
    DOVETAIL_ASSIGN(Inputs arrays, arrays_of(samples, count, "dvt_quantize: samples"));
    const auto done = capi::quantize(model->model, std::move(arrays), given, out, json);
    return done.ok() ? done : model->model.named(done.errors());
  });
}

}  // extern "C"
