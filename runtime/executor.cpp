#include "runtime/executor.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/thread_pool.h"
#include "runtime/step.h"

namespace dovetail::runtime {

struct Executor::State {
  bundle::Bundle bundle;  // the steps keep references into it
  std::vector<std::unique_ptr<ReadyStep>> steps;
  std::vector<NdArray> computed;  // by tensor; kept from run to run for its storage
};

namespace {

Result<std::unique_ptr<ReadyStep>> ready(const bundle::Bundle& bundle, const bundle::Step& step, const MakeSimulator& make_simulator,
                                         const std::shared_ptr<CpuDevice>& cpu, const ExecutorOptions& options) {
  if (const auto* host = std::get_if<bundle::HostStep>(&step)) return make_host_step(bundle, *host);
  if (const auto* kernel = std::get_if<bundle::CpuStep>(&step)) return make_cpu_step(cpu, *kernel);
  if (const auto* other = std::get_if<bundle::ExternStep>(&step)) return make_extern_step(bundle, *other, options.devices);
  return make_accel_step(std::get<bundle::AccelStep>(step), make_simulator);
}

}  // namespace

Result<Executor> Executor::make(bundle::Bundle bundle, const MakeSimulator& make_simulator, const ExecutorOptions& options) {
  DOVETAIL_TRY(bundle::verify(bundle));
  auto state = std::make_shared<State>();
  state->bundle = std::move(bundle);
  std::shared_ptr<CpuDevice> cpu;
  if (state->bundle.cpu) {
    DOVETAIL_ASSIGN(cpu, load_cpu(state->bundle, options.threads));
  }
  for (const bundle::Step& step : state->bundle.steps) {
    DOVETAIL_ASSIGN(auto made, ready(state->bundle, step, make_simulator, cpu, options));
    state->steps.push_back(std::move(made));
  }
  state->computed.resize(state->bundle.tensors.size());
  for (const auto& step : state->steps)
    for (const bundle::TensorIndex output : step->outputs()) {
      const bundle::Tensor& tensor = state->bundle.tensors[static_cast<std::size_t>(output)];
      state->computed[static_cast<std::size_t>(output)] = NdArray(tensor.dtype, tensor.shape);
    }
  Executor executor;
  executor.state_ = std::move(state);
  return executor;
}

int default_threads() { return available_processors(); }

const bundle::Bundle& Executor::bundle() const { return state_->bundle; }

const NdArray& Executor::output(std::string_view name) const {
  for (const bundle::TensorIndex index : state_->bundle.outputs)
    if (state_->bundle.tensors[static_cast<std::size_t>(index)].name == name) return state_->computed[static_cast<std::size_t>(index)];
  DOVETAIL_CHECK(false, "no output is named " + std::string(name));
  return state_->computed.front();
}

Result<RunResult> Executor::run(const std::map<std::string, NdArray>& inputs, const RunOptions& options) {
  const bundle::Bundle& bundle = state_->bundle;
  DOVETAIL_TRY(check_inputs(bundle, inputs));

  std::vector<const NdArray*> given(bundle.tensors.size(), nullptr);
  for (const bundle::TensorIndex input : bundle.inputs)
    given[static_cast<std::size_t>(input)] = &inputs.at(bundle.tensors[static_cast<std::size_t>(input)].name);
  const TensorValue value = [&](bundle::TensorIndex index) -> const NdArray& {
    const auto position = static_cast<std::size_t>(index);
    if (const auto& constant = bundle.tensors[position].constant) return *constant;
    return given[position] ? *given[position] : state_->computed[position];
  };
  const TensorSlot slot = [&](bundle::TensorIndex index) -> NdArray& { return state_->computed[static_cast<std::size_t>(index)]; };

  RunResult result;
  for (const auto& step : state_->steps) {
    const auto start = std::chrono::steady_clock::now();
    DOVETAIL_ASSIGN(const simulator::Counters counters, step->run(value, slot));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (options.keep_tensors)
      for (const bundle::TensorIndex output : step->outputs()) result.tensors[bundle.tensors[static_cast<std::size_t>(output)].name] = slot(output);
    result.steps.push_back({std::string(step->name()), std::string(step->target()), seconds.count(), counters, step->timing()});
    result.counters += counters;
  }
  if (!options.copy_outputs) return result;
  for (const bundle::TensorIndex output : bundle.outputs)
    result.outputs.emplace(bundle.tensors[static_cast<std::size_t>(output)].name, value(output));
  return result;
}

}  // namespace dovetail::runtime
