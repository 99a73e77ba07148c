#include "driver/zoo_model.h"

#include <utility>

#include <fmt/format.h>

#include "compiler/export/onnx.h"
#include "compiler/zoo/inputs.h"
#include "driver/forward.h"

namespace dovetail::driver {

namespace {

Json range_json(const zoo::Range& range) {
  if (!range.chosen()) return nullptr;
  return {{"standard", range.standard}, {"least", range.least}, {"greatest", range.greatest}};
}

Result<quantize::Quantized> quantized(const graph::Graph& graph, const ZooOptions& given) {
  constexpr std::int64_t kMostSamples = 1000;
  quantize::Options options;
  DOVETAIL_ASSIGN(options.method, quantize::parse_method(given.calibration));
  if (given.samples < 1 || given.samples > kMostSamples)
    return Diagnostic{"invalid number of samples", std::to_string(given.samples),
                      fmt::format("the number must be from 1 to {}", kMostSamples), "choose fewer; 8 are enough"};
  options.weight_bits = given.weight_bits;
  std::vector<quantize::Values> inputs;
  for (int sample = 0; sample < given.samples; ++sample)
    inputs.push_back(zoo::sample_inputs(graph, given.choices.seed, sample));
  options.progress = [&](const quantize::Step& step) -> Result<void> {
    if (given.progress) given.progress(step.what, step.done, step.all);
    return {};
  };
  return quantize::quantize(graph, inputs, options, compiled_forward());
}

}  // namespace

Json ZooModel::to_json(const Json& file_name) const {
  return {{"kind", "zoo"},     {"model", name},
          {"file", file_name}, {"bytes", file.size()},
          {"seed", seed},      {"parameters", parameters},
          {"macs", macs},      {"int8", quantized ? quantized->to_json() : Json()}};
}

Result<ZooModel> make_zoo_model(const std::string& name, const ZooOptions& options) {
  DOVETAIL_ASSIGN(zoo::Model model, zoo::make(name, options.choices));
  ZooModel made{.name = name, .seed = options.choices.seed, .parameters = model.parameters, .macs = model.macs};
  if (options.int8) {
    DOVETAIL_ASSIGN(made.quantized, quantized(model.graph, options));
    model.graph = made.quantized->graph;
  }
  made.nodes = model.graph.live_nodes().size();
  DOVETAIL_ASSIGN(made.file, export_onnx(model.graph, name));
  return made;
}

Json zoo_list() {
  Json rows = Json::array();
  for (const zoo::Row& row : zoo::all())
    rows.push_back({{"name", row.name},
                    {"summary", row.summary},
                    {"parameters", row.parameters},
                    {"macs", row.macs},
                    {"image", range_json(row.image)},
                    {"sequence", range_json(row.sequence)}});
  return rows;
}

}  // namespace dovetail::driver
