// Schedules searched for a layer before it is measured, and recorded schedules.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/pipeline.h"
#include "compiler/schedule/recorded.h"

namespace dovetail::bench {

struct Tuning {
  std::string records;      // a database, created if needed; empty: no tuning
  std::int64_t trials = 0;  // per kernel, before it is measured
};

// Searches with the compiler's `options` and adds the results to the records.
Result<void> tune_layer(const graph::Graph& graph, CompileOptions options, const Tuning& tuning, int threads);
// Looks up the best recorded schedules.
Result<schedule::FindRecorded> tuned_schedules(const Tuning& tuning, int threads);

}  // namespace dovetail::bench
