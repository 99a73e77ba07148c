#include "cli/shell/numeric_arguments.h"

#include <utility>

#include "base/npy.h"

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

Result<driver::NumericSamples> NumericArguments::read() const {
  driver::NumericSamples read{{samples.begin(), samples.end()}, {tests.begin(), tests.end()}, {}};
  for (const std::string& file : labels) {
    DOVETAIL_ASSIGN(NdArray classes, read_npy(file));
    read.labels.push_back(std::move(classes));
  }
  return read;
}

}  // namespace dovetail::cli
