#include "explore/measure/cpu.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/difference.h"
#include "base/file_lock.h"
#include "base/machine_code_permission.h"
#include "base/memory_limit.h"
#include "base/processor.h"
#include "base/resource_error.h"
#include "base/thread_pool.h"
#include "base/user_folder.h"
#include "bundle/code/cpu.h"
#include "bundle/code/kernel_host.h"
#include "compiler/layout/layout.h"
#include "compiler/target/cpu/jit.h"
#include "compiler/target/cpu/sketches/sketches.h"
#include "explore/measure/checked_timing.h"
#include "explore/measure/child.h"
#include "explore/measure/draw_arguments.h"
#include "explore/measure/paired_times.h"

namespace dovetail::explore {

namespace {

using tune::Measurement;
using tune::Outcome;
using Value = std::shared_ptr<const NdArray>;

constexpr const char* kSymbol = "candidate";

// The values of a task's parameters and results in the layouts that schedules need, each made once.
class Values {
 public:
  explicit Values(std::vector<NdArray> by_parameter) : by_parameter_(std::move(by_parameter)) {}

  // Error: the layout is not possible for the parameter.
  Result<Value> in_layout(std::size_t parameter, const std::string& layout) {
    constexpr std::size_t kMostBytes = std::size_t{1} << 29;
    const auto key = std::pair(parameter, layout);
    if (const auto known = made_.find(key); known != made_.end()) return known->second;
    const NdArray& plain = by_parameter_[parameter];
    DOVETAIL_ASSIGN(const Layout parsed, parse_layout(layout, plain.shape()));
    if (bytes_ > kMostBytes) made_.clear(), bytes_ = 0;
    bytes_ += plain.bytes().size();
    return made_[key] = std::make_shared<const NdArray>(pack(plain, parsed));
  }

 private:
  std::vector<NdArray> by_parameter_;
  std::map<std::pair<std::size_t, std::string>, Value> made_;
  std::size_t bytes_ = 0;
};

// A schedule's kernel, with arguments and expected results in their layouts.
struct Kernel {
  std::shared_ptr<const schedule::Scheduled> scheduled;
  cpu::LoadedKernel code;
  std::vector<Value> values;  // by parameter

  const std::vector<loops::Parameter>& parameters() const { return scheduled->program.parameters; }
};

// ---- In the child

// A kernel with its own buffers for results.
class Running {
 public:
  Running(const Kernel& kernel, bundle::KernelHost& host, const CpuMeasureOptions::Run* hook)
      : kernel_(kernel), host_(host), hook_(hook) {
    for (const loops::Parameter& parameter : kernel.parameters())
      if (parameter.role == loops::ParameterRole::output)
        results_.emplace_back(parameter.buffer->dtype, parameter.buffer->shape);
    std::size_t result = 0;
    for (std::size_t i = 0; i < kernel.parameters().size(); ++i)
      buffers_.push_back(kernel.parameters()[i].role == loops::ParameterRole::output
                             ? results_[result++].bytes().data()
                             : const_cast<std::byte*>(kernel.values[i]->bytes().data()));  // kernels only read them
    call_ = [this] {
      const auto ran = host_.run(kernel_.code.kernel(), buffers_.data(), kernel_.code.object().failures, "");
      if (!ran.ok() && failure_.empty()) failure_ = ran.errors().front().why;
    };
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void run() {
    if (hook_ != nullptr && *hook_) (*hook_)(*kernel_.scheduled, call_, results_);
    else call_();
  }

  // Runs the kernel once more. Returns why the results are wrong; empty if they are right.
  std::string check(const Tolerance& tolerance, std::byte filler) {
    for (NdArray& result : results_) std::ranges::fill(result.bytes(), filler);
    run();
    if (!failure_.empty()) return failure_;
    std::size_t result = 0;
    for (std::size_t i = 0; i < kernel_.parameters().size(); ++i) {
      if (kernel_.parameters()[i].role != loops::ParameterRole::output) continue;
      const NdArray &expected = *kernel_.values[i], &actual = results_[result++];
      if (const auto found = find_difference(expected, actual, tolerance))
        return fmt::format("{} differs from the reference: {}", kernel_.parameters()[i].buffer->name,
                           to_string(*found, expected, actual));
    }
    return "";
  }

 private:
  const Kernel& kernel_;
  bundle::KernelHost& host_;
  const CpuMeasureOptions::Run* hook_;
  std::vector<NdArray> results_;
  std::vector<void*> buffers_;
  std::function<void()> call_;
  std::string failure_;
};

std::vector<std::byte> check_and_time(const Kernel& baseline, const Kernel& candidate, const Tolerance& tolerance,
                                      const CpuMeasureOptions& options, const CpuMeasureOptions::Run* hook) {
  const auto most = [&](auto field) {
    return static_cast<std::size_t>(std::max(baseline.code.object().*field, candidate.code.object().*field));
  };
  // Both kernels share one pool of threads: threads of a second pool would still be spinning for a while.
  bundle::KernelHost host(options.threads, most(&cpu::KernelObject::shared_bytes),
                          most(&cpu::KernelObject::local_bytes));
  Running first(baseline, host, nullptr), second(candidate, host, hook);
  if (const std::string wrong = second.check(tolerance, std::byte{0xcd}); !wrong.empty())
    return to_answer({0, 0, wrong});
  first.run();
  const PairedTimes times =
      time_in_pairs([&] { first.run(); }, [&] { second.run(); },
                    {.threads = options.threads, .seconds = options.timing_seconds, .clocks = options.clocks});
  return to_answer({times.seconds, times.ratio, second.check(tolerance, std::byte{0x3a})});
}

// ---- In the parent

class CpuMeasurer : public tune::Measurer {
 public:
  static Result<std::unique_ptr<tune::Measurer>> make(const schedule::Task& task, const cpu::Cpu& cpu,
                                                      const CpuMeasureOptions& options) {
    const auto refuse = [&](std::string why, std::string hint) {
      return Diagnostic{"cannot measure", task.program.name, std::move(why), std::move(hint)};
    };
    DOVETAIL_TRY(
        check_machine_code(fmt::format("cannot measure {}", task.program.name), fmt::format("target {}", task.target)));
    const cpu::Kind* kind = cpu::find_kind(task.kind);
    if (!bundle::runs_on(bundle::TargetDevice::processor, task.target) || (kind == nullptr && !options.sketch))
      return refuse(fmt::format("the task is for target {}, kind {}", task.target, task.kind),
                    "give a task for the CPU");
    if (!runs_here(cpu.name))
      return refuse(fmt::format("code for {} does not run on this machine: {}", cpu.name, why_not_here(cpu.name)),
                    "choose --cpu native");
    DOVETAIL_ASSIGN(schedule::Scheduled scheduled,
                    schedule::run(options.sketch ? *options.sketch : cpu::sketch_of(*kind, cpu), task));
    std::vector<NdArray> arguments =
        options.arguments.empty() ? draw_arguments(task.program, options.seed) : options.arguments;
    DOVETAIL_ASSIGN(std::vector<NdArray> results, cpu::jit_evaluate(cpu)(task.program, arguments));

    std::vector<NdArray> by_parameter;
    std::size_t argument = 0, result = 0;
    for (const loops::Parameter& parameter : task.program.parameters)
      by_parameter.push_back(
          std::move(parameter.role == loops::ParameterRole::output ? results[result++] : arguments[argument++]));
    DOVETAIL_ASSIGN(const std::filesystem::path folder, user_folder(UserFolder::state));
    DOVETAIL_TRY(make_private_folder(folder));

    std::unique_ptr<CpuMeasurer> made(
        new CpuMeasurer(task, cpu, options, Values(std::move(by_parameter)), folder / "measure.lock"));
    DOVETAIL_TRY(made->measure_default(std::make_shared<schedule::Scheduled>(std::move(scheduled))));
    return std::unique_ptr<tune::Measurer>(std::move(made));
  }

  std::string_view unit() const override { return "ns"; }
  std::string machine() const override { return cpu_machine(cpu_, options_.threads); }
  std::string conditions() const override { return processor_clock(); }

  std::vector<Measurement> measure(std::span<const schedule::Scheduled* const> candidates) override {
    std::vector<std::optional<Result<cpu::KernelObject>>> compiled(candidates.size());
    ThreadPool(std::min(options_.workers, static_cast<int>(candidates.size())), ThreadPool::Placement::free)
        .parallel_for(static_cast<std::int64_t>(candidates.size()), [&](std::int64_t begin, std::int64_t end, int) {
          for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
            if (!is_stopped()) compiled[i] = compile(*candidates[i]);
        });
    std::vector<Measurement> measurements;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!compiled[i]) {
        measurements.push_back({.outcome = Outcome::timed_out, .why = "measuring was stopped"});
        continue;
      }
      // The pointer does not own the candidate, which the caller keeps.
      auto kernel = ready({std::shared_ptr<const void>(), candidates[i]}, *std::exchange(compiled[i], std::nullopt));
      measurements.push_back(kernel.ok() ? measure_against_default(*kernel)
                                         : Measurement{.outcome = Outcome::refused, .why = to_string(kernel.errors())});
    }
    return measurements;
  }

 private:
  CpuMeasurer(const schedule::Task& task, const cpu::Cpu& cpu, const CpuMeasureOptions& options, Values values,
              std::filesystem::path lock)
      : task_(task),
        cpu_(cpu),
        options_(options),
        tolerance_(tolerance_of(task.program)),
        values_(std::move(values)),
        lock_(std::move(lock)) {
    if (options_.threads <= 0) options_.threads = available_processors();
    if (options_.workers <= 0) options_.workers = available_processors();
    // Initializes static variables that the child uses: another thread must not be initializing them during the fork.
    const bundle::KernelHost host(1, 0, 0);
  }

  bool is_stopped() const { return options_.work != nullptr && options_.work->stopped(); }

  Result<cpu::KernelObject> compile(const schedule::Scheduled& scheduled) const {
    try {
      return cpu::compile_kernel(scheduled.program, *task_.intrinsics, kSymbol, cpu_);
    } catch (const InternalError& error) {  // the error concerns this candidate alone
      return Diagnostic{"cannot compile", task_.program.name, error.what(), "this is a bug of the kit: report it"};
    }
  }

  Result<Kernel> ready(std::shared_ptr<const schedule::Scheduled> scheduled, Result<cpu::KernelObject> compiled) {
    DOVETAIL_ASSIGN(cpu::KernelObject object, std::move(compiled));
    const std::int64_t workspace = object.shared_bytes + object.local_bytes * options_.threads;
    DOVETAIL_TRY(check_memory("cannot measure a schedule", task_.program.name, static_cast<std::uint64_t>(workspace)));
    Kernel kernel{std::move(scheduled), {}, {}};
    const auto& parameters = kernel.parameters();
    if (parameters.size() != task_.program.parameters.size())
      return Diagnostic{"cannot measure a schedule", task_.program.name,
                        fmt::format("the schedule has {} parameters, but its task has {}", parameters.size(),
                                    task_.program.parameters.size()),
                        "give a schedule of this task"};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::string& name = task_.program.parameters[i].buffer->name;
      const auto layout = kernel.scheduled->layouts.find(name);
      DOVETAIL_ASSIGN(Value value,
                      values_.in_layout(i, layout == kernel.scheduled->layouts.end() ? "" : layout->second));
      const loops::BufferNode& buffer = *parameters[i].buffer;
      if (buffer.dtype != value->dtype() || buffer.shape != value->shape())
        return Diagnostic{"cannot measure a schedule", task_.program.name,
                          fmt::format("{} is {}{}, but must be {}{} in the schedule's layout", name,
                                      dovetail::name(buffer.dtype), dovetail::to_string(buffer.shape),
                                      dovetail::name(value->dtype()), dovetail::to_string(value->shape())),
                          "give a schedule of this task"};
      kernel.values.push_back(std::move(value));
    }
    DOVETAIL_ASSIGN(kernel.code, cpu::LoadedKernel::load(std::move(object), kSymbol));
    return kernel;
  }

  ChildEnd run_with_baseline(const Kernel& baseline, const Kernel& candidate, const ChildLimits& limits,
                             const CpuMeasureOptions::Run* hook) const {
    const auto held = FileLock::take(lock_);
    if (!held.ok()) throw ResourceError(held.errors().front());
    const auto end =
        call_in_child([&] { return check_and_time(baseline, candidate, tolerance_, options_, hook); }, limits);
    if (!end.ok()) throw ResourceError(end.errors().front());
    return *end;
  }

  // Measures the default schedule, paired with itself.
  Result<void> measure_default(std::shared_ptr<const schedule::Scheduled> scheduled) {
    DOVETAIL_ASSIGN(Kernel kernel, ready(scheduled, compile(*scheduled)));
    default_ = std::make_unique<Kernel>(std::move(kernel));
    const ChildLimits limits{.seconds = 10 * options_.limit_seconds, .work = options_.work};
    const ChildEnd end = run_with_baseline(*default_, *default_, limits, nullptr);
    const Measurement measurement = measurement_of(end, limits, 0);
    if (measurement.outcome != Outcome::measured)
      return Diagnostic{"cannot measure", task_.program.name,
                        fmt::format("the default schedule failed: {}", measurement.why),
                        "this is a bug of the kit: report it"};
    default_seconds_ = timing_of(end).seconds;
    return {};
  }

  Measurement measure_against_default(const Kernel& candidate) const {
    // Longer for slow tasks, to distinguish a slow candidate from one that hangs.
    constexpr double kMostRuns = 100;  // runs of the default schedule
    const ChildLimits limits{.seconds = options_.limit_seconds + kMostRuns * default_seconds_, .work = options_.work};
    return measurement_of(run_with_baseline(*default_, candidate, limits, &options_.run), limits, default_seconds_);
  }

  schedule::Task task_;
  cpu::Cpu cpu_;
  CpuMeasureOptions options_;
  Tolerance tolerance_;
  Values values_;
  std::filesystem::path lock_;
  std::unique_ptr<Kernel> default_;
  double default_seconds_ = 0;
};

}  // namespace

std::string cpu_machine(const cpu::Cpu& cpu, int threads) {
  return fmt::format("{}, {}, {} thread{}", processor_model(), cpu.name, threads, threads == 1 ? "" : "s");
}

tune::MakeMeasurer make_cpu_measurer(const cpu::Cpu& cpu, const CpuMeasureOptions& options) {
  return [cpu, options](const schedule::Task& task) { return CpuMeasurer::make(task, cpu, options); };
}

}  // namespace dovetail::explore
