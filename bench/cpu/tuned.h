// Schedules that are searched for a layer before it is measured, and those that a search has recorded.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/pipeline.h"
#include "compiler/schedule/recorded.h"

namespace dovetail::bench {

struct Tuning {
  std::string records;      // a database, made where there is none; empty: nothing is tuned
  std::int64_t trials = 0;  // for each kernel, before it is measured
};

// Searches with the compiler's `options` and adds what is found to the records.
Result<void> tune_layer(const graph::Graph& graph, CompileOptions options, const Tuning& tuning, int threads);
// The best that is recorded.
Result<schedule::FindRecorded> tuned_schedules(const Tuning& tuning, int threads);

}  // namespace dovetail::bench
