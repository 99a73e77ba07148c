// The reference: evaluates a graph node by node on the operators' naive loop programs, without scheduling and fusion.
// Every other way of running a model is compared with it.
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

// Values of all live node outputs by value name (including graph outputs). `inputs` by input name; missing, superfluous
// or wrongly typed ones are diagnosed together. Programs of equal text are compiled once per call of make_reference.
class Reference {
 public:
  static Result<Reference> make(graph::Graph graph);
  // Called with the value of each node output after it is computed; may replace it by another one of its type, which
  // later nodes then use.
  using Revise = std::function<void(const graph::Node&, graph::ValueId, NdArray&)>;
  // `work` counts its steps and may stop it; null: not observed.
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
