// What a comparison of the searches shows, in words and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "explore/replay/replay.h"

namespace dovetail::bench {

struct TargetComparison {
  std::string title;  // of its panel: "accelerator, cycles"
  std::vector<explore::TaskCurves> tasks;
};

struct Comparison {
  std::vector<std::string> searches;  // as TaskCurves has them
  std::size_t trials = 512, seeds = 10, batch = 8;
  std::string ranking;
  std::vector<TargetComparison> targets;

  std::size_t search(std::string_view name) const;  // its place
};

// A table for each target: what random search finds, how far the default is from it, and after how many trials each
// search is there.
std::string to_string(const Comparison& comparison);
Json to_json(const Comparison& comparison);

}  // namespace dovetail::bench
