#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "cli/commands/all.h"
#include "cli/report/quantize_report.h"
#include "cli/report/text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "cli/shell/watched_work.h"
#include "compiler/import/onnx.h"
#include "compiler/quantize/quantize.h"
#include "driver/forward.h"
#include "driver/preprocess.h"
#include "driver/quantize_work.h"
#include "driver/quantized_file.h"
#include "driver/sample_files.h"
#include "driver/samples.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

constexpr double kAnnouncedSeconds = 5;  // a part that takes longer is announced
// After these, since the first run is slower than the others.
constexpr std::int64_t kEstimatedRuns = 3;
constexpr std::chrono::seconds kEstimatedTime(2);

std::string run_time_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.0f} ms", 1000 * seconds) : fmt::format("{:.1f} s", seconds);
}

// Estimates each part after its first run, shows its progress, and stops the work at a limit or on Ctrl-C.
class WatchedQuantizing {
 public:
  explicit WatchedQuantizing(const WorkLimit& limit) : watched_(limit) {
    watched_.show([this] { return progress(); });
    watched_.begin();
  }
  ~WatchedQuantizing() { watched_.finish(); }
  void when_stopped(std::string hint) { watched_.when_stopped(std::move(hint)); }
  bool stopped() { return watched_.work()->stopped(); }

  Result<void> operator()(const quantize::Step& step) {
    if (watched_.work()->stopped()) return failed_work({watched_.work()->stopped_at("quantizing")});
    std::optional<std::string> announced;
    {
      const std::lock_guard lock(mutex_);
      const Clock::time_point now = Clock::now();
      if (!begun_ || step.part != step_.part) announced_ = false, ran_ = 0, running_ = {};
      else if (!step_.compiling && step.done > step_.done) ran_ += step.done - step_.done, running_ += now - since_;
      begun_ = true, step_ = step, name_ = step.what, since_ = now;
      const double left = seconds_left();
      if (!announced_ && (ran_ >= kEstimatedRuns || running_ > kEstimatedTime)) {
        announced_ = true;
        if (left >= kAnnouncedSeconds)
          announced = fmt::format("{}: {}{} runs of {}, {} {}, {} of memory{}", part_text(), most(), step.all,
                                  run_time_text(seconds_per_run()), step.at_most ? "at most" : "about",
                                  duration_text(left), driver::bytes_text(step.bytes),
                                  name_ == "layers" ? "; --measure-layers 0 leaves it out" : "");
      }
    }
    if (announced) watched_.announce_part(*announced);
    return {};
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::string part_text() const { return fmt::format("{} (part {} of {})", name_, step_.part + 1, step_.parts); }
  std::string_view most() const { return step_.at_most ? "at most " : ""; }
  // Runs alone: the time of compiling does not repeat.
  double seconds_per_run() const {
    return ran_ == 0 ? 0 : std::chrono::duration<double>(running_).count() / static_cast<double>(ran_);
  }
  double seconds_left() const { return seconds_per_run() * static_cast<double>(step_.all - step_.done); }

  std::optional<ProgressText> progress() {
    const std::lock_guard lock(mutex_);
    if (!begun_) return std::nullopt;
    const std::chrono::duration<double> elapsed = Clock::now() - start_;
    std::string text = fmt::format("{}: ", part_text());
    if (step_.compiling) text += fmt::format("compiling the model for {}{} runs", most(), step_.all - step_.done);
    else text += fmt::format("run {} of {}{}", step_.done + 1, most(), step_.all);
    text += fmt::format(", {}", duration_text(elapsed.count()));
    if (ran_ > 0)
      text +=
          fmt::format(", {} {} to go in this part", step_.at_most ? "at most" : "about", duration_text(seconds_left()));
    return ProgressText{static_cast<double>(step_.done) / static_cast<double>(std::max<std::int64_t>(1, step_.all)),
                        std::move(text)};
  }

  std::mutex mutex_;  // protects the following members
  quantize::Step step_;
  std::string name_;
  bool begun_ = false, announced_ = false;
  std::int64_t ran_ = 0;       // finished runs of this part, in this process
  Clock::duration running_{};  // their time
  Clock::time_point start_ = Clock::now(), since_;
  WatchedWork watched_;  // last: its thread reads the others
};

class Quantize : public Command {
 public:
  void declare(Options& options) override {
    options.positional("MODEL.onnx", model_, "a float model", Need::required, File::read);
    options.value("-o", "Q.onnx", output_, "write the quantized model: QDQ form, int8", Need::required, File::written);
    options.value(
        "--samples", "FILE|DIR", samples_,
        "inputs like those that the model will get: .npy of the only input, .npz by the names of the inputs, or a "
        "folder of these or of pictures",
        Need::required, File::read);
    options.value("--preprocess", "FILE.json", preprocess_,
                  "preprocessing of pictures (docs/howto/own-data.md), which the quantized model keeps", File::read);
    options.values("--shape", "NAME=SHAPE", shapes_,
                   "extent of a symbolic dimension, or shape of an input; repeatable");
    options
        .value("--calibration", "METHOD", method_,
               "how ranges are chosen: min-max (default), percentile, entropy (kl) or mse")
        .choices({"min-max", "percentile", "entropy", "kl", "mse"});
    options.value("--tail", "SHARE", tail_,
                  "for percentile: the share of values that is cut at each end (default 0.00001)");
    options.value("--weights", "SCALES", weights_, "per-channel (default) or per-tensor")
        .choices({"per-channel", "per-tensor"});
    options.value("--weight-bits", "N", weight_bits_, "8 (default), or 4: for hardware that loads weights of 4 bits")
        .choices({"8", "4"});
    options.flag("--powers-of-two", powers_, "use scales that are powers of two, for hardware that only shifts");
    options.flag("--symmetric", symmetric_, "use 0 for all zero points, for hardware without zero points");
    options.values("--keep-float", "NODE", kept_, "do not quantize this node; repeatable");
    options.flag("--equalize", equalize_, "first equalize the ranges of neighboring layers (cross-layer equalization)",
                 "--equalise");
    options.flag("--correct-biases", correct_, "correct each bias by the shift of the layer's mean");
    options.value(
        "--measure-layers", "N", layers_,
        "quantize one layer at a time on the first N samples, to see which lose most accuracy; 0: do not (default 8)");
    options.value("--worst-layers", "N", worst_layers_,
                  "how many layers --measure-layers lists, those that lose most first (default 10)");
    options.value("--memory-limit", "SIZE", memory_limit_,
                  "work on groups of tensors, so that the process takes at most this memory: 512MiB, 8GiB (default: "
                  "three quarters of the machine's; docs/reference/quantization.md)");
    options.flag("--from-start", from_start_,
                 "do not continue an interrupted command with the same model, samples and options");
    limit_.declare(options);
    options.value("--report", "R.json", report_, "write the report as JSON", File::written_text);
    options.value("--html", "PAGE.html", html_, "write the report as a page for a browser", File::written_text);
    options.json(json_);
    options.footer(
        "Example: dovetail quantize examples/digits/digits_float.onnx -o q.onnx --samples "
        "examples/digits/test_images.npy");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    DOVETAIL_ASSIGN(quantize::Options options, parse_options());
    import::ImportOptions import_options;
    DOVETAIL_ASSIGN(const auto shapes, parse_shapes(shapes_));
    if (shapes.size() > 1)
      return Diagnostic{"invalid value for --shape", model_, "the option gives several shapes for one name",
                        "give one shape for each name"};
    import_options.shapes = shapes.front();
    DOVETAIL_ASSIGN(import::Imported imported, import::import_onnx_file(model_, import_options));
    if (imported.graph.outputs.empty() || imported.graph.inputs.empty())
      return Diagnostic{"cannot quantize", model_, "the model has no input or no output",
                        "give a model with an input and an output"};
    DOVETAIL_ASSIGN(std::optional<driver::Preprocess> preprocess,
                    driver::preprocess_of(imported.report.metadata, model_));
    if (preprocess_) {
      DOVETAIL_ASSIGN(preprocess, driver::Preprocess::read(*preprocess_));
    }
    const bundle::Bundle inputs = driver::inputs_of(imported.graph, model_);
    DOVETAIL_ASSIGN(auto tensors, driver::read_samples("--samples", samples_, inputs, preprocess));
    std::optional<driver::QuantizeSums> sums;
    std::optional<WatchedQuantizing> watched(std::in_place, limit);
    if (auto kept = driver::QuantizeSums::of({imported, model_, tensors, options, shapes_},
                                             [&watched] { return watched->stopped(); });
        kept.ok())
      sums = *std::move(kept);
    else print_message("note          an interrupted run could not continue: {}\n", to_string(kept.errors()));
    if (sums) {
      if (from_start_) sums->forget();
      if (sums->found())
        print_message("note          continues an interrupted run of the same command; --from-start would not\n");
      options.keeper = sums->keeper();
      watched->when_stopped("the same command continues it; no other file was written");
    }
    DOVETAIL_ASSIGN(const driver::Samples samples, driver::Samples::make(inputs, std::move(tensors)));
    DOVETAIL_ASSIGN(options.memory, driver::quantize_budget(memory_limit_, imported.graph));
    options.progress = [&](const quantize::Step& step) { return (*watched)(step); };
    auto quantized =
        quantize::quantize(imported.graph, {samples.runs(), [&](std::int64_t run) { return samples.inputs(run); }},
                           options, driver::compiled_forward());
    watched.reset();
    if (sums && !sums->problem().empty())
      print_message("note          an interrupted run could not continue: {}\n", to_string(sums->problem()));
    if (!quantized.ok()) return quantized.errors();
    std::map<std::string, std::string> metadata = imported.report.metadata;
    if (preprocess) metadata[driver::kPreprocessKey] = preprocess->to_json().dump();
    DOVETAIL_ASSIGN(const driver::QuantizedFile file,
                    driver::quantized_file(quantized->graph, imported, model_, import_options, model_, metadata));
    if (!file.note.empty()) imported.report.notes.push_back(file.note);
    DOVETAIL_TRY(write_result_file(output_, file.bytes));
    if (sums) sums->remove();
    return write_reports(*quantized, samples, file.bytes.size(), imported.report.notes, preprocess);
  }

 private:
  Result<quantize::Options> parse_options() const {
    quantize::Options options;
    if (method_) {
      DOVETAIL_ASSIGN(options.method, quantize::parse_method(*method_));
    }
    if (tail_) {
      if (options.method != quantize::Method::percentile)
        return Diagnostic{"bad usage of `dovetail quantize`", "--tail", "the option applies only to percentiles",
                          "add --calibration percentile"};
      const char* const end = tail_->data() + tail_->size();
      const auto [rest, error] = std::from_chars(tail_->data(), end, options.tail);
      if (error != std::errc{} || rest != end || !(options.tail >= 0 && options.tail < 0.5))
        return Diagnostic{"invalid value for --tail", *tail_, "the value must be a number from 0 to less than 0.5",
                          "write for example 0.001"};
    }
    if (weights_ == "per-tensor") options.weights = quantize::WeightScales::per_tensor;
    else if (weights_ != "per-channel")
      return Diagnostic{"invalid value for --weights", weights_, "the choice is unknown",
                        "give per-channel or per-tensor"};
    DOVETAIL_ASSIGN(const std::int64_t bits, parse_count("--weight-bits", weight_bits_, 4, 8));
    if (bits != 4 && bits != 8)
      return Diagnostic{"invalid value for --weight-bits", weight_bits_, "the choice is unknown", "give 8 or 4"};
    options.weight_bits = static_cast<int>(bits);
    if (powers_) options.grid.scales = quantize::Scales::power_of_two;
    if (symmetric_) options.grid.zero_point = quantize::ZeroPoint::middle;
    options.keep_float = kept_;
    options.equalize = equalize_;
    options.correct_biases = correct_;
    DOVETAIL_ASSIGN(const std::int64_t layers, parse_count("--measure-layers", layers_, 0, 1'000'000));
    options.layer_samples = static_cast<int>(layers);
    DOVETAIL_ASSIGN(const std::int64_t worst, parse_count("--worst-layers", worst_layers_, 1, 1'000'000));
    options.worst_layers = static_cast<std::size_t>(worst);
    return options;
  }

  std::string settings() const {
    return fmt::format("{}, weights {}{}{}{}{}{}", method_.value_or("min-max"), weights_,
                       weight_bits_ == "8" ? "" : fmt::format(" of {} bits", weight_bits_),
                       powers_ ? ", powers of two" : "", symmetric_ ? ", symmetric" : "",
                       equalize_ ? ", equalized" : "", correct_ ? ", biases corrected" : "");
  }

  Result<Exit> write_reports(const quantize::Quantized& quantized, const driver::Samples& samples, std::size_t bytes,
                             const std::vector<std::string>& notes,
                             const std::optional<driver::Preprocess>& preprocess) const {
    const std::vector<std::string> findings = quantize::degenerate(quantized);
    Json json{{"kind", "quantize"},
              {"model", model_},
              {"file", output_},
              {"bytes", bytes},
              {"settings", settings()},
              {"rows", samples.rows()},
              {"preprocess", preprocess ? preprocess->to_json() : Json(nullptr)},
              {"warnings", findings}};
    json.update(quantized.to_json());
    if (report_) DOVETAIL_TRY(write_result_text(*report_, driver::json_text(json)));
    if (html_) DOVETAIL_TRY(write_result_text(*html_, quantized_page(json)));
    if (json_) {
      print_json(json);
      return Exit::success;
    }
    print("model         {} to {}, {}\n", model_, output_, driver::bytes_text(bytes));
    for (const std::string& note : notes) print("note          {}\n", note);
    print("samples       {} in {} runs\n", samples.rows(), samples.runs());
    print("calibration   {}\n", settings());
    print("{}", quantized_text(quantized));
    for (const std::string& finding : findings) print("warning       {}\n", finding);
    return Exit::success;
  }

  LimitArguments limit_;
  std::string model_, output_, samples_, weights_ = "per-channel", weight_bits_ = "8", layers_ = "8",
                                         worst_layers_ = "10";
  std::optional<std::string> preprocess_, method_, tail_, memory_limit_, report_, html_;
  std::vector<std::string> shapes_, kept_;
  bool powers_ = false, symmetric_ = false, equalize_ = false, correct_ = false, json_ = false, from_start_ = false;
};

}  // namespace

std::unique_ptr<Command> make_quantize() { return std::make_unique<Quantize>(); }

}  // namespace dovetail::cli
