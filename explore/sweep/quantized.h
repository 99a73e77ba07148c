// The models of a space with numeric choices: quantized for each choice by the quantizer of `dovetail quantize`, and
// compared with the float models.
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
  std::vector<quantize::Values> samples = {};  // of its inputs: calibrate
  std::vector<quantize::Values> tests = {};    // measure the accuracy
  std::int64_t test_rows = 0;                  // of `tests`; what is after them in the last batch does not count
  std::optional<NdArray> labels = {};          // of the tests' rows: top-1; without them agreement with the float model
};

// A choice, and what it makes of the models.
struct NumericChoice {
  Numerics numerics;
  std::vector<std::vector<std::byte>> files;  // ONNX, in the models' order
  double accuracy = 0;                        // 0 to 1: the mean of the models', by weight
};

// Share of rows whose largest element of the first output is where `labels`, or the float model's own output, has it.
// Errors: of the quantizer, as for a model that is quantized already; labels of another number.
Result<std::vector<NumericChoice>> quantize(std::span<const FloatModel> models, std::span<const Numerics> choices,
                                            const quantize::MakeForward& make_forward,
                                            const std::function<void(std::string_view what)>& step);

// All numeric choices on a space's axes, in counting order.
std::vector<Numerics> numeric_choices(const Space& space);

// An evaluator for each choice. Stays where it is: evaluators refer to their workloads.
class NumericEvaluators {
 public:
  // Errors: as Workload::make() and Evaluator::make(). What follows is referred to and outlives it.
  static Result<std::unique_ptr<NumericEvaluators>> make(std::span<const FloatModel> models,
                                                         std::vector<NumericChoice> choices, const AreaModel& area,
                                                         const EnergyTable& energy, const isa::Machine& base);

  const Evaluator& of(const Numerics& numerics) const;
  std::span<const NumericChoice> choices() const { return choices_; }
  // Of all files and accuracies.
  std::string key() const;

 private:
  std::vector<NumericChoice> choices_;
  std::vector<std::unique_ptr<Workload>> workloads_;
  std::vector<std::unique_ptr<Evaluator>> evaluators_;
};

}  // namespace dovetail::explore
