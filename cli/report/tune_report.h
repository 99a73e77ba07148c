// What tuning found: for people, for machines, and as a page.
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

  std::map<std::string, tune::Gain> gains() const;  // by target: their costs have different units
  std::string text() const;
  Json json() const;         // "kind": "tune"
  std::string page() const;  // HTML that refers to nothing outside of it
};

}  // namespace dovetail::cli
