#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/text_table.h"
#include "cli/arguments.h"
#include "cli/commands/all.h"
#include "cli/evaluation.h"
#include "cli/latency.h"
#include "cli/model.h"
#include "cli/output.h"
#include "cli/preprocess.h"
#include "cli/sample_files.h"
#include "cli/standard_streams.h"
#include "cli/targets.h"
#include "cli/tensor_files.h"
#include "cli/text.h"
#include "cli/verify_bundle.h"
#include "cli/watched_work.h"
#include "cli/work_shares.h"

namespace dovetail::cli {

namespace {

// A model or a bundle, ready to run, and the lines of the report about it.
struct Candidate {
  std::string path, targets;
  bundle::Bundle bundle;
  System system;
  std::string text = {};
};

class Evaluate : public Command {
 public:
  void declare(Options& options) override {
    options.positional("MODEL.onnx|OUT.dvt", model_.model, "a model, which is compiled first, or a bundle",
                       Need::required, File::read);
    model_.declare(options);
    options.value("--inputs", "FILE", inputs_,
                  "the samples: .npy of the only input, .npz by the names of the inputs, or a folder of these or of "
                  "pictures, in the order of their names",
                  Need::required, File::read);
    preprocess_.declare(options);
    options.value("--labels", "Y.npy", labels_, "the class of each sample, for top-1 and top-5", File::read);
    options.value("--output", "NAME", output_, "the output that scores the classes (default: the only one)");
    options.value("--against", "MODEL|BUNDLE", against_, "another model, on the same samples: agreement, difference",
                  File::read);
    options
        .value("--against-target", "LIST", against_targets_,
               "targets of what it is compared with (default --target); alone: the same model there")
        .list(target_names());
    options.value("--engine", "ENGINE", engine_, "what runs the accelerator's programs (default functional)");
    options.value("--threads", "N", threads_, "that run samples side by side (default: one per processor)");
    options.value("--output-dir", "DIR", output_dir_,
                  "write every output, of all samples, as DIR/NAME.npy; DIR is made where it is "
                  "missing",
                  File::folder);
    limit_.declare(options);
    options.value("--report", "R.json", report_, "write the report as JSON", File::written_text);
    options.json(json_);
    options.flag("--trust", trust_, kTrustHelp);
    options.footer(
        "Samples lie along the first axis; a model of batch B takes B at a time, and the last batch is filled up.\n"
        "Example: dovetail evaluate examples/digits/digits_int8.onnx --target accel,cpu --inputs "
        "examples/digits/test_images.npy "
        "--labels examples/digits/test_labels.npy --against examples/digits/digits_float.onnx --against-target cpu");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    DOVETAIL_ASSIGN(const std::int64_t threads,
                    threads_ ? parse_count("--threads", *threads_, 1, 1024) : runtime::default_threads());
    std::optional<NdArray> labels;
    if (labels_) {
      DOVETAIL_ASSIGN(labels, read_tensor(*labels_));
    }
    DOVETAIL_ASSIGN(auto own, prepare(model_));
    if (!own) return Exit::failed;
    std::optional<Candidate> other;
    if (against_ || against_targets_) {
      DOVETAIL_ASSIGN(other, prepare(compared_with()));
      if (!other) return Exit::failed;
    }
    DOVETAIL_ASSIGN(const Samples samples, samples_for(own->bundle, {}));
    WatchedWork watched(limit);
    auto evaluated = evaluate_one(*own, samples, static_cast<int>(threads), watched);
    if (!evaluated.ok()) return fail(Exit::failed, evaluated.errors());
    Json json{{"kind", "evaluate"}, {"file", own->path}, {"engine", engine_}, {"samples", samples.rows()}};
    print("{}{}", own->text, time_text(*own, samples, *evaluated, threads));
    json["seconds"] = evaluated->seconds;
    if (evaluated->cycles) json["cycles"] = *evaluated->cycles;
    if (labels) {
      DOVETAIL_ASSIGN(const Accuracy accuracy, accuracy_of_output(evaluated->outputs, *labels));
      print("{}", accuracy_text(accuracy));
      json["accuracy"] = to_json(accuracy);
    }
    if (other) {
      DOVETAIL_ASSIGN(const auto as_own, preprocess_of(own->bundle));
      DOVETAIL_ASSIGN(const Samples others, samples_for(other->bundle, as_own));
      const auto compared = evaluate_one(*other, others, static_cast<int>(threads), watched);
      if (!compared.ok()) return fail(Exit::failed, compared.errors());
      print("\nagainst\n{}{}", other->text, time_text(*other, others, *compared, threads));
      json["against"] = {{"file", other->path}, {"targets", other->targets}};
      if (labels) {
        DOVETAIL_ASSIGN(const Accuracy accuracy, accuracy_of_output(compared->outputs, *labels));
        print("{}", accuracy_text(accuracy));
        json["against"]["accuracy"] = to_json(accuracy);
      }
      DOVETAIL_ASSIGN(const auto agreement, sample_agreement_of(evaluated->outputs, compared->outputs));
      print("\n{}", agreement_text(agreement));
      json["agreement"] = to_json(agreement);
    }
    if (report_) DOVETAIL_TRY(write_result_text(*report_, json_text(json)));
    if (json_) print_json(json);
    if (output_dir_) {
      DOVETAIL_ASSIGN(const auto paths, write_outputs(*output_dir_, evaluated->outputs));
      for (const std::string& path : paths) print("written       {}\n", path);
    }
    return Exit::success;
  }

 private:
  // `otherwise`: what becomes of pictures where neither the command nor this model says it.
  Result<Samples> samples_for(const bundle::Bundle& bundle, const std::optional<Preprocess>& otherwise) const {
    DOVETAIL_ASSIGN(std::optional<Preprocess> preprocess, preprocess_.resolve(bundle));
    if (!preprocess) preprocess = otherwise;
    DOVETAIL_ASSIGN(auto tensors, read_samples("--inputs", inputs_, bundle, preprocess));
    return Samples::make(bundle, std::move(tensors));
  }

  ModelArguments compared_with() const {
    ModelArguments arguments = model_;
    if (against_) arguments.model = *against_;
    if (against_targets_) arguments.targets = against_targets_;
    return arguments;
  }

  // Nothing: compiling failed, and has said why.
  Result<std::optional<Candidate>> prepare(const ModelArguments& arguments) const {
    Candidate candidate{arguments.model, arguments.targets.value_or("the bundle's"), {}, {}};
    DOVETAIL_ASSIGN(const bool is_bundle, is_bundle_file(arguments.model));
    DOVETAIL_TRY(arguments.system.check_engine(engine_, !is_bundle));
    if (is_bundle) {
      DOVETAIL_ASSIGN(candidate.bundle, read_bundle_to_run(arguments.model, trust_));
      DOVETAIL_ASSIGN(candidate.system, system_of(arguments, candidate.bundle));
    } else {
      DOVETAIL_ASSIGN(CompileOutcome outcome, compile_model(arguments, {}));
      if (!outcome.model) {
        fail(Exit::failed, outcome.failure);
        return std::optional<Candidate>();
      }
      const CompiledModel& model = *outcome.model;
      candidate.text = macs_text(model.compiled.summary) +
                       left_text(left_accelerator(model.compiled.placement, model.compiled.summary, model.targets));
      candidate.system = model.system;
      candidate.bundle = std::move(outcome.model->compiled.bundle);
    }
    if (!candidate.bundle.other_shapes.empty())
      return Diagnostic{"cannot evaluate", arguments.model, "it has programs for several shapes",
                        "give one shape at a time"};
    candidate.text =
        fmt::format("evaluated     {} on {}, engine {}\n", candidate.path, candidate.targets, engine_) + candidate.text;
    return std::optional(std::move(candidate));
  }

  Result<Evaluated> evaluate_one(const Candidate& candidate, const Samples& samples, int threads,
                                 WatchedWork& watched) const {
    simulator::EngineOptions options;
    options.memory = candidate.system.memory;
    options.accelerators = candidate.system.accelerators;
    options.work = watched.work();
    DOVETAIL_ASSIGN(const auto make_simulator, runtime::simulator_factory(engine_, options));
    std::atomic<std::int64_t> done{0};
    watched.show({"runs", samples.runs(), &done});
    watched.begin();
    auto evaluated = evaluate(candidate.bundle, make_simulator, samples, threads, watched.work(), done);
    watched.finish();
    return evaluated;
  }

  std::string time_text(const Candidate& candidate, const Samples& samples, const Evaluated& evaluated,
                        std::int64_t threads) const {
    std::string text = fmt::format(
        "samples       {} in {} runs on {} threads, {}\n", with_separators(static_cast<std::uint64_t>(samples.rows())),
        with_separators(static_cast<std::uint64_t>(samples.runs())),
        std::clamp<std::int64_t>(threads, 1, samples.runs()), seconds_text(evaluated.seconds));
    if (evaluated.cycles)
      text += fmt::format(
          "of a run      {} on the accelerator\n",
          cycles_text(*evaluated.cycles / static_cast<std::uint64_t>(samples.runs()), candidate.system.clock_mhz));
    return text;
  }

  Result<Accuracy> accuracy_of_output(const std::map<std::string, NdArray>& outputs, const NdArray& labels) const {
    std::vector<std::string> names;
    for (const auto& [name, array] : outputs) names.push_back(name);
    if (!output_ && names.size() != 1)
      return Diagnostic{"bad usage of `dovetail evaluate`", "--labels",
                        fmt::format("the model has {} outputs: {}", names.size(), fmt::join(names, ", ")),
                        "say which scores the classes, with --output NAME"};
    std::string name = names.front();
    if (output_) {
      DOVETAIL_ASSIGN(name, match_name("--output", "output", names, *output_));
    }
    return accuracy_of(outputs.at(name), labels);
  }

  ModelArguments model_;
  LimitArguments limit_;
  PreprocessArguments preprocess_;
  std::string inputs_, engine_ = "functional";
  std::optional<std::string> labels_, output_, against_, against_targets_, threads_, output_dir_, report_;
  bool trust_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_evaluate() { return std::make_unique<Evaluate>(); }

}  // namespace dovetail::cli
