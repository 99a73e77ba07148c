// Matrix products by OpenBLAS: float32, both operands plain.
#pragma once

#include <optional>

#include "bench/cpu/candidate.h"
#include "bench/cpu/layer.h"

namespace dovetail::bench::openblas {

std::string version();
std::optional<Candidate> make_product(const Problem& problem);  // nothing unless it is a float32 product

}  // namespace dovetail::bench::openblas
