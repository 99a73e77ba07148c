// --samples, --test and --labels of `dovetail explore`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/shell/options.h"
#include "driver/explore_models.h"

namespace dovetail::cli {

struct NumericArguments {
  std::vector<std::string> samples, tests, labels;
  void declare(Options& options);
  // Reads the labels.
  Result<driver::NumericSamples> read() const;
};

}  // namespace dovetail::cli
