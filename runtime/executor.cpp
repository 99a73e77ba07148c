#include "runtime/executor.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/thread_pool.h"
#include "runtime/step.h"

namespace dovetail::runtime {

// A program of the bundle, made ready to run.
struct ReadyProgram {
  explicit ReadyProgram(const bundle::Bundle& program) : bundle(program), memory(program) {}

  const bundle::Bundle& bundle;  // memory and steps keep references into it
  TensorMemory memory;           // kept from run to run
  std::vector<std::unique_ptr<ReadyStep>> steps;
};

struct Executor::State {
  bundle::Bundle bundle;
  MakeSimulator make_simulator;
  ExecutorOptions options;
  std::vector<std::unique_ptr<ReadyProgram>>
      programs;                  // the bundle itself, then those for other shapes as they are asked for
  ReadyProgram* last = nullptr;  // that has run
};

namespace {

Result<std::unique_ptr<ReadyStep>> ready(const bundle::Bundle& bundle, const bundle::Step& step,
                                         const MakeSimulator& make_simulator, const std::shared_ptr<CpuDevice>& cpu,
                                         const ExecutorOptions& options) {
  if (const auto* host = std::get_if<bundle::HostStep>(&step)) return make_host_step(*host);
  if (const auto* kernel = std::get_if<bundle::CpuStep>(&step)) return make_cpu_step(cpu, *kernel);
  if (const auto* other = std::get_if<bundle::ExternStep>(&step))
    return make_extern_step(bundle, *other, options.devices);
  return make_accel_step(std::get<bundle::AccelStep>(step), make_simulator);
}

Result<std::unique_ptr<ReadyProgram>> ready(const bundle::Bundle& bundle, const MakeSimulator& make_simulator,
                                            const ExecutorOptions& options) {
  auto program = std::make_unique<ReadyProgram>(bundle);
  std::shared_ptr<CpuDevice> cpu;
  if (bundle.cpu) {
    DOVETAIL_ASSIGN(cpu, load_cpu(bundle, options.threads));
  }
  for (const bundle::Step& step : bundle.steps) {
    DOVETAIL_ASSIGN(auto made, ready(bundle, step, make_simulator, cpu, options));
    program->steps.push_back(std::move(made));
  }
  return program;
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
  state->make_simulator = make_simulator;
  state->options = options;
  state->programs.resize(1 + state->bundle.other_shapes.size());
  DOVETAIL_ASSIGN(state->programs.front(), ready(state->bundle, make_simulator, options));
  state->last = state->programs.front().get();
  Executor executor;
  executor.state_ = std::move(state);
  return executor;
}

int default_threads() { return available_processors(); }

const bundle::Bundle& Executor::bundle() const { return state_->bundle; }
const bundle::Bundle& Executor::program() const { return state_->last->bundle; }

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
    DOVETAIL_ASSIGN(state_->programs[chosen], ready(bundle, state_->make_simulator, state_->options));
  }
  ReadyProgram& program = *state_->programs[chosen];
  state_->last = &program;
  TensorMemory& memory = program.memory;
  memory.begin(inputs);

  RunResult result;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    ReadyStep& step = *program.steps[i];
    const auto start = std::chrono::steady_clock::now();
    DOVETAIL_ASSIGN(const simulator::Counters counters, step.run(memory));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    // Now: another tensor may lie there later.
    if (options.keep_tensors)
      for (const bundle::TensorIndex output : bundle::results_of(bundle.steps[i]))
        result.tensors[bundle.tensors[static_cast<std::size_t>(output)].name] = memory.copy(output);
    result.steps.push_back(
        {std::string(step.name()), std::string(step.target()), seconds.count(), counters, step.timing()});
    result.counters += counters;
  }
  if (!options.copy_outputs) return result;
  for (const bundle::TensorIndex output : bundle.outputs)
    result.outputs.emplace(bundle.tensors[static_cast<std::size_t>(output)].name, memory.copy(output));
  return result;
}

}  // namespace dovetail::runtime
