#include "driver/explore_models.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "compiler/import/onnx.h"
#include "driver/forward.h"
#include "driver/preprocess.h"
#include "driver/sample_files.h"
#include "driver/samples.h"
#include "driver/tensor_files.h"

namespace dovetail::driver {

namespace {

namespace fs = std::filesystem;

Diagnostic bad_usage(std::string_view option, std::string why, std::string hint) {
  return {"bad usage of `dovetail explore`", std::string(option), std::move(why), std::move(hint)};
}

// Error: the option was not given once for each model.
Result<void> check_count(std::string_view option, std::size_t given, std::size_t models) {
  if (given == models) return {};
  return bad_usage(option, fmt::format("the option is given {} times for {} models", given, models),
                   "give it once for each model, in the order of the models");
}

struct Runs {
  std::vector<quantize::Values> values;
  std::int64_t rows = 0;
};
Result<Runs> read_runs(std::string_view option, const SampleSource& source, const import::Imported& imported,
                       const std::string& model) {
  const bundle::Bundle inputs = inputs_of(imported.graph, model);
  std::map<std::string, NdArray> tensors;
  if (const auto* path = std::get_if<fs::path>(&source)) {
    DOVETAIL_ASSIGN(const std::optional<Preprocess> preprocess, preprocess_of(imported.report.metadata, model));
    DOVETAIL_ASSIGN(tensors, read_samples(option, *path, inputs, preprocess));
  } else {
    tensors = std::get<std::map<std::string, NdArray>>(source);
  }
  DOVETAIL_ASSIGN(const Samples samples, Samples::make(inputs, std::move(tensors)));
  Runs runs{{}, samples.rows()};
  for (std::int64_t run = 0; run < samples.runs(); ++run) runs.values.push_back(samples.inputs(run));
  return runs;
}

Result<std::vector<explore::FloatModel>> float_models(std::span<const explore::ModelFile> files,
                                                      const NumericSamples& given) {
  if (given.samples.empty())
    return bad_usage("--samples", "the space has numeric choices, which need samples to calibrate the models",
                     "add --samples once for each model: inputs like those that the model will get");
  DOVETAIL_TRY(check_count("--samples", given.samples.size(), files.size()));
  if (!given.tests.empty()) DOVETAIL_TRY(check_count("--test", given.tests.size(), files.size()));
  if (!given.labels.empty()) DOVETAIL_TRY(check_count("--labels", given.labels.size(), files.size()));
  std::vector<explore::FloatModel> models;
  for (std::size_t i = 0; i < files.size(); ++i) {
    explore::FloatModel model{.path = files[i].path, .weight = files[i].weight};
    DOVETAIL_ASSIGN(model.imported, explore::import_model(files[i]));
    if (model.imported.graph.outputs.empty() || model.imported.graph.inputs.empty())
      return Diagnostic{"cannot quantize", model.path, "the model has no input or no output",
                        "give a model with an input and an output"};
    DOVETAIL_ASSIGN(Runs samples, read_runs("--samples", given.samples[i], model.imported, model.path));
    model.samples = std::move(samples.values);
    Runs tests{model.samples, samples.rows};
    if (!given.tests.empty()) {
      DOVETAIL_ASSIGN(tests, read_runs("--test", given.tests[i], model.imported, model.path));
    }
    model.tests = std::move(tests.values);
    model.test_rows = tests.rows;
    if (!given.labels.empty()) model.labels = given.labels[i];
    models.push_back(std::move(model));
  }
  return models;
}

}  // namespace

Result<std::unique_ptr<ExploreModels>> ExploreModels::make(const explore::Space& space,
                                                           std::span<const explore::ModelFile> files,
                                                           const NumericSamples& given, const explore::AreaModel& area,
                                                           const explore::EnergyTable& energy, const OnStep& on_step) {
  auto models = std::make_unique<ExploreModels>();
  models->space_ = &space;
  if (!space.has_numerics()) {
    const auto* option = !given.samples.empty()  ? "--samples"
                         : !given.tests.empty()  ? "--test"
                         : !given.labels.empty() ? "--labels"
                                                 : nullptr;
    if (option != nullptr)
      return bad_usage(option, "the space has no numeric choices: the models are used as they are",
                       R"(remove the option, or add "axes": {"scales": ["any", "power-of-two"]})");
    DOVETAIL_ASSIGN(explore::Workload workload, explore::Workload::make(files));
    models->workload_ = std::make_unique<explore::Workload>(std::move(workload));
    DOVETAIL_ASSIGN(explore::Evaluator one, explore::Evaluator::make(*models->workload_, area, energy, space.base()));
    models->one_ = std::make_unique<explore::Evaluator>(std::move(one));
    return models;
  }
  DOVETAIL_ASSIGN(const std::vector<explore::FloatModel> floats, float_models(files, given));
  const std::vector<explore::Numerics> numerics = explore::numeric_choices(space);
  DOVETAIL_ASSIGN(auto choices, explore::quantize(floats, numerics, compiled_forward(), on_step));
  DOVETAIL_ASSIGN(models->numeric_,
                  explore::NumericEvaluators::make(floats, std::move(choices), area, energy, space.base()));
  std::int64_t rows = 0;
  for (const explore::FloatModel& model : floats) rows += model.test_rows;
  models->accuracy_ = fmt::format(
      "{}, {} samples{}", given.labels.empty() ? "share of samples with the same class as in the float model" : "top-1",
      rows, given.tests.empty() ? ", those of the calibration" : "");
  return models;
}

const explore::Evaluator& ExploreModels::of(const explore::Genes& genes) const {
  return numeric_ ? numeric_->of(space_->numerics(genes)) : *one_;
}

std::span<const explore::Workload::Model> ExploreModels::models() const {
  return numeric_ ? numeric_->of(numeric_->choices().front().numerics).workload().models() : workload_->models();
}

std::string ExploreModels::key() const { return numeric_ ? numeric_->key() : workload_->key(); }

Result<std::map<std::string, std::vector<std::string>>> ExploreModels::write(const std::string& folder) const {
  std::map<std::string, std::vector<std::string>> files;
  if (!numeric_) return files;
  DOVETAIL_TRY(make_result_folder("-o", folder));
  for (const explore::NumericChoice& choice : numeric_->choices())
    for (std::size_t i = 0; i < models().size(); ++i) {
      const fs::path path = fs::path(folder) / fmt::format("{}-{}.onnx", models()[i].name, choice.numerics.text());
      DOVETAIL_TRY(write_file(path, choice.files[i]));
      files[choice.numerics.text()].push_back(path.string());
    }
  return files;
}

}  // namespace dovetail::driver
