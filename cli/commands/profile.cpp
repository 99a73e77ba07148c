#include <algorithm>
#include <atomic>
#include <optional>

#include <fmt/format.h>

#include "base/file.h"
#include "base/text_table.h"
#include "bundle/code/cpu.h"
#include "cli/arguments.h"
#include "cli/commands/all.h"
#include "cli/energy_report.h"
#include "cli/gpu_profile.h"
#include "cli/latency.h"
#include "cli/model.h"
#include "cli/output.h"
#include "cli/program_file.h"
#include "cli/standard_streams.h"
#include "cli/tensor_files.h"
#include "cli/text.h"
#include "cli/timing.h"
#include "cli/verify_bundle.h"
#include "cli/watched_work.h"
#include "cli/work_shares.h"
#include "runtime/executor.h"
#include "runtime/peak.h"

namespace dovetail::cli {

namespace {

struct Row {
  StepTime time;  // medians
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
    model_.declare_cache(options);
    options.value("--engine", "ENGINE", engine_,
                  "what runs the accelerator's programs (default cycle, which reports where the cycles went)");
    clock_.declare(options);
    energy_.declare(options);
    limit_.declare(options);
    options.value("--threads", "N", threads_, "that run CPU kernels (default: one per processor)");
    options.value("--repeat", "N", repeat_, "runs that count, after one that warms up (default 10)");
    options.values("--input", "NAME=FILE", inputs_,
                   "a .npy file or ONNX TensorProto .pb; without it seeded random values; repeatable", File::read);
    options.value("--seed", "N", seed_, "of the random inputs (default 1)");
    options.value("--report", "R.json", report_, "write the profile as JSON", File::written_text);
    options.json(json_);
    options.flag("--trust", trust_, kTrustHelp);
    options.footer(
        "Times are medians. GOP/s count a multiply-add as two operations; the share of the peak is of the processor's "
        "measured multiply-adds on\n"
        "as many threads, in float32 or int8 as the kernel has them. The accelerator's time is its cycles by the "
        "clock; what the simulator itself took is shown beside. Steps on a GPU are timed by its events, beside "
        "ceilings that are measured on it.\n"
        "Example: dovetail profile examples/digits/digits_float.onnx --target cpu --threads 1");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    WatchedWork watched(limit);
    DOVETAIL_ASSIGN(const std::uint64_t seed, parse_address("--seed", seed_));
    DOVETAIL_ASSIGN(const std::int64_t repeat, parse_count("--repeat", repeat_, 1, 100000));
    DOVETAIL_ASSIGN(const explore::EnergyTable energy, energy_.table());
    runtime::ExecutorOptions executor_options;
    executor_options.work = watched.work();
    if (threads_) {
      DOVETAIL_ASSIGN(const std::int64_t threads, parse_count("--threads", *threads_, 1, 1024));
      executor_options.threads = static_cast<int>(threads);
    }
    DOVETAIL_ASSIGN(const bool is_bundle, is_bundle_file(model_.model));
    DOVETAIL_TRY(model_.system.check_engine(engine_, !is_bundle));
    bundle::Bundle loaded;
    if (is_bundle) {
      if (model_.targets || model_.hardware || !model_.compile_only_options().empty())
        return Diagnostic{"bad usage of `dovetail profile`", model_.model, "a bundle has its targets already",
                          "leave out the options of compiling, or profile the .onnx file"};
      DOVETAIL_ASSIGN(loaded, read_bundle_to_run(model_.model, trust_));
    }
    DOVETAIL_ASSIGN(const System system, is_bundle ? system_of(model_, loaded) : system_of(model_));
    DOVETAIL_ASSIGN(simulator::EngineOptions engine_options, clock_.engine_options(engine_, system));
    engine_options.work = watched.work();
    DOVETAIL_ASSIGN(const auto make_simulator, runtime::simulator_factory(engine_, engine_options));
    if (!is_bundle) {
      CompileOptions options;
      model_.threads = executor_options.threads;
      DOVETAIL_ASSIGN(CompileOutcome outcome, compile_model(model_, std::move(options)));
      if (!outcome.model) return fail(Exit::failed, outcome.failure);
      mac_shares_ = mac_shares(outcome.model->compiled.summary);
      placement_ = outcome.model->compiled.placement;
      summary_ = outcome.model->compiled.summary;
      work_text_ = macs_text(outcome.model->compiled.summary) +
                   left_text(left_accelerator(outcome.model->compiled.placement, outcome.model->compiled.summary,
                                              outcome.model->targets));
      loaded = std::move(outcome.model->compiled.bundle);
    }
    DOVETAIL_ASSIGN(const RunInputs inputs, gather_inputs(loaded, inputs_, seed));
    DOVETAIL_ASSIGN(auto executor, runtime::Executor::make(std::move(loaded), make_simulator, executor_options));
    runtime::RunOptions options;
    options.copy_outputs = false;
    std::vector<std::vector<double>> seconds;
    std::vector<runtime::StepProfile> steps;
    std::atomic<std::int64_t> done{0};
    watched.show({"runs", repeat + 1, &done});
    watched.begin();
    for (std::int64_t i = 0; i <= repeat; ++i) {
      done = i;
      const auto result = executor.run(inputs.tensors, options);
      if (!result.ok()) return fail(Exit::failed, result.errors());
      if (i == 0) {
        auto timed = timed_programs(executor.program(), *result, engine_options, true);
        if (!timed.ok()) return fail(Exit::failed, timed.errors());
        timed_ = *std::move(timed);
        seconds.resize(result->steps.size());
        steps = result->steps;
        continue;
      }
      launched_ = result->launched;
      for (std::size_t s = 0; s < result->steps.size(); ++s) {
        seconds[s].push_back(result->steps[s].seconds);
        steps[s].programs = result->steps[s].programs;  // of the last run
      }
    }
    watched.finish();
    std::vector<double> medians;
    for (std::vector<double>& all : seconds) {
      const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
      std::nth_element(all.begin(), middle, all.end());
      medians.push_back(*middle);
    }
    const std::vector<StepTime> times = step_times(steps, medians, system);
    DOVETAIL_ASSIGN(used_, energy_facts(executor.program(), steps, system, energy));
    DOVETAIL_TRY(write_traces(clock_, model_.model, timed_, system, latency_of(times), energy_json(used_)));
    std::vector<Row> rows;
    for (std::size_t s = 0; s < steps.size(); ++s)
      rows.push_back({times[s], steps[s].counters, executor.program().steps[s].origins});
    for (const runtime::StepProfile* inner : inner_steps(steps)) rows.push_back({times[rows.size()], inner->counters});
    DOVETAIL_ASSIGN(auto kernels, bundle::cpu_steps(executor.program()));
    for (auto& [index, step, code] : kernels) rows[index].kernel = std::move(code);
    DOVETAIL_ASSIGN(gpu_, GpuProfile::make(executor));
    threads_used_ = executor_options.threads > 0 ? executor_options.threads : runtime::default_threads();
    peaks_ = {runtime::measure_float32_peak(), runtime::measure_int8_peak()};
    print("{}", text(rows, repeat, system, latency_of(times)));
    for (const TimedProgram& program : timed_)
      print("\nstep          {}\n{}", program.name, timing_text(program, system));
    const Json report = report_ || json_ ? json(rows, repeat, system, latency_of(times)) : Json();
    if (report_) DOVETAIL_TRY(write_result_text(*report_, json_text(report)));
    if (json_) print_json(report);
    return Exit::success;
  }

 private:
  struct Peaks {
    runtime::Peak float32, int8;
  };
  // Of the peak on all threads; 0 where that is unknown.
  double share_of_peak(const Row& row) const {
    const double peak = (row.kernel->integer ? peaks_.int8 : peaks_.float32).giga_operations * threads_used_;
    return peak > 0 ? rate(row) / peak : 0;
  }
  static double rate(const Row& row) {
    const double seconds = row.time.seconds;
    return seconds > 0 ? static_cast<double>(row.kernel->operations) / seconds * 1e-9 : 0;
  }

  static std::vector<StepTime> times_of(const std::vector<Row>& rows) {
    std::vector<StepTime> times;
    for (const Row& row : rows) times.push_back(row.time);
    return times;
  }

  std::string text(const std::vector<Row>& rows, std::int64_t repeat, const System& system,
                   const Latency& latency) const {
    const double total = latency.seconds();
    double operations = 0;
    for (const Row& row : rows)
      if (row.kernel) operations += static_cast<double>(row.kernel->operations);
    std::string out = fmt::format("profiled      {}, {} runs, {} threads\n", model_.model, repeat, threads_used_);
    if (latency.regions > 0 && latency.complete) out += system_text(system);
    out += host_text(placement_, summary_, time_shares(times_of(rows))) + work_text_;
    out += time_shares_text(times_of(rows));
    out += fmt::format("peak          {:.0f} GFLOP/s float32 ({}), {:.0f} GOP/s int8 ({}), one core\n\n",
                       peaks_.float32.giga_operations, peaks_.float32.instruction, peaks_.int8.giga_operations,
                       peaks_.int8.instruction);
    std::vector<std::string> headers{"step", "target", ">time", ">share"};
    if (latency.regions > 0) headers.insert(headers.end(), {">cycles", ">simulated in"});
    headers.insert(headers.end(), {">Mop", "kind", ">GOP/s", ">of peak", ">code"});
    TextTable table(headers);
    for (std::size_t s = 0; s < rows.size(); ++s) {
      const Row& row = rows[s];
      const StepTime& time = row.time;
      const bool unknown = time.simulating && !time.cycles;
      std::vector<std::string> cells{
          time.name, time.target, unknown ? "-" : seconds_text(time.seconds),
          unknown || !latency.complete ? "-" : fmt::format("{:.1f} %", total > 0 ? 100 * time.seconds / total : 0)};
      if (latency.regions > 0)
        cells.insert(cells.end(), {time.cycles ? with_separators(*time.cycles) : "-",
                                   time.simulating ? seconds_text(*time.simulating) : "-"});
      if (!row.kernel || row.kernel->operations == 0) {
        const bool below = time.simulating || gpu_.has_step(s);
        cells.insert(cells.end(), {"-",
                                   below        ? "see below"
                                   : row.kernel ? "moves"
                                                : "-",
                                   "-", "-", row.kernel ? bytes_text(row.kernel->code_bytes) : "-"});
        table.add(cells);
        continue;
      }
      cells.insert(cells.end(),
                   {fmt::format("{:.2f}", static_cast<double>(row.kernel->operations) * 1e-6),
                    row.kernel->integer ? "int" : "float", fmt::format("{:.1f}", rate(row)),
                    fmt::format("{:.0f} %", 100 * share_of_peak(row)), bytes_text(row.kernel->code_bytes)});
      table.add(cells);
    }
    out += table.to_string() + "\n";
    if (gpu_.has_steps()) out += gpu_.text(times_of(rows)) + "\n";
    if (!launched_.empty()) out += fmt::format("launched      {}\n", launched_);
    out += latency_text(latency, system, fmt::format("medians of {} runs", repeat));
    if (operations > 0 && latency.other_seconds > 0)
      out += fmt::format("on the CPU    {:.2f} Mop, {:.1f} GOP/s\n", operations * 1e-6,
                         operations / latency.other_seconds * 1e-9);
    simulator::Counters counters;
    bool accelerated = false;
    for (const Row& row : rows)
      if (row.time.simulating) counters += row.counters, accelerated = true;
    if (accelerated) out += counters_text(counters);
    return used_ ? out + energy_text(*used_) : out;
  }

  Json json(const std::vector<Row>& rows, std::int64_t repeat, const System& system, const Latency& latency) const {
    Json steps = Json::array();
    for (std::size_t s = 0; s < rows.size(); ++s) {
      const Row& row = rows[s];
      Json step{{"name", row.time.name}, {"target", row.time.target}, {"seconds", row.time.seconds}};
      add_time(step, row.time);
      if (row.kernel)
        step.update({{"operations", row.kernel->operations},
                     {"integer", row.kernel->integer},
                     {"gop_per_s", rate(row)},
                     {"share_of_peak", share_of_peak(row)},
                     {"code_bytes", row.kernel->code_bytes},
                     {"kernel", row.kernel->symbol},
                     {"origins", row.origins}});
      if (Json gpu = gpu_.json(s, row.time.seconds); !gpu.is_null()) step["gpu"] = std::move(gpu);
      if (row.time.simulating) step["counters"] = to_json(row.counters);
      for (const TimedProgram& program : timed_)
        if (program.name == row.time.name) step["timing"] = timing_json(program, system);
      steps.push_back(std::move(step));
    }
    const auto peak = [](const runtime::Peak& value) {
      return Json{{"gop_per_s", value.giga_operations}, {"instruction", value.instruction}};
    };
    return {{"kind", "profile"},
            {"file", model_.model},
            {"repeat", repeat},
            {"system", to_json(system)},
            {"latency", latency_json(latency, system)},
            {"time_shares", time_shares(times_of(rows))},
            {"mac_shares", mac_shares_},
            {"energy", energy_json(used_)},
            {"threads", threads_used_},
            {"gpu", gpu_.ceilings()},
            {"launched", launched_},
            {"peak_of_one_core", {{"float32", peak(peaks_.float32)}, {"int8", peak(peaks_.int8)}}},
            {"steps", steps}};
  }

  ModelArguments model_;
  ClockArguments clock_;
  EnergyArguments energy_;
  LimitArguments limit_;
  std::string work_text_;  // where the multiplications are
  Json mac_shares_;        // null: of a bundle
  std::vector<NodePlacement> placement_;
  PlacementSummary summary_;
  std::vector<TimedProgram> timed_;
  std::optional<EnergyFacts> used_;  // by the accelerator
  std::string engine_ = "cycle", seed_ = "1", repeat_ = "10";
  std::vector<std::string> inputs_;
  std::optional<std::string> report_, threads_;
  bool trust_ = false, json_ = false;
  int threads_used_ = 1;
  Peaks peaks_;
  GpuProfile gpu_;
  std::string launched_;  // how a device began all steps of the last run
};

}  // namespace

std::unique_ptr<Command> make_profile() { return std::make_unique<Profile>(); }

}  // namespace dovetail::cli
