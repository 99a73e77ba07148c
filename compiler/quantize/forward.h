// Runs graphs for quantization: the compiler does not execute anything; the caller provides the executor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::quantize {

using Values = std::map<std::string, NdArray>;
// A graph that is ready to run. Outputs are copied one at a time, since all tensors of a network can be its outputs.
struct Forward {
  std::function<Result<void>(const Values& inputs)> run;
  // An output of the last run. Precondition: the graph has an output of that name.
  std::function<Result<NdArray>(const std::string& name)> output;
  std::vector<std::string> outputs;

  Result<Values> operator()(const Values& inputs) const;  // all outputs
};
using MakeForward = std::function<Result<Forward>(const graph::Graph& graph)>;
// Uses naive loop programs: exact, slow, always available.
MakeForward reference_forward();

// The samples, made one at a time.
struct Samples {
  std::int64_t count = 0;
  std::function<Values(std::int64_t sample)> at;

  Samples(std::int64_t number, std::function<Values(std::int64_t)> make) : count(number), at(std::move(make)) {}
  Samples(const std::vector<Values>& all)  // NOLINT(google-explicit-constructor): `all` outlives this object
      : count(static_cast<std::int64_t>(all.size())),
        at([&all](std::int64_t sample) { return all[static_cast<std::size_t>(sample)]; }) {}
};

// Where the work is.
struct Step {
  std::string_view what = {};      // "ranges", "biases", "comparison" or "layers"
  int part = 0, parts = 0;         // its place among the parts, from 0
  std::int64_t done = 0, all = 0;  // runs of a graph in this part
  bool at_most = false;            // fewer than `all` may be needed
  bool compiling = false;          // the next thing is not a run: its graph is compiled
  std::uint64_t bytes = 0;         // estimate of the memory that the kit takes during the part
};
// Called before each run, and before a graph is compiled for the next ones. Error: the caller cancels.
using Progress = std::function<Result<void>(const Step& step)>;

std::vector<std::string> output_names(const graph::Graph& graph);

// The same graph with these outputs, each once; inputs of the graph are skipped, since they are known.
graph::Graph with_outputs(graph::Graph graph, const std::vector<graph::ValueId>& outputs);

// The position of the largest element; among equal ones, the first.
std::int64_t arg_max(const NdArray& array);

// Signal and noise of real numbers, summed over tensors.
struct SignalAndNoise {
  double signal = 0, noise = 0;
  void add(double exact, double got) { signal += exact * exact, noise += (got - exact) * (got - exact); }
  double decibels() const;  // 10·log10(signal / noise), within ±200
};

}  // namespace dovetail::quantize
