// Quantizes the models of a space for each numeric choice, like `dovetail quantize`, and compares them with the float
// models.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/import/onnx.h"
#include "compiler/quantize/quantize.h"
#include "explore/sweep/evaluate.h"
#include "explore/sweep/numerics.h"
#include "explore/sweep/space.h"
#include "explore/sweep/workload.h"

namespace dovetail::explore {

struct FloatModel {
  std::string path;
  double weight = 1;
  import::Imported imported = {};
  std::vector<quantize::Values> samples = {};  // inputs for calibration
  std::vector<quantize::Values> tests = {};    // inputs to measure the accuracy
  std::int64_t test_rows = 0;                  // rows of `tests`; later rows of the last batch are padding
  std::optional<NdArray> labels =
      {};  // classes of the tests' rows, for top-1; without them the accuracy is agreement with the float model
};

// A choice, with the quantized models and their accuracy.
struct NumericChoice {
  Numerics numerics;
  std::vector<std::vector<std::byte>> files;  // ONNX files, in the models' order
  double accuracy = 0;                        // 0 to 1: the weighted mean over the models
};

// Quantizes the models for each choice. The accuracy is the share of rows whose largest element of the first output is
// at the position given by `labels`, or by the float model's output. Errors: those of the quantizer, for example for a
// model that is already quantized; the wrong number of labels.
Result<std::vector<NumericChoice>> quantize(std::span<const FloatModel> models, std::span<const Numerics> choices,
                                            const quantize::MakeForward& make_forward,
                                            const std::function<void(std::string_view what)>& step);

// All numeric choices on a space's axes, in counting order.
std::vector<Numerics> numeric_choices(const Space& space);

// An evaluator for each choice. Must not move in memory: evaluators refer to their workloads.
class NumericEvaluators {
 public:
  // Errors: those of Workload::make() and Evaluator::make(). Arguments by reference outlive the object.
  static Result<std::unique_ptr<NumericEvaluators>> make(std::span<const FloatModel> models,
                                                         std::vector<NumericChoice> choices, const AreaModel& area,
                                                         const EnergyTable& energy, const isa::Machine& base);

  const Evaluator& of(const Numerics& numerics) const;
  std::span<const NumericChoice> choices() const { return choices_; }
  // Identifies all files and accuracies.
  std::string key() const;

 private:
  std::vector<NumericChoice> choices_;
  std::vector<std::unique_ptr<Workload>> workloads_;
  std::vector<std::unique_ptr<Evaluator>> evaluators_;
};

}  // namespace dovetail::explore
