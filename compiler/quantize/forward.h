// What runs graphs for quantization: the compiler executes nothing by itself, the caller hands it in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::quantize {

using Values = std::map<std::string, NdArray>;
// Runs a graph: its inputs by name to its outputs by name.
using Forward = std::function<Result<Values>(const Values& inputs)>;
using MakeForward = std::function<Result<Forward>(const graph::Graph& graph)>;
// On naive loop programs: exact, slow, always there.
MakeForward reference_forward();

// Called before each run of a graph with what it is for, the runs of that kind that are done, and how many there are.
// Error: the caller ends the work.
using Progress = std::function<Result<void>(std::string_view what, std::int64_t done, std::int64_t all)>;

// The same graph with these outputs, each once; what the graph takes is left out, being known without.
graph::Graph with_outputs(graph::Graph graph, const std::vector<graph::ValueId>& outputs);

// Runs every sample; `take` gets the outputs and the inputs.
Result<void> run_all(const Forward& forward, std::span<const Values> samples, std::string_view what,
                     const Progress& progress, const std::function<void(const Values& values)>& take);

// The place of the largest element, of equal ones the first.
std::int64_t arg_max(const NdArray& array);

// Signal and noise of real numbers, summed over tensors.
struct SignalAndNoise {
  double signal = 0, noise = 0;
  void add(double exact, double got) { signal += exact * exact, noise += (got - exact) * (got - exact); }
  double decibels() const;  // 10·log10(signal / noise), within ±200
};

}  // namespace dovetail::quantize
