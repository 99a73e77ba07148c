#include <cstdio>

#include <fmt/format.h>

#include "base/file.h"
#include "base/text_table.h"
#include "cli/arguments.h"
#include "cli/commands/all.h"
#include "cli/text.h"
#include "compiler/export/onnx.h"
#include "compiler/zoo/zoo.h"

namespace dovetail::cli {

namespace {

// "--image 224 (32 to 1024)": what a model lets one choose besides the batch.
std::string sizes_text(const zoo::Row& row) {
  const auto text = [](const char* what, const zoo::Range& range) {
    return fmt::format("--{} {} ({} to {})", what, range.standard, range.least, range.greatest);
  };
  if (row.image.chosen()) return text("image", row.image);
  return row.sequence.chosen() ? text("sequence", row.sequence) : "-";
}

TextTable table() {
  TextTable rows({"name", ">parameters", ">MACs", "sizes", "what it is"});
  for (const zoo::Row& row : zoo::all())
    rows.add({std::string(row.name), with_separators(static_cast<std::uint64_t>(row.parameters)),
              with_separators(static_cast<std::uint64_t>(row.macs)), sizes_text(row), std::string(row.summary)});
  return rows;
}

Json json_of(const zoo::Range& range) {
  if (!range.chosen()) return nullptr;
  return {{"standard", range.standard}, {"least", range.least}, {"greatest", range.greatest}};
}

class Zoo : public Command {
 public:
  void declare(Options& options) override {
    options.positional("NAME", name_, "a model of the list below; list: print it");
    options.value("-o", "MODEL.onnx", output_, "write the model");
    options.value("--seed", "N", seed_, "of the pseudo-random weights (default 1)");
    options.value("--batch", "N", batch_, "(default 1)");
    options.value("--image", "N", image_, "rows and columns of the image");
    options.value("--sequence", "N", sequence_, "positions of a transformer's input");
    options.flag("--json", json_, "print JSON");
    options.footer(fmt::format(
        "{}\nFloat32; the weights are pseudo-random, the same on every platform, and scaled as He et al. have it. Counts "
        "are for batch 1 and the sizes shown.\nExample: dovetail zoo resnet18 -o resnet18.onnx",
        table().to_string(0)));
  }

  Result<Exit> run() override {
    if (name_ == "list") return list();
    zoo::Choices choices;
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
    DOVETAIL_ASSIGN(const zoo::Model model, zoo::make(name_, choices));
    if (!output_)
      return Diagnostic{"bad usage of `dovetail zoo`", name_, "no file is given for the model",
                        fmt::format("add -o {}.onnx", name_)};
    DOVETAIL_ASSIGN(const auto bytes, export_onnx(model.graph, name_));
    DOVETAIL_TRY(write_file(*output_, bytes));
    if (json_)
      fmt::print("{}", json_text({{"kind", "zoo"},
                                  {"model", name_},
                                  {"file", *output_},
                                  {"bytes", bytes.size()},
                                  {"seed", choices.seed},
                                  {"parameters", model.parameters},
                                  {"macs", model.macs}}));
    else
      fmt::print("model         {}: {}, {} nodes, {} parameters, {} MACs, seed {}\n", *output_, bytes_text(bytes.size()),
                 model.graph.live_nodes().size(), with_separators(static_cast<std::uint64_t>(model.parameters)),
                 with_separators(static_cast<std::uint64_t>(model.macs)), choices.seed);
    return Exit::success;
  }

 private:
  Result<Exit> list() const {
    if (output_)
      return Diagnostic{"bad usage of `dovetail zoo`", "list", "-o is given, but no model", "name a model"};
    if (!json_) {
      fmt::print("{}", table().to_string(0));
      return Exit::success;
    }
    Json rows = Json::array();
    for (const zoo::Row& row : zoo::all())
      rows.push_back({{"name", row.name},
                      {"summary", row.summary},
                      {"parameters", row.parameters},
                      {"macs", row.macs},
                      {"image", json_of(row.image)},
                      {"sequence", json_of(row.sequence)}});
    fmt::print("{}", json_text(rows));
    return Exit::success;
  }

  std::string name_;
  std::optional<std::string> output_, seed_, batch_, image_, sequence_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_zoo() { return std::make_unique<Zoo>(); }

}  // namespace dovetail::cli
