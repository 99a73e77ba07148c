// Our candidates.
#pragma once

#include <vector>

#include "base/result.h"
#include "bench/cpu/candidate.h"
#include "bench/cpu/layer.h"
#include "bench/cpu/tuned.h"
#include "compiler/graph/graph.h"

namespace dovetail::bench {

// Error: not supported by this version; the reason is in the report. Inputs: the problem's; for a network, `input`.
// Threads are pinned to the first `threads` processors that the process may use. Two candidates: "ours" with the
// layouts that its kernels choose, "ours plain" with those of the model. With records a third, "ours tuned": the first
// with recorded schedules.
Result<std::vector<Candidate>> make_ours(const Problem& problem, int threads, const Tuning& tuning);
Result<std::vector<Candidate>> make_ours(const graph::Graph& network, const NdArray& input, int threads);

}  // namespace dovetail::bench
