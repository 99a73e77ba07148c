// The curves of a comparison as one figure, readable on light and dark pages.
#pragma once

#include <string>

#include "bench/tuning/comparison.h"

namespace dovetail::bench {

std::string svg_of(const Comparison& comparison);

}  // namespace dovetail::bench
