// A single layer by oneDNN.
#pragma once

#include <string>

#include "bench/cpu/candidate.h"
#include "bench/cpu/layer.h"

namespace dovetail::bench::onednn {

std::string version();

enum class Layout : std::uint8_t {
  own,    // the library's preferred layouts at both ends, as between layers of a network
  plain,  // NCHW at both ends, with reorders if the library needs another layout (its direct NCHW implementations are
          // much slower)
};

Candidate make_layer(const Problem& problem, Layout layout);

}  // namespace dovetail::bench::onednn
