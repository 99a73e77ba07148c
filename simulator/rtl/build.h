// Building Verilated models, once each, anyone who asks for them at the same time.
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
  std::function<void(std::string_view step)> report = nullptr;  // called with each step of a build, as it begins
};

struct BuiltRtlModel {
  std::filesystem::path path;
  bool is_new = false;  // false: it was there
};

// The model in `into`, built where it is not there whole. Of several processes that ask for one, the first builds it
// and the others wait. What interrupts a build leaves no model, and nothing that is in the way of the next one. Error:
// no Verilator, no g++, no sources, or what the tools said.
Result<BuiltRtlModel> build_rtl_model(const isa::HardwareConfig& config, const RtlBuild& build);

// The program that building a model needs and the PATH lacks; Debian's package has its name. nullopt: none.
std::optional<std::string> missing_rtl_tool();

// find_rtl_model(), and where there is none build_rtl_model(). Precondition: neither build.design nor
// build.kind.synthesized_dot, which find_rtl_model() does not look for.
Result<std::filesystem::path> find_or_build_rtl_model(const isa::HardwareConfig& config, const RtlBuild& build);

}  // namespace dovetail::simulator
