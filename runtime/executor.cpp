#include "runtime/executor.h"

#include <chrono>
#include <optional>
#include <utility>

#include "runtime/step.h"

namespace dovetail::runtime {

struct Executor::State {
  bundle::Bundle bundle;  // the steps keep references into it
  std::vector<std::unique_ptr<ReadyStep>> steps;
};

Result<Executor> Executor::make(bundle::Bundle bundle, const MakeSimulator& make_simulator) {
  DOVETAIL_TRY(bundle::verify(bundle));
  auto state = std::make_shared<State>();
  state->bundle = std::move(bundle);
  for (const bundle::Step& step : state->bundle.steps) {
    auto ready = std::holds_alternative<bundle::HostStep>(step)
                     ? make_host_step(state->bundle, std::get<bundle::HostStep>(step))
                     : make_accel_step(state->bundle, std::get<bundle::AccelStep>(step), make_simulator);
    if (!ready.ok()) return ready.errors();
    state->steps.push_back(*std::move(ready));
  }
  Executor executor;
  executor.state_ = std::move(state);
  return executor;
}

const bundle::Bundle& Executor::bundle() const { return state_->bundle; }

Result<RunResult> Executor::run(const std::map<std::string, NdArray>& inputs, const RunOptions& options) {
  const bundle::Bundle& bundle = state_->bundle;
  DOVETAIL_TRY(check_inputs(bundle, inputs));

  std::vector<std::optional<NdArray>> computed(bundle.tensors.size());
  const TensorValue value = [&](bundle::TensorIndex index) -> const NdArray& {
    const auto position = static_cast<std::size_t>(index);
    const bundle::Tensor& tensor = bundle.tensors[position];
    if (tensor.constant) return *tensor.constant;
    return computed[position] ? *computed[position] : inputs.at(tensor.name);
  };

  RunResult result;
  for (const auto& step : state_->steps) {
    const auto start = std::chrono::steady_clock::now();
    DOVETAIL_ASSIGN(StepOutcome outcome, step->run(value));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    for (std::size_t i = 0; i < outcome.values.size(); ++i) {
      const auto position = static_cast<std::size_t>(step->outputs()[i]);
      computed[position] = std::move(outcome.values[i]);
      if (options.keep_tensors) result.tensors[bundle.tensors[position].name] = *computed[position];
    }
    result.steps.push_back({std::string(step->name()), std::string(step->target()), seconds.count(), outcome.counters});
    result.counters += outcome.counters;
  }
  for (const bundle::TensorIndex output : bundle.outputs)
    result.outputs.emplace(bundle.tensors[static_cast<std::size_t>(output)].name, value(output));
  return result;
}

}  // namespace dovetail::runtime
