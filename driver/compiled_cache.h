// --cache: stores compiled models under a hash of everything that the result depends on
// (docs/reference/command-line.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "driver/compile_model.h"

namespace dovetail::driver {

// A key of the program and its libraries: properties of their files that change when a file is replaced.
Json program_files();

class CompiledCache {
 public:
  // `model` must have targets, hardware and system. Creates the folder $XDG_CACHE_HOME/dovetail/compiled. Errors:
  // options whose results are not stored; the model cannot be read; the folder cannot be created, or other users may
  // write to it.
  static Result<CompiledCache> of(const ModelOptions& options, const CompileOptions& compile,
                                  const CompiledModel& model);

  // The stored result of compiling, without graphs. nullopt: it is not stored, its file is damaged or belongs to
  // another user, or a data file of the model has changed.
  std::optional<CompiledModel> find(const CompiledModel& model) const;
  // Stores the result, and removes the least recently used results until all together have at most a gigabyte. Error:
  // it cannot be written.
  Result<void> keep(const CompiledModel& model) const;

 private:
  CompiledCache(std::filesystem::path file, std::filesystem::path model_folder)
      : file_(std::move(file)), model_folder_(std::move(model_folder)) {}
  std::filesystem::path file_, model_folder_;
};

}  // namespace dovetail::driver
