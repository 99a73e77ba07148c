#include "bench/cuda/contender.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "bench/cuda/clock.h"
#include "bundle/code/target_facts.h"
#include "compiler/pipeline.h"
#include "compiler/target/cuda/nvrtc.h"
#include "driver/targets.h"
#include "runtime/device/cublas/library.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cudnn/library.h"
#include "runtime/executor.h"

namespace dovetail::bench {
namespace {

// Compiles for this device only; Hopper's specific instructions need a suffix.
std::string architecture_of(int capability) { return fmt::format("sm_{}{}", capability, capability == 90 ? "a" : ""); }

Result<Compiled> compile_for(const Case& one, const Targets& targets, const runtime::cuda::DeviceFacts& device) {
  CompileOptions options;
  options.targets = targets.targets;
  DOVETAIL_ASSIGN(options.available,
                  driver::make_targets({.gpu = architecture_of(device.capability), .tf32 = one.tf32}, options.targets));
  options.fuse = targets.fused;
  options.keep_graphs = false;
  return compile({one.graph, {}}, options);
}

Result<std::size_t> free_bytes(const runtime::cuda::Context& context) {
  std::size_t free = 0, total = 0;
  DOVETAIL_TRY(context.make_current());
  DOVETAIL_TRY(context.driver().check(context.driver().memory_info(&free, &total), "querying free memory"));
  return free;
}

}  // namespace

Result<Contender> make_contender(const Case& one, const Targets& targets) {
  DOVETAIL_ASSIGN(const auto device, runtime::cuda::find_device());
  // Keeps the device's context, so that its memory is not attributed to a contender.
  DOVETAIL_ASSIGN(const std::shared_ptr<runtime::cuda::Context> context, runtime::cuda::Context::open());
  const double begin = wall_seconds();
  DOVETAIL_ASSIGN(Compiled compiled, compile_for(one, targets, device));
  Contender contender;
  contender.name = targets.name;
  contender.compile_seconds = wall_seconds() - begin;
  contender.steps = compiled.bundle.steps.size();
  contender.elsewhere =
      static_cast<std::uint64_t>(std::ranges::count_if(compiled.bundle.steps, [](const bundle::Step& step) {
        return !bundle::runs_on(bundle::TargetDevice::gpu, step.target);
      }));
  DOVETAIL_ASSIGN(const auto simulators, runtime::simulator_factory("functional"));
  DOVETAIL_ASSIGN(const std::size_t before, free_bytes(*context));
  DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(std::move(compiled.bundle), simulators));
  DOVETAIL_TRY(executor.run(one.inputs));
  DOVETAIL_ASSIGN(const std::size_t after, free_bytes(*context));
  contender.device_bytes = before - std::min(before, after);
  const auto inputs = std::make_shared<const Arrays>(one.inputs);
  // Steps are timed in a separate run: events between them would add to the latency.
  contender.run = [executor, inputs, context]() mutable -> Result<Run> {
    Run run;
    const double start = wall_seconds();
    DOVETAIL_TRY(executor.run(*inputs, {.time_steps = false, .copy_outputs = false}));
    run.latency_seconds = wall_seconds() - start;
    DOVETAIL_ASSIGN(const runtime::RunResult timed, executor.run(*inputs, {.copy_outputs = false}));
    double kernels = 0;
    for (const runtime::StepProfile& step : timed.steps) kernels += step.seconds;
    run.kernel_seconds = kernels;
    return run;
  };
  contender.outputs = [executor, inputs]() mutable -> Result<Arrays> {
    DOVETAIL_ASSIGN(runtime::RunResult result, executor.run(*inputs));
    return std::move(result.outputs);
  };
  return contender;
}

Result<Json> describe_machine() {
  DOVETAIL_ASSIGN(const auto device, runtime::cuda::find_device());
  DOVETAIL_ASSIGN(const auto driver, runtime::cuda::Driver::find());
  DOVETAIL_ASSIGN(const auto nvrtc, cuda::Nvrtc::find());
  int version = 0;
  DOVETAIL_TRY(driver->check(driver->driver_version(&version), "querying the driver's version"));
  Json machine{{"device", device.name},
               {"architecture", architecture_of(device.capability)},
               {"processors", device.processors},
               {"driver", fmt::format("CUDA {}.{}", version / 1000, version / 10 % 100)},
               {"compiler", fmt::format("NVRTC {}", nvrtc->version())}};
  if (const auto library = runtime::cublas::Library::find(); library.ok())
    machine["cublas"] = fmt::format("{}.{}.{}", (*library)->version() / 10000, (*library)->version() / 100 % 100,
                                    (*library)->version() % 100);
  if (const auto library = runtime::cudnn::Library::find(); library.ok())
    machine["cudnn"] = runtime::cudnn::version_text((*library)->version());
  return machine;
}

std::vector<std::pair<std::string, std::string>> missing_libraries() {
  std::vector<std::pair<std::string, std::string>> missing;
  for (const driver::TargetRow& row : driver::target_table())
    if (row.facts.device == bundle::TargetDevice::gpu && row.facts.floats_only)
      if (std::string why = driver::missing(row); !why.empty()) missing.emplace_back(row.name(), std::move(why));
  return missing;
}

}  // namespace dovetail::bench
