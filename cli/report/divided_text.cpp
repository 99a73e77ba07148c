#include "cli/report/divided_text.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "base/text_table.h"
#include "bundle/code/divided_layers.h"

namespace dovetail::cli {

std::string divided_text(const bundle::Bundle& program) {
  const std::vector<bundle::DividedLayer> layers = divided_layers(program);
  if (layers.empty()) return {};
  std::size_t accelerators = 0;
  for (const bundle::DividedLayer& layer : layers)
    accelerators = std::max(accelerators, layer.parts.back().accelerator + 1);
  TextTable table({"layer", "divided by", "pieces of accelerators"});
  for (const bundle::DividedLayer& layer : layers) {
    if (layer.by.empty()) {
      table.add({layer.name, "-", fmt::format("accelerator {} alone", layer.parts.front().accelerator)});
      continue;
    }
    std::string pieces;
    for (std::size_t i = 0; i < accelerators; ++i)
      pieces += fmt::format("{}{}", i == 0 ? "" : " + ", layer.pieces_of(i));
    table.add({layer.name, layer.by, pieces});
  }
  return fmt::format("\n{}\n", table.to_string());
}

Json divided_json(const bundle::Bundle& program) {
  Json layers = Json::array();
  for (const bundle::DividedLayer& layer : divided_layers(program)) {
    Json parts = Json::array();
    for (const bundle::DividedLayer::Part& part : layer.parts)
      parts.push_back({{"accelerator", part.accelerator}, {"begin", part.begin}, {"end", part.end}});
    layers.push_back({{"step", layer.step},
                      {"layer", layer.name},
                      {"by", layer.by.empty() ? Json() : Json(layer.by)},
                      {"pieces", layer.pieces},
                      {"parts", std::move(parts)}});
  }
  return layers;
}

}  // namespace dovetail::cli
