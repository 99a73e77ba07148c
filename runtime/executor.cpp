#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/machine_code_permission.h"
#include "base/memory_limit.h"
#include "base/resource_error.h"
#include "base/thread_pool.h"
#include "runtime/cut.h"
#include "runtime/device/all.h"
#include "runtime/machine_code.h"
#include "runtime/operand_names.h"
#include "runtime/program.h"
#include "runtime/states.h"
#include "runtime/tensor_at.h"

namespace dovetail::runtime {

struct Executor::State {
  bundle::Bundle bundle;
  Devices devices;        // those of the caller first
  std::size_t given = 0;  // number of devices of the caller
  Work* work = nullptr;
  // The bundle's program, then those for other shapes, created when first used.
  std::vector<std::unique_ptr<ReadyProgram>> programs;
  ReadyProgram* last = nullptr;  // the program that ran last
  States states;
};

namespace {

// The environment decides whether this process may execute machine code, and the code that reads a bundle from a file
// whether that of the bundle may be loaded.
Result<void> check_trust(const bundle::Bundle& bundle, const Devices& devices) {
  const std::vector<std::string> targets = machine_code_targets(bundle, devices);
  if (targets.empty()) return {};
  DOVETAIL_TRY(check_machine_code(fmt::format("cannot run {}", bundle.name),
                                  fmt::format("target {}", fmt::join(targets, ", "))));
  if (bundle.machine_code == bundle::MachineCode::trusted) return {};
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

std::optional<bundle::TensorIndex> find_output(const bundle::Bundle& bundle, std::string_view name) {
  for (const bundle::TensorIndex index : bundle.outputs)
    if (bundle.tensors[static_cast<std::size_t>(index)].name == name) return index;
  return std::nullopt;
}

bool takes(const bundle::Bundle& bundle, const std::map<std::string, NdArray>& inputs) {
  return check_inputs(bundle, inputs).ok();
}

// Prepares a run. `inputs`: their bytes, null for a state that is not given. Returns which steps it skips.
Result<std::vector<bool>> begin(ReadyProgram& program, std::vector<std::span<const std::byte>> inputs, States& states,
                                bool alone) {
  const bundle::Bundle& bundle = program.bundle;
  std::vector<bool> given(inputs.size(), true);
  for (const bundle::State& state : bundle.states) {
    const auto position =
        static_cast<std::size_t>(std::ranges::find(bundle.inputs, state.input) - bundle.inputs.begin());
    given[position] = inputs[position].data() != nullptr;
  }
  DOVETAIL_ASSIGN(std::vector<bool> skips, states.begin(program, given, alone));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!given[i]) {
      DOVETAIL_ASSIGN(inputs[i], states.value(program, i));
    }
  DOVETAIL_TRY(program.memory.begin(inputs));
  return skips;
}

Result<RunResult> run_steps(ReadyProgram& program, const std::vector<bool>& skips, const RunOptions& options) {
  const bundle::Bundle& bundle = program.bundle;
  TensorMemory& memory = program.memory;
  RunResult result;
  const bool together = program.sequence != nullptr && !options.keep_tensors;
  if (together) {
    DOVETAIL_TRY(run_together(program, options.time_steps));
    result.launched = program.sequence->launched();
  }
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    ReadyStep& ready = program.steps[s];
    if (skips[s]) {
      if (options.time_steps) result.steps.push_back({ready.step->name, ready.step->target, 0, {}});
      continue;
    }
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
                              ready.kernel->by_accelerator(), ready.kernel->programs()});
  }
  if (options.time_steps)
    for (std::size_t s = 0; s < program.steps.size(); ++s)
      if (const auto on_device = program.steps[s].kernel->device_seconds()) result.steps[s].seconds = *on_device;
  for (const bundle::TensorIndex output : bundle.outputs) {
    if (is_of_state(bundle, output) && !options.copy_states) continue;
    DOVETAIL_TRY(memory.fetch(output));
    if (!options.copy_outputs) continue;
    DOVETAIL_ASSIGN(NdArray copy, copy_output(bundle, memory, output));
    result.outputs.emplace(bundle.tensors[static_cast<std::size_t>(output)].name, std::move(copy));
  }
  return result;
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
  // The program for these shapes, and for those of the states; if there is none, the first one reports the error.
  const auto choose = [&](bool with_states) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < state_->programs.size(); ++i) {
      const bundle::Bundle& program = i == 0 ? state_->bundle : state_->bundle.other_shapes[i - 1];
      if (takes(program, inputs) && (!with_states || state_->states.fit(program, inputs))) return i;
    }
    return std::nullopt;
  };
  const std::size_t chosen = choose(true).value_or(choose(false).value_or(0));
  const bundle::Bundle& bundle = chosen == 0 ? state_->bundle : state_->bundle.other_shapes[chosen - 1];
  DOVETAIL_TRY(check_inputs(bundle, inputs));
  if (!state_->programs[chosen]) {
    DOVETAIL_TRY(check_memory_of(bundle, state_->devices));
    DOVETAIL_ASSIGN(state_->programs[chosen], make_ready(bundle, state_->devices, state_->given));
  }
  ReadyProgram& program = *state_->programs[chosen];
  state_->last = &program;
  if (state_->work != nullptr) DOVETAIL_TRY(state_->work->expect(bundle.name, program.estimate_work()));
  std::vector<std::span<const std::byte>> bytes;
  for (const bundle::TensorIndex input : bundle.inputs) {
    const auto given = inputs.find(tensor_at(bundle, input).name);
    bytes.push_back(given != inputs.end() ? given->second.bytes() : std::span<const std::byte>());
  }
  const bool alone = !options.keep_tensors && !(options.copy_outputs && options.copy_states);
  DOVETAIL_ASSIGN(const std::vector<bool> skips, begin(program, std::move(bytes), state_->states, alone));
  auto result = run_steps(program, skips, options);
  if (result.ok()) DOVETAIL_TRY(state_->states.end(program));
  else state_->states.undo(program);
  return result;
}

Result<void> Executor::run_in_place(std::span<const std::span<const std::byte>> inputs,
                                    std::span<const std::span<std::byte>> outputs, bool copy_states) {
  ReadyProgram& program = *state_->programs.front();
  state_->last = &program;
  if (state_->work != nullptr) DOVETAIL_TRY(state_->work->expect(program.bundle.name, program.estimate_work()));
  DOVETAIL_ASSIGN(const std::vector<bool> skips,
                  begin(program, {inputs.begin(), inputs.end()}, state_->states, !copy_states));
  program.memory.place_outputs(outputs);
  if (auto ran = run_steps(program, skips); !ran.ok()) {
    state_->states.undo(program);
    return ran;
  }
  for (const bundle::TensorIndex output : program.bundle.outputs)
    if (copy_states || !is_of_state(program.bundle, output)) DOVETAIL_TRY(program.memory.fetch(output));
  return state_->states.end(program);
}

Result<const std::map<std::string, NdArray>*> Executor::states() const { return state_->states.values(); }
void Executor::set_states(std::map<std::string, NdArray> values) { state_->states.set(std::move(values)); }

}  // namespace dovetail::runtime
