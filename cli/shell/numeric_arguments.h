// --samples, --test and --labels of `dovetail explore`.
#pragma once

#include "cli/shell/options.h"
#include "driver/explore_models.h"

namespace dovetail::cli {

struct NumericArguments : driver::NumericSamples {
  void declare(Options& options);
};

}  // namespace dovetail::cli
