#include "driver/session.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/difference.h"
#include "bundle/code/accel.h"
#include "bundle/code/target_facts.h"
#include "driver/bundle_file.h"

namespace dovetail::driver {

namespace {

bool any_step_rounds_freely(const bundle::Bundle& bundle) {
  return std::ranges::any_of(bundle::all_programs(bundle), [](const bundle::Bundle* program) {
    return std::ranges::any_of(program->steps, bundle::rounds_freely);
  });
}

bool same_but_for_names(isa::HardwareConfig a, const isa::HardwareConfig& b) {
  a.name = b.name;
  return a == b;
}

// Error: the bundle has launches of accelerators that the system does not have.
Result<void> check_accelerators(const bundle::Bundle& bundle, const System& system) {
  if (!system.divides_samples()) return {};
  std::size_t accelerators = 0;
  for (const bundle::Bundle* program : bundle::all_programs(bundle)) {
    DOVETAIL_ASSIGN(const auto steps, bundle::accel_steps(*program));
    for (const auto& step : steps) {
      if (!std::ranges::equal(step.code.others, system.others, same_but_for_names))
        return Diagnostic{"cannot run the bundle", step.step->name,
                          fmt::format("the program is for the accelerators {}, and the system has {}",
                                      isa::name_of(step.code.configs()),
                                      isa::name_of(isa::AcceleratorConfigs(step.code.config, system.others))),
                          "run it on the system that it was compiled for, or compile the model again"};
      for (const isa::Launch& launch : step.code.launches)
        accelerators = std::max(accelerators, launch.accelerator + 1);
    }
  }
  if (accelerators <= static_cast<std::size_t>(system.accelerators)) return {};
  return Diagnostic{"invalid value for --accelerators", std::to_string(system.accelerators),
                    fmt::format("the bundle's programs are divided between {} accelerators", accelerators),
                    "use as many, or --accelerators 1, which runs all launches one after the other"};
}

}  // namespace

Result<Session> Session::open(SessionOptions options) {
  DOVETAIL_ASSIGN(const bool is_bundle, is_bundle_file(options.model.path));
  Session session(std::move(options), is_bundle);
  SessionOptions& own = session.options_;
  if (is_bundle) {
    DOVETAIL_ASSIGN(session.bundle_, read_bundle_to_run(own.model.path, own.trusted));
    own.model.system.timed = runtime::has_clock(own.engine);
  }
  DOVETAIL_ASSIGN(session.system_, is_bundle ? system_of(own.model, session.bundle_) : system_of(own.model));
  if (is_bundle) DOVETAIL_TRY(check_accelerators(session.bundle_, session.system_));
  own.engine_options.memory = session.system_.memory;
  own.engine_options.accelerators = session.system_.accelerators;
  own.engine_options.by_launch = session.system_.divides_samples();
  own.engine_options.work = own.work;
  DOVETAIL_ASSIGN(session.make_simulator_, runtime::simulator_factory(own.engine, own.engine_options));
  return session;
}

int Session::threads() const {
  return options_.model.threads > 0 ? options_.model.threads : runtime::default_threads();
}

Result<void> Session::compile(CompileOptions options) {
  if (is_bundle_) return {};
  executor_.reset();
  DOVETAIL_ASSIGN(model_, compile_model(options_.model, std::move(options)));
  return {};
}

Result<RunInputs> Session::inputs(const std::map<std::string, std::string>& files, Rows rows,
                                  const std::optional<Preprocess>& preprocess) const {
  return gather_inputs(bundle(), files, options_.seed, rows, preprocess);
}

Result<void> Session::make_ready() {
  if (executor_) return {};
  runtime::ExecutorOptions executor;
  executor.threads = options_.model.threads;
  executor.work = options_.work;
  DOVETAIL_ASSIGN(executor_, runtime::Executor::make(bundle(), make_simulator_, executor));
  return {};
}

Result<runtime::RunResult> Session::run(const std::map<std::string, NdArray>& inputs,
                                        const runtime::RunOptions& options) {
  DOVETAIL_TRY(make_ready());
  auto result = executor_->run(inputs, options);
  if (!result.ok()) return failed_work(result.errors());
  return result;
}

Result<std::vector<TimedProgram>> Session::timed_programs(const runtime::RunResult& run, bool ask_what_if) const {
  auto timed = driver::timed_programs(program(), run, options_.engine_options, ask_what_if);
  if (!timed.ok()) return failed_work(timed.errors());
  return timed;
}

double Session::float_tolerance() const {
  return std::max(any_step_rounds_freely(program()) ? kMachineCodeTolerance : 0, model_->compiled.tolerance);
}

Result<explore::ReferenceCheck> Session::check(const std::map<std::string, NdArray>& inputs,
                                               runtime::RunResult& run) const {
  if (!model_ || model_->from_cache)
    return Diagnostic{"cannot check the run", options_.model.title(), "a bundle has no graph to evaluate",
                      "compile the .onnx file that it was made from, without a cache"};
  explore::add_logical_tensors(bundle(), model_->compiled.integer, run);
  auto check =
      explore::check_against_reference(model_->compiled.integer, inputs, run, float_tolerance(), options_.work);
  if (!check.ok()) return failed_work(check.errors());
  return check;
}

}  // namespace dovetail::driver
