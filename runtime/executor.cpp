#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/memory_limit.h"
#include "base/resource_error.h"
#include "base/thread_pool.h"
#include "runtime/cut.h"
#include "runtime/device/all.h"
#include "runtime/machine_code.h"
#include "runtime/operand_names.h"
#include "runtime/program.h"
#include "runtime/tensor_at.h"

namespace dovetail::runtime {

struct Executor::State {
  bundle::Bundle bundle;
  Devices devices;        // those of the caller first
  std::size_t given = 0;  // number of devices of the caller
  Work* work = nullptr;
  // The bundle's program, then those for other shapes, created when first used.
  std::vector<std::unique_ptr<ReadyProgram>> programs;
  ReadyProgram* last = nullptr;                  // the program that ran last
  std::map<std::string, NdArray> states, spare;  // what the next run reads, and memory for what it gives
};

namespace {

// The code that reads a bundle from a file decides whether its machine code may be loaded.
Result<void> check_trust(const bundle::Bundle& bundle, const Devices& devices) {
  if (bundle.machine_code == bundle::MachineCode::trusted) return {};
  const std::vector<std::string> targets = machine_code_targets(bundle, devices);
  if (targets.empty()) return {};
  return Diagnostic{
      "cannot run bundle", bundle.name,
      fmt::format("the bundle contains machine code, in the steps of {}, and comes from an untrusted file",
                  fmt::join(targets, ", ")),
      "read it with bundle::MachineCode::trusted if you trust its origin"};
}

// An output, truncated to the extents that depend on values.
Result<NdArray> copy_output(const bundle::Bundle& bundle, TensorMemory& memory, bundle::TensorIndex index) {
  NdArray output = memory.copy(index);
  for (const bundle::OutputExtent& row : bundle.extents) {
    if (row.output != index) continue;
    DOVETAIL_TRY(memory.fetch(row.extent));
    const std::int64_t count = memory.copy(row.extent).as_int64(0);
    const auto axis = static_cast<std::size_t>(row.axis);
    if (const std::int64_t bound = output.shape()[axis]; count < 0 || count > bound)
      return Diagnostic{
          "cannot give an output", bundle.tensors[static_cast<std::size_t>(row.output)].name,
          fmt::format("the output's extent along axis {} is {}, but its tensor has only {}", row.axis, count, bound),
          "make the bundle again with `dovetail compile`"};
    output = first_along(output, axis, count);
  }
  return output;
}

bool is_of_state(const bundle::Bundle& bundle, bundle::TensorIndex output) {
  return std::ranges::find(bundle.states, output, &bundle::State::output) != bundle.states.end();
}

// The value that a run reads; zeros if there is none yet.
Result<std::span<const std::byte>> state_value(std::map<std::string, NdArray>& states, const bundle::Tensor& tensor) {
  const auto [entry, is_new] = states.try_emplace(tensor.name, tensor.dtype, tensor.shape);
  const NdArray& value = entry->second;
  if (value.dtype() == tensor.dtype && value.shape() == tensor.shape) return value.bytes();
  return Diagnostic{"cannot run", fmt::format("state {}", tensor.name),
                    fmt::format("its value is {}{}, but the program reads {}{}", name(value.dtype()),
                                to_string(value.shape()), name(tensor.dtype), to_string(tensor.shape)),
                    "give a value of that type and shape"};
}

// Keeps what the run has given. All of it is copied before any state changes, since an output may be an input.
Result<void> keep_states(const bundle::Bundle& bundle, TensorMemory& memory, std::map<std::string, NdArray>& states,
                         std::map<std::string, NdArray>& spare) {
  for (const bundle::State& state : bundle.states) {
    DOVETAIL_TRY(memory.fetch(state.output));
    const bundle::Tensor& tensor = tensor_at(bundle, state.input);
    NdArray& next = spare[tensor.name];
    if (next.dtype() != tensor.dtype || next.shape() != tensor.shape) next = NdArray(tensor.dtype, tensor.shape);
    std::ranges::copy(memory.read(state.output), next.bytes().begin());
  }
  for (const bundle::State& state : bundle.states) {
    const std::string& name = tensor_at(bundle, state.input).name;
    std::swap(states[name], spare[name]);
  }
  return {};
}

std::optional<bundle::TensorIndex> find_output(const bundle::Bundle& bundle, std::string_view name) {
  for (const bundle::TensorIndex index : bundle.outputs)
    if (bundle.tensors[static_cast<std::size_t>(index)].name == name) return index;
  return std::nullopt;
}

bool takes(const bundle::Bundle& bundle, const std::map<std::string, NdArray>& inputs) {
  return check_inputs(bundle, inputs).ok();
}

}  // namespace

Result<Executor> Executor::make(bundle::Bundle bundle, const MakeSimulator& make_simulator,
                                const ExecutorOptions& options) {
  DOVETAIL_TRY(bundle::verify(bundle));
  auto state = std::make_shared<State>();
  state->bundle = std::move(bundle);
  state->devices = options.devices;
  state->given = options.devices.size();
  state->work = options.work;
  for (auto& device : built_in_devices({make_simulator, options.threads, options.placement, options.work}))
    state->devices.push_back(std::move(device));
  state->devices.push_back(make_flow_device(state->devices, state->given, options.work));
  DOVETAIL_TRY(check_trust(state->bundle, state->devices));
  for (const bundle::Bundle& other : state->bundle.other_shapes) DOVETAIL_TRY(check_code(other, state->devices));
  state->programs.resize(1 + state->bundle.other_shapes.size());
  DOVETAIL_TRY(check_memory_of(state->bundle, state->devices));
  DOVETAIL_ASSIGN(state->programs.front(), make_ready(state->bundle, state->devices, state->given));
  state->last = state->programs.front().get();
  Executor executor;
  executor.state_ = std::move(state);
  return executor;
}

int default_threads() { return available_processors(); }

const bundle::Bundle& Executor::bundle() const { return state_->bundle; }
const bundle::Bundle& Executor::program() const { return state_->last->bundle; }

std::vector<KernelFacts> Executor::kernel_facts(std::size_t step) const {
  return state_->last->steps.at(step).kernel->kernel_facts();
}

std::span<const std::byte> Executor::output(std::string_view name) const {
  const ReadyProgram& program = *state_->last;
  const auto index = find_output(program.bundle, name);
  DOVETAIL_CHECK(index.has_value(), "there is no output named " + std::string(name));
  return program.memory.read(*index);
}

Result<NdArray> Executor::copied_output(std::string_view name) {
  ReadyProgram& program = *state_->last;
  const auto index = find_output(program.bundle, name);
  DOVETAIL_CHECK(index.has_value(), "there is no output named " + std::string(name));
  return copy_output(program.bundle, program.memory, *index);
}

Result<RunResult> Executor::run(const std::map<std::string, NdArray>& inputs, const RunOptions& options) {
  // The program for these shapes; if there is none, the first one reports the error.
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < state_->bundle.other_shapes.size() && !takes(state_->bundle, inputs); ++i)
    if (takes(state_->bundle.other_shapes[i], inputs)) chosen = i + 1;
  const bundle::Bundle& bundle = chosen == 0 ? state_->bundle : state_->bundle.other_shapes[chosen - 1];
  DOVETAIL_TRY(check_inputs(bundle, inputs));
  if (!state_->programs[chosen]) {
    DOVETAIL_TRY(check_memory_of(bundle, state_->devices));
    DOVETAIL_ASSIGN(state_->programs[chosen], make_ready(bundle, state_->devices, state_->given));
  }
  ReadyProgram& program = *state_->programs[chosen];
  state_->last = &program;
  TensorMemory& memory = program.memory;
  if (state_->work != nullptr) DOVETAIL_TRY(state_->work->expect(bundle.name, program.estimate_work()));
  std::vector<std::span<const std::byte>> bytes;
  for (const bundle::TensorIndex input : bundle.inputs) {
    const bundle::Tensor& tensor = tensor_at(bundle, input);
    const auto given = inputs.find(tensor.name);
    if (given != inputs.end()) {
      bytes.push_back(given->second.bytes());
    } else {
      DOVETAIL_ASSIGN(bytes.emplace_back(), state_value(state_->states, tensor));
    }
  }
  DOVETAIL_TRY(memory.begin(bytes));

  RunResult result;
  const bool together = program.sequence != nullptr && !options.keep_tensors;
  if (together) {
    DOVETAIL_TRY(run_together(program, options.time_steps));
    result.launched = program.sequence->launched();
  }
  for (ReadyStep& ready : program.steps) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = options.time_steps ? Clock::now() : Clock::time_point();
    if (!together)
      if (const auto ran = run_step(ready, memory); !ran.ok())
        return located(with_operand_names(ran.errors(), bundle, *ready.step), *ready.step);
    const std::chrono::duration<double> seconds = (options.time_steps ? Clock::now() : start) - start;
    // Copied now, because another tensor may use the memory later.
    if (options.keep_tensors)
      for (const bundle::TensorIndex output : ready.step->results) {
        DOVETAIL_TRY(memory.fetch(output));
        result.tensors[bundle.tensors[static_cast<std::size_t>(output)].name] = memory.copy(output);
      }
    const simulator::Counters* counters = ready.kernel->counters();
    if (counters != nullptr) result.counters += *counters;
    if (options.time_steps)
      result.steps.push_back({ready.step->name, ready.step->target, together ? 0 : seconds.count(),
                              counters != nullptr ? *counters : simulator::Counters{}, ready.kernel->timing(),
                              ready.kernel->programs()});
  }
  if (options.time_steps)
    for (std::size_t s = 0; s < program.steps.size(); ++s)
      if (const auto on_device = program.steps[s].kernel->device_seconds()) result.steps[s].seconds = *on_device;
  for (const bundle::TensorIndex output : bundle.outputs) {
    DOVETAIL_TRY(memory.fetch(output));
    if (!options.copy_outputs || (!options.copy_states && is_of_state(bundle, output))) continue;
    DOVETAIL_ASSIGN(NdArray copy, copy_output(bundle, memory, output));
    result.outputs.emplace(bundle.tensors[static_cast<std::size_t>(output)].name, std::move(copy));
  }
  DOVETAIL_TRY(keep_states(bundle, memory, state_->states, state_->spare));
  return result;
}

Result<void> Executor::run_in_place(std::span<const std::span<const std::byte>> inputs) {
  ReadyProgram& program = *state_->programs.front();
  state_->last = &program;
  if (state_->work != nullptr) DOVETAIL_TRY(state_->work->expect(program.bundle.name, program.estimate_work()));
  std::vector<std::span<const std::byte>> bytes(inputs.begin(), inputs.end());
  for (const bundle::State& state : program.bundle.states) {
    const auto position = std::ranges::find(program.bundle.inputs, state.input) - program.bundle.inputs.begin();
    if (auto& own = bytes[static_cast<std::size_t>(position)]; own.data() == nullptr) {
      DOVETAIL_ASSIGN(own, state_value(state_->states, tensor_at(program.bundle, state.input)));
    }
  }
  DOVETAIL_TRY(program.memory.begin(bytes));
  DOVETAIL_TRY(run_steps(program));
  for (const bundle::TensorIndex output : program.bundle.outputs) DOVETAIL_TRY(program.memory.fetch(output));
  return keep_states(program.bundle, program.memory, state_->states, state_->spare);
}

const std::map<std::string, NdArray>& Executor::states() const { return state_->states; }
void Executor::set_states(std::map<std::string, NdArray> values) { state_->states = std::move(values); }

}  // namespace dovetail::runtime
