// Control-flow steps (bundle/code/flow.h): an if runs one of two programs, a loop runs one repeatedly. The programs'
// own steps run on the devices of their targets; everything that this device does is on the host.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/aligned_bytes.h"
#include "base/check.h"
#include "bundle/code/flow.h"
#include "runtime/device/all.h"
#include "runtime/program.h"

namespace dovetail::runtime {

namespace {

using Bytes = std::span<const std::byte>;

void copy(Bytes from, std::span<std::byte> to) {
  if (!from.empty() && from.data() != to.data()) std::memcpy(to.data(), from.data(), from.size());
}

std::int64_t number(Bytes bytes) {
  std::int64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}
bool holds(Bytes condition) { return condition.front() != std::byte{0}; }

std::vector<Bytes> bytes_of(std::span<const Operand> operands) {
  std::vector<Bytes> all;
  for (const Operand& operand : operands) all.emplace_back(operand.bytes);
  return all;
}

// A program of the control-flow step, and the profiles of the program's steps in the last run.
class InnerProgram {
 public:
  explicit InnerProgram(std::unique_ptr<ReadyProgram> program) : program_(std::move(program)) {}

  void forget() {
    steps_.clear();
    for (const ReadyStep& ready : program_->steps) {
      StepProfile& profile = steps_.emplace_back();
      profile.name = ready.step->name;
      profile.target = ready.step->target;
      profile.runs = 0;
    }
  }
  Result<void> run(std::span<const Bytes> inputs) {
    DOVETAIL_TRY(program_->memory.begin(inputs));
    if (program_->sequence != nullptr) {
      DOVETAIL_TRY(run_together(*program_, false));
      for (StepProfile& profile : steps_) ++profile.runs;
    } else {
      for (std::size_t s = 0; s < steps_.size(); ++s) DOVETAIL_TRY(run_step(s));
    }
    for (const bundle::TensorIndex output : program_->bundle.outputs) DOVETAIL_TRY(program_->memory.fetch(output));
    return {};
  }
  // Of the last run, valid until the next.
  Bytes output(std::size_t i) const { return program_->memory.read(program_->bundle.outputs[i]); }

  // Running a program counts as a step, so that a loop over programs without steps counts steps, too.
  WorkEstimate estimate_work() const {
    WorkEstimate estimate = program_->estimate_work();
    estimate += {1, 0};
    return estimate;
  }
  const std::vector<StepProfile>& steps() const { return steps_; }

 private:
  Result<void> run_step(std::size_t s) {
    ReadyStep& ready = program_->steps[s];
    const auto start = std::chrono::steady_clock::now();
    if (const auto ran = runtime::run_step(ready, program_->memory); !ran.ok())
      return located(ran.errors(), *ready.step);
    StepProfile& profile = steps_[s];
    profile.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ++profile.runs;
    if (const simulator::Counters* counters = ready.kernel->counters()) profile.counters += *counters;
    add(profile.by_accelerator, ready.kernel->by_accelerator());
    for (TimedLaunch& launch : ready.kernel->timing()) profile.launches.push_back(std::move(launch));
    add_programs(profile.programs, ready.kernel->programs());
    return {};
  }
  static void add(std::vector<simulator::Counters>& sum, const std::vector<simulator::Counters>& more) {
    sum.resize(std::max(sum.size(), more.size()));
    for (std::size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
  }
  static void add_programs(std::vector<std::vector<StepProfile>>& sum, std::vector<std::vector<StepProfile>> more) {
    if (sum.empty()) return void(sum = std::move(more));
    for (std::size_t p = 0; p < more.size(); ++p)
      for (std::size_t s = 0; s < more[p].size(); ++s) {
        StepProfile &to = sum[p][s], &from = more[p][s];
        to.seconds += from.seconds;
        to.runs += from.runs;
        to.counters += from.counters;
        add(to.by_accelerator, from.by_accelerator);
        std::ranges::move(from.launches, std::back_inserter(to.launches));
        add_programs(to.programs, std::move(from.programs));
      }
  }

  std::unique_ptr<ReadyProgram> program_;
  std::vector<StepProfile> steps_;
};

class FlowKernel : public DeviceKernel {
 public:
  FlowKernel(std::vector<InnerProgram> programs, Work* work) : programs_(std::move(programs)), work_(work) {}

  Result<void> run(std::span<const Operand> arguments, std::span<const Operand> results) override {
    for (InnerProgram& program : programs_) program.forget();
    const auto ran = run_programs(bytes_of(arguments), results);
    counters_ = {};
    for (const InnerProgram& program : programs_)
      for (const StepProfile& step : program.steps()) counters_ += step.counters;
    return ran;
  }
  const simulator::Counters* counters() const override { return &counters_; }
  std::vector<std::vector<StepProfile>> programs() const override {
    std::vector<std::vector<StepProfile>> all;
    for (const InnerProgram& program : programs_) all.push_back(program.steps());
    return all;
  }

 protected:
  virtual Result<void> run_programs(std::vector<Bytes> arguments, std::span<const Operand> results) = 0;

  std::vector<InnerProgram> programs_;
  Work* work_;

 private:
  simulator::Counters counters_;
};

class If : public FlowKernel {
 public:
  // `first_inputs`: of the first program.
  If(std::vector<InnerProgram> programs, Work* work, std::size_t first_inputs)
      : FlowKernel(std::move(programs), work), first_inputs_(first_inputs) {}

  // Selects one of the two.
  WorkEstimate estimate_work() const override {
    const WorkEstimate first = programs_[0].estimate_work(), second = programs_[1].estimate_work();
    return {std::max(first.steps, second.steps), std::max(first.seconds, second.seconds)};
  }

 private:
  Result<void> run_programs(std::vector<Bytes> arguments, std::span<const Operand> results) override {
    const auto inputs = std::span(arguments).subspan(1);
    const bool first = holds(arguments.front());
    InnerProgram& program = programs_[first ? 0 : 1];
    DOVETAIL_TRY(program.run(first ? inputs.first(first_inputs_) : inputs.subspan(first_inputs_)));
    if (work_ != nullptr) work_->count(1);
    for (std::size_t i = 0; i < results.size(); ++i) copy(program.output(i), results[i].bytes);
    return {};
  }

  std::size_t first_inputs_;
};

class Loop : public FlowKernel {
 public:
  Loop(std::vector<InnerProgram> programs, Work* work, const bundle::FlowLoop& loop, std::string name)
      : FlowKernel(std::move(programs), work), loop_(loop), name_(std::move(name)) {}

  // One iteration: the number of iterations is not known in advance, so each is announced before it starts.
  WorkEstimate estimate_work() const override { return programs_.front().estimate_work(); }

 private:
  Result<void> run_programs(std::vector<Bytes> arguments, std::span<const Operand> results) override {
    InnerProgram& body = programs_.front();
    const std::int64_t trips = loop_.trips ? number(arguments[0]) : INT64_MAX;
    bool goes_on = !loop_.condition || holds(arguments[loop_.own_arguments() - 1]);
    alignas(bundle::kTensorAlignment) std::int64_t iteration = 0;
    // The iteration number, then the carried values, which alternate between two buffers, since an output may be the
    // next iteration's input.
    std::vector<Bytes> inputs{std::as_bytes(std::span(&iteration, 1))};
    inputs.insert(inputs.end(), arguments.begin() + static_cast<std::ptrdiff_t>(loop_.own_arguments()),
                  arguments.end());
    const auto slices = results.subspan(loop_.carried);
    const std::size_t scanned = slices.empty() ? 0 : slices.size() - 1;
    for (; goes_on && iteration < trips; ++iteration) {
      if (iteration == loop_.limit)
        return Diagnostic{"the loop does not end", name_,
                          fmt::format("its condition is still true after {} iterations, the limit", loop_.limit),
                          "raise --loop-limit where the model is compiled, or fix what the condition depends on"};
      if (work_ != nullptr && work_->stopped()) return work_->stopped_at("");
      if (work_ != nullptr && iteration > 0) DOVETAIL_TRY(work_->expect(name_, body.estimate_work()));
      DOVETAIL_TRY(body.run(inputs));
      if (work_ != nullptr) work_->count(1);
      goes_on = holds(body.output(0));
      std::vector<AlignedBytes>& next = carried_[static_cast<std::size_t>(iteration % 2)];
      next.resize(loop_.carried);
      for (std::size_t k = 0; k < loop_.carried; ++k) {
        const Bytes value = body.output(1 + k);
        if (next[k].size() != value.size()) next[k] = AlignedBytes(value.size());
        copy(value, next[k]);
      }
      for (std::size_t k = 0; k < loop_.carried; ++k)
        if (next[k].size() > 0) inputs[1 + k] = next[k];
      for (std::size_t k = 0; k < scanned; ++k) {
        const Bytes slice = body.output(1 + loop_.carried + k);
        copy(slice, slices[k].bytes.subspan(static_cast<std::size_t>(iteration) * slice.size(), slice.size()));
      }
    }
    for (std::size_t k = 0; k < loop_.carried; ++k) copy(inputs[1 + k], results[k].bytes);
    if (scanned == 0) return {};
    for (std::size_t k = 0; k < scanned; ++k) {
      const auto all = slices[k].bytes;
      if (loop_.limit > 0)
        std::ranges::fill(
            all.subspan(all.size() / static_cast<std::size_t>(loop_.limit) * static_cast<std::size_t>(iteration)),
            std::byte{0});
    }
    copy(std::as_bytes(std::span(&iteration, 1)), slices.back().bytes);
    return {};
  }

  bundle::FlowLoop loop_;
  std::string name_;
  std::vector<AlignedBytes> carried_[2];
};

class FlowDevice : public Device {
 public:
  FlowDevice(const Devices& devices, std::size_t given, Work* work) : devices_(devices), given_(given), work_(work) {}

  std::string_view name() const override { return bundle::kFlowTarget; }
  bool runs_machine_code() const override { return false; }  // that of its programs is checked separately

  Result<DeviceProgram> load(const bundle::Bundle& bundle) override {
    DOVETAIL_ASSIGN(const auto steps, bundle::flow_steps(bundle));
    DeviceProgram loaded;
    for (const auto& [index, step, code] : steps) {
      std::vector<InnerProgram> programs;
      for (const bundle::Bundle& program : step->programs) {
        auto ready = make_ready(program, devices_, given_);
        if (!ready.ok()) return located(ready.errors(), *step);
        programs.emplace_back(*std::move(ready));
      }
      if (code.loop)
        loaded.kernels.push_back(std::make_unique<Loop>(std::move(programs), work_, *code.loop, step->name));
      else
        loaded.kernels.push_back(
            std::make_unique<If>(std::move(programs), work_, step->programs.front().inputs.size()));
    }
    return loaded;
  }

 private:
  const Devices& devices_;
  std::size_t given_;
  Work* work_;
};

}  // namespace

std::shared_ptr<Device> make_flow_device(const std::vector<std::shared_ptr<Device>>& devices, std::size_t given,
                                         Work* work) {
  return std::make_shared<FlowDevice>(devices, given, work);
}

}  // namespace dovetail::runtime
