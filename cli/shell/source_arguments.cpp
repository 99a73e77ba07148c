#include "cli/shell/source_arguments.h"

#include <fmt/format.h>

namespace dovetail::cli {

void SourceArguments::declare(Options& options) {
  options.values(
      "--layer", "LAYER", layers,
      fmt::format("a layer by its shape, instead of a model, for example \"{}\", \"gemm 128x768 -> 3072\" or "
                  "\"attention heads=12 seq=128 dim=64\" (docs/howto/shapes.md); repeatable: layers of one "
                  "network, each from memory to memory",
                  driver::kLayerExample));
  options.values("--only", "NODE", only,
                 "only these nodes of the model, by name or pattern as in \"layer1.*\"; repeatable");
  options.values("--from", "TENSOR", from, "only the part of the model after this tensor; repeatable");
  options.values("--to", "TENSOR", to, "only the part of the model up to this tensor; repeatable");
}

Result<std::vector<driver::ModelSource>> SourceArguments::of(const std::vector<std::string>& paths,
                                                             std::string_view command) const {
  std::vector<driver::ModelSource> sources;
  for (const std::string& path : paths) sources.push_back(of(path));
  if (!layers.empty()) sources.push_back(of(std::string()));
  if (sources.empty())
    return Diagnostic{
        fmt::format("bad usage of `dovetail {}`", command), "", "no model is given",
        fmt::format("name an .onnx file, or give shapes: --layer \"{}\"; `dovetail {} --help` has an example",
                    driver::kLayerExample, command)};
  return sources;
}

std::vector<std::string> SourceArguments::given() const {
  std::vector<std::string> options;
  if (!layers.empty()) options.emplace_back("--layer");
  if (!only.empty()) options.emplace_back("--only");
  if (!from.empty()) options.emplace_back("--from");
  if (!to.empty()) options.emplace_back("--to");
  return options;
}

}  // namespace dovetail::cli
