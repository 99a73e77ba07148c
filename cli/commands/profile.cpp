#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/file.h"
#include "base/text_table.h"
#include "bundle/code/cpu.h"
#include "cli/arguments.h"
#include "cli/commands/all.h"
#include "cli/model.h"
#include "cli/output.h"
#include "cli/program_file.h"
#include "cli/tensor_files.h"
#include "cli/text.h"
#include "cli/timing.h"
#include "cli/verify_bundle.h"
#include "cli/watched_work.h"
#include "runtime/executor.h"
#include "runtime/peak.h"

namespace dovetail::cli {

namespace {

struct Row {
  std::string name, target;
  double seconds = 0;  // median
  simulator::Counters counters;
  std::vector<std::string> origins = {};
  std::optional<bundle::CpuCode> kernel = {};  // of CPU steps
};

class Profile : public Command {
 public:
  void declare(Options& options) override {
    options.positional("MODEL.onnx|OUT.dvt", model_.model, "a model, which is compiled first, or a bundle",
                       Need::required, File::read);
    model_.declare(options);
    options.value("--engine", "ENGINE", engine_,
                  "what runs the accelerator's programs (default cycle, which reports where the cycles went)");
    clock_.declare(options);
    limit_.declare(options);
    options.value("--threads", "N", threads_, "that run CPU kernels (default: one per processor)");
    options.value("--repeat", "N", repeat_, "runs that count, after one that warms up (default 10)");
    options.values("--input", "NAME=FILE", inputs_,
                   "a .npy file or ONNX TensorProto .pb; without it seeded random values; repeatable");
    options.value("--seed", "N", seed_, "of the random inputs (default 1)");
    options.value("--report", "R.json", report_, "write the profile as JSON", File::written);
    options.flag("--trust", trust_, kTrustHelp);
    options.footer(
        "Times are medians. GOP/s count a multiply-add as two operations; the share of the peak is of the processor's "
        "measured multiply-adds on\n"
        "as many threads, in float32 or int8 as the kernel has them. The accelerator's time is the simulator's own; "
        "its cycles are listed below, and what they went into.\n"
        "Example: dovetail profile examples/digits/digits_float.onnx --target cpu --threads 1");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    WatchedWork watched(limit);
    DOVETAIL_ASSIGN(simulator::EngineOptions engine_options, clock_.engine_options(engine_));
    engine_options.work = watched.work();
    DOVETAIL_ASSIGN(const auto make_simulator, runtime::simulator_factory(engine_, engine_options));
    DOVETAIL_ASSIGN(const std::uint64_t seed, parse_address("--seed", seed_));
    DOVETAIL_ASSIGN(const std::int64_t repeat, parse_count("--repeat", repeat_, 1, 100000));
    runtime::ExecutorOptions executor_options;
    executor_options.work = watched.work();
    if (threads_) {
      DOVETAIL_ASSIGN(const std::int64_t threads, parse_count("--threads", *threads_, 1, 1024));
      executor_options.threads = static_cast<int>(threads);
    }
    DOVETAIL_ASSIGN(const bool is_bundle, is_bundle_file(model_.model));
    bundle::Bundle loaded;
    if (is_bundle) {
      if (model_.targets || model_.hardware || !model_.compile_only_options().empty())
        return Diagnostic{"bad usage of `dovetail profile`", model_.model, "a bundle has its targets already",
                          "leave out the options of compiling, or profile the .onnx file"};
      DOVETAIL_ASSIGN(loaded, read_bundle_to_run(model_.model, trust_));
    } else {
      CompileOptions options;
      model_.memory = engine_options.memory;
      model_.threads = executor_options.threads;
      DOVETAIL_ASSIGN(CompileOutcome outcome, compile_model(model_, std::move(options)));
      if (!outcome.model) return fail(Exit::failed, outcome.failure);
      loaded = std::move(outcome.model->compiled.bundle);
    }
    DOVETAIL_ASSIGN(const RunInputs inputs, gather_inputs(loaded, inputs_, seed));
    DOVETAIL_ASSIGN(auto executor, runtime::Executor::make(std::move(loaded), make_simulator, executor_options));
    runtime::RunOptions options;
    options.copy_outputs = false;
    std::vector<std::vector<double>> seconds;
    std::vector<Row> rows;
    watched.begin();
    for (std::int64_t i = 0; i <= repeat; ++i) {
      const auto result = executor.run(inputs.tensors, options);
      if (!result.ok()) return fail(Exit::failed, result.errors());
      if (i == 0) {
        auto timed = timed_programs(executor.program(), *result, engine_options, true);
        if (!timed.ok()) return fail(Exit::failed, timed.errors());
        timed_ = *std::move(timed);
        seconds.resize(result->steps.size());
        for (const runtime::StepProfile& step : result->steps)
          rows.push_back({step.name, step.target, 0, step.counters});
        continue;
      }
      for (std::size_t s = 0; s < result->steps.size(); ++s) seconds[s].push_back(result->steps[s].seconds);
    }
    watched.finish();
    DOVETAIL_TRY(write_traces(clock_, model_.model, timed_, engine_options.memory));
    for (std::size_t s = 0; s < rows.size(); ++s) {
      const auto middle = seconds[s].begin() + static_cast<std::ptrdiff_t>(seconds[s].size() / 2);
      std::nth_element(seconds[s].begin(), middle, seconds[s].end());
      rows[s].seconds = *middle;
      rows[s].origins = executor.program().steps[s].origins;
    }
    DOVETAIL_ASSIGN(auto kernels, bundle::cpu_steps(executor.program()));
    for (auto& [index, step, code] : kernels) rows[index].kernel = std::move(code);
    threads_used_ = executor_options.threads > 0 ? executor_options.threads : runtime::default_threads();
    peaks_ = {runtime::measure_float32_peak(), runtime::measure_int8_peak()};
    print("{}", text(rows, repeat));
    for (const TimedProgram& program : timed_)
      print("\nstep          {}\n{}", program.name, timing_text(program, engine_options.memory));
    if (report_) DOVETAIL_TRY(write_text_file(*report_, json_text(json(rows, repeat, engine_options.memory))));
    return Exit::success;
  }

 private:
  struct Peaks {
    runtime::Peak float32, int8;
  };
  // Of the peak on all threads; 0 where that is unknown.
  double share_of_peak(const Row& row) const {
    const double peak = (row.kernel->integer ? peaks_.int8 : peaks_.float32).giga_operations * threads_used_;
    return peak > 0 && row.seconds > 0 ? static_cast<double>(row.kernel->operations) / row.seconds * 1e-9 / peak : 0;
  }
  static double rate(const Row& row) {
    return row.seconds > 0 ? static_cast<double>(row.kernel->operations) / row.seconds * 1e-9 : 0;
  }

  std::string text(const std::vector<Row>& rows, std::int64_t repeat) const {
    double total = 0, operations = 0;
    for (const Row& row : rows) {
      total += row.seconds;
      if (row.kernel) operations += static_cast<double>(row.kernel->operations);
    }
    std::string out = fmt::format("profiled      {}, {} runs, {} threads\n", model_.model, repeat, threads_used_);
    out += fmt::format("peak          {:.0f} GFLOP/s float32 ({}), {:.0f} GOP/s int8 ({}), one core\n\n",
                       peaks_.float32.giga_operations, peaks_.float32.instruction, peaks_.int8.giga_operations,
                       peaks_.int8.instruction);
    TextTable table({"step", "target", ">time", ">share", ">Mop", "kind", ">GOP/s", ">of peak", ">code"});
    for (const Row& row : rows) {
      const std::string share = fmt::format("{:.1f} %", total > 0 ? 100 * row.seconds / total : 0);
      if (!row.kernel || row.kernel->operations == 0) {
        table.add({row.name, row.target, seconds_text(row.seconds), share, "-",
                   row.target == "accel" ? "see below" : "moves", "-", "-",
                   row.kernel ? bytes_text(row.kernel->code_bytes) : "-"});
        continue;
      }
      table.add({row.name, row.target, seconds_text(row.seconds), share,
                 fmt::format("{:.2f}", static_cast<double>(row.kernel->operations) * 1e-6),
                 row.kernel->integer ? "int" : "float", fmt::format("{:.1f}", rate(row)),
                 fmt::format("{:.0f} %", 100 * share_of_peak(row)), bytes_text(row.kernel->code_bytes)});
    }
    out += table.to_string() + "\n";
    out += fmt::format("total         {}, {:.2f} Mop on the CPU, {:.1f} GOP/s\n", seconds_text(total),
                       operations * 1e-6, total > 0 ? operations / total * 1e-9 : 0);
    simulator::Counters counters;
    bool accelerated = false;
    for (const Row& row : rows)
      if (row.target == "accel") counters += row.counters, accelerated = true;
    return accelerated ? out + counters_text(counters) : out;
  }

  Json json(const std::vector<Row>& rows, std::int64_t repeat, const simulator::MemorySpec& memory) const {
    Json steps = Json::array();
    for (const Row& row : rows) {
      Json step{{"name", row.name}, {"target", row.target}, {"seconds", row.seconds}};
      if (row.kernel)
        step.update({{"operations", row.kernel->operations},
                     {"integer", row.kernel->integer},
                     {"gop_per_s", rate(row)},
                     {"share_of_peak", share_of_peak(row)},
                     {"code_bytes", row.kernel->code_bytes},
                     {"kernel", row.kernel->symbol},
                     {"origins", row.origins}});
      if (row.target == "accel") step["counters"] = to_json(row.counters);
      for (const TimedProgram& program : timed_)
        if (program.name == row.name) step["timing"] = timing_json(program, memory);
      steps.push_back(std::move(step));
    }
    const auto peak = [](const runtime::Peak& value) {
      return Json{{"gop_per_s", value.giga_operations}, {"instruction", value.instruction}};
    };
    return {{"kind", "profile"},
            {"file", model_.model},
            {"repeat", repeat},
            {"threads", threads_used_},
            {"peak_of_one_core", {{"float32", peak(peaks_.float32)}, {"int8", peak(peaks_.int8)}}},
            {"steps", steps}};
  }

  ModelArguments model_;
  ClockArguments clock_;
  LimitArguments limit_;
  std::vector<TimedProgram> timed_;
  std::string engine_ = "cycle", seed_ = "1", repeat_ = "10";
  std::vector<std::string> inputs_;
  std::optional<std::string> report_, threads_;
  bool trust_ = false;
  int threads_used_ = 1;
  Peaks peaks_;
};

}  // namespace

std::unique_ptr<Command> make_profile() { return std::make_unique<Profile>(); }

}  // namespace dovetail::cli
