#include <algorithm>
#include <atomic>
#include <charconv>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/difference.h"
#include "base/file.h"
#include "bundle/code/accel.h"
#include "bundle/code/cpu.h"
#include "bundle/code/cuda.h"
#include "bundle/code/flow.h"
#include "bundle/code/host.h"
#include "bundle/code/library.h"
#include "cli/arguments.h"
#include "cli/commands/all.h"
#include "cli/energy_report.h"
#include "cli/expectation.h"
#include "cli/kept_tensors.h"
#include "cli/model.h"
#include "cli/output.h"
#include "cli/preprocess.h"
#include "cli/program_file.h"
#include "cli/run_report.h"
#include "cli/samples.h"
#include "cli/standard_streams.h"
#include "cli/targets.h"
#include "cli/tensor_files.h"
#include "cli/text.h"
#include "cli/timing.h"
#include "cli/verify_bundle.h"
#include "cli/watched_work.h"

namespace dovetail::cli {

namespace {

class Run : public Command {
 public:
  void declare(Options& options) override {
    options.positional("MODEL.onnx|OUT.dvt", model_.model, "a model, which is compiled first, or a bundle",
                       Need::required, File::read);
    model_.declare(options);
    model_.declare_cache(options);
    files_ = options.files();
    options.value("--engine", "ENGINE", engine_, "what runs the accelerator's programs (default functional)");
    options.values("--input", "NAME=FILE", inputs_,
                   "a .npy file, ONNX TensorProto .pb, picture, or a folder of these, of one batch or of many "
                   "samples; without it seeded random values; repeatable",
                   File::read);
    preprocess_.declare(options);
    options.value("--threads", "N", threads_, "that run CPU kernels (default: one per processor)");
    options.value("--seed", "N", seed_, "of the random inputs (default 1)");
    options.value("--repeat", "N", repeat_,
                  "run it so often, and report the least and the median latency; outputs, steps and --check are of the "
                  "last run (default 1)");
    options.value("--output-dir", "DIR", output_dir_,
                  "write every output as DIR/NAME.npy; DIR is made where it is missing", File::folder);
    clock_.declare(options);
    energy_.declare(options);
    limit_.declare(options);
    options.value("--report", "R.json", report_,
                  "write the report as JSON; of an engine with a clock also what other hardware would take",
                  File::written_text);
    options.json(json_);
    options.value(
        "--dump-tensors", "DIR", dump_,
        "write every tensor that a step computes as DIR/NAME.npy, and index.json with their order; DIR is made "
        "where it is missing",
        File::folder);
    options.value("--expect", "DIR|F.npz", expect_,
                  "compare the tensors with your own of the same names, and name the first that leaves the tolerance",
                  File::read);
    options.value("--tolerance", "T", tolerance_,
                  "of --expect: how far floats may differ, of the tensor's largest (default 0.0001)");
    options.value("--tolerance-steps", "N", tolerance_steps_, "of --expect: how far integers may differ (default 0)");
    options.flag("--check", check_, "compare every tensor with the reference and name the first that differs");
    options.flag("--trust", trust_, kTrustHelp);
    options.footer(
        "Names are matched, and output files named, after replacing every character outside A-Za-z0-9_.- by _.\n"
        "Code is loaded only from files named .dvt. A bundle of accelerator and interpreter steps alone holds no "
        "machine "
        "code; one that does needs --trust,\n"
        "unless `dovetail compile` of the same user wrote it (docs/reference/trust-and-limits.md).\n"
        "Example: dovetail run examples/digits/digits_int8.onnx --target accel --hw 1x16x16-ext --check --output-dir "
        "out");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    WatchedWork watched(limit);
    DOVETAIL_ASSIGN(const std::uint64_t seed, parse_address("--seed", seed_));
    DOVETAIL_ASSIGN(const std::int64_t repeat, parse_count("--repeat", repeat_, 1, 1'000'000));
    DOVETAIL_ASSIGN(const explore::EnergyTable energy, energy_.table());
    runtime::ExecutorOptions executor_options;
    executor_options.work = watched.work();
    if (threads_) {
      DOVETAIL_ASSIGN(const std::int64_t threads, parse_count("--threads", *threads_, 1, 1024));
      executor_options.threads = static_cast<int>(threads);
    }
    DOVETAIL_ASSIGN(const dovetail::Tolerance tolerance, parse_tolerance());
    std::map<std::string, NdArray> expected;
    if (expect_) {
      DOVETAIL_ASSIGN(expected, read_expected(*expect_));
    }
    bundle::Bundle loaded;
    std::optional<CompiledModel> model;
    DOVETAIL_ASSIGN(const bool is_bundle, is_bundle_file(model_.model));
    DOVETAIL_TRY(model_.system.check_engine(engine_, !is_bundle));
    if (is_bundle) {
      DOVETAIL_ASSIGN(loaded, load_bundle());
    }
    DOVETAIL_ASSIGN(const System system, is_bundle ? system_of(model_, loaded) : system_of(model_));
    DOVETAIL_ASSIGN(simulator::EngineOptions engine_options, clock_.engine_options(engine_, system));
    engine_options.work = watched.work();
    DOVETAIL_ASSIGN(const auto make_simulator, runtime::simulator_factory(engine_, engine_options));
    if (!is_bundle) {
      CompileOptions options;
      options.expose_all = check_ || dump_ || expect_;
      model_.threads = executor_options.threads;
      model_.cache &= !check_;  // which compares with graphs that the cache does not hold
      DOVETAIL_ASSIGN(CompileOutcome outcome, compile_model(model_, std::move(options)));
      if (!outcome.model) return fail(Exit::failed, outcome.failure);
      model = std::move(outcome.model);
      loaded = model->compiled.bundle;
    }
    if (check_ && !loaded.other_shapes.empty())
      return Diagnostic{"bad usage of `dovetail run`", model_.model,
                        "--check compares a program with its own graph, and --shape asks for several programs",
                        "give one shape at a time"};
    if (output_dir_) {
      std::vector<std::string> outputs;
      for (const bundle::TensorIndex index : loaded.outputs)
        outputs.push_back(loaded.tensors[static_cast<std::size_t>(index)].name);
      DOVETAIL_ASSIGN(const auto files, output_files(*output_dir_, outputs));
      DOVETAIL_TRY(files_->check("--output-dir", files));
    }
    DOVETAIL_ASSIGN(const auto preprocess, preprocess_.resolve(loaded));
    DOVETAIL_ASSIGN(const RunInputs inputs, gather_inputs(loaded, inputs_, seed, Rows::many, preprocess));
    DOVETAIL_ASSIGN(const Samples samples, Samples::make(program_for(loaded, inputs.tensors), inputs.tensors));
    if (check_ && samples.runs() > 1)
      return Diagnostic{"bad usage of `dovetail run`", "--check",
                        fmt::format("it compares one run with the reference, the inputs are for {}", samples.runs()),
                        "give one batch"};
    if (repeat > 1 && samples.runs() > 1)
      return Diagnostic{"bad usage of `dovetail run`", "--repeat",
                        fmt::format("it repeats one run, the inputs are for {}", samples.runs()), "give one batch"};
    DOVETAIL_ASSIGN(auto executor, runtime::Executor::make(std::move(loaded), make_simulator, executor_options));
    runtime::RunOptions options;
    options.keep_tensors = check_ || dump_ || expect_;
    std::atomic<std::int64_t> done{0};
    if (const std::int64_t runs = std::max(repeat, samples.runs()); runs > 1) watched.show({"runs", runs, &done});
    watched.begin();
    std::vector<double> latencies;
    const auto add_latency = [&](const runtime::RunResult& run) {
      if (const Latency latency = latency_of(step_times(run, system)); latency.complete)
        latencies.push_back(latency.seconds());
    };
    for (; done < repeat - 1; ++done) {
      const auto before = executor.run(samples.inputs(0), {.copy_outputs = false});
      if (!before.ok()) return fail(Exit::failed, before.errors());
      add_latency(*before);
    }
    auto result = executor.run(samples.inputs(0), options);
    if (!result.ok()) return fail(Exit::failed, result.errors());
    add_latency(*result);
    std::vector<KeptTensor> kept;
    if (dump_ || expect_) kept = kept_tensors(executor.program(), *result);
    std::map<std::string, NdArray> outputs;
    {
      const auto failed = run_others(executor, samples, options, *result, done, outputs, kept);
      if (!failed.ok()) return fail(Exit::failed, failed.errors());
    }
    if (check_) add_logical_tensors(executor.bundle(), model->compiled.integer, *result);

    RunFacts facts{model_.model, engine_, &executor.program(), model ? &*model : nullptr,
                   &*result,     {},      inputs.announcements};
    facts.system = system;
    facts.latencies = std::move(latencies);
    facts.runs = samples.runs();
    facts.samples = samples.rows();
    facts.outputs = std::move(outputs);
    facts.all_tensors = model && (check_ || dump_ || expect_);
    if (expect_) {
      DOVETAIL_ASSIGN(facts.expectation, compare(expected, kept, tolerance));
    }
    auto timed = timed_programs(executor.program(), *result, engine_options, report_ || json_ || clock_.html);
    if (!timed.ok()) return fail(Exit::failed, timed.errors());
    facts.timed = *std::move(timed);
    DOVETAIL_ASSIGN(facts.energy, energy_facts(executor.program(), result->steps, system, energy));
    if (check_) {
      const double tolerance =
          std::max(rounds_freely(executor.program()) ? kMachineCodeTolerance : 0, model->compiled.tolerance);
      auto check = check_against_reference(model->compiled.integer, inputs.tensors, *result, tolerance, watched.work());
      if (!check.ok()) return fail(Exit::failed, check.errors());
      facts.check = *std::move(check);
    }
    watched.finish();
    DOVETAIL_TRY(write_traces(clock_, model_.model, facts.timed, system, latency_of(step_times(*result, system)),
                              energy_json(facts.energy)));
    print("{}{}", run_text(facts), clock_.written(facts.timed.size()));
    if (report_) DOVETAIL_TRY(write_result_text(*report_, json_text(run_json(facts))));
    if (json_) print_json(run_json(facts));
    if (output_dir_) {
      DOVETAIL_ASSIGN(const auto paths, write_outputs(*output_dir_, facts.outputs));
      for (const std::string& path : paths) print("written       {}\n", path);
    }
    if (dump_) {
      DOVETAIL_TRY(write_tensors(*dump_, kept));
      print("tensors       {} written to {}\n", kept.size(), *dump_);
    }
    if (facts.expectation)
      if (const ComparedTensor* first = facts.expectation->first())
        return fail(
            Exit::failed,
            {{"the run leaves the expectation", fmt::format("tensor {}, step {}", first->name, first->step), first->why,
              "tensors before it are within the tolerance; --tolerance and --tolerance-steps widen it"}});
    if (facts.check && facts.check->different > 0) return fail(Exit::failed, facts.check->first);
    return Exit::success;
  }

 private:
  // Machine code of the CPU and libraries do not keep the order in which the reference adds floats; a kernel for GPUs
  // says whether it does.
  static bool rounds_freely(const bundle::Bundle& bundle) {
    const auto step_does = [](const bundle::Step& step) {
      if (step.target == bundle::kCudaTarget) {
        const auto code = bundle::decode_cuda(step);
        return !code || code->rounds_freely;
      }
      return step.target == bundle::kCpuTarget || step.target == bundle::kOnednnTarget ||
             step.target == bundle::kCublasTarget || step.target == bundle::kCudnnTarget;
    };
    return std::ranges::any_of(bundle::all_programs(bundle), [&](const bundle::Bundle* program) {
      return std::ranges::any_of(program->steps, step_does);
    });
  }
  Result<dovetail::Tolerance> parse_tolerance() const {
    if (!expect_ && (tolerance_ || tolerance_steps_))
      return Diagnostic{"bad usage of `dovetail run`", tolerance_ ? "--tolerance" : "--tolerance-steps",
                        "there is nothing to compare with", "add --expect DIR or --expect F.npz"};
    dovetail::Tolerance tolerance{kMachineCodeTolerance, 0};
    if (tolerance_) {
      const char* const end = tolerance_->data() + tolerance_->size();
      const auto [behind, error] = std::from_chars(tolerance_->data(), end, tolerance.floating);
      if (error != std::errc{} || behind != end || !(tolerance.floating >= 0 && tolerance.floating < 1e9))
        return Diagnostic{"bad value of --tolerance", *tolerance_, "it is no number from 0 on", "write 0.01, say"};
    }
    if (tolerance_steps_) {
      DOVETAIL_ASSIGN(tolerance.integer, parse_count("--tolerance-steps", *tolerance_steps_, 0, 1 << 30));
    }
    return tolerance;
  }

  // Runs the samples behind the first batch; stacks the outputs, and the tensors that are kept.
  static Result<void> run_others(runtime::Executor& executor, const Samples& samples,
                                 const runtime::RunOptions& options, const runtime::RunResult& first,
                                 std::atomic<std::int64_t>& done, std::map<std::string, NdArray>& outputs,
                                 std::vector<KeptTensor>& kept) {
    outputs = first.outputs;
    if (samples.runs() == 1) return {};
    std::map<std::string, std::vector<NdArray>> results;
    std::vector<std::vector<NdArray>> tensors;
    for (const auto& [name, array] : first.outputs) results[name].push_back(array);
    for (const KeptTensor& tensor : kept) tensors.push_back({tensor.array});
    for (std::int64_t run = 1; run < samples.runs(); ++run) {
      done = run;
      DOVETAIL_ASSIGN(const runtime::RunResult result, executor.run(samples.inputs(run), options));
      for (const auto& [name, array] : result.outputs) results[name].push_back(array);
      if (kept.empty()) continue;
      const std::vector<KeptTensor> of_run = kept_tensors(executor.program(), result);
      for (std::size_t t = 0; t < kept.size(); ++t) tensors[t].push_back(of_run[t].array);
    }
    for (auto& [name, arrays] : results) outputs[name] = samples.stacked(arrays);
    for (std::size_t t = 0; t < kept.size(); ++t) kept[t].array = samples.stacked(tensors[t]);
    return {};
  }

  // Each step runs on one of the targets, but for what these leave to the CPU and to the host, which may be all.
  Result<void> check_targets(const bundle::Bundle& loaded, const std::vector<std::string>& targets) const {
    std::set<std::string> missing;
    for (const bundle::Bundle* program : bundle::all_programs(loaded))
      for (const bundle::Step& step : program->steps)
        if (step.target != bundle::kCpuTarget && step.target != bundle::kHostTarget &&
            step.target != bundle::kFlowTarget)
          missing.insert(step.target);
    for (const std::string& target : targets) missing.erase(target);
    if (missing.empty()) return {};
    const std::string others = fmt::format("{}", fmt::join(missing, " and "));
    return Diagnostic{"cannot run bundle", model_.model,
                      fmt::format("it was compiled for {}, --target is {}", others, *model_.targets),
                      fmt::format("add {}, or compile it again", others)};
  }

  // Options that a bundle has settled are not ignored: they are compared with it, or refused.
  Result<bundle::Bundle> load_bundle() const {
    std::vector<std::string> refused = model_.compile_only_options();
    if (check_) refused.emplace_back("--check");
    if (!refused.empty())
      return Diagnostic{"bad usage of `dovetail run`", model_.model,
                        fmt::format("{} needs a model, this is a bundle", fmt::join(refused, ", ")),
                        "run the .onnx file it was made from"};
    DOVETAIL_ASSIGN(bundle::Bundle loaded, read_bundle_to_run(model_.model, trust_));
    if (model_.targets) {
      DOVETAIL_ASSIGN(const std::vector<std::string> targets, parse_targets("--target", *model_.targets));
      DOVETAIL_TRY(check_targets(loaded, targets));
    }
    if (model_.hardware)
      for (const bundle::Bundle* program : bundle::all_programs(loaded)) DOVETAIL_TRY(check_hardware(*program));
    return loaded;
  }
  Result<void> check_hardware(const bundle::Bundle& program) const {
    DOVETAIL_ASSIGN(const auto accelerated, bundle::accel_steps(program));
    for (const auto& [index, step, code] : accelerated) {
      DOVETAIL_ASSIGN(const auto config, isa::load_config(*model_.hardware));
      isa::HardwareConfig named = code.config;
      named.name = config.name;  // a name is no difference
      if (named != config)
        return Diagnostic{
            "cannot run bundle", model_.model,
            fmt::format("it was compiled for {}; --hw is {}", config_text(code.config), config_text(config)),
            "drop --hw, or compile it again"};
    }
    return {};
  }

  ModelArguments model_;
  ClockArguments clock_;
  EnergyArguments energy_;
  LimitArguments limit_;
  PreprocessArguments preprocess_;
  std::shared_ptr<const NamedFiles> files_;
  std::string engine_ = "functional", seed_ = "1", repeat_ = "1";
  std::vector<std::string> inputs_;
  std::optional<std::string> output_dir_, report_, threads_, dump_, expect_, tolerance_, tolerance_steps_;
  bool check_ = false, trust_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run() { return std::make_unique<Run>(); }

}  // namespace dovetail::cli
