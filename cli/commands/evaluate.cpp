#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "cli/commands/all.h"
#include "cli/report/evaluation_text.h"
#include "cli/report/latency_text.h"
#include "cli/report/work_shares_text.h"
#include "cli/shell/board_arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/preprocess_arguments.h"
#include "cli/shell/session_arguments.h"
#include "cli/shell/standard_streams.h"
#include "cli/shell/watched_work.h"
#include "driver/evaluation.h"
#include "driver/metrics/metric.h"
#include "driver/preprocess.h"
#include "driver/sample_files.h"
#include "driver/samples.h"
#include "driver/system.h"
#include "driver/targets.h"
#include "driver/tensor_files.h"
#include "driver/value_text.h"
#include "driver/work_shares.h"

namespace dovetail::cli {

namespace {

class Evaluate : public Command {
 public:
  void declare(Options& options) override {
    options.positional("MODEL.onnx|OUT.dvt", session_.model.model, fmt::format("{}; or a bundle", kModelHelp),
                       Need::optional, File::read);
    session_.model.declare(options);
    options.value("--inputs", "FILE", inputs_,
                  "the samples: .npy of the only input, .npz by the names of the inputs, or a folder of these or of "
                  "pictures, in the order of their names",
                  Need::required, File::read);
    preprocess_.declare(options);
    options.value("--labels", "Y.npy", labels_,
                  "what the outputs should be, for --metric: classes, masks, numbers, ...", File::read);
    options.value("--metric", "METRIC", metric_,
                  "what is measured with --labels, with options as in iou:ignore=255 (docs/howto/own-data.md): " +
                      metrics_help());
    options.value("--output", "NAME", output_, "the output that is measured (default: the only one)");
    options.value("--against", "MODEL|BUNDLE", against_,
                  "another model to run on the same samples: reports agreement and difference", File::read);
    options
        .value("--against-target", "LIST", against_targets_,
               "targets of the model of --against (default --target); without --against: compare with the same model "
               "on these targets")
        .list(driver::target_names());
    options.value("--engine", "ENGINE", session_.engine,
                  "engine that runs the accelerator's programs (default functional)");
    options.value("--threads", "N", session_.threads,
                  "threads that run samples in parallel (default: one per processor)");
    options.value("--output-dir", "DIR", output_dir_,
                  "write every output, of all samples, as DIR/NAME.npy; a missing DIR is "
                  "missing",
                  File::folder);
    limit_.declare(options);
    options.value("--report", "R.json", report_, "write the report as JSON", File::written_text);
    board_.declare(options, false);
    options.json(json_);
    options.flag("--trust", session_.trust, kTrustHelp);
    options.footer(
        "Samples are along the first axis; a model of batch size B runs B at a time, and the last batch is filled up.\n"
        "Example: dovetail evaluate examples/digits/digits_int8.onnx --target accel,cpu --inputs "
        "examples/digits/test_images.npy "
        "--labels examples/digits/test_labels.npy --against examples/digits/digits_float.onnx --against-target cpu");
  }

  const BoardArguments* board() const override { return &board_; }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    WatchedWork watched(limit);
    DOVETAIL_ASSIGN(const std::optional<int> given_threads, session_.thread_count());
    const int threads = given_threads.value_or(runtime::default_threads());
    DOVETAIL_ASSIGN(const driver::Metric metric, driver::parse_metric(metric_.value_or("accuracy")));
    if (metric_ && !labels_)
      return Diagnostic{"bad usage of `dovetail evaluate`", "--metric", "the metric needs labels",
                        "give --labels Y.npy"};
    std::optional<NdArray> labels;
    if (labels_) {
      DOVETAIL_ASSIGN(labels, driver::read_tensor(*labels_));
    }
    DOVETAIL_ASSIGN(const driver::Session own, prepare(session_, watched.work()));
    std::optional<driver::Session> other;
    if (against_ || against_targets_) {
      DOVETAIL_ASSIGN(other, prepare(compared_with(), watched.work()));
    }
    Json json{{"kind", "evaluate"}, {"file", session_.model.title()}, {"engine", session_.engine}};
    DOVETAIL_ASSIGN(const driver::Evaluated evaluated,
                    evaluate_one("", own, session_, {}, metric, labels, threads, watched, json));
    if (other) {
      json["against"] = {{"file", compared_with().model.title()}, {"targets", targets_text(compared_with())}};
      DOVETAIL_ASSIGN(const auto as_own, driver::preprocess_of(own.bundle()));
      Json of_other;
      DOVETAIL_ASSIGN(const driver::Evaluated compared, evaluate_one("\nagainst\n", *other, compared_with(), as_own,
                                                                     metric, labels, threads, watched, of_other));
      for (const char* key : {"accuracy", "metric"})
        if (of_other.contains(key)) json["against"][key] = of_other[key];
      DOVETAIL_ASSIGN(const auto agreement, driver::sample_agreement_of(evaluated.outputs, compared.outputs));
      print("\n{}", agreement_text(agreement));
      json["agreement"] = agreement_json(agreement);
    }
    if (report_) DOVETAIL_TRY(write_result_text(*report_, report_text(json)));
    if (json_) print_json(json);
    if (output_dir_) {
      DOVETAIL_ASSIGN(const auto paths, driver::write_outputs(*output_dir_, evaluated.outputs));
      for (const std::string& path : paths) print("written       {}\n", path);
    }
    return Exit::success;
  }

 private:
  SessionArguments compared_with() const {
    SessionArguments arguments = session_;
    if (against_) arguments.model.model = *against_;
    if (against_targets_) arguments.model.targets = against_targets_;
    return arguments;
  }
  static std::string targets_text(const SessionArguments& arguments) {
    return arguments.model.targets.value_or("the bundle's");
  }

  static Result<driver::Session> prepare(const SessionArguments& arguments, Work* work) {
    DOVETAIL_ASSIGN(driver::SessionOptions options, arguments.parse());
    options.work = work;
    options.model.threads = 0;  // --threads counts threads that run samples
    DOVETAIL_ASSIGN(driver::Session session, driver::Session::open(std::move(options)));
    DOVETAIL_TRY(compile_shown(session));
    if (!session.bundle().other_shapes.empty())
      return Diagnostic{"cannot evaluate", arguments.model.model, "the bundle has programs for several shapes",
                        "give one shape at a time"};
    return session;
  }

  // `otherwise`: the preprocessing of pictures that neither the command line nor the model defines.
  Result<driver::Samples> samples_for(const bundle::Bundle& bundle,
                                      const std::optional<driver::Preprocess>& otherwise) const {
    DOVETAIL_ASSIGN(std::optional<driver::Preprocess> preprocess, preprocess_.resolve(bundle));
    if (!preprocess) preprocess = otherwise;
    DOVETAIL_ASSIGN(auto tensors, driver::read_samples("--inputs", inputs_, bundle, preprocess));
    return driver::Samples::make(bundle, std::move(tensors));
  }

  // Prints the results, below `title`, and adds them to `json`.
  Result<driver::Evaluated> evaluate_one(std::string_view title, const driver::Session& session,
                                         const SessionArguments& arguments,
                                         const std::optional<driver::Preprocess>& otherwise,
                                         const driver::Metric& metric, const std::optional<NdArray>& labels,
                                         int threads, WatchedWork& watched, Json& json) const {
    DOVETAIL_ASSIGN(const driver::Samples samples, samples_for(session.bundle(), otherwise));
    std::atomic<std::int64_t> done{0};
    watched.show({"runs", samples.runs(), &done});
    watched.begin();
    auto outcome = driver::evaluate(session, samples, threads, done);
    watched.finish();
    DOVETAIL_ASSIGN(driver::Evaluated evaluated, std::move(outcome));
    print("{}evaluated     {} on {}, engine {}\n{}{}", title, arguments.model.title(), targets_text(arguments),
          arguments.engine, of_model_text(session), time_text(session.system(), samples, evaluated, threads));
    json["samples"] = samples.rows();
    json["seconds"] = evaluated.seconds;
    if (evaluated.cycles) json["cycles"] = *evaluated.cycles;
    if (labels) {
      DOVETAIL_ASSIGN(const auto figures, driver::measure(metric, {evaluated.outputs, *labels, output_}));
      print("{}", figures_text(figures));
      json["metric"] = metric_json(metric, figures);
      if (metric.name == "accuracy") json["accuracy"] = accuracy_json(figures);
    }
    return evaluated;
  }

  static std::string metrics_help() {
    std::vector<std::string> rows;
    for (const driver::MetricKind& kind : driver::metric_kinds())
      rows.push_back(fmt::format("{}: {}", kind.name, kind.summary));
    return fmt::format("{} (default accuracy)", fmt::join(rows, "; "));
  }

  static std::string of_model_text(const driver::Session& session) {
    if (session.model() == nullptr) return {};
    const Compiled& compiled = session.model()->compiled;
    return macs_text(compiled.summary) +
           left_text(driver::left_accelerator(compiled.placement, compiled.summary, session.model()->targets));
  }

  static std::string time_text(const driver::System& system, const driver::Samples& samples,
                               const driver::Evaluated& evaluated, int threads) {
    std::string text = fmt::format(
        "samples       {} in {} runs on {} threads, {}\n", with_separators(static_cast<std::uint64_t>(samples.rows())),
        with_separators(static_cast<std::uint64_t>(samples.runs())),
        std::clamp<std::int64_t>(threads, 1, samples.runs()), driver::seconds_text(evaluated.seconds));
    if (evaluated.cycles)
      text +=
          fmt::format("of a run      {} on the accelerator\n",
                      cycles_text(*evaluated.cycles / static_cast<std::uint64_t>(samples.runs()), system.clock_mhz));
    return text;
  }

  BoardArguments board_;
  SessionArguments session_{.engine = "functional"};
  LimitArguments limit_;
  PreprocessArguments preprocess_;
  std::string inputs_;
  std::optional<std::string> labels_, metric_, output_, against_, against_targets_, output_dir_, report_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_evaluate() { return std::make_unique<Evaluate>(); }

}  // namespace dovetail::cli
