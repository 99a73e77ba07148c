#include "cli/shell/preprocess_arguments.h"

#include <utility>

namespace dovetail::cli {

void PreprocessArguments::declare(Options& options) {
  options.value("--preprocess", "FILE.json", file,
                "preprocessing of pictures (docs/howto/own-data.md); overrides that of the model", File::read);
}

Result<std::optional<driver::Preprocess>> PreprocessArguments::resolve(const bundle::Bundle& bundle) const {
  if (!file) return driver::preprocess_of(bundle);
  DOVETAIL_ASSIGN(driver::Preprocess given, driver::Preprocess::read(*file));
  return std::optional(std::move(given));
}

}  // namespace dovetail::cli
