#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/difference.h"
#include "base/file.h"
#include "base/text_table.h"
#include "cli/commands/all.h"
#include "cli/commands/write_bundle.h"
#include "cli/report/text.h"
#include "cli/report/timing_text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/progress.h"
#include "cli/shell/standard_streams.h"
#include "cli/shell/watched_work.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/cpu/cpu.h"
#include "driver/loop_counts.h"
#include "driver/loop_program.h"
#include "driver/system.h"
#include "driver/targets.h"
#include "driver/tensor_files.h"
#include "driver/value_text.h"
#include "loops/print.h"
#include "mlir/write.h"
#include "runtime/executor.h"

namespace dovetail::cli {

namespace {

using Tensors = std::map<std::string, NdArray>;

class Kernel : public Command {
 public:
  void declare(Options& options) override {
    options.positional(
        "ACTION", action_,
        "print: the program, after its schedule; check: whether program and schedule are valid, and for a target that "
        "it takes them; run: the program on a target; compile: a bundle for `dovetail run`, `profile` and `export`; "
        "mlir: a module of MLIR");
    options.positional("FILE", file_,
                       "a loop program (docs/reference/loop-programs.md), or a function of MLIR (docs/howto/mlir.md)",
                       Need::required, File::read);
    options.values("--size", "NAME=N", sizes_, "the value of a size that the file declares; repeatable");
    options.value("--schedule", "FILE", schedule_, "the steps of its schedule (docs/reference/schedules.md)",
                  File::read);
    options.flag("--explain", explain_, "print after each step the loops, and how much they do");
    options
        .value("--target", "NAME", target_,
               "interpreter (default), which defines the values; cpu; accel; host: the interpreter in a bundle")
        .choices({std::string(kInterpreterTarget), "cpu", "accel", "host"});
    options.value("--hw", "CONFIG", hardware_, kHardwareHelp, File::read);
    options.value("--cpu", "NAME", cpu_, "the processor of --target cpu (default native)").choices(cpu::cpu_names());
    options.value("--engine", "ENGINE", engine_, "runs programs of the accelerator (default cycle)");
    options.values("--input", "NAME=FILE", inputs_,
                   "run: a .npy file or ONNX TensorProto .pb; without it seeded random values; repeatable", File::read);
    options.value("--seed", "N", seed_, "run: seed of the random inputs (default 1)");
    options.value("--threads", "N", threads_, "run: threads of --target cpu (default: one per processor)");
    options.value("--output-dir", "DIR", output_dir_, "run: write every output as DIR/NAME.npy", File::folder);
    options.flag("--check", check_,
                 "run: compare with the interpreter of the program without its schedule; floats within 0.0001 of a\n"
                 "tensor's largest");
    options.value("-o", "OUT", output_, "compile: the bundle, OUT.dvt; mlir: the module (default: stdout)",
                  File::written);
    options
        .value(
            "--mlir-dialects", "NAMES", dialects_,
            "mlir: affine (default): affine, scf, memref, arith, math, vector, cf and func; scf: these without affine "
            "and vector")
        .choices({"affine", "scf"});
    limit_.declare(options);
    options.json(json_);
    options.footer(
        "Example: dovetail kernel run examples/kernels/matmul.loops --size m=512 --target cpu --check\n"
        "Example: dovetail kernel print examples/kernels/matmul.loops --schedule examples/kernels/matmul_cpu.schedule "
        "--explain");
  }

  Result<Exit> run() override {
    struct Action {
      std::string_view name;
      Result<Exit> (Kernel::*run)();
    };
    constexpr std::array<Action, 5> kActions{{{"print", &Kernel::print_program},
                                              {"mlir", &Kernel::write_mlir},
                                              {"check", &Kernel::check_program},
                                              {"run", &Kernel::run_program},
                                              {"compile", &Kernel::compile_program}}};
    const auto action = std::ranges::find(kActions, action_, &Action::name);
    if (action == kActions.end())
      return bad_usage(action_, "it is not an action", "the actions are print, check, run, compile and mlir");
    if (action_ != "run" && (!inputs_.empty() || output_dir_ || check_))
      return bad_usage(check_ ? "--check" : output_dir_ ? "--output-dir" : "--input", "nothing runs", "use kernel run");
    if (dialects_ && action_ != "mlir") return bad_usage("--mlir-dialects", "no MLIR is written", "use kernel mlir");
    if (action_ != "mlir" && (action_ == "compile") != output_.has_value())
      return bad_usage("-o", action_ == "compile" ? "it is missing" : "only compile and mlir write a file",
                       action_ == "compile" ? "name the bundle: -o OUT.dvt" : "remove it");
    DOVETAIL_TRY(read());
    return (this->*action->run)();
  }

 private:
  static constexpr std::string_view kInterpreterTarget = "interpreter";

  static Diagnostic bad_usage(std::string where, std::string why, std::string hint) {
    return {"bad usage of `dovetail kernel`", std::move(where), std::move(why), std::move(hint)};
  }

  // The program, and then its schedule.
  Result<void> read() {
    DOVETAIL_ASSIGN(const auto texts, parse_assignments("--size", sizes_));
    loops::Sizes sizes;
    for (const auto& [name, text] : texts) {
      DOVETAIL_ASSIGN(sizes[name], parse_count("--size", text, 0, std::int64_t{1} << 40));
    }
    DOVETAIL_ASSIGN(const std::string text, read_text_file(file_));
    driver::LoopMachines machines{.hardware = hardware_};
    if (cpu_) machines.cpu = *cpu_;
    DOVETAIL_ASSIGN(written_, driver::LoopProgram::parse(text, file_, machines, sizes));
    scheduled_ = written_;
    if (!schedule_) return {};
    DOVETAIL_ASSIGN(const std::string steps, read_text_file(*schedule_));
    DOVETAIL_ASSIGN(const std::vector<schedule::Step> trace, schedule::parse_trace(steps, *schedule_));
    if (explain_) print("{}", explained("", *scheduled_));
    for (const schedule::Step& step : trace) {
      DOVETAIL_TRY(scheduled_->apply(to_string(step)));
      if (explain_) print("{}", explained(to_string(step), *scheduled_));
    }
    return {};
  }

  // A step, what the program does after it, and its loops.
  static std::string explained(const std::string& step, const driver::LoopProgram& program) {
    std::string text = fmt::format("{}\n  {}\n", step.empty() ? "as written" : step,
                                   driver::counts_text(driver::count_loops(program.program())));
    const Json facts = program.to_json();
    for (const Json& loop : facts["loops"])
      text += fmt::format("  {:{}}for {} in {}{}\n", "", 2 * loop["inside"].size(), loop["name"].get<std::string>(),
                          loop["extent"].get<std::int64_t>(),
                          loop["kind"] == "serial" ? "" : " " + loop["kind"].get<std::string>());
    return text + "\n";
  }

  Json report_json() const {
    return {{"kind", "kernel"},
            {"action", action_},
            {"program", scheduled_->to_json()},
            {"counts", to_json(driver::count_loops(scheduled_->program()))}};
  }

  Result<Exit> print_program() {
    if (json_) print_json(report_json());
    else write_result(loops::to_string(scheduled_->program()));
    return Exit::success;
  }

  Result<Exit> check_program() {
    const driver::LoopCounts counts = driver::count_loops(scheduled_->program());
    const Json facts = scheduled_->to_json();
    std::vector<std::string> takes;
    if (target_ != kInterpreterTarget) {
      DOVETAIL_TRY(scheduled_->compile(target_, true, nullptr));
      takes.push_back(target_);
    }
    if (json_) {
      Json json = report_json();
      json["targets"] = takes;
      print_json(json);
      return Exit::success;
    }
    print("program       {}: {} loops, {} blocks, {} steps of a schedule\n", facts["name"].get<std::string>(),
          facts["loops"].size(), facts["blocks"].size(), std::ranges::count(facts["trace"].get<std::string>(), '\n'));
    for (const Json& parameter : facts["parameters"])
      print(
          "{:13} {}: {}\n", parameter["role"].get<std::string>(), parameter["name"].get<std::string>(),
          driver::type_text(*dtype_from_name(parameter["dtype"].get<std::string>()), parameter["shape"].get<Shape>()));
    print("{}", entry("a run", driver::counts_text(counts)));
    print("{}",
          entry("valid", takes.empty() ? "yes; --target asks whether a target takes it" : "yes, also for " + target_));
    return Exit::success;
  }

  Result<Exit> write_mlir() {
    mlir::Options options;
    if (dialects_) options.dialects = *mlir::dialects_named(*dialects_);
    DOVETAIL_ASSIGN(const std::string text, scheduled_->to_mlir(options));
    if (output_) DOVETAIL_TRY(write_result_text(*output_, text));
    Json json = report_json();
    json["mlir"] = output_ ? Json(*output_) : Json(text);
    if (json_) print_json(json);
    else if (!output_) write_result(text);
    return Exit::success;
  }

  Result<Exit> compile_program() {
    if (target_ == kInterpreterTarget) return bad_usage("--target", "it is missing", "give cpu, accel or host");
    DOVETAIL_TRY(check_bundle_name(*output_, "kernel"));
    DOVETAIL_ASSIGN(const driver::LoopProgram::Compiled compiled, scheduled_->compile(target_, false, nullptr));
    DOVETAIL_TRY(write_bundle(compiled.bundle, *output_));
    if (json_) {
      Json json = report_json();
      json["bundle"] = *output_;
      print_json(json);
    } else {
      print("{}", entry("next", fmt::format("`dovetail run {0}`, `profile {0}`, `export {0}`", *output_)));
    }
    return Exit::success;
  }

  struct Ran {
    Tensors outputs;
    double seconds = 0;
    std::optional<std::uint64_t> cycles = {};  // of the accelerator
  };

  Result<Ran> interpret(const driver::LoopProgram& program, const Tensors& inputs, Work* work) const {
    const auto begin = std::chrono::steady_clock::now();
    DOVETAIL_ASSIGN(auto outputs, program.run(inputs, work));
    Ran ran{{outputs.begin(), outputs.end()}};
    ran.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return ran;
  }

  Result<Ran> execute(const Tensors& inputs, Work* work) const {
    DOVETAIL_ASSIGN(driver::LoopProgram::Compiled compiled, scheduled_->compile(target_, false, nullptr));
    simulator::EngineOptions engine;
    engine.work = work;
    DOVETAIL_ASSIGN(const isa::Machine machine,
                    isa::load_uniform_machine(hardware_.value_or(driver::kDefaultHardware), "a loop program"));
    DOVETAIL_ASSIGN(const driver::System system, driver::resolve_system(machine.system, machine.hardware.name, {}));
    engine.memory = system.memory;
    engine.build_missing = print_progress;
    DOVETAIL_ASSIGN(const runtime::MakeSimulator make, runtime::simulator_factory(engine_, engine));
    runtime::ExecutorOptions options;
    options.work = work;
    if (threads_) {
      DOVETAIL_ASSIGN(const std::int64_t threads, parse_count("--threads", *threads_, 1, 1024));
      options.threads = static_cast<int>(threads);
    }
    DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(std::move(compiled.bundle), make, options));
    const auto begin = std::chrono::steady_clock::now();
    auto result = executor.run(inputs);
    if (!result.ok()) return failed_work(result.errors());
    Ran ran{std::move(result->outputs)};
    ran.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (const runtime::StepProfile& step : result->steps)
      for (const runtime::TimedLaunch& launch : step.launches)
        ran.cycles = ran.cycles.value_or(0) + launch.trace.cycles;
    return ran;
  }

  Result<Exit> run_program() {
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    WatchedWork watched(limit);
    DOVETAIL_ASSIGN(const auto files, parse_assignments("--input", inputs_));
    DOVETAIL_ASSIGN(const std::uint64_t seed, parse_address("--seed", seed_));
    DOVETAIL_ASSIGN(const driver::RunInputs inputs, written_->inputs(files, seed));
    watched.begin();
    Result<Ran> ran = target_ == kInterpreterTarget ? interpret(*scheduled_, inputs.tensors, watched.work())
                                                    : execute(inputs.tensors, watched.work());
    if (!ran.ok()) return ran.errors();
    std::string wrong;
    if (check_) {
      DOVETAIL_ASSIGN(const Ran right, interpret(*written_, inputs.tensors, watched.work()));
      for (const auto& [name, expected] : right.outputs) {
        const NdArray& got = ran->outputs.at(name);
        const Tolerance tolerance{.floating = tolerance_of(expected.dtype(), kMachineCodeTolerance)};
        if (const auto difference = find_difference(expected, got, tolerance); difference && wrong.empty())
          wrong = fmt::format("{}: {}", name, to_string(*difference, expected, got));
      }
    }
    watched.finish();
    if (output_dir_) {
      DOVETAIL_TRY(driver::make_result_folder("--output-dir", *output_dir_));
      DOVETAIL_TRY(driver::write_outputs(*output_dir_, ran->outputs));
    }
    report(*ran, inputs, wrong);
    if (wrong.empty()) return Exit::success;
    return fail(Exit::failed,
                {{"the schedule changes the values", file_, wrong, "find the step with --explain", Cause::work}});
  }

  void report(const Ran& ran, const driver::RunInputs& inputs, const std::string& wrong) const {
    const double operations = driver::count_loops(written_->program()).operations;
    if (json_) {
      Json outputs = Json::object();
      for (const auto& [name, array] : ran.outputs)
        outputs[name] = {{"dtype", name_of(array.dtype())}, {"shape", array.shape()}};
      Json run{{"target", target_},  {"seconds", ran.seconds}, {"operations", operations},
               {"outputs", outputs}, {"checked", check_},      {"agrees", wrong.empty()}};
      if (ran.cycles) run["cycles"] = *ran.cycles;
      Json json = report_json();
      json["run"] = std::move(run);
      print_json(json);
      return;
    }
    for (const std::string& input : inputs.announcements) print("input         {}\n", input);
    for (const auto& [name, array] : ran.outputs)
      print("output        {}: {}: {}\n", name, driver::type_text(array.dtype(), array.shape()), preview(array));
    if (ran.cycles)
      print("{}",
            entry("cycles", fmt::format("{} with engine {}: {:.1f} operations a cycle", with_separators(*ran.cycles),
                                        engine_, operations / static_cast<double>(*ran.cycles))));
    else if (target_ == "accel")
      print("{}", entry("simulated", fmt::format("in {} by engine {}, which has no clock; --engine cycle counts cycles",
                                                 driver::seconds_text(ran.seconds), engine_)));
    else
      print("{}",
            entry("time", fmt::format("{}, {:.3g} GOP/s on {}; one run, the first", driver::seconds_text(ran.seconds),
                                      operations / ran.seconds * 1e-9, target_)));
    if (check_ && wrong.empty()) print("{}", entry("check", "the values of the program without its schedule"));
  }
  static std::string_view name_of(DType dtype) { return name(dtype); }

  std::string action_, file_, target_{kInterpreterTarget}, engine_ = "cycle", seed_ = "1";
  std::vector<std::string> sizes_, inputs_;
  std::optional<std::string> schedule_, hardware_, cpu_, threads_, output_dir_, output_, dialects_;
  LimitArguments limit_;
  bool explain_ = false, check_ = false, json_ = false;
  std::optional<driver::LoopProgram> written_, scheduled_;
};

}  // namespace

std::unique_ptr<Command> make_kernel() { return std::make_unique<Kernel>(); }

}  // namespace dovetail::cli
