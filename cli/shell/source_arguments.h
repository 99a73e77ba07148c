// Options that choose what a model is other than a file: layers by shape, and a part.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/shell/options.h"
#include "driver/model_source.h"

namespace dovetail::cli {

struct SourceArguments {
  std::vector<std::string> layers, only, from, to;

  // Declares --layer, --only, --from and --to.
  void declare(Options& options);
  driver::ModelPart part() const { return {only, from, to}; }
  // The model of a file, or that of --layer if `path` is empty.
  driver::ModelSource of(const std::string& path) const {
    return {path, path.empty() ? layers : std::vector<std::string>(), part()};
  }
  // Those of the files, then that of --layer. Error: there is none.
  Result<std::vector<driver::ModelSource>> of(const std::vector<std::string>& paths, std::string_view command) const;
  // The given options.
  std::vector<std::string> given() const;
};

inline constexpr std::string_view kModelHelp =
    "a model: an ONNX file, or shapes alone: a SCALE-Sim topology (.csv), layers of Timeloop or ZigZag (.yaml)";

}  // namespace dovetail::cli
