#include "driver/tuning.h"

#include <algorithm>

#include <fmt/format.h>

#include "bundle/code/accel.h"
#include "bundle/code/cpu.h"
#include "bundle/code/cuda.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/tune/records.h"
#include "explore/measure/accel.h"
#include "explore/measure/cpu.h"
#include "explore/measure/cuda.h"
#include "runtime/device/cuda/context.h"
#include "runtime/executor.h"

namespace dovetail::driver {

namespace {

using Machines = std::vector<std::string>;

Machines accel_machines(std::string_view, const ModelOptions&, const System& system) {
  return {explore::accel_machine(system.memory)};
}

Machines cpu_machines(std::string_view, const ModelOptions& options, const System&) {
  const auto processor = cpu::find_cpu(options.cpu);
  if (!processor.ok()) return {};
  Machines machines{
      explore::cpu_machine(*processor, options.threads > 0 ? options.threads : runtime::default_threads())};
  if (const std::string one = explore::cpu_machine(*processor, 1); one != machines.front()) machines.push_back(one);
  return machines;
}

// This machine's GPU first, then any measured GPU, since kernels are often compiled on machines without a GPU.
Machines cuda_machines(std::string_view target, const ModelOptions& options, const System&) {
  Machines machines;
  if (std::ranges::find(options.targets, target) == options.targets.end()) return machines;
  if (const auto device = runtime::cuda::find_device(); device.ok())
    machines.push_back(explore::cuda_machine(device->name, device->capability));
  const auto records = tune::Records::open(*options.records, tune::Records::Open::read);
  if (!records.ok()) return machines;
  if (const auto known = records->summaries(); known.ok())
    for (const auto& summary : *known)
      if (summary.target == target && std::ranges::find(machines, summary.machine) == machines.end())
        machines.push_back(summary.machine);
  return machines;
}

Result<tune::MakeMeasurer> accel_measurer(const ModelOptions&, const MeasurerOptions& measurer) {
  explore::AccelMeasureOptions options;
  options.workers = measurer.shared_machine ? 1 : 0;
  options.memory = measurer.memory;
  options.work = measurer.work;
  return explore::make_accel_measurer(measurer.hardware, options);
}

Result<tune::MakeMeasurer> cpu_measurer(const ModelOptions& model, const MeasurerOptions& measurer) {
  DOVETAIL_ASSIGN(const cpu::Cpu processor, cpu::find_cpu(model.cpu));
  explore::CpuMeasureOptions options;
  options.threads = model.threads;
  options.work = measurer.work;
  return explore::make_cpu_measurer(processor, options);
}

Result<tune::MakeMeasurer> cuda_measurer(const ModelOptions& model, const MeasurerOptions& measurer) {
  DOVETAIL_ASSIGN(cuda::Gpu gpu, cuda::parse_gpu("--gpu", model.gpu));
  gpu.tf32 = model.tf32;
  explore::CudaMeasureOptions options;
  options.work = measurer.work;
  return explore::make_cuda_measurer(gpu, options);
}

Result<void> narrow_to_gpu(ModelOptions& options) {
  const auto gpu = cuda::parse_gpu("--gpu", options.gpu);
  if (!gpu.ok()) return {};  // the compiler reports why
  DOVETAIL_ASSIGN(const cuda::Gpu narrowed, explore::narrowed_to_device(*gpu));
  options.gpu = cuda::list_of(narrowed);
  return {};
}

struct TunedTarget {
  const bundle::TargetFacts& facts;
  Machines (*machines)(std::string_view target, const ModelOptions& options, const System& system);
  Result<tune::MakeMeasurer> (*measurer)(const ModelOptions& options, const MeasurerOptions& measurer);
  Result<void> (*narrow)(ModelOptions& options);  // null: the target can measure code for any of its devices

  std::string_view name() const { return facts.name; }
};
std::span<const TunedTarget> tuned_targets() {
  static const TunedTarget kTargets[] = {{bundle::kAccelFacts, accel_machines, accel_measurer, nullptr},
                                         {bundle::kCpuFacts, cpu_machines, cpu_measurer, nullptr},
                                         {bundle::kCudaFacts, cuda_machines, cuda_measurer, narrow_to_gpu}};
  return kTargets;
}

}  // namespace

std::map<std::string, std::vector<std::string>> measured_machines(const ModelOptions& options,
                                                                  const CompiledModel& model) {
  std::map<std::string, std::vector<std::string>> machines;
  for (const TunedTarget& row : tuned_targets())
    if (Machines of_target = row.machines(row.name(), options, model.system); !of_target.empty())
      machines.emplace(row.name(), std::move(of_target));
  return machines;
}

Result<ModelOptions> narrowed_to_here(ModelOptions options, std::span<const std::string> targets) {
  for (const TunedTarget& row : tuned_targets())
    if (row.narrow != nullptr && std::ranges::find(targets, row.name()) != targets.end())
      DOVETAIL_TRY(row.narrow(options));
  return options;
}

Result<tune::MakeMeasurer> measurer_of(std::string_view target, const ModelOptions& options,
                                       const MeasurerOptions& measurer) {
  const auto row = std::ranges::find(tuned_targets(), target, &TunedTarget::name);
  if (row != tuned_targets().end()) return row->measurer(options, measurer);
  return Diagnostic{"cannot measure", fmt::format("target {}", target), "the target's kernels cannot be tuned",
                    "remove it from --target"};
}

}  // namespace dovetail::driver
