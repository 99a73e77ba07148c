// The libraries that the kit is compared with. CMake detects which of them are available: DOVETAIL_HAVE_ONEDNN,
// DOVETAIL_HAVE_OPENBLAS.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/cpu/candidate.h"
#include "bench/cpu/layer.h"
#include "compiler/graph/graph.h"

namespace dovetail::bench {

struct Peer {
  std::string name, version;  // version: empty if this build lacks it
  std::string packages;       // packages that provide it
};
std::vector<Peer> peers();

// oneDNN at its best (its own layouts throughout), oneDNN from and to plain layouts, OpenBLAS; those that are
// available.
Result<std::vector<Candidate>> peer_candidates(const Problem& problem);
Result<std::vector<Candidate>> peer_candidates(const graph::Graph& network, const NdArray& input);

}  // namespace dovetail::bench
