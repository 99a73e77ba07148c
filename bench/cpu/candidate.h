// One implementation of a layer or a network, ready to run: weights packed, memory allocated, threads started.
#pragma once

#include <functional>
#include <string>

#include "base/ndarray.h"

namespace dovetail::bench {

struct Candidate {
  std::string name;                 // "ours", "oneDNN", ...
  std::function<void()> run;        // one inference
  std::function<NdArray()> result;  // result of the last run, in plain row-major layout; not timed
};

}  // namespace dovetail::bench
