// The curves of a comparison as one picture, readable on light and on dark pages.
#pragma once

#include <string>

#include "bench/tuning/comparison.h"

namespace dovetail::bench {

std::string svg_of(const Comparison& comparison);

}  // namespace dovetail::bench
