// A bundle's step made ready to run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "runtime/executor.h"

namespace dovetail::runtime {

// The value of a tensor as it stands before the step: an input, a constant or an earlier result.
using TensorValue = std::function<const NdArray&(bundle::TensorIndex tensor)>;

struct StepOutcome {
  std::vector<NdArray> values;  // of outputs(), in that order
  simulator::Counters counters;
};

class ReadyStep {
 public:
  virtual ~ReadyStep() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view target() const = 0;
  virtual const std::vector<bundle::TensorIndex>& outputs() const = 0;
  virtual Result<StepOutcome> run(const TensorValue& value) = 0;
};

// `bundle` outlives the step, which keeps references into it.
Result<std::unique_ptr<ReadyStep>> make_host_step(const bundle::Bundle& bundle, const bundle::HostStep& step);
Result<std::unique_ptr<ReadyStep>> make_accel_step(const bundle::Bundle& bundle, const bundle::AccelStep& step,
                                                   const MakeSimulator& make_simulator);

}  // namespace dovetail::runtime
