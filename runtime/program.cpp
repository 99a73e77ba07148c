#include "runtime/program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/memory_limit.h"
#include "base/resource_error.h"
#include "base/saturating.h"
#include "runtime/operand_names.h"

namespace dovetail::runtime {

namespace {

Result<Device*> find_device(const Devices& devices, std::size_t given, const bundle::Step& step) {
  const auto found = std::ranges::find_if(devices, [&](const auto& device) { return device->runs(step.target); });
  if (found != devices.end()) return found->get();
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < given; ++i) names.push_back(devices[i]->name());
  return Diagnostic{fmt::format("no device \"{}\"", step.target), fmt::format("step {}", step.name),
                    names.empty()
                        ? "the step's code is for a device that is not part of the kit, and no device was given"
                        : fmt::format("the devices given are {}", fmt::join(names, ", ")),
                    "pass the target's device to the session (`own_targets`) or, in C++, to the executor "
                    "(ExecutorOptions::devices), or compile without that target"};
}

Result<DeviceProgram> load(Device& device, const bundle::Bundle& bundle) {
  try {
    return device.load(bundle);
  } catch (const ResourceError& error) {
    return error.diagnostic();
  }
}

// The host memory needed by the program's spaces, and by tensors without an address in them. A device with separate
// memory reports a shortage itself.
std::uint64_t bytes_of(const bundle::Bundle& bundle, const Devices& devices) {
  const auto is_elsewhere = [&](const bundle::MemorySpace& space) {
    const auto device = std::ranges::find_if(devices, [&](const auto& one) { return one->name() == space.target; });
    return device != devices.end() && !(*device)->keeps_tensors_on_host();
  };
  std::uint64_t bytes = 0;
  for (const bundle::MemorySpace& space : bundle.spaces)
    if (!is_elsewhere(space)) bytes = saturating_sum(bytes, space.bytes);
  for (const bundle::Tensor& tensor : bundle.tensors)
    if (!tensor.constant && !tensor.view_of && !tensor.offset)
      bytes = saturating_sum(bytes, bundle::size_bytes(tensor));
  for (const bundle::Step& step : bundle.steps)
    for (const bundle::Bundle& program : step.programs) bytes = saturating_sum(bytes, bytes_of(program, devices));
  return bytes;
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

std::ptrdiff_t readers_of(const bundle::Bundle& bundle, bundle::TensorIndex root) {
  const auto reads = [&](bundle::TensorIndex tensor) { return root_of(bundle, tensor) == root; };
  return std::ranges::count_if(bundle.steps,
                               [&](const bundle::Step& step) { return std::ranges::any_of(step.arguments, reads); }) +
         std::ranges::count_if(bundle.outputs, reads);
}

// The steps from one tensor to another, if they compute nothing else, from nothing else but constants.
std::optional<std::vector<std::size_t>> steps_between(const bundle::Bundle& bundle, bundle::TensorIndex from,
                                                      bundle::TensorIndex to) {
  std::vector<std::size_t> path;
  for (bundle::TensorIndex at = root_of(bundle, to); at != from;) {
    const auto step = std::ranges::find_if(bundle.steps, [&](const bundle::Step& each) {
      return std::ranges::find(each.results, at) != each.results.end();
    });
    if (step == bundle.steps.end() || step->results.size() != 1) return std::nullopt;
    path.insert(path.begin(), static_cast<std::size_t>(step - bundle.steps.begin()));
    std::set<bundle::TensorIndex> sources;
    for (const bundle::TensorIndex argument : step->arguments)
      if (const bundle::TensorIndex root = root_of(bundle, argument);
          !bundle.tensors[static_cast<std::size_t>(root)].constant)
        sources.insert(root);
    if (sources.size() != 1) return std::nullopt;
    at = *sources.begin();
    if (at != from && readers_of(bundle, at) != 1) return std::nullopt;
  }
  return path;
}

// The states that may stay in a device's memory: nothing but their conversion reads the input and what the output is
// converted from.
std::vector<ReadyResident> residents_of(const bundle::Bundle& bundle, const TensorMemory& memory) {
  std::vector<ReadyResident> residents;
  for (const bundle::Resident& row : bundle.residents) {
    const auto state = std::ranges::find(bundle.states, bundle::State{row.input, row.output});
    if (state == bundle.states.end() || memory.in_place(row.before).empty()) continue;
    auto pack = steps_between(bundle, row.input, row.before), unpack = steps_between(bundle, row.after, row.output);
    if (!pack || !unpack || readers_of(bundle, row.input) != 1 || readers_of(bundle, row.output) != 1) continue;
    const auto input = std::ranges::find(bundle.inputs, row.input) - bundle.inputs.begin();
    residents.push_back({&*state, row.before, static_cast<std::size_t>(input), *std::move(pack), *std::move(unpack)});
  }
  return residents;
}

}  // namespace

Result<void> check_memory_of(const bundle::Bundle& bundle, const Devices& devices) {
  const bundle::Tensor* largest = nullptr;
  for (const bundle::Tensor& tensor : bundle.tensors)
    if (!tensor.constant && !tensor.view_of &&
        (largest == nullptr || bundle::size_bytes(tensor) > bundle::size_bytes(*largest)))
      largest = &tensor;
  if (largest == nullptr) return {};
  return check_memory("cannot run " + bundle.name,
                      fmt::format("all its tensors; the largest is {}, {} of {}", largest->name, name(largest->dtype),
                                  to_string(largest->shape)),
                      bytes_of(bundle, devices));
}

WorkEstimate ReadyProgram::estimate_work() const {
  WorkEstimate estimate;
  for (const ReadyStep& ready : steps) estimate += ready.kernel->estimate_work();
  return estimate;
}

Result<std::unique_ptr<ReadyProgram>> make_ready(const bundle::Bundle& bundle, const Devices& devices,
                                                 std::size_t given) {
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
    DOVETAIL_CHECK(program.kernels.size() == steps_of[device].size(),
                   "a device must make a kernel for each of its steps");
    for (std::size_t i = 0; i < program.kernels.size(); ++i) {
      const std::size_t s = steps_of[device][i];
      steps[s] = {&bundle.steps[s], device->name(), std::move(program.kernels[i]), {}, {}};
    }
    sequence = used.size() == 1 ? std::move(program.sequence) : nullptr;
    for (auto& [space, memory] : program.memories) {
      DOVETAIL_CHECK(
          memory->bytes().empty() || memory->bytes().size() >= bundle.spaces[static_cast<std::size_t>(space)].bytes,
          "a device's memory must be as large as its space");
      memories[static_cast<std::size_t>(space)] = std::move(memory);
    }
  }
  for (const bundle::Tensor& tensor : bundle.tensors)
    if (tensor.space != bundle::kHostSpace && !memories[static_cast<std::size_t>(tensor.space)]) {
      const bundle::MemorySpace& space = bundle.spaces[static_cast<std::size_t>(tensor.space)];
      return Diagnostic{"cannot run " + bundle.name, fmt::format("tensor {}", tensor.name),
                        fmt::format("the tensor is in memory \"{}\", which no device \"{}\" of the steps has",
                                    space.name, space.target),
                        "make the bundle again with `dovetail compile`"};
    }
  auto program = std::make_unique<ReadyProgram>(
      ReadyProgram{bundle, TensorMemory(bundle, std::move(memories)), std::move(steps), std::move(sequence)});
  if (program->sequence == nullptr) program->residents = residents_of(bundle, program->memory);
  return program;
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

Result<void> run_steps(ReadyProgram& program, const std::vector<bool>& skips) {
  if (program.sequence != nullptr) return run_together(program, false);
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    if (skips[s]) continue;
    ReadyStep& ready = program.steps[s];
    if (const auto ran = run_step(ready, program.memory); !ran.ok())
      return located(with_operand_names(ran.errors(), program.bundle, *ready.step), *ready.step);
  }
  return {};
}

}  // namespace dovetail::runtime
