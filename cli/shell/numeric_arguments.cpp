#include "cli/shell/numeric_arguments.h"

namespace dovetail::cli {

void NumericArguments::declare(Options& options) {
  options.values(
      "--samples", "FILE|DIR", samples,
      "for a space with numeric choices: inputs that calibrate the float model, as for `dovetail quantize`;\n"
      "once for each model",
      File::read);
  options.values("--test", "FILE|DIR", tests,
                 "samples to measure the accuracy of each choice (default: those of --samples)", File::read);
  options.values("--labels", "FILE.npy", labels,
                 "the classes of these samples: accuracy is top-1 (default: agreement with the float model)",
                 File::read);
}

}  // namespace dovetail::cli
