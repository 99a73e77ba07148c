// Runs graphs for quantization: the compiler does not execute anything; the caller provides the executor.
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
// Runs a graph: from inputs by name to outputs by name.
using Forward = std::function<Result<Values>(const Values& inputs)>;
using MakeForward = std::function<Result<Forward>(const graph::Graph& graph)>;
// Uses naive loop programs: exact, slow, always available.
MakeForward reference_forward();

// Called before each run of a graph with its purpose, the number of finished runs of that kind, and their total. Error:
// the caller cancels.
using Progress = std::function<Result<void>(std::string_view what, std::int64_t done, std::int64_t all)>;

// The same graph with these outputs, each once; inputs of the graph are skipped, since they are known.
graph::Graph with_outputs(graph::Graph graph, const std::vector<graph::ValueId>& outputs);

// Runs every sample; `take` receives the outputs and the inputs.
Result<void> run_all(const Forward& forward, std::span<const Values> samples, std::string_view what,
                     const Progress& progress, const std::function<void(const Values& values)>& take);

// The position of the largest element; among equal ones, the first.
std::int64_t arg_max(const NdArray& array);

// Signal and noise of real numbers, summed over tensors.
struct SignalAndNoise {
  double signal = 0, noise = 0;
  void add(double exact, double got) { signal += exact * exact, noise += (got - exact) * (got - exact); }
  double decibels() const;  // 10·log10(signal / noise), within ±200
};

}  // namespace dovetail::quantize
