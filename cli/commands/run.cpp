#include <algorithm>
#include <atomic>
#include <charconv>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/difference.h"
#include "cli/commands/all.h"
#include "cli/report/energy_text.h"
#include "cli/report/run_report.h"
#include "cli/report/timing_text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/board_arguments.h"
#include "cli/shell/clock_arguments.h"
#include "cli/shell/energy_arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/preprocess_arguments.h"
#include "cli/shell/session_arguments.h"
#include "cli/shell/standard_streams.h"
#include "cli/shell/watched_work.h"
#include "driver/bundle_file.h"
#include "driver/compile_model.h"
#include "driver/expectation.h"
#include "driver/kept_tensors.h"
#include "driver/run.h"
#include "driver/samples.h"
#include "driver/system.h"
#include "driver/tensor_files.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

class Run : public Command {
 public:
  void declare(Options& options) override {
    options.positional("MODEL.onnx|OUT.dvt", session_.model.model, fmt::format("{}; or a bundle", kModelHelp),
                       Need::optional, File::read);
    session_.model.declare(options);
    session_.model.declare_cache(options);
    files_ = options.files();
    options.value("--engine", "ENGINE", session_.engine,
                  "engine that runs the accelerator's programs (default functional)");
    options.values("--input", "NAME=FILE", inputs_,
                   "a .npy file, ONNX TensorProto .pb, picture, or a folder of these, of one batch or of many "
                   "samples; without it seeded random values; repeatable",
                   File::read);
    preprocess_.declare(options);
    options.value("--threads", "N", session_.threads, "threads that run CPU kernels (default: one per processor)");
    options.value("--seed", "N", session_.seed, "seed of the random inputs (default 1)");
    options.value(
        "--repeat", "N", repeat_,
        "number of runs; reports the least and the median latency; outputs, steps and --check are those of the "
        "last run (default 1)");
    options.value("--output-dir", "DIR", output_dir_, "write every output as DIR/NAME.npy; a missing DIR is created",
                  File::folder);
    clock_.declare(options);
    energy_.declare(options);
    limit_.declare(options);
    options.value("--report", "R.json", report_,
                  "write the report as JSON; with an engine that has a clock, also the latency on other hardware",
                  File::written_text);
    options.flag("--details", details_, kDetailsHelp);
    board_.declare(options, false);
    options.json(json_);
    options.value(
        "--dump-tensors", "DIR", dump_,
        "write every tensor that a step computes as DIR/NAME.npy, and index.json with their order; a missing DIR "
        "is created",
        File::folder);
    options.value(
        "--expect", "DIR|F.npz", expect_,
        "compare the tensors with those of the same names in these files, and name the first outside the tolerance",
        File::read);
    options.value("--tolerance", "T", tolerance_,
                  "for --expect: how far floats may differ, relative to the tensor's largest (default 0.0001)");
    options.value("--tolerance-steps", "N", tolerance_steps_, "for --expect: how far integers may differ (default 0)");
    options.flag("--check", check_, "compare every tensor with the reference and name the first that differs");
    options.flag("--trust", session_.trust, kTrustHelp);
    options.footer(
        "Names are matched, and output files named, after replacing every character outside A-Za-z0-9_.- by _.\n"
        "Code is loaded only from files named .dvt. A bundle with only accelerator and interpreter steps holds "
        "no machine code; any other bundle needs --trust,\n"
        "unless `dovetail compile` of the same user wrote it (docs/reference/trust-and-limits.md).\n"
        "Example: dovetail run examples/digits/digits_int8.onnx --target accel --hw 1x16x16-ext --check --output-dir "
        "out");
  }

  const BoardArguments* board() const override { return &board_; }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    std::atomic<std::int64_t> done{0};  // outlives the progress display
    WatchedWork watched(limit);
    DOVETAIL_ASSIGN(driver::Session session, open_session(watched.work()));
    DOVETAIL_ASSIGN(const std::int64_t repeat, parse_count("--repeat", repeat_, 1, 1'000'000));
    DOVETAIL_ASSIGN(const explore::EnergyTable energy, energy_.table(session_.model.system.technology));
    DOVETAIL_ASSIGN(const dovetail::Tolerance tolerance, parse_tolerance());
    std::map<std::string, NdArray> expected;
    if (expect_) {
      DOVETAIL_ASSIGN(expected, driver::read_expected(*expect_));
    }
    const bool lists_tensors = dump_ || expect_;
    CompileOptions compile;
    compile.expose_all = check_ || lists_tensors;
    DOVETAIL_TRY(compile_shown(session, std::move(compile)));
    DOVETAIL_TRY(check_output_files(session.bundle()));
    DOVETAIL_ASSIGN(const auto preprocess, preprocess_.resolve(session.bundle()));
    DOVETAIL_ASSIGN(const auto files, parse_assignments("--input", inputs_));
    DOVETAIL_ASSIGN(const driver::RunInputs inputs, session.inputs(files, driver::Rows::many, preprocess));
    DOVETAIL_ASSIGN(const driver::Samples samples,
                    driver::Samples::make(driver::program_for(session.bundle(), inputs.tensors), inputs.tensors));
    DOVETAIL_TRY(check_one_run(session.bundle(), samples, repeat));

    DOVETAIL_TRY(session.make_ready());
    if (const std::int64_t runs = std::max(repeat, samples.runs()); runs > 1) watched.show({"runs", runs, &done});
    watched.begin();
    DOVETAIL_ASSIGN(driver::SampleRuns runs, run_samples(session, samples, {repeat, check_, lists_tensors, &done}));
    RunFacts facts{.session = session, .run = runs.first, .inputs = inputs.announcements};
    facts.runs = samples.runs();
    facts.samples = samples.rows();
    facts.all_tensors = !session.is_bundle() && (check_ || lists_tensors);
    if (expect_) {
      DOVETAIL_ASSIGN(facts.expectation, driver::compare(expected, runs.kept, tolerance));
    }
    DOVETAIL_ASSIGN(facts.timed, session.timed_programs(runs.first, report_ || json_ || clock_.html));
    DOVETAIL_ASSIGN(facts.energy, energy_facts(session.program(), runs.first.steps, session.system(), energy));
    if (check_) {
      DOVETAIL_ASSIGN(facts.check, session.check(inputs.tensors, runs.first));
    }
    watched.finish();
    facts.outputs = std::move(runs.outputs);
    facts.latencies = std::move(runs.latencies);
    return report(facts, runs.kept);
  }

 private:
  // Options that a bundle already determines are not ignored: they must agree with the bundle, or are an error.
  Result<driver::Session> open_session(Work* work) const {
    DOVETAIL_ASSIGN(driver::SessionOptions options, session_.parse());
    options.work = work;
    options.model.cache &= !check_;  // --check compares with graphs that the cache does not hold
    DOVETAIL_ASSIGN(options.engine_options, clock_.engine_options(session_.engine));
    const driver::ModelOptions model = options.model;
    DOVETAIL_ASSIGN(const bool is_bundle, driver::is_bundle_file(model.path));
    std::vector<std::string> refused = session_.model.compile_only_options();
    if (check_) refused.emplace_back("--check");
    if (is_bundle && !refused.empty())
      return Diagnostic{"bad usage of `dovetail run`", model.path,
                        fmt::format("{} needs a model, but this is a bundle", fmt::join(refused, ", ")),
                        "run the .onnx file that the bundle was made from"};
    DOVETAIL_ASSIGN(driver::Session session, driver::Session::open(std::move(options)));
    if (!is_bundle) return session;
    if (!model.targets.empty())
      DOVETAIL_TRY(driver::check_made_for_targets(session.bundle(), model.path, model.targets));
    if (model.hardware) DOVETAIL_TRY(driver::check_made_for_hardware(session.bundle(), model.path, *model.hardware));
    return session;
  }

  Result<void> check_output_files(const bundle::Bundle& bundle) const {
    if (!output_dir_) return {};
    std::vector<std::string> outputs;
    for (const bundle::TensorIndex index : bundle.outputs)
      outputs.push_back(bundle.tensors[static_cast<std::size_t>(index)].name);
    DOVETAIL_ASSIGN(const auto files, driver::output_files(*output_dir_, outputs));
    return files_->check("--output-dir", files);
  }

  // Error: an option that examines one run was given for several runs.
  Result<void> check_one_run(const bundle::Bundle& bundle, const driver::Samples& samples, std::int64_t repeat) const {
    const auto bad = [](std::string where, std::string why, std::string hint) {
      return Diagnostic{"bad usage of `dovetail run`", std::move(where), std::move(why), std::move(hint)};
    };
    if (check_ && !bundle.other_shapes.empty())
      return bad(session_.model.model,
                 "--check compares a program with its own graph, but --shape gives several shapes",
                 "give one shape at a time");
    if (check_ && samples.runs() > 1)
      return bad(
          "--check",
          fmt::format("the option compares one run with the reference, but the inputs are for {} runs", samples.runs()),
          "give inputs for one run");
    if (repeat > 1 && samples.runs() > 1)
      return bad("--repeat", fmt::format("the option repeats one run, but the inputs are for {} runs", samples.runs()),
                 "give inputs for one run");
    return {};
  }

  Result<Exit> report(const RunFacts& facts, const std::vector<driver::KeptTensor>& kept) const {
    const driver::System& system = facts.session.system();
    DOVETAIL_TRY(write_traces(clock_, session_.model.title(), facts.timed, system,
                              latency_of(step_times(facts.run, system)), energy_json(facts.energy)));
    print("{}{}", run_text(facts, amount_of(details_)), clock_.written(facts.timed.size()));
    if (report_) DOVETAIL_TRY(write_result_text(*report_, report_text(run_json(facts))));
    if (json_) print_json(run_json(facts));
    if (output_dir_) {
      DOVETAIL_ASSIGN(const auto paths, driver::write_outputs(*output_dir_, facts.outputs));
      for (const std::string& path : paths) print("written       {}\n", path);
    }
    if (dump_) {
      DOVETAIL_TRY(driver::write_tensors(*dump_, kept));
      print("tensors       {} written to {}\n", kept.size(), *dump_);
    }
    if (facts.expectation)
      if (const driver::ComparedTensor* first = facts.expectation->first())
        return fail(
            Exit::failed,
            {{"the run differs from the expected tensors", fmt::format("tensor {}, step {}", first->name, first->step),
              first->why, "all earlier tensors are within the tolerance; --tolerance and --tolerance-steps widen it"}});
    if (facts.check && facts.check->different > 0) return fail(Exit::failed, facts.check->first);
    return Exit::success;
  }

  Result<dovetail::Tolerance> parse_tolerance() const {
    if (!expect_ && (tolerance_ || tolerance_steps_))
      return Diagnostic{"bad usage of `dovetail run`", tolerance_ ? "--tolerance" : "--tolerance-steps",
                        "there is nothing to compare with", "add --expect DIR or --expect F.npz"};
    dovetail::Tolerance tolerance{kMachineCodeTolerance, 0};
    if (tolerance_) {
      const char* const end = tolerance_->data() + tolerance_->size();
      const auto [rest, error] = std::from_chars(tolerance_->data(), end, tolerance.floating);
      if (error != std::errc{} || rest != end || !(tolerance.floating >= 0 && tolerance.floating < 1e9))
        return Diagnostic{"invalid value for --tolerance", *tolerance_,
                          "the value must be a number from 0 to below 1e9", "write for example 0.01"};
    }
    if (tolerance_steps_) {
      DOVETAIL_ASSIGN(tolerance.integer, parse_count("--tolerance-steps", *tolerance_steps_, 0, 1 << 30));
    }
    return tolerance;
  }

  BoardArguments board_;
  SessionArguments session_{.engine = "functional"};
  ClockArguments clock_;
  EnergyArguments energy_;
  LimitArguments limit_;
  PreprocessArguments preprocess_;
  std::shared_ptr<const NamedFiles> files_;
  std::string repeat_ = "1";
  std::vector<std::string> inputs_;
  std::optional<std::string> output_dir_, report_, dump_, expect_, tolerance_, tolerance_steps_;
  bool check_ = false, details_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run() { return std::make_unique<Run>(); }

}  // namespace dovetail::cli
