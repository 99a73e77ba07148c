#include <algorithm>
#include <atomic>
#include <ranges>

#include <fmt/format.h>

#include "cli/commands/all.h"
#include "cli/commands/compare_explain.h"
#include "cli/report/comparison_text.h"
#include "cli/report/explanation_text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/board_arguments.h"
#include "cli/shell/energy_arguments.h"
#include "cli/shell/model_arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "cli/shell/watched_work.h"
#include "driver/bundle_file.h"
#include "driver/compare_model.h"
#include "driver/comparison.h"
#include "driver/compile_model.h"
#include "driver/targets.h"

namespace dovetail::cli {

namespace {

class Compare : public Command {
 public:
  void declare(Options& options) override {
    options.positionals(
        "MODEL.onnx...", models_,
        fmt::format("{}; each runs on every target. With --explain also bundles and JSON of `dovetail profile`",
                    kModelHelp),
        File::read);
    model_.source.declare(options);
    options.flag("--explain", explain_,
                 "explain the difference of two runs, layer by layer, by causes: of one model on two configurations "
                 "(--hw A,B), or of two files");
    options
        .value("--target", "LIST", targets_,
               "targets to compare, a row each, for example accel,cpu,cuda (default accel,cpu)")
        .list(driver::target_names());
    options.values("--hw", "CONFIG", hardware_,
                   fmt::format("a configuration of the accelerator, or several with commas; repeatable, a row each "
                               "(default {})",
                               driver::kDefaultHardware));
    options.value("--threads", "N", threads_, "threads that run CPU kernels (default: one per processor)");
    options.value("--repeat", "N", repeat_, "timed runs on this machine (default: 5 to 200, for about two seconds)");
    options.values("--input", "NAME=FILE", inputs_,
                   "a .npy file or ONNX TensorProto .pb; without it seeded random values; repeatable", File::read);
    options.value("--seed", "N", seed_, "seed of the random inputs (default 1)");
    options.value("--cpu", "NAME", model_.cpu,
                  "processor class to generate code for: baseline, avx2, avx2-vnni, avx512, avx512-vnni, avx512-amx or "
                  "native (default)");
    options.values("--shape", "NAME=SHAPE", model_.shapes, "extent of a symbolic dimension, or shape of an input");
    options.value("--batch", "N,...", batches_,
                  "samples of a run, for inputs with a symbolic first extent; each number is one more comparison "
                  "(default 1)");
    options.value("-O", "N", model_.level, "optimization level (default 2)");
    options.value("--records", "DB", model_.records,
                  "use the best schedules that `dovetail tune` recorded in this database", File::read_by_name);
    model_.system.declare(options);
    energy_.declare(options);
    limit_.declare(options);
    options.flag("--details", details_, kDetailsHelp);
    board_.declare(options, false);
    options.json(json_, "print the comparison as JSON (docs/howto/comparing.md)");
    options.value("--html", "PAGE.html", html_, "write it as a page for a browser", File::written_text);
    options.footer(
        "The accelerator's latency is its cycles divided by its clock, plus the time of steps on other targets; a "
        "processor's "
        "is "
        "the median of repeated runs.\n"
        "Example: dovetail compare examples/digits/digits_int8.onnx --target accel,cpu,cuda --hw 1x16x16-ext,1x8x8\n"
        "Example: dovetail compare examples/digits/digits_int8.onnx --explain --hw 1x16x16-ext,1x16x16-g2");
  }

  const BoardArguments* board() const override { return &board_; }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    std::atomic<std::int64_t> rows_done{0};  // outlives the progress display
    WatchedWork watched(limit);
    DOVETAIL_ASSIGN(const std::vector<driver::ModelSource> sources, model_.source.of(models_, "compare"));
    driver::CompareOptions options;
    DOVETAIL_ASSIGN(options.inputs, parse_assignments("--input", inputs_));
    DOVETAIL_ASSIGN(options.targets, parse_compared_targets(targets_));
    options.hardware = hardware_.empty() ? std::vector<std::string>{std::string(driver::kDefaultHardware)}
                                         : split_configurations(hardware_);
    // A misspelled configuration is reported before anything runs.
    for (const std::string& hardware : options.hardware) {
      DOVETAIL_ASSIGN([[maybe_unused]] const isa::Machine machine, isa::load_machine(hardware));
    }
    DOVETAIL_ASSIGN(options.seed, parse_address("--seed", seed_));
    if (threads_) {
      DOVETAIL_ASSIGN(const std::int64_t threads, parse_count("--threads", *threads_, 1, 1024));
      options.threads = static_cast<int>(threads);
    }
    if (repeat_) {
      DOVETAIL_ASSIGN(options.repeat, parse_count("--repeat", *repeat_, 1, 100000));
    }
    DOVETAIL_ASSIGN(options.energy, energy_.table(model_.system.technology));
    options.work = watched.work();
    DOVETAIL_ASSIGN(const driver::ModelOptions model, model_.parse());
    std::vector<std::optional<std::int64_t>> batches{std::nullopt};
    if (batches_) {
      if (batches_->empty())
        return Diagnostic{"bad usage of `dovetail compare`", "--batch", "no number is given", "write --batch 1,8"};
      batches.clear();
      for (const auto part : std::views::split(std::string_view(*batches_), ',')) {
        constexpr std::int64_t kMostSamples = 65536;
        DOVETAIL_ASSIGN(const std::int64_t batch,
                        parse_count("--batch", std::string(part.begin(), part.end()), 1, kMostSamples));
        if (std::ranges::find(batches, std::optional(batch)) != batches.end())
          return Diagnostic{"bad usage of `dovetail compare`", "--batch " + *batches_,
                            fmt::format("{} is listed twice", batch), "list each number of samples once"};
        batches.emplace_back(batch);
      }
    }
    if (explain_ && batches_)
      return Diagnostic{"bad usage of `dovetail compare`", "--batch", "--explain compares two runs of one batch",
                        "leave out --batch; --shape sets the batch of an input"};
    if (explain_) return explain(sources, options, model, watched);
    for (const std::string& file : models_) {
      DOVETAIL_ASSIGN(const bool is_bundle, driver::is_bundle_file(file));
      if (is_bundle)
        return Diagnostic{"bad usage of `dovetail compare`", file, "a bundle has its target already",
                          "give the .onnx file that it was made from"};
    }

    options.rows_done = &rows_done;
    PartsProgress progress;
    options.progress = [&](std::string_view what, std::int64_t rows, std::int64_t all) {
      progress.show(what, rows, all);
    };
    std::vector<driver::ModelOptions> models;
    for (const driver::ModelSource& source : sources)
      for (const std::optional<std::int64_t>& batch : batches) {
        driver::ModelOptions& each = models.emplace_back(model);
        each.path = source.path, each.layers = source.layers, each.batch = batch;
      }
    watched.show({"rows", driver::rows_of(options) * static_cast<std::int64_t>(models.size()), &rows_done});
    watched.begin();
    DOVETAIL_ASSIGN(const driver::CompareOutcome outcome, compare_models(models, options));
    if (!outcome.failure.empty()) return fail(Exit::failed, outcome.failure);
    const driver::Comparison& comparison = outcome.comparison;
    watched.finish();
    if (json_) print_json(comparison_json(comparison));
    else print("{}", comparison_text(comparison, amount_of(details_)));
    if (html_) {
      DOVETAIL_TRY(write_result_text(*html_, comparison_page(comparison_json(comparison))));
      if (!json_) print("\nwritten       {}\n", *html_);
    }
    for (const driver::ComparedModel& model : comparison.models)
      for (const driver::ComparedRow& row : model.rows)
        if (row.available()) return Exit::success;
    const driver::ComparedRow& row = comparison.models.front().rows.front();
    return fail(Exit::failed, {{"nothing was compared", row.target, row.unavailable, row.hint}});
  }

 private:
  Result<Exit> explain(const std::vector<driver::ModelSource>& sources, const driver::CompareOptions& options,
                       const driver::ModelOptions& model, WatchedWork& watched) const {
    ExplainOptions explained{.sources = sources, .model = model, .targets = options.targets, .inputs = options.inputs};
    if (!hardware_.empty()) explained.hardware = options.hardware;
    explained.model.threads = options.threads;
    explained.seed = options.seed;
    explained.repeat = options.repeat.value_or(explained.repeat);
    explained.energy = options.energy;
    explained.work = options.work;
    watched.begin();
    DOVETAIL_ASSIGN(const Json explanation, explain_runs(explained));
    watched.finish();
    if (json_) print_json(explanation);
    else print("{}", explanation_text(explanation, amount_of(details_)));
    if (html_) {
      DOVETAIL_TRY(write_result_text(*html_, explanation_page(explanation)));
      if (!json_) print("\nwritten       {}\n", *html_);
    }
    return Exit::success;
  }

  BoardArguments board_;
  ModelArguments model_;
  EnergyArguments energy_;
  LimitArguments limit_;
  std::vector<std::string> models_, hardware_, inputs_;
  std::string targets_ = "accel,cpu", seed_ = "1";
  std::optional<std::string> threads_, repeat_, html_, batches_;
  bool details_ = false, json_ = false, explain_ = false;
};

}  // namespace

std::unique_ptr<Command> make_compare() { return std::make_unique<Compare>(); }

}  // namespace dovetail::cli
