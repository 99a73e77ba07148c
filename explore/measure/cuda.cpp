#include "explore/measure/cuda.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/file_lock.h"
#include "base/machine_code_permission.h"
#include "base/resource_error.h"
#include "base/text_stream.h"
#include "base/user_folder.h"
#include "bundle/code/cuda.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/jit.h"
#include "compiler/target/cuda/codegen/source.h"
#include "compiler/target/cuda/launches.h"
#include "compiler/target/cuda/lower.h"
#include "compiler/target/cuda/nvrtc.h"
#include "compiler/target/cuda/sketches/sketches.h"
#include "explore/measure/checked_timing.h"
#include "explore/measure/child.h"
#include "explore/measure/draw_arguments.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cuda/launches.h"

namespace dovetail::explore {

namespace {

using runtime::cuda::Allocation;
using runtime::cuda::Context;
using tune::Measurement;
using tune::Outcome;

// A schedule's kernels, compiled as for a step of a bundle.
struct Kernels {
  const schedule::Scheduled* scheduled = nullptr;
  bundle::CudaCode code;
};

// ---- In the child

// Kernels with their own operands on the device.
class RunningKernels {
 public:
  static Result<RunningKernels> make(const std::shared_ptr<Context>& context, const loops::Program& program,
                                     const Kernels& kernels, const std::vector<NdArray>& values) {
    RunningKernels running(context, program, values);
    const bundle::CudaFailure none;
    DOVETAIL_ASSIGN(running.failure_, Allocation::make(context, sizeof none));
    DOVETAIL_TRY(running.failure_.copy_in(0, std::as_bytes(std::span(&none, 1))));
    DOVETAIL_ASSIGN(running.work_, runtime::cuda::make_launches(context, kernels.code, running.failure_.address()));
    DOVETAIL_ASSIGN(running.workspace_, Allocation::make(context, running.work_->workspace_bytes()));
    for (const NdArray& value : values) {
      DOVETAIL_ASSIGN(Allocation memory, Allocation::make(context, value.bytes().size()));
      DOVETAIL_TRY(memory.copy_in(0, value.bytes()));
      running.addresses_.push_back(memory.address());
      running.memory_.push_back(std::move(memory));
    }
    for (auto* const event : {&running.begin_, &running.end_})
      DOVETAIL_TRY(context->driver().check(context->driver().create_event(event, 0), "making an event"));
    return running;
  }

  Result<void> begin() const { return work_->begin(addresses_, workspace_.address()); }

  // The mean time in seconds of `runs` runs.
  Result<double> time(int runs) const {
    const auto& driver = context_->driver();
    DOVETAIL_TRY(driver.check(driver.record_event(begin_, context_->stream()), "recording an event"));
    for (int i = 0; i < runs; ++i) DOVETAIL_TRY(begin());
    DOVETAIL_TRY(driver.check(driver.record_event(end_, context_->stream()), "recording an event"));
    DOVETAIL_TRY(driver.check(driver.synchronize_event(end_), "waiting for the kernels"));
    float milliseconds = 0;
    DOVETAIL_TRY(driver.check(driver.elapsed(&milliseconds, begin_, end_), "reading the time"));
    return static_cast<double>(milliseconds) * 1e-3 / runs;
  }

  // Runs the kernels once more on results filled with arbitrary bytes. Returns why the results are wrong; empty if they
  // are right.
  Result<std::string> check(const Tolerance& tolerance, std::byte filler,
                            const std::function<void(std::span<NdArray>)>& after_run) const {
    std::vector<NdArray> results;
    for_each_result([&](std::size_t i) {
      results.emplace_back(values_[i].dtype(), values_[i].shape());
      std::ranges::fill(results.back().bytes(), filler);
    });
    std::size_t next = 0;
    Result<void> copied = Result<void>();
    for_each_result([&](std::size_t i) {
      if (copied.ok()) copied = memory_[i].copy_in(0, results[next++].bytes());
    });
    DOVETAIL_TRY(copied);
    DOVETAIL_TRY(begin());
    next = 0;
    for_each_result([&](std::size_t i) {
      if (copied.ok()) copied = memory_[i].copy_out(0, results[next++].bytes());
    });
    DOVETAIL_TRY(copied);
    bundle::CudaFailure failure;
    DOVETAIL_TRY(failure_.copy_out(0, std::as_writable_bytes(std::span(&failure, 1))));
    if (failure.claimed != 0) return std::string("the kernel breaks a rule of the program");
    if (after_run) after_run(results);
    next = 0;
    std::string wrong;
    for_each_result([&](std::size_t i) {
      const NdArray &expected = values_[i], &actual = results[next++];
      if (const auto found = find_difference(expected, actual, tolerance); found && wrong.empty())
        wrong = fmt::format("{} differs from the reference: {}", program_.parameters[i].buffer->name,
                            to_string(*found, expected, actual));
    });
    return wrong;
  }

 private:
  RunningKernels(std::shared_ptr<Context> context, const loops::Program& program, const std::vector<NdArray>& values)
      : context_(std::move(context)), program_(program), values_(values) {}

  template <typename Visit>
  void for_each_result(const Visit& visit) const {
    for (std::size_t i = 0; i < program_.parameters.size(); ++i)
      if (program_.parameters[i].role == loops::ParameterRole::output) visit(i);
  }

  std::shared_ptr<Context> context_;
  const loops::Program& program_;
  const std::vector<NdArray>& values_;  // by parameter; for results, the values of the reference
  Allocation failure_, workspace_;
  std::unique_ptr<runtime::cuda::StreamWork> work_;
  std::vector<Allocation> memory_;
  std::vector<runtime::cuda::Address> addresses_;
  runtime::cuda::EventHandle begin_ = nullptr, end_ = nullptr;
};

Result<CheckedTiming> check_and_time_on_gpu(const loops::Program& program, const Kernels& baseline,
                                            const Kernels& candidate, const std::vector<NdArray>& values,
                                            const Tolerance& tolerance, const CudaMeasureOptions& options, bool hooks) {
  constexpr std::size_t kRounds = 7;
  DOVETAIL_ASSIGN(const std::shared_ptr<Context> context, Context::open());
  DOVETAIL_ASSIGN(const RunningKernels second, RunningKernels::make(context, program, candidate, values));
  const auto after_run = [&](std::span<NdArray> results) {
    if (hooks && options.after_run) options.after_run(*candidate.scheduled, results);
  };
  DOVETAIL_ASSIGN(std::string wrong, second.check(tolerance, std::byte{0xcd}, after_run));
  if (!wrong.empty()) return CheckedTiming{0, 0, std::move(wrong)};
  DOVETAIL_ASSIGN(const RunningKernels first, RunningKernels::make(context, program, baseline, values));
  DOVETAIL_ASSIGN(const double once, first.time(1));
  const double of_round = options.timing_seconds / (2 * kRounds);
  const int runs = std::clamp(static_cast<int>(of_round / std::max(once, 1e-9)), 1, 1000);
  std::vector<double> ratios, seconds;
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  while (ratios.size() < kRounds && (ratios.empty() || spent() < 5 * options.timing_seconds)) {
    DOVETAIL_ASSIGN(const double of_default, first.time(runs));
    DOVETAIL_ASSIGN(const double of_candidate, second.time(runs));
    seconds.push_back(of_default);
    ratios.push_back(of_candidate / std::max(of_default, 1e-12));
  }
  const auto median = [](std::vector<double>& list) {
    std::ranges::nth_element(list, list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2));
    return list[list.size() / 2];
  };
  DOVETAIL_ASSIGN(wrong, second.check(tolerance, std::byte{0x3a}, nullptr));
  return CheckedTiming{median(seconds), median(ratios), std::move(wrong)};
}

// ---- In the parent

// Queries the device in a child process, since a process that used the driver cannot fork children that use it.
Result<runtime::cuda::DeviceFacts> ask_device() {
  DOVETAIL_ASSIGN(const ChildEnd end,
                  call_in_child(
                      [] {
                        const auto device = runtime::cuda::find_device();
                        const std::string text =
                            device.ok()
                                ? fmt::format("{} {} {}", device->capability, device->processors, device->name)
                                : fmt::format("0 0 {}; {}", device.errors().front().why, device.errors().front().hint);
                        const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
                        return std::vector<std::byte>(begin, begin + text.size());
                      },
                      {.open_to_others = true}));
  const std::string text(reinterpret_cast<const char*>(end.answer.data()), end.answer.size());
  runtime::cuda::DeviceFacts facts;
  if (TextStream words(text); end.ending == ChildEnding::returned)
    std::getline(words >> facts.capability >> facts.processors >> std::ws, facts.name);
  if (facts.capability == 0)
    return Diagnostic{"cannot measure", "the GPU", facts.name.empty() ? to_string(end, {}) : facts.name,
                      "tune on a machine with a GPU; `dovetail doctor` lists the devices of this machine"};
  return facts;
}

class CudaMeasurer : public tune::Measurer {
 public:
  static Result<std::unique_ptr<tune::Measurer>> make(const schedule::Task& task, const cuda::Gpu& gpu,
                                                      const CudaMeasureOptions& options) {
    const auto refuse = [&](std::string why, std::string hint) {
      return Diagnostic{"cannot measure", task.program.name, std::move(why), std::move(hint)};
    };
    DOVETAIL_TRY(
        check_machine_code(fmt::format("cannot measure {}", task.program.name), fmt::format("target {}", task.target)));
    const auto* const kind = std::ranges::find(cuda::kKinds, task.kind, &cuda::Kind::name);
    if (!bundle::runs_on(bundle::TargetDevice::gpu, task.target) || kind == cuda::kKinds.end())
      return refuse(fmt::format("the task is for target {}, kind {}", task.target, task.kind),
                    "give a task for the GPU");
    DOVETAIL_ASSIGN(const runtime::cuda::DeviceFacts device, ask_device());
    DOVETAIL_ASSIGN(const std::shared_ptr<const cuda::Nvrtc> nvrtc, cuda::Nvrtc::find());
    DOVETAIL_ASSIGN(const cpu::Cpu processor, cpu::find_cpu("native"));
    DOVETAIL_ASSIGN(schedule::Scheduled scheduled, schedule::run(cuda::sketch_of(*kind, gpu), task));
    std::vector<NdArray> arguments = draw_arguments(task.program, options.seed);
    DOVETAIL_ASSIGN(std::vector<NdArray> results, cpu::jit_evaluate(processor)(task.program, arguments));
    std::vector<NdArray> by_parameter;
    std::size_t argument = 0, result = 0;
    for (const loops::Parameter& parameter : task.program.parameters)
      by_parameter.push_back(
          std::move(parameter.role == loops::ParameterRole::output ? results[result++] : arguments[argument++]));
    DOVETAIL_ASSIGN(const std::filesystem::path folder, user_folder(UserFolder::state));
    DOVETAIL_TRY(make_private_folder(folder));
    std::unique_ptr<CudaMeasurer> made(
        new CudaMeasurer(task, gpu, options, device, nvrtc, std::move(by_parameter), folder / "measure_gpu.lock"));
    DOVETAIL_TRY(made->measure_default(std::move(scheduled)));
    return std::unique_ptr<tune::Measurer>(std::move(made));
  }

  std::string_view unit() const override { return "ns"; }
  std::string machine() const override { return cuda_machine(device_.name, device_.capability); }

  std::vector<Measurement> measure(std::span<const schedule::Scheduled* const> candidates) override {
    std::vector<Measurement> measurements;
    for (const schedule::Scheduled* const candidate : candidates) {
      if (options_.work != nullptr && options_.work->stopped()) {
        measurements.push_back({.outcome = Outcome::timed_out, .why = "measuring was stopped"});
        continue;
      }
      const auto kernels = compile(*candidate);
      measurements.push_back(kernels.ok()
                                 ? measure_against_default(*kernels)
                                 : Measurement{.outcome = Outcome::refused, .why = to_string(kernels.errors())});
    }
    return measurements;
  }

 private:
  CudaMeasurer(const schedule::Task& task, const cuda::Gpu& gpu, const CudaMeasureOptions& options,
               runtime::cuda::DeviceFacts device, std::shared_ptr<const cuda::Nvrtc> nvrtc, std::vector<NdArray> values,
               std::filesystem::path lock)
      : task_(task),
        gpu_(gpu),
        options_(options),
        device_(std::move(device)),
        nvrtc_(std::move(nvrtc)),
        tolerance_(tolerance_of(task.program)),
        values_(std::move(values)),
        lock_(std::move(lock)) {
    // As in bundles: with architecture-specific instructions if the user's list allows them.
    architecture_ = fmt::format("sm_{}", device_.capability);
    for (const std::string& known : gpu_.architectures)
      if (cuda::architecture_number(known) == device_.capability) architecture_ = known;
  }

  Result<Kernels> compile(const schedule::Scheduled& scheduled) const {
    if (!scheduled.layouts.empty())
      return Diagnostic{"cannot measure a schedule", task_.program.name,
                        "the schedule chooses layouts, which this back end does not support",
                        "give a schedule of this task"};
    try {
      DOVETAIL_ASSIGN(const loops::ThreadProgram lowered, cuda::lower(scheduled.program, gpu_));
      const cuda::Source source = cuda::emit_source(lowered, scheduled.program.parameters, "candidate");
      DOVETAIL_ASSIGN(std::vector<std::byte> cubin, compile(source.text));
      Kernels kernels{&scheduled, {}};
      kernels.code.kernels.push_back({cuda::launches_of(source),
                                      {{architecture_, false, std::move(cubin)}},
                                      source.workspace_bytes,
                                      source.failures});
      return kernels;
    } catch (const InternalError& error) {  // the error concerns this candidate alone
      return Diagnostic{"cannot compile", task_.program.name, error.what(), "this is a bug of the kit: report it"};
    }
  }

  // Compiles in a child too: NVRTC 13.0 uses the driver, after which a process cannot fork children that measure.
  Result<std::vector<std::byte>> compile(const std::string& text) const {
    constexpr double kCompileSeconds = 200;  // NVRTC's time does not depend on the limit of a candidate's runs
    const ChildLimits limits{.seconds = kCompileSeconds, .work = options_.work, .open_to_others = true};
    DOVETAIL_ASSIGN(ChildEnd end, call_in_child(
                                      [&] {
                                        auto binary = nvrtc_->compile(text, architecture_);
                                        if (!binary.ok()) throw std::runtime_error(to_string(binary.errors()));
                                        return std::move(binary->cubin);
                                      },
                                      limits));
    if (end.ending != ChildEnding::returned)
      return Diagnostic{"cannot compile", task_.program.name, to_string(end, limits),
                        "this is a bug of the kit: report it"};
    return std::move(end.answer);
  }

  // The child throws its errors as an exception, which ends it.
  ChildEnd run_with_baseline(const Kernels& baseline, const Kernels& candidate, const ChildLimits& limits,
                             bool hooks) const {
    const auto held = FileLock::take(lock_);
    if (!held.ok()) throw ResourceError(held.errors().front());
    const auto end = call_in_child(
        [&] {
          const auto timing =
              check_and_time_on_gpu(task_.program, baseline, candidate, values_, tolerance_, options_, hooks);
          if (!timing.ok()) throw std::runtime_error(to_string(timing.errors()));
          return to_answer(*timing);
        },
        limits);
    if (!end.ok()) throw ResourceError(end.errors().front());
    return *end;
  }

  // Measures the default schedule, paired with itself.
  Result<void> measure_default(schedule::Scheduled scheduled) {
    default_schedule_ = std::make_unique<schedule::Scheduled>(std::move(scheduled));
    DOVETAIL_ASSIGN(default_, compile(*default_schedule_));
    const ChildLimits limits{.seconds = 10 * options_.limit_seconds, .work = options_.work, .open_to_others = true};
    const ChildEnd end = run_with_baseline(default_, default_, limits, false);
    const Measurement measurement = measurement_of(end, limits, 0);
    if (measurement.outcome != Outcome::measured)
      return Diagnostic{"cannot measure", task_.program.name,
                        fmt::format("the default schedule failed: {}", measurement.why),
                        "this is a bug of the kit: report it"};
    default_seconds_ = timing_of(end).seconds;
    return {};
  }

  Measurement measure_against_default(const Kernels& candidate) const {
    const ChildLimits limits{.seconds = options_.limit_seconds, .work = options_.work, .open_to_others = true};
    return measurement_of(run_with_baseline(default_, candidate, limits, true), limits, default_seconds_);
  }

  schedule::Task task_;
  cuda::Gpu gpu_;
  CudaMeasureOptions options_;
  runtime::cuda::DeviceFacts device_;
  std::shared_ptr<const cuda::Nvrtc> nvrtc_;
  Tolerance tolerance_;
  std::vector<NdArray> values_;
  std::filesystem::path lock_;
  std::string architecture_;
  std::unique_ptr<schedule::Scheduled> default_schedule_;
  Kernels default_;
  double default_seconds_ = 0;
};

}  // namespace

std::string cuda_machine(const std::string& device_name, int capability) {
  return fmt::format("{}, sm_{}", device_name, capability);
}

Result<cuda::Gpu> narrowed_to_device(const cuda::Gpu& gpu) {
  DOVETAIL_ASSIGN(const runtime::cuda::DeviceFacts device, ask_device());
  cuda::Gpu narrowed =
      cuda::variant_for(cuda::made_for_device(gpu, device.capability, device.processors), device.capability);
  for (const std::string& architecture : narrowed.architectures)
    for (const bool ptx : {false, true})
      if (runtime::cuda::runs_on({architecture, ptx, {}}, device.capability)) return narrowed;
  return Diagnostic{"cannot measure", "the GPU",
                    fmt::format("the GPU is sm_{}, but the kernels are for {}", device.capability, cuda::list_of(gpu)),
                    fmt::format("add sm_{} to --gpu", device.capability)};
}

tune::MakeMeasurer make_cuda_measurer(const cuda::Gpu& gpu, const CudaMeasureOptions& options) {
  return [gpu, options](const schedule::Task& task) { return CudaMeasurer::make(task, gpu, options); };
}

}  // namespace dovetail::explore
