// The models of a sweep: as they are, or if the space has numeric choices, float models quantized for each choice.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "explore/sweep/quantized.h"
#include "explore/sweep/sweep.h"

namespace dovetail::driver {

// Samples of a model's inputs: tensors by the inputs' names, or a file or folder that has them.
using SampleSource = std::variant<std::map<std::string, NdArray>, std::filesystem::path>;

// For each model, in the order of the models: samples for calibration; samples to measure the accuracy (none: those of
// the calibration); the classes of these (none: agreement with the float model is measured).
struct NumericSamples {
  std::vector<SampleSource> samples, tests;
  std::vector<NdArray> labels;
};

// Measures the points of a space. Must not move in memory: evaluators refer to workloads.
class ExploreModels {
 public:
  using OnStep = std::function<void(std::string_view step)>;  // called before each step that takes long

  // Errors: those of the models and of the quantizer; samples that are missing, or that no choice needs.
  static Result<std::unique_ptr<ExploreModels>> make(const explore::Space& space,
                                                     std::span<const explore::ModelFile> files,
                                                     const NumericSamples& given, const explore::AreaModel& area,
                                                     const explore::EnergyTable& energy, const OnStep& on_step);

  const explore::Evaluator& of(const explore::Genes& genes) const;
  // The evaluator of a recorded point of the sweep.
  const explore::Evaluator& of(const explore::PointRecord& record) const { return of(space_->genes_of(record.chosen)); }
  std::span<const explore::Workload::Model> models() const;
  std::string key() const;  // identifies all that the points' numbers depend on
  // How the accuracy is measured; empty if it is not measured.
  const std::string& accuracy() const { return accuracy_; }
  // Writes the quantized models into a folder. Returns the files by Numerics::text(); empty without numeric choices.
  Result<std::map<std::string, std::vector<std::string>>> write(const std::string& folder) const;

 private:
  const explore::Space* space_ = nullptr;
  std::unique_ptr<explore::Workload> workload_;
  std::unique_ptr<explore::Evaluator> one_;
  std::unique_ptr<explore::NumericEvaluators> numeric_;
  std::string accuracy_;
};

}  // namespace dovetail::driver
