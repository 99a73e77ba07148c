// What was compiled before, kept under the content of all that it follows from: --cache
// (docs/reference/command-line.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "driver/compile_model.h"

namespace dovetail::driver {

class CompiledCache {
 public:
  // `model` holds targets, hardware and system. Makes the folder: $XDG_CACHE_HOME/dovetail/compiled. Error: --cache
  // alongside what is not kept; the model cannot be read; the folder cannot be made, or others may write to it.
  static Result<CompiledCache> of(const ModelOptions& options, const CompileOptions& compile,
                                  const CompiledModel& model);

  // What compiling would give, without graphs. nullopt: it is not kept, or the file is damaged or of other hands, or a
  // data file of the model has changed.
  std::optional<CompiledModel> find(const CompiledModel& model) const;
  // Keeps it, and forgets what was used longest ago where all together exceed a gigabyte. Error: it cannot be written.
  Result<void> keep(const CompiledModel& model) const;

 private:
  CompiledCache(std::filesystem::path file, std::filesystem::path model_folder)
      : file_(std::move(file)), model_folder_(std::move(model_folder)) {}
  std::filesystem::path file_, model_folder_;
};

}  // namespace dovetail::driver
