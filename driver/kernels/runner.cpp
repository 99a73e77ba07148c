#include "driver/kernels/runner.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/difference.h"
#include "bundle/code/cpu.h"
#include "driver/value_text.h"

namespace dovetail::driver {

Result<std::vector<NdArray>> arguments_of(const LoopProgram& program, const Tensors& inputs) {
  std::vector<NdArray> arguments;
  for (const loops::Parameter& parameter : program.written().parameters) {
    if (parameter.role == loops::ParameterRole::output) continue;
    const loops::BufferNode& buffer = *parameter.buffer;
    const auto refused = [&](std::string why) {
      return Diagnostic{fmt::format("cannot run {}", program.written().name), buffer.name, std::move(why),
                        fmt::format("give a tensor of type {}", type_text(buffer.dtype, buffer.shape))};
    };
    const auto given = inputs.find(buffer.name);
    if (given == inputs.end()) return refused("this input is missing");
    if (given->second.dtype() != buffer.dtype || given->second.shape() != buffer.shape)
      return refused(fmt::format("it is {}", type_text(given->second.dtype(), given->second.shape())));
    arguments.push_back(given->second);
  }
  return arguments;
}

std::string find_wrong_value(const Tensors& expected, const Tensors& actual) {
  for (const auto& [name, right] : expected) {
    const NdArray& got = actual.at(name);
    const Tolerance tolerance{.floating = tolerance_of(right.dtype(), kMachineCodeTolerance)};
    if (const auto difference = find_difference(right, got, tolerance))
      return fmt::format("{}: {}", name, to_string(*difference, right, got));
  }
  return "";
}

Result<LoopRunner> LoopRunner::make(const LoopProgram& program, const std::string& target,
                                    const RunnerOptions& options) {
  LoopRunner runner;
  runner.target_ = target;
  runner.options_ = options;
  if (target == kInterpreterTarget) {
    runner.interpreted_ = program;
    return runner;
  }
  DOVETAIL_ASSIGN(LoopProgram::Compiled compiled, program.compile(target, false, nullptr));
  DOVETAIL_ASSIGN(const System system, program.system());
  runner.engine_.work = options.work;
  runner.engine_.memory = system.memory;
  runner.engine_.build_missing = options.build_missing;
  runner.engine_.trace = options.detail == RunnerOptions::Detail::timed_programs;
  DOVETAIL_ASSIGN(const runtime::MakeSimulator make, runtime::simulator_factory(options.engine, runner.engine_));
  runtime::ExecutorOptions executor;
  executor.work = options.work;
  executor.threads = options.threads;
  DOVETAIL_ASSIGN(runner.executor_, runtime::Executor::make(std::move(compiled.bundle), make, executor));
  return runner;
}

Result<LoopRunner::Ran> LoopRunner::run(const Tensors& inputs) {
  Ran ran;
  if (interpreted_) {
    const auto begin = std::chrono::steady_clock::now();
    DOVETAIL_ASSIGN(auto outputs, interpreted_->run(inputs, options_.work));
    ran.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ran.outputs = {outputs.begin(), outputs.end()};
    return ran;
  }
  auto result = executor_->run(inputs);
  if (!result.ok()) return failed_work(result.errors());
  const bundle::Bundle& program = executor_->program();
  for (std::size_t i = 0; i < result->steps.size(); ++i) {
    // The step of the program's name computes; the others copy between layouts.
    (program.steps[i].name == program.name || result->steps.size() == 1 ? ran.seconds : ran.packing_seconds) +=
        result->steps[i].seconds;
    for (const runtime::TimedLaunch& launch : result->steps[i].launches)
      ran.cycles = ran.cycles.value_or(0) + launch.trace.cycles;
  }
  if (options_.detail == RunnerOptions::Detail::timed_programs) {
    auto timed = timed_programs(program, *result, engine_, false);
    if (!timed.ok()) return failed_work(timed.errors());
    ran.timed = *std::move(timed);
  }
  ran.outputs = std::move(result->outputs);
  return ran;
}

int LoopRunner::threads() const {
  if (target_ != bundle::kCpuTarget) return 1;
  return options_.threads > 0 ? options_.threads : runtime::default_threads();
}

}  // namespace dovetail::driver
