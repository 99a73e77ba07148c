// The DRAM presets (simulator/memory/dram/*.json), embedded into the library by the build.
#pragma once

#include <span>
#include <string_view>

namespace dovetail::simulator {

struct DramPreset {
  std::string_view path, text;
};
std::span<const DramPreset> dram_presets();  // in listing order

}  // namespace dovetail::simulator
