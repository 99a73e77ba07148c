#include "explore/sweep/quantized.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/hash.h"
#include "compiler/export/onnx.h"

namespace dovetail::explore {

namespace {

// The position of the largest element in each row of the first output, over all tests.
Result<std::vector<std::int64_t>> decisions(const graph::Graph& graph, const FloatModel& model,
                                            const quantize::MakeForward& make_forward) {
  DOVETAIL_ASSIGN(const quantize::Forward forward, make_forward(graph));
  const std::string& output = graph.value(graph.outputs.front()).name;
  std::vector<std::int64_t> places;
  for (const quantize::Values& inputs : model.tests) {
    DOVETAIL_ASSIGN(const quantize::Values outputs, forward(inputs));
    const NdArray& scores = outputs.at(output);
    const std::int64_t rows = scores.shape().empty() ? 1 : scores.shape().front(),
                       elements = scores.count() / std::max<std::int64_t>(1, rows);
    for (std::int64_t row = 0; row < rows && static_cast<std::int64_t>(places.size()) < model.test_rows; ++row) {
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < elements; ++i)
        if (scores.as_double(row * elements + i) > scores.as_double(row * elements + best)) best = i;
      places.push_back(best);
    }
  }
  return places;
}

// The expected class of each row: the labels, or the float model's classes.
Result<std::vector<std::int64_t>> expected(const FloatModel& model, const quantize::MakeForward& make_forward) {
  if (!model.labels) return decisions(model.imported.graph, model, make_forward);
  if (model.labels->count() != model.test_rows)
    return Diagnostic{"cannot measure the accuracy", model.path,
                      fmt::format("there are {} labels, but {} samples", model.labels->count(), model.test_rows),
                      "give one label for each sample"};
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < model.labels->count(); ++i)
    places.push_back(static_cast<std::int64_t>(model.labels->as_double(i)));
  return places;
}

}  // namespace

Result<std::vector<NumericChoice>> quantize(std::span<const FloatModel> models, std::span<const Numerics> choices,
                                            const quantize::MakeForward& make_forward,
                                            const std::function<void(std::string_view what)>& step) {
  std::vector<NumericChoice> made;
  for (const Numerics& numerics : choices) made.push_back({numerics, {}, 0});
  double weights = 0;
  for (const FloatModel& model : models) weights += model.weight;
  for (const FloatModel& model : models) {
    DOVETAIL_ASSIGN(const std::vector<std::int64_t> exact, expected(model, make_forward));
    for (NumericChoice& choice : made) {
      step(fmt::format("quantizing {}: {}", model.path, choice.numerics.text()));
      quantize::Options options;
      options.method = choice.numerics.calibration;
      options.weights = choice.numerics.weights;
      options.weight_bits = choice.numerics.weight_bits;
      options.grid.scales = choice.numerics.scales;
      if (choice.numerics.symmetric) options.grid.zero_point = quantize::ZeroPoint::middle;
      DOVETAIL_ASSIGN(const quantize::Quantized quantized,
                      quantize::quantize(model.imported.graph, model.samples, options, make_forward));
      DOVETAIL_ASSIGN(const std::vector<std::int64_t> got, decisions(quantized.graph, model, make_forward));
      DOVETAIL_CHECK(got.size() == exact.size(), "rows of the quantized model");
      std::int64_t same = 0;
      for (std::size_t i = 0; i < got.size(); ++i) same += got[i] == exact[i] ? 1 : 0;
      choice.accuracy += model.weight / weights * static_cast<double>(same) /
                         static_cast<double>(std::max<std::size_t>(1, got.size()));
      DOVETAIL_ASSIGN(auto file, export_onnx(quantized.graph, model.path, model.imported.report.metadata));
      choice.files.push_back(std::move(file));
    }
  }
  return made;
}

std::vector<Numerics> numeric_choices(const Space& space) {
  std::vector<Numerics> choices{Numerics{}};
  for (const Axis& axis : space.axes()) {
    if (std::ranges::none_of(axis.choices.front(), [](const auto& each) { return is_numeric(each.first); })) continue;
    std::vector<Numerics> more;
    for (const Numerics& before : choices)
      for (const Assignment& choice : axis.choices) {
        Numerics numerics = before;
        for (const auto& [parameter, value] : choice)
          if (is_numeric(parameter)) DOVETAIL_CHECK(set(numerics, parameter, value).ok(), "a value that was parsed");
        if (std::ranges::find(more, numerics) == more.end()) more.push_back(numerics);
      }
    choices = std::move(more);
  }
  return choices;
}

Result<std::unique_ptr<NumericEvaluators>> NumericEvaluators::make(std::span<const FloatModel> models,
                                                                   std::vector<NumericChoice> choices,
                                                                   const AreaModel& area, const EnergyTable& energy,
                                                                   const isa::Machine& base) {
  auto all = std::make_unique<NumericEvaluators>();
  all->choices_ = std::move(choices);
  for (const NumericChoice& choice : all->choices_) {
    std::vector<ModelFile> files;
    for (std::size_t i = 0; i < models.size(); ++i)
      files.push_back({models[i].path, models[i].weight, choice.files[i]});
    DOVETAIL_ASSIGN(Workload workload, Workload::make(files));
    all->workloads_.push_back(std::make_unique<Workload>(std::move(workload)));
    DOVETAIL_ASSIGN(Evaluator evaluator, Evaluator::make(*all->workloads_.back(), area, energy, base));
    evaluator.set_accuracy(choice.accuracy);
    all->evaluators_.push_back(std::make_unique<Evaluator>(std::move(evaluator)));
  }
  // Latencies of different work cannot be compared, so the accelerator must do the same work for every choice.
  for (const auto& evaluator : all->evaluators_)
    for (const auto& other : all->evaluators_) evaluator->require_work_of(*other);
  return all;
}

const Evaluator& NumericEvaluators::of(const Numerics& numerics) const {
  const auto at = std::ranges::find(choices_, numerics, &NumericChoice::numerics);
  DOVETAIL_CHECK(at != choices_.end(), numerics.text());
  return *evaluators_[static_cast<std::size_t>(at - choices_.begin())];
}

std::string NumericEvaluators::key() const {
  Hash hash;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    hash.add(choices_[i].numerics.text());
    hash.add(workloads_[i]->key());
    hash.add(fmt::format("{}", choices_[i].accuracy));
  }
  return hash.text();
}

}  // namespace dovetail::explore
