// Loops of kind unrolled become copies of their body, one for each value of their variable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loops/core/core.h"

namespace dovetail::loops {

struct UnrollOptions {
  std::int64_t max_statements = 512;  // of one outermost loop, after unrolling
};

struct Unrolled {
  CoreProgram program;  // without loops of kind unrolled
  std::vector<std::string>
      kept;  // loops that would exceed the size: they are serial now. Inner loops are unrolled first.
};

Unrolled unroll_loops(const CoreProgram& program, const UnrollOptions& options = {});

}  // namespace dovetail::loops
