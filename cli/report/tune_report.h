// The results of tuning as text, as JSON and as a page.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "compiler/tune/tune.h"

namespace dovetail::cli {

struct TuneReport {
  std::string model, records, search, ranking;
  std::vector<tune::TaskResult> tasks;

  std::map<std::string, tune::Gain> gains() const;  // by target, since the costs of targets have different units
  std::string text() const;
  Json json() const;  // "kind": "tune"
};

// HTML without references to other files, of that JSON. A member that is missing or of another type: throws
// Json::exception.
std::string tune_page(const Json& report);

}  // namespace dovetail::cli
