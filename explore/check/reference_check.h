// Compares the tensors of a run with those of the reference.
#pragma once

#include <map>
#include <string>

#include "base/ndarray.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "compiler/graph/graph.h"
#include "runtime/executor.h"

namespace dovetail::explore {

struct ReferenceCheck {
  std::size_t compared = 0;       // tensors that both the run and the reference have
  std::size_t graph_tensors = 0;  // tensors of the reference, including those that fusion removed from the run
  std::size_t elements = 0;
  std::size_t different = 0;   // number of tensors
  double float_tolerance = 0;  // relative to a float tensor's largest magnitude
  double half_tolerance = 0;   // the same for tensors of float16 or bfloat16, if there are any
  std::int64_t stepped = 0;    // elements one quantization step from the reference's, rounded from such floats
  Diagnostics first;           // the first difference in execution order; empty if all agree
};

// Evaluates `graph` (the integer graph) node by node on naive loop programs and compares every tensor that `run` kept
// under the same name, and all outputs, bit for bit; NaNs are equal. Elements of a float tensor may differ by
// `float_tolerance` of its largest magnitude. Then integers that QuantizeLinear, DynamicQuantizeLinear or Cast rounds
// from floats of another node may differ by one step, at most one in a hundred of a tensor (at least one), also where
// the kernel keeps only what a table or DequantizeLinear makes of them; later tensors are then compared with results
// computed from the run's values. The same holds for floats of a recurrence that quantizes its state in each step: they
// may differ by the noise of this rounding, with a step of 1/255 of their largest magnitude. Error: the reference
// itself failed, or `work` stopped it.
Result<ReferenceCheck> check_against_reference(const graph::Graph& graph, const std::map<std::string, NdArray>& inputs,
                                               const runtime::RunResult& run, double float_tolerance = 0,
                                               Work* work = nullptr);
// Cuts the reference's outputs whose extent depends on values to that extent, like the outputs of a run.
void cut_to_extents(const graph::Graph& graph, std::map<std::string, NdArray>& values);
// Adds to the tensors that a run kept the values of tensors in their own layout, under the names of the values.
// Precondition: `run` is a run of `bundle`, which was compiled from `graph`.
void add_logical_tensors(const bundle::Bundle& bundle, const graph::Graph& graph, runtime::RunResult& run);

}  // namespace dovetail::explore
