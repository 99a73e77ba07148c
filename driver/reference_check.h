// What a run computed against the reference, tensor by tensor.
#pragma once

#include <map>
#include <string>

#include "base/ndarray.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "compiler/graph/graph.h"
#include "runtime/executor.h"

namespace dovetail::driver {

struct ReferenceCheck {
  std::size_t compared = 0;  // tensors that run and reference both have
  std::size_t graph_tensors =
      0;  // that the reference has; those fused away on the way to instructions exist nowhere else
  std::size_t elements = 0;
  std::size_t different = 0;   // tensors
  double float_tolerance = 0;  // of a float tensor's largest magnitude
  double half_tolerance = 0;   // likewise, where there are tensors of float16 or bfloat16
  std::int64_t stepped = 0;    // integers one step from the reference's, rounded from such floats
  Diagnostics first;           // the first that differs in execution order; empty where all agree
};

// Evaluates `graph` (the integer graph) node by node on naive loop programs and compares every tensor that `run` kept
// under the same name, and all outputs, bit for bit; NaNs of a kind agree. Elements of a float tensor may differ by
// `float_tolerance` of its largest magnitude. Then integers that QuantizeLinear, DynamicQuantizeLinear or Cast
// rounds from floats of another node may differ by one step, at most one in a hundred of a tensor (at least one);
// what follows is compared with what follows from the run's. Error: the reference itself failed, or `work` stopped it.
Result<ReferenceCheck> check_against_reference(const graph::Graph& graph, const std::map<std::string, NdArray>& inputs,
                                               const runtime::RunResult& run, double float_tolerance = 0,
                                               Work* work = nullptr);
// Of the reference's values those that are outputs whose extent depends on values, cut to it, as runs cut theirs.
void cut_to_extents(const graph::Graph& graph, std::map<std::string, NdArray>& values);
// Adds to the tensors that a run kept the values of those that are in their own layout, under the names of the
// values. Precondition: the run is of that bundle, and the bundle of that graph.
void add_logical_tensors(const bundle::Bundle& bundle, const graph::Graph& graph, runtime::RunResult& run);

}  // namespace dovetail::driver
