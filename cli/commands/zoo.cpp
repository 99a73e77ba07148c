#include <algorithm>

#include <fmt/format.h>

#include "base/file.h"
#include "base/text_table.h"
#include "cli/commands/all.h"
#include "cli/report/text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/progress.h"
#include "cli/shell/standard_streams.h"
#include "compiler/quantize/quantize.h"
#include "compiler/zoo/zoo.h"
#include "driver/value_text.h"
#include "driver/zoo_model.h"

namespace dovetail::cli {

namespace {

// "--image 224 (32 to 1024)": the size that a user may choose in addition to the batch.
std::string sizes_text(const zoo::Row& row) {
  const auto text = [](const char* what, const zoo::Range& range) {
    return fmt::format("--{} {} ({} to {})", what, range.standard, range.least, range.greatest);
  };
  if (row.image.chosen()) return text("image", row.image);
  return row.sequence.chosen() ? text("sequence", row.sequence) : "-";
}

std::vector<std::string> zoo_names() {
  std::vector<std::string> names{"list"};
  for (const zoo::Row& row : zoo::all()) names.emplace_back(row.name);
  return names;
}

TextTable table() {
  TextTable rows({"name", ">parameters", ">MACs", "sizes", "what it is"});
  for (const zoo::Row& row : zoo::all())
    rows.add({std::string(row.name), with_separators(static_cast<std::uint64_t>(row.parameters)),
              with_separators(static_cast<std::uint64_t>(row.macs)), sizes_text(row), std::string(row.summary)});
  return rows;
}

class Zoo : public Command {
 public:
  void declare(Options& options) override {
    options.positional("NAME", name_, "a model of the list below, or `list` to print the list").choices(zoo_names());
    options.value("-o", "MODEL.onnx", output_, "write the model", File::written);
    options.value("--seed", "N", seed_, "seed of the pseudo-random weights (default 1)");
    options.value("--batch", "N", batch_, "(default 1)");
    options.value("--image", "N", image_, "rows and columns of the image");
    options.value("--sequence", "N", sequence_, "positions of a transformer's input");
    options.flag("--int8", int8_,
                 "quantize the model: QDQ form, int8 weights per channel, ranges calibrated on seeded samples");
    options.value("--calibration", "METHOD", method_, "for --int8: min-max (default), percentile, entropy or mse")
        .choices({"min-max", "percentile", "entropy", "mse"});
    options.value("--samples", "N", samples_, "for --int8: number of calibration samples (default 8)");
    options.value("--weight-bits", "N", weight_bits_, "for --int8: 8 (default), or 4").choices({"8", "4"});
    options.value("--report", "R.json", report_,
                  "for --int8: write scale, saturation and signal-to-noise ratio of every tensor", File::written_text);
    options.json(json_);
    options.footer(
        fmt::format("{}\nFloat32 unless --int8 is given; the weights are pseudo-random, the same on every platform, "
                    "and scaled as in He et al. Counts "
                    "are for batch 1 and the sizes shown.\nExample: dovetail zoo resnet18 --int8 -o resnet18.onnx",
                    table().to_string(0)));
  }

  Result<Exit> run() override {
    if (name_ == "list") return list();
    driver::ZooOptions options;
    zoo::Choices& choices = options.choices;
    if (seed_) {
      DOVETAIL_ASSIGN(const std::int64_t seed, parse_count("--seed", *seed_));
      choices.seed = static_cast<std::uint64_t>(seed);
    }
    if (batch_) {
      DOVETAIL_ASSIGN(choices.batch, parse_count("--batch", *batch_));
    }
    if (image_) {
      DOVETAIL_ASSIGN(choices.image, parse_count("--image", *image_));
    }
    if (sequence_) {
      DOVETAIL_ASSIGN(choices.sequence, parse_count("--sequence", *sequence_));
    }
    DOVETAIL_TRY(check_int8_options());
    options.int8 = int8_;
    options.calibration = method_.value_or(options.calibration);
    if (samples_) {
      DOVETAIL_ASSIGN(options.samples, parse_count("--samples", *samples_));
    }
    if (weight_bits_ == "4") options.weight_bits = 4;
    if (!output_)
      return Diagnostic{"bad usage of `dovetail zoo`", name_, "no file is given for the model",
                        fmt::format("add -o {}.onnx", name_)};
    PartsProgress progress;
    options.progress = [&](std::string_view what, std::int64_t done, std::int64_t all) {
      progress.show(fmt::format("runs ({})", what), done, all);
    };
    DOVETAIL_ASSIGN(const driver::ZooModel model, driver::make_zoo_model(name_, options));
    const std::optional<quantize::Quantized>& quantized = model.quantized;
    DOVETAIL_TRY(write_result_file(*output_, model.file));
    if (report_) DOVETAIL_TRY(write_result_text(*report_, driver::json_text(quantized->to_json())));
    if (json_) print_json(model.to_json(*output_));
    else
      print("model         {}: {}, {} nodes, {} parameters, {} MACs, seed {}\n", *output_,
            driver::bytes_text(model.file.size()), model.nodes,
            with_separators(static_cast<std::uint64_t>(model.parameters)),
            with_separators(static_cast<std::uint64_t>(model.macs)), model.seed);
    if (!quantized) return Exit::success;
    if (!json_) print("{}", summary(*quantized));
    Diagnostics problems;
    for (const std::string& finding : quantize::degenerate(*quantized))
      problems.push_back({"the calibration is poor", *output_, finding,
                          "try --calibration min-max, more --samples or another --seed"});
    return problems.empty() ? Exit::success : fail(Exit::failed, problems);
  }

 private:
  Result<void> check_int8_options() const {
    for (const auto& [option, given] :
         {std::pair{"--calibration", method_.has_value()}, std::pair{"--samples", samples_.has_value()},
          std::pair{"--weight-bits", weight_bits_.has_value()}, std::pair{"--report", report_.has_value()}})
      if (given && !int8_)
        return Diagnostic{"bad usage of `dovetail zoo`", option, "the option applies only to quantized models",
                          "add --int8"};
    return {};
  }

  // The tensors with the largest quantization loss, and the loss of the outputs.
  static std::string summary(const quantize::Quantized& quantized) {
    std::vector<const quantize::TensorReport*> tensors;
    for (const quantize::TensorReport& tensor : quantized.tensors) tensors.push_back(&tensor);
    std::ranges::stable_sort(tensors, {}, &quantize::TensorReport::signal_to_noise_db);
    constexpr std::size_t kShown = 5;
    std::string text = fmt::format(
        "int8          {} tensors on {} samples; {} of {} choose the same class as float; {} nodes stay float\n",
        tensors.size(), quantized.samples, quantized.same_choice, quantized.samples, quantized.float_nodes.size());
    for (std::size_t i = 0; i < std::min(kShown, tensors.size()); ++i)
      text += fmt::format("{}{:.1f} dB  {}\n", i == 0 ? "worst tensors " : "              ",
                          tensors[i]->signal_to_noise_db, tensors[i]->value);
    return text;
  }

  Result<Exit> list() const {
    if (output_)
      return Diagnostic{"bad usage of `dovetail zoo`", "list", "-o is given without a model", "name a model"};
    if (!json_) {
      print("{}", table().to_string(0));
      return Exit::success;
    }
    print_json(driver::zoo_list());
    return Exit::success;
  }

  std::string name_;
  std::optional<std::string> output_, seed_, batch_, image_, sequence_;
  std::optional<std::string> method_, samples_, weight_bits_, report_;
  bool int8_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_zoo() { return std::make_unique<Zoo>(); }

}  // namespace dovetail::cli
