// The results of comparing the searches, as text and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "explore/replay/replay.h"

namespace dovetail::bench {

struct TargetComparison {
  std::string title;  // title of its panel: "accelerator, cycles"
  std::vector<explore::TaskCurves> tasks;
};

struct Comparison {
  std::vector<std::string> searches;  // in the order of TaskCurves
  std::size_t trials = 512, seeds = 10, batch = 8;
  std::string ranking;
  std::vector<TargetComparison> targets;

  std::size_t search(std::string_view name) const;  // index of a search
};

// A table for each target: the result of random search, how far the default is from it, and after how many trials each
// search reaches it.
std::string to_string(const Comparison& comparison);
Json to_json(const Comparison& comparison);

}  // namespace dovetail::bench
