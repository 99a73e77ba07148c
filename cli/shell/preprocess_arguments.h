// --preprocess of a command.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "bundle/bundle.h"
#include "cli/shell/options.h"
#include "driver/preprocess.h"

namespace dovetail::cli {

struct PreprocessArguments {
  std::optional<std::string> file;
  void declare(Options& options);
  // The preprocessing of the file, else that of the model.
  Result<std::optional<driver::Preprocess>> resolve(const bundle::Bundle& bundle) const;
};

}  // namespace dovetail::cli
