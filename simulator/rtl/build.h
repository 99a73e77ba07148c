// Builds Verilated models; concurrent requests for one model build it only once.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "isa/config.h"
#include "simulator/rtl/recipe.h"

namespace dovetail::simulator {

struct RtlBuild {
  RtlModelKind kind = {};
  std::filesystem::path design = {};  // the folder with rtl/, sva/ and tb/; empty: that of this kit
  std::filesystem::path into = {};    // folder of the model; empty: the cache
  std::function<void(std::string_view step)> report = nullptr;  // called at the beginning of each step of a build
};

struct BuiltRtlModel {
  std::filesystem::path path;
  bool is_new = false;  // false: it existed already
};

// The model in `into`, built if it is missing or incomplete. If several processes request a model, the first builds it
// and the others wait. An interrupted build leaves no model, and does not affect the next one. Error: no Verilator, no
// g++, no sources, or the tools' messages.
Result<BuiltRtlModel> build_rtl_model(const isa::HardwareConfig& config, const RtlBuild& build);

// A program that building a model needs and the PATH lacks; Debian's package has its name. nullopt: none.
std::optional<std::string> missing_rtl_tool();

// find_rtl_model(), and build_rtl_model() if there is no model. Precondition: neither build.design nor
// build.kind.synthesized_dot, which find_rtl_model() does not look for.
Result<std::filesystem::path> find_or_build_rtl_model(const isa::HardwareConfig& config, const RtlBuild& build);

}  // namespace dovetail::simulator
