// A single layer by oneDNN.
#pragma once

#include <string>

#include "bench/cpu/candidate.h"
#include "bench/cpu/layer.h"

namespace dovetail::bench::onednn {

std::string version();

enum class Layout : std::uint8_t {
  own,    // what the library likes best, at both ends: how layers follow each other inside a network
  plain,  // NCHW at both ends, through reorders where the library needs another layout (what it computes from NCHW
          // directly is far slower)
};

Candidate make_layer(const Problem& problem, Layout layout);

}  // namespace dovetail::bench::onednn
