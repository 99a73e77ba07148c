#include <atomic>
#include <optional>

#include <fmt/format.h>

#include "cli/commands/all.h"
#include "cli/report/energy_text.h"
#include "cli/report/profile_report.h"
#include "cli/report/timing_text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/board_arguments.h"
#include "cli/shell/clock_arguments.h"
#include "cli/shell/energy_arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/session_arguments.h"
#include "cli/shell/standard_streams.h"
#include "cli/shell/watched_work.h"
#include "driver/bundle_file.h"
#include "driver/profile.h"
#include "driver/tensor_files.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

class Profile : public Command {
 public:
  void declare(Options& options) override {
    options.positional("MODEL.onnx|OUT.dvt", session_.model.model, fmt::format("{}; or a bundle", kModelHelp),
                       Need::optional, File::read);
    session_.model.declare(options);
    session_.model.declare_cache(options);
    options.value("--engine", "ENGINE", session_.engine,
                  "engine that runs the accelerator's programs (default cycle, which reports where cycles are spent)");
    clock_.declare(options);
    energy_.declare(options);
    limit_.declare(options);
    options.value("--threads", "N", session_.threads, "threads that run CPU kernels (default: one per processor)");
    options.value("--repeat", "N", repeat_, "timed runs, after one run to warm up (default 10)");
    options.values("--input", "NAME=FILE", inputs_,
                   "a .npy file or ONNX TensorProto .pb; without it seeded random values; repeatable", File::read);
    options.value("--seed", "N", session_.seed, "seed of the random inputs (default 1)");
    options.value("--report", "R.json", report_, "write the profile as JSON", File::written_text);
    options.flag("--details", details_, kDetailsHelp);
    board_.declare(options, false);
    options.json(json_);
    options.flag("--trust", session_.trust, kTrustHelp);
    options.footer(
        "Times are medians. GOP/s count a multiply-add as two operations; the share of the peak is relative to the "
        "measured rate of\n"
        "multiply-adds on as many threads, in the kernel's type (float32 or int8). The accelerator's time is its "
        "cycles "
        "divided by the clock, next to the time of the simulator itself. Steps on a GPU are timed by its events, next "
        "to "
        "ceilings that are measured on it.\n"
        "Example: dovetail profile examples/digits/digits_float.onnx --target cpu --threads 1");
  }

  const BoardArguments* board() const override { return &board_; }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    std::atomic<std::int64_t> done{0};  // outlives the progress display
    WatchedWork watched(limit);
    DOVETAIL_ASSIGN(driver::Session session, open_session(watched.work()));
    DOVETAIL_ASSIGN(const std::int64_t repeat, parse_count("--repeat", repeat_, 1, 100000));
    DOVETAIL_ASSIGN(const explore::EnergyTable energy, energy_.table(session_.model.system.technology));
    DOVETAIL_TRY(compile_shown(session));
    DOVETAIL_ASSIGN(const auto files, parse_assignments("--input", inputs_));
    DOVETAIL_ASSIGN(const driver::RunInputs inputs, session.inputs(files));
    DOVETAIL_TRY(session.make_ready());
    watched.show({"runs", repeat + 1, &done});
    watched.begin();
    DOVETAIL_ASSIGN(const driver::Profile profile, driver::profile(session, inputs.tensors, {repeat, energy, &done}));
    watched.finish();
    DOVETAIL_TRY(write_traces(clock_, session_.model.title(), profile.timed, session.system(), profile.latency,
                              energy_json(profile.energy)));
    print("{}", profile_text(session, profile, amount_of(details_)));
    const Json report = report_ || json_ ? profile_json(session, profile) : Json();
    if (report_) DOVETAIL_TRY(write_result_text(*report_, report_text(report)));
    if (json_) print_json(report);
    return Exit::success;
  }

 private:
  Result<driver::Session> open_session(Work* work) const {
    DOVETAIL_ASSIGN(driver::SessionOptions options, session_.parse());
    options.work = work;
    DOVETAIL_ASSIGN(options.engine_options, clock_.engine_options(session_.engine));
    const ModelArguments& model = session_.model;
    DOVETAIL_ASSIGN(const bool is_bundle, driver::is_bundle_file(model.model));
    if (is_bundle && (model.targets || model.hardware || !model.compile_only_options().empty()))
      return Diagnostic{"bad usage of `dovetail profile`", model.model, "a bundle has its targets already",
                        "remove the compile options, or profile the .onnx file"};
    return driver::Session::open(std::move(options));
  }

  BoardArguments board_;
  SessionArguments session_{.engine = "cycle"};
  ClockArguments clock_;
  EnergyArguments energy_;
  LimitArguments limit_;
  std::string repeat_ = "10";
  std::vector<std::string> inputs_;
  std::optional<std::string> report_;
  bool details_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_profile() { return std::make_unique<Profile>(); }

}  // namespace dovetail::cli
