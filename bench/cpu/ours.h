// Our side of the comparison.
#pragma once

#include <vector>

#include "base/result.h"
#include "bench/cpu/candidate.h"
#include "bench/cpu/layer.h"
#include "bench/cpu/tuned.h"
#include "compiler/graph/graph.h"

namespace dovetail::bench {

// Error: this version cannot; the reason is in the report. Inputs: the problem's; of a network, `input`. Threads
// are pinned to the first `threads` processors that the process may use. Two candidates: "ours" takes and gives the
// layouts that its kernels choose, "ours plain" those of the model. With records a third, "ours tuned": the first by
// recorded schedules.
Result<std::vector<Candidate>> make_ours(const Problem& problem, int threads, const Tuning& tuning);
Result<std::vector<Candidate>> make_ours(const graph::Graph& network, const NdArray& input, int threads);

}  // namespace dovetail::bench
