// Runs a graph from file to results, at every level and on several targets, and compares with the reference.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/fuzz/compiler/graphs/random_graph.h"

namespace dovetail::test {

using Arrays = std::map<std::string, NdArray>;

// The results, and the broken promises.
struct Held {
  std::string refused;  // the reason why the reference has no values (an index out of bounds, a division by zero)
  std::vector<std::string> broken;  // one line each
  Arrays reference;
  // Where the reference has a value that rounding does not decide: binary32 and binary64 agree, and so does binary64 on
  // inputs varied by a few units in the last place. bool, by output.
  Arrays sure;
  std::map<std::string, Arrays> runs;  // outputs by "level 0" ...
};

// Promises: the file is imported as the graph that it was written from. At levels 0 and 1 kernels without functions
// have the reference's bits, for all values. Elsewhere, where the values are sure, they are within rounding; at level
// 3, and at level 2 of graphs with sums, only if all values are finite. Where the reference refuses the values, nothing
// crashes.
Held hold_graph(const FuzzGraph& made);

// The first part of the graph, in execution order, that breaks a promise on its own, shrunk result by result.
FuzzGraph smallest_broken(const FuzzGraph& made);

}  // namespace dovetail::test
