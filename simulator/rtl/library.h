// A Verilated model's shared object in this process.
#pragma once

#include <filesystem>
#include <memory>
#include <utility>

#include "base/result.h"
#include "base/shared_library.h"
#include "isa/config.h"
#include "simulator/engine_options.h"
#include "simulator/rtl/model_api.h"

namespace dovetail::simulator {

// It stays loaded as long as a model of it exists.
class RtlLibrary {
 public:
  // Errors: this process may not execute machine code; the file is damaged, or made for another version of the kit.
  static Result<std::shared_ptr<const RtlLibrary>> open(const std::filesystem::path& path);
  // The model of the configuration, built if it is missing and the options allow it.
  static Result<std::shared_ptr<const RtlLibrary>> open_of(const isa::HardwareConfig& config,
                                                           const EngineOptions& options);

  const dovetail_rtl_api* api() const { return api_; }

 private:
  RtlLibrary(SharedLibrary object, const dovetail_rtl_api* api) : object_(std::move(object)), api_(api) {}

  SharedLibrary object_;
  const dovetail_rtl_api* api_;
};

}  // namespace dovetail::simulator
