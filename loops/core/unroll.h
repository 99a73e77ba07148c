// Replaces loops of kind unrolled by copies of their body, one for each value of their variable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loops/core/core.h"

namespace dovetail::loops {

struct UnrollOptions {
  std::int64_t max_statements = 512;  // limit for one outermost loop, after unrolling
};

struct Unrolled {
  CoreProgram program;  // contains no loops of kind unrolled
  std::vector<std::string>
      kept;  // loops that would exceed the limit: they become serial. Inner loops are unrolled first.
};

Unrolled unroll_loops(const CoreProgram& program, const UnrollOptions& options = {});

}  // namespace dovetail::loops
