#include "driver/soc.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/temporary.h"
#include "bundle/code/accel.h"
#include "driver/soc_report.h"
#include "driver/soc_system.h"
#include "simulator/rtl/find.h"
#include "simulator/soc/memory_map.h"

namespace dovetail::driver {

namespace fs = std::filesystem;
namespace soc = simulator::soc;

namespace {

// The accelerator of the exported program. Error: there is none, or several.
Result<isa::HardwareConfig> accelerator_of(const exporting::Plan& plan) {
  if (!plan.accelerator)
    return Diagnostic{"cannot run the system", plan.model, "no step of the model runs on the accelerator",
                      "use another model, or a configuration that supports its operators", Cause::request};
  if (plan.accelerator->configs.size() > 1)
    return Diagnostic{
        "cannot run the system", plan.model,
        fmt::format("the program is for {} accelerators, and the system has one", plan.accelerator->configs.size()),
        "compile the model for one accelerator", Cause::request};
  return plan.accelerator->configs.front();
}

// Whole pages: accesses are whole beats.
Result<std::uint64_t> memory_bytes_of(const exporting::PlannedAccelerator& program, const SocOptions& options) {
  const std::uint64_t page = 4096, most = std::uint64_t{1} << soc::window(soc::Target::memory).log2_bytes;
  if (options.memory_bytes) return std::min(*options.memory_bytes, most);
  const std::uint64_t needed = (program.base + program.bytes + page - 1) / page * page;
  if (needed <= most) return needed;
  return Diagnostic{"cannot run the system", "the accelerator's memory",
                    fmt::format("the program needs {} bytes > {}", needed, most), "use a smaller model",
                    Cause::request};
}

// The run on the cycle engine, which reads each region's instructions from where the system has them: the memory's
// times depend on addresses.
Result<runtime::RunResult> run_cycle_engine(const Session& session, const std::map<std::string, NdArray>& inputs) {
  DOVETAIL_ASSIGN(const auto steps, bundle::accel_steps(session.bundle()));
  std::vector<std::uint64_t> bases;
  for (const auto& step : steps) bases.push_back(step.code.program_base);
  std::size_t made = 0;  // the executor makes one simulator for each step, in their order
  const runtime::MakeSimulator make =
      [&](const isa::AcceleratorConfigs& configs) -> Result<std::unique_ptr<simulator::Simulator>> {
    simulator::EngineOptions options = session.engine_options();
    DOVETAIL_CHECK(made < bases.size(), "there must be one simulator for each step");
    options.program_base = bases[made++];
    DOVETAIL_ASSIGN(const runtime::MakeSimulator one, runtime::simulator_factory("cycle", options));
    return one(configs);
  };
  DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(session.bundle(), make));
  auto run = executor.run(inputs);
  if (!run.ok()) return failed_work(run.errors());
  return run;
}

// The launches of the cycle engine, in their order.
std::vector<SocLaunch> launches_of(const runtime::RunResult& run) {
  std::vector<SocLaunch> launches;
  for (const runtime::StepProfile& step : run.steps)
    for (const runtime::TimedLaunch& timed : step.launches)
      launches.push_back({timed.launch.begin, timed.launch.count, timed.trace.cycles});
  return launches;
}

}  // namespace

Result<SocRun> run_soc(Session& session, const SocOptions& options) {
  const auto report = [&](std::string_view step) {
    if (options.report) options.report(step);
  };
  const std::string title = session.options().model.title();
  DOVETAIL_TRY(check_firmware_tools());
  DOVETAIL_ASSIGN(const RunInputs inputs, session.inputs(options.inputs));
  exporting::Options exported_as;
  exported_as.name = "net";
  DOVETAIL_ASSIGN(const Exported exported,
                  export_bundle(session.bundle(), title, std::move(exported_as), {.tensors = inputs.tensors}));
  SocRun result;
  DOVETAIL_ASSIGN(result.hardware, accelerator_of(exported.plan));
  DOVETAIL_ASSIGN(result.memory_bytes, memory_bytes_of(*exported.plan.accelerator, options));
  result.memory = session.engine_options().memory;
  result.inputs = inputs.announcements;
  DOVETAIL_ASSIGN(const fs::path model, soc_model(result.hardware, options));
  DOVETAIL_ASSIGN(const TemporaryPath temporary, make_temporary_folder("soc"));
  report("building the firmware");
  const fs::path design = options.design.empty() ? simulator::hardware_folder() : options.design;
  DOVETAIL_ASSIGN(const std::vector<std::byte> firmware,
                  build_firmware(exported, {.wait = options.wait,
                                            .sources = design / "soc" / "firmware",
                                            .folder = options.keep.value_or(temporary.path())}));
  result.firmware_bytes = firmware.size();
  report("running the cycle engine");
  DOVETAIL_ASSIGN(const runtime::RunResult reference, run_cycle_engine(session, inputs.tensors));

  DOVETAIL_ASSIGN(const SystemMeasured measured,
                  run_system(firmware, model,
                             {.config = result.hardware, .memory = result.memory, .memory_bytes = result.memory_bytes},
                             options, title));
  result.seconds = measured.seconds;
  result.cycles = measured.run.cycles;
  result.waiting = measured.run.waiting;
  DOVETAIL_TRY(read_report(measured.run.serial, exported, launches_of(reference), result));
  return result;
}

}  // namespace dovetail::driver
