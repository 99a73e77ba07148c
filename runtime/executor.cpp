#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/memory_limit.h"
#include "base/resource_error.h"
#include "base/thread_pool.h"
#include "runtime/device/all.h"
#include "runtime/machine_code.h"
#include "runtime/memory.h"
#include "runtime/operand_names.h"

namespace dovetail::runtime {

using Devices = std::vector<std::shared_ptr<Device>>;

struct ReadyStep {
  const bundle::Step* step = nullptr;
  std::string_view device;  // its name, by which its memories are known
  std::unique_ptr<DeviceKernel> kernel;
  std::vector<Operand> arguments, results;  // of the current run
  bool stay = false;                        // they are those of every run, and nothing is copied for them
};

// A program of the bundle, made ready to run.
struct ReadyProgram {
  const bundle::Bundle& bundle;  // memory and steps keep references into it
  TensorMemory memory;           // kept from run to run
  std::vector<ReadyStep> steps;
  std::unique_ptr<DeviceSequence> sequence;  // of all steps; null: one after the other
};

struct Executor::State {
  bundle::Bundle bundle;
  Devices devices;        // those of the caller first
  std::size_t given = 0;  // of them, by the caller
  Work* work = nullptr;
  // The bundle itself, then those for other shapes as they are asked for.
  std::vector<std::unique_ptr<ReadyProgram>> programs;
  ReadyProgram* last = nullptr;  // that has run
};

namespace {

Result<Device*> find_device(const Devices& devices, std::size_t given, const bundle::Step& step) {
  const auto found = std::ranges::find_if(devices, [&](const auto& device) { return device->runs(step.target); });
  if (found != devices.end()) return found->get();
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < given; ++i) names.push_back(devices[i]->name());
  return Diagnostic{fmt::format("no device \"{}\"", step.target), fmt::format("step {}", step.name),
                    names.empty() ? "its code is for a device that is no part of the kit, and none was given"
                                  : fmt::format("the devices given are {}", fmt::join(names, ", ")),
                    "run the bundle with a program that hands its device to the executor (ExecutorOptions::devices), "
                    "or compile without that target"};
}

// What a program's spaces and the tensors without a place in them take of the host, before any of it is allocated. A
// device with memory of its own says by itself when that does not do.
Result<void> check_memory_of(const bundle::Bundle& bundle, const Devices& devices) {
  const auto is_elsewhere = [&](const bundle::MemorySpace& space) {
    const auto device = std::ranges::find_if(devices, [&](const auto& one) { return one->name() == space.target; });
    return device != devices.end() && !(*device)->keeps_tensors_on_host();
  };
  std::uint64_t bytes = 0;
  for (const bundle::MemorySpace& space : bundle.spaces)
    if (!is_elsewhere(space) && __builtin_add_overflow(bytes, space.bytes, &bytes)) bytes = std::uint64_t{1} << 62;
  const bundle::Tensor* largest = nullptr;
  for (const bundle::Tensor& tensor : bundle.tensors) {
    if (tensor.constant || tensor.view_of) continue;
    if (!tensor.offset) bytes += bundle::size_bytes(tensor);
    if (largest == nullptr || bundle::size_bytes(tensor) > bundle::size_bytes(*largest)) largest = &tensor;
  }
  if (largest == nullptr) return {};
  return check_memory("cannot run " + bundle.name,
                      fmt::format("all its tensors; the largest is {}, {} of {}", largest->name, name(largest->dtype),
                                  to_string(largest->shape)),
                      bytes);
}

Result<DeviceProgram> load(Device& device, const bundle::Bundle& bundle) {
  try {
    return device.load(bundle);
  } catch (const ResourceError& error) {
    return error.diagnostic();
  }
}

// Each device with steps in the program makes it ready.
Result<std::unique_ptr<ReadyProgram>> make_ready(const bundle::Bundle& bundle, const Devices& devices,
                                                 std::size_t given) {
  DOVETAIL_TRY(check_memory_of(bundle, devices));
  std::map<Device*, std::vector<std::size_t>> steps_of;
  std::vector<Device*> used;  // in the order of their first steps
  for (std::size_t s = 0; s < bundle.steps.size(); ++s) {
    DOVETAIL_ASSIGN(Device* const device, find_device(devices, given, bundle.steps[s]));
    if (!steps_of.count(device)) used.push_back(device);
    steps_of[device].push_back(s);
  }
  std::vector<ReadyStep> steps(bundle.steps.size());
  std::vector<std::shared_ptr<DeviceMemory>> memories(bundle.spaces.size());
  std::unique_ptr<DeviceSequence> sequence;
  for (Device* const device : used) {
    DOVETAIL_ASSIGN(DeviceProgram program, load(*device, bundle));
    DOVETAIL_CHECK(program.kernels.size() == steps_of[device].size(), "a device makes a kernel of each of its steps");
    for (std::size_t i = 0; i < program.kernels.size(); ++i) {
      const std::size_t s = steps_of[device][i];
      steps[s] = {&bundle.steps[s], device->name(), std::move(program.kernels[i]), {}, {}};
    }
    sequence = used.size() == 1 ? std::move(program.sequence) : nullptr;
    for (auto& [space, memory] : program.memories) {
      DOVETAIL_CHECK(
          memory->bytes().empty() || memory->bytes().size() >= bundle.spaces[static_cast<std::size_t>(space)].bytes,
          "a device's memory is as large as its space");
      memories[static_cast<std::size_t>(space)] = std::move(memory);
    }
  }
  for (const bundle::Tensor& tensor : bundle.tensors)
    if (tensor.space != bundle::kHostSpace && !memories[static_cast<std::size_t>(tensor.space)]) {
      const bundle::MemorySpace& space = bundle.spaces[static_cast<std::size_t>(tensor.space)];
      return Diagnostic{
          "cannot run " + bundle.name, fmt::format("tensor {}", tensor.name),
          fmt::format("it lies in memory \"{}\", which no device \"{}\" of the steps has", space.name, space.target),
          "make the bundle again with `dovetail compile`"};
    }
  return std::make_unique<ReadyProgram>(
      ReadyProgram{bundle, TensorMemory(bundle, std::move(memories)), std::move(steps), std::move(sequence)});
}

Result<void> gather(ReadyStep& ready, TensorMemory& memory) {
  if (ready.stay) return {};
  ready.arguments.clear();
  ready.results.clear();
  for (const bundle::TensorIndex tensor : ready.step->arguments) {
    DOVETAIL_ASSIGN(const Operand operand, memory.argument(tensor, ready.device));
    ready.arguments.push_back(operand);
  }
  for (const bundle::TensorIndex tensor : ready.step->results)
    ready.results.push_back(memory.result(tensor, ready.device));
  const auto stays = [&](bundle::TensorIndex tensor) { return memory.stays(tensor); };
  ready.stay = std::ranges::all_of(ready.step->arguments, stays) && std::ranges::all_of(ready.step->results, stays);
  return {};
}

Result<void> run_step(ReadyStep& ready, TensorMemory& memory) {
  DOVETAIL_TRY(gather(ready, memory));
  DOVETAIL_TRY(ready.kernel->run(ready.arguments, ready.results));
  if (ready.stay) return {};
  for (const bundle::TensorIndex tensor : ready.step->results) DOVETAIL_TRY(memory.written(tensor, ready.device));
  return {};
}

Result<void> run_together(ReadyProgram& program, bool times) {
  std::vector<DeviceSequence::StepOperands> operands;
  for (ReadyStep& ready : program.steps) {
    DOVETAIL_TRY(gather(ready, program.memory));
    operands.push_back({ready.arguments, ready.results});
  }
  return program.sequence->run(operands, times);
}

Diagnostics located(Diagnostics problems, const bundle::Step& step) {
  for (Diagnostic& problem : problems)
    problem.where = problem.where.empty() ? fmt::format("step {}", step.name)
                                          : fmt::format("step {}, {}", step.name, problem.where);
  return problems;
}

// Whoever reads a bundle from a file says whether its machine code is to be loaded.
Result<void> check_trust(const bundle::Bundle& bundle, const Devices& devices) {
  if (bundle.machine_code == bundle::MachineCode::trusted) return {};
  const std::vector<std::string> targets = machine_code_targets(bundle, devices);
  if (targets.empty()) return {};
  return Diagnostic{
      "cannot run bundle", bundle.name,
      fmt::format("it has machine code, in the steps of {}, and comes from a file that nobody vouches for",
                  fmt::join(targets, ", ")),
      "read it as bundle::MachineCode::trusted if you know who made it"};
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
  for (auto& device : built_in_devices({make_simulator, options.threads, options.work}))
    state->devices.push_back(std::move(device));
  DOVETAIL_TRY(check_trust(state->bundle, state->devices));
  for (const bundle::Bundle& other : state->bundle.other_shapes) DOVETAIL_TRY(check_code(other, state->devices));
  state->programs.resize(1 + state->bundle.other_shapes.size());
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
  for (const bundle::TensorIndex index : program.bundle.outputs)
    if (program.bundle.tensors[static_cast<std::size_t>(index)].name == name) return program.memory.read(index);
  DOVETAIL_CHECK(false, "no output is named " + std::string(name));
  return {};
}

Result<RunResult> Executor::run(const std::map<std::string, NdArray>& inputs, const RunOptions& options) {
  // The program for these shapes; where there is none, the first one reports what is wrong.
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < state_->bundle.other_shapes.size() && !takes(state_->bundle, inputs); ++i)
    if (takes(state_->bundle.other_shapes[i], inputs)) chosen = i + 1;
  const bundle::Bundle& bundle = chosen == 0 ? state_->bundle : state_->bundle.other_shapes[chosen - 1];
  DOVETAIL_TRY(check_inputs(bundle, inputs));
  if (!state_->programs[chosen]) {
    DOVETAIL_ASSIGN(state_->programs[chosen], make_ready(bundle, state_->devices, state_->given));
  }
  ReadyProgram& program = *state_->programs[chosen];
  state_->last = &program;
  TensorMemory& memory = program.memory;
  if (state_->work != nullptr) {
    WorkEstimate estimate;
    for (const ReadyStep& ready : program.steps) estimate += ready.kernel->estimate_work();
    DOVETAIL_TRY(state_->work->expect(bundle.name, estimate));
  }
  DOVETAIL_TRY(memory.begin(inputs));

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
    // Now: another tensor may lie there later.
    if (options.keep_tensors)
      for (const bundle::TensorIndex output : ready.step->results) {
        DOVETAIL_TRY(memory.fetch(output));
        result.tensors[bundle.tensors[static_cast<std::size_t>(output)].name] = memory.copy(output);
      }
    const simulator::Counters* counters = ready.kernel->counters();
    if (counters != nullptr) result.counters += *counters;
    if (options.time_steps)
      result.steps.push_back({ready.step->name, ready.step->target, together ? 0 : seconds.count(),
                              counters != nullptr ? *counters : simulator::Counters{}, ready.kernel->timing()});
  }
  if (options.time_steps)
    for (std::size_t s = 0; s < program.steps.size(); ++s)
      if (const auto on_device = program.steps[s].kernel->device_seconds()) result.steps[s].seconds = *on_device;
  for (const bundle::TensorIndex output : bundle.outputs) {
    DOVETAIL_TRY(memory.fetch(output));
    if (options.copy_outputs)
      result.outputs.emplace(bundle.tensors[static_cast<std::size_t>(output)].name, memory.copy(output));
  }
  return result;
}

}  // namespace dovetail::runtime
