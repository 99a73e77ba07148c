// The reference: a graph evaluated node by node on the operators' naive loop programs, nothing scheduled, nothing
// fused. Every other way of running a model is compared with this.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/ndarray.h"
#include "base/result.h"
#include "base/work.h"
#include "compiler/graph/graph.h"
#include "compiler/passes/pass.h"

namespace dovetail {

// Values of all live node outputs by value name (graph outputs among them). `inputs` by input name; missing,
// superfluous or wrongly typed ones are diagnosed together. Programs of equal text are compiled once per call of
// make_reference.
class Reference {
 public:
  static Result<Reference> make(graph::Graph graph);
  // Sees the value of each node output when it was computed, and may put another one of its type in its place, from
  // which what follows is computed.
  using Revise = std::function<void(const graph::Node&, graph::ValueId, NdArray&)>;
  // `work` counts its steps and may stop it; null: nobody watches.
  Result<std::map<std::string, NdArray>> run(const std::map<std::string, NdArray>& inputs, Work* work = nullptr,
                                             const Revise& revise = nullptr) const;
  WorkEstimate estimate_work() const;
  const graph::Graph& graph() const;

 private:
  struct State;
  struct Run;
  std::shared_ptr<const State> state_;
};

}  // namespace dovetail
