// A model that a caller holds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/memory_file.h"
#include "base/result.h"
#include "capi/callbacks.h"
#include "capi/include/dovetail.h"
#include "driver/compile_model.h"

namespace dovetail::capi {

struct Model {
  std::string path;                       // by which this process opens the file
  std::string name;                       // in diagnostics and reports
  std::optional<MemoryFile> memory = {};  // the content of a model without a file

  // Diagnostics name the model as the caller does.
  Diagnostics named(Diagnostics problems) const;
};

Result<dvt_model*> model_in_memory(std::span<const std::byte> bytes, std::string name);

// Error: no models, or a null pointer among them. `function`: "dvt_explore".
Result<void> check_models(const dvt_model* const* models, std::size_t count, std::string_view function);

// Error: a null pointer among them.
Result<void> check_texts(const dvt_texts& texts, std::string_view argument);
// Precondition: check_texts().
std::vector<std::string> texts_of(const dvt_texts& texts);

// Options of compiling, checked.
struct CompileSettings {
  driver::ModelOptions model;
  bool all_tensors = false;
  Callbacks callbacks;
};
Result<CompileSettings> compile_settings_of(const Model& model, const dvt_compile_options* given,
                                            std::string_view argument);

}  // namespace dovetail::capi

// Immutable, so that it needs no lock.
struct dvt_model {
  dovetail::capi::Model model;
};
