#include "driver/kernels/tune.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "bundle/code/accel.h"
#include "bundle/code/cpu.h"
#include "compiler/schedule/trace_sketch.h"
#include "compiler/target/cpu/cpu.h"
#include "driver/kernels/own_sketch.h"
#include "explore/measure/accel.h"
#include "explore/measure/cpu.h"

namespace dovetail::driver {

namespace {

constexpr std::string_view kCannot = "cannot tune ";

// What the sketch rejected: the search never measures it.
struct Rejected {
  std::mutex mutex;
  std::set<std::string> decisions;
};

schedule::Sketch counting(schedule::Sketch sketch, std::shared_ptr<Rejected> rejected) {
  sketch.write = [write = std::move(sketch.write), rejected](schedule::Context& c) {
    const bool known = write(c);
    if (known && !c.s.status().ok()) {
      std::string text;
      for (const schedule::Decision& decision : c.s.decisions()) text += decision.name + "=" + decision.value + " ";
      const std::lock_guard lock(rejected->mutex);
      rejected->decisions.insert(text);
    }
    return known;
  };
  return sketch;
}

class LoopTuning {
 public:
  LoopTuning(const LoopProgram& written, const Tensors& inputs, const TuneLoopsOptions& options)
      : written_(written), inputs_(inputs), options_(options) {}

  Result<TunedLoops> run(const std::vector<schedule::Step>& steps) {
    DOVETAIL_ASSIGN(arguments_, arguments_of(written_, inputs_));
    tune::TuningTask task{task_of(), {}, written_.program().name, 1};
    TunedLoops tuned;
    if (steps.empty()) {
      DOVETAIL_ASSIGN(OwnSketch own, own_sketch(task.task));
      task.task = std::move(own.task);
      task.sketch = std::move(own.sketch);
      renamed_ = std::move(own.renamed);
      tuned.space = fmt::format("the compiler's schedules of kind {}", task.task.kind);
    } else {
      const auto samples = std::ranges::count(steps, "sample", &schedule::Step::primitive);
      if (samples == 0)
        return Diagnostic{std::string(kCannot) + written_.program().name, "its schedule", "it has no sample step",
                          "add one, for example `sample tile among 8,16,32`, and use its value: `split LOOP $tile`"};
      tuned.space = fmt::format("{} sample{} of the schedule", samples, samples == 1 ? "" : "s");
      DOVETAIL_ASSIGN(task.sketch, first_legal(task.task, steps));
    }
    const auto rejected = std::make_shared<Rejected>();
    task.sketch = counting(std::move(task.sketch), rejected);
    DOVETAIL_ASSIGN(const tune::MakeMeasurer measurer, measurer_of(task.sketch));
    const tune::TuneOptions options{.measurer = measurer,
                                    .trials = options_.trials,
                                    .early_stop = 0,
                                    .search = options_.search,
                                    .seed = options_.seed,
                                    .work = options_.work,
                                    .on_progress = options_.on_progress};
    DOVETAIL_ASSIGN(std::vector<tune::TaskResult> results, tune::tune({task}, options));
    tuned.result = std::move(results.front());
    tuned.illegal = static_cast<std::int64_t>(rejected->decisions.size()) +
                    std::ranges::count(tuned.result.trials, tune::Outcome::refused, &tune::Trial::outcome);
    tuned.schedule = schedule::to_string(with_own_names(std::move(tuned.result.best_trace), renamed_));
    if (tuned.schedule.empty()) return stopped_early();
    // The file must be what the program takes.
    LoopProgram check = written_;
    DOVETAIL_TRY(check.apply(tuned.schedule));
    return tuned;
  }

 private:
  Diagnostic stopped_early() const {
    return {std::string(kCannot) + written_.program().name, "", "the work was stopped before the first measurement",
            "give it more time", Cause::work};
  }

  schedule::Task task_of() const {
    schedule::Task task{options_.target, "loop program", written_.program()};
    task.intrinsics = written_.intrinsics();
    for (const loops::Parameter& parameter : task.program.parameters) task.layouts[parameter.buffer->name] = "";
    return task;
  }

  // The sketch of the steps, whose default is legal on the target: the written values, or the first of random ones.
  Result<schedule::Sketch> first_legal(const schedule::Task& task, std::vector<schedule::Step> steps) const {
    constexpr int kTries = 64;
    Diagnostics first;
    SplitMix64 random(options_.seed);
    for (int attempt = 0; attempt < kTries; ++attempt) {
      schedule::Deciding deciding;
      if (attempt > 0)
        deciding.draw = [&](std::size_t count) { return static_cast<std::size_t>(random.next() % count); };
      auto scheduled = schedule::try_run(schedule::sketch_of(steps), task, std::move(deciding));
      if (scheduled.ok()) {
        LoopProgram program = written_;
        DOVETAIL_TRY(program.apply(schedule::to_string((*scheduled)->trace)));
        const auto compiled = program.compile(options_.target, false, nullptr);
        if (compiled.ok()) return schedule::sketch_of((*scheduled)->trace);
        if (first.empty()) first = compiled.errors();
      } else if (first.empty()) {
        first = scheduled.errors();
      }
      if (options_.work != nullptr && options_.work->stopped()) return stopped_early();
    }
    first.front().hint =
        fmt::format("no values of its samples were legal in {} attempts; {}", kTries, first.front().hint);
    return first;
  }

  Result<tune::MakeMeasurer> measurer_of(const schedule::Sketch& sketch) const {
    if (options_.target == bundle::kAccelTarget) {
      DOVETAIL_ASSIGN(const System system, written_.system());
      explore::AccelMeasureOptions options;
      options.memory = system.memory;
      options.work = options_.work;
      options.arguments = arguments_;
      return explore::make_accel_measurer(written_.hardware(), options);
    }
    DOVETAIL_ASSIGN(const cpu::Cpu processor, cpu::find_cpu(written_.machines().cpu));
    explore::CpuMeasureOptions options;
    options.threads = options_.threads;
    options.work = options_.work;
    options.arguments = arguments_;
    options.sketch = sketch;
    return explore::make_cpu_measurer(processor, options);
  }

  // The compiler's own schedules: on the processor alone, since those of the accelerator are for operators of models.
  Result<OwnSketch> own_sketch(const schedule::Task& task) const {
    if (options_.target != bundle::kCpuTarget)
      return Diagnostic{std::string(kCannot) + written_.program().name, options_.target,
                        "the compiler's own schedules of this target are for operators of models",
                        "give a schedule with sample steps"};
    DOVETAIL_ASSIGN(const cpu::Cpu processor, cpu::find_cpu(written_.machines().cpu));
    return sketch_for(task, processor);
  }

  const LoopProgram& written_;
  const Tensors& inputs_;
  const TuneLoopsOptions& options_;
  std::vector<NdArray> arguments_;
  std::map<std::string, std::string> renamed_;
};

}  // namespace

Result<TunedLoops> tune_loops(const LoopProgram& written, const std::vector<schedule::Step>& steps,
                              const Tensors& inputs, const TuneLoopsOptions& options) {
  return LoopTuning(written, inputs, options).run(steps);
}

}  // namespace dovetail::driver
