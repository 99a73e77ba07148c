#include "tests/machines/nets.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "compiler/import/onnx.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "compiler/zoo/inputs.h"
#include "driver/zoo_model.h"
#include "tests/targets.h"

namespace dovetail::test {
namespace {

struct Row {
  std::string_view name;
  std::optional<std::int64_t> image = std::nullopt, sequence = std::nullopt;
};
// The first five are the default.
constexpr std::array kRows{Row{"ds_cnn"},
                           Row{"resnet8", 16},
                           Row{"mobilenet_v2", 32},
                           Row{"bert_tiny", std::nullopt, 16},
                           Row{"gpt_block", std::nullopt, 16},
                           Row{"digits"},
                           Row{"llama_block", std::nullopt, 16},
                           Row{"squeezenet1.1", 32},
                           Row{"vit_tiny", 48}};

Result<graph::Graph> import_net(const Row& row) {
  if (row.name == "digits") {
    DOVETAIL_ASSIGN(import::Imported imported, import::import_onnx_file(std::filesystem::path(DOVETAIL_SOURCE_DIR) /
                                                                        "examples" / "digits" / "digits_int8.onnx"));
    return imported.graph;
  }
  driver::ZooOptions options{.int8 = true, .samples = 2};
  options.choices.image = row.image;
  options.choices.sequence = row.sequence;
  DOVETAIL_ASSIGN(const driver::ZooModel model, driver::make_zoo_model(std::string(row.name), options));
  DOVETAIL_ASSIGN(import::Imported imported, import::import_onnx(model.file, row.name, {}));
  return imported.graph;
}

}  // namespace

std::vector<std::string_view> net_names() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

Result<Net> make_net(std::string_view name) {
  const auto row = std::ranges::find(kRows, name, &Row::name);
  if (row == kRows.end()) return Diagnostic{"cannot make a net", std::string(name), "there is no net of this name", ""};
  Net net{.name = std::string(name), .graph = {}, .inputs = {}, .integer = {}, .reference = {}};
  DOVETAIL_ASSIGN(net.graph, import_net(*row));
  net.inputs = zoo::sample_inputs(net.graph, 1, 100);
  CompileOptions options;
  options.available = kit_targets({}, "interpreter");
  options.targets = {"host"};
  options.stop_after = "integer";
  DOVETAIL_ASSIGN(const Compiled compiled, compile({net.graph, {}}, options));
  net.integer = compiled.integer;
  DOVETAIL_ASSIGN(const Reference reference, Reference::make(net.integer));
  DOVETAIL_ASSIGN(net.reference, reference.run(net.inputs));
  return net;
}

}  // namespace dovetail::test
