#include "cli/reference_check.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/difference.h"
#include "cli/text.h"
#include "compiler/layout/layout.h"
#include "compiler/reference/reference.h"

namespace dovetail::cli {

namespace {

Diagnostic difference(const std::string& name, const graph::Node* producer, const NdArray& expected,
                      const NdArray& actual, double float_tolerance) {
  std::string where = fmt::format("tensor {}", name);
  if (producer != nullptr) {
    where += fmt::format(", node {} ({})", producer->name, producer->op);
    if (!producer->origins.empty()) where += fmt::format(" for {}", fmt::join(producer->origins, ", "));
  }
  const std::string hint =
      "earlier tensors agree: compare this node's schedule and lowering, `dovetail compile --dump all`";
  if (expected.dtype() != actual.dtype() || expected.shape() != actual.shape())
    return {"the run differs from the reference", where,
            fmt::format("it is {}, expected {}", type_text(actual.dtype(), actual.shape()),
                        type_text(expected.dtype(), expected.shape())),
            hint};
  const auto differing = find_difference(expected, actual, {float_tolerance});
  return {"the run differs from the reference", where, differing ? to_string(*differing, expected, actual) : "", hint};
}

}  // namespace

void add_logical_tensors(const bundle::Bundle& bundle, const graph::Graph& graph, runtime::RunResult& run) {
  for (const bundle::Tensor& tensor : bundle.tensors) {
    const auto kept = run.tensors.find(tensor.name);
    const auto value = graph.find_value(tensor.logical);
    if (tensor.layout.empty() || kept == run.tensors.end() || !value || run.tensors.count(tensor.logical)) continue;
    if (const auto layout = parse_layout(tensor.layout, graph.value(*value).type.shape);
        layout.ok() && layout->holds_all())
      run.tensors.emplace(tensor.logical, unpack(kept->second, *layout));
  }
}

Result<ReferenceCheck> check_against_reference(const graph::Graph& graph, const std::map<std::string, NdArray>& inputs,
                                               const runtime::RunResult& run, double float_tolerance, Work* work) {
  DOVETAIL_ASSIGN(const Reference reference, Reference::make(graph));
  if (work != nullptr) DOVETAIL_TRY(work->expect("the reference", reference.estimate_work()));
  DOVETAIL_ASSIGN(const auto expected, reference.run(inputs, work));

  ReferenceCheck check;
  check.float_tolerance = float_tolerance;
  check.graph_tensors = expected.size();
  std::set<std::string> seen;
  const auto compare = [&](const std::string& name, const graph::Node* producer) {
    const auto want = expected.find(name);
    auto have = run.tensors.find(name);
    bool found = have != run.tensors.end();
    if (!found) {
      have = run.outputs.find(name);
      found = have != run.outputs.end();
    }
    if (want == expected.end() || !found || !seen.insert(name).second) return;
    ++check.compared;
    check.elements += static_cast<std::size_t>(want->second.count());
    if (const double tolerance = tolerance_of(want->second.dtype(), float_tolerance); tolerance != float_tolerance)
      check.half_tolerance = std::max(check.half_tolerance, tolerance);
    const bool same_type = want->second.dtype() == have->second.dtype() && want->second.shape() == have->second.shape();
    if (same_type && !find_difference(want->second, have->second, {float_tolerance})) return;
    ++check.different;
    if (check.first.empty())
      check.first.push_back(difference(name, producer, want->second, have->second, float_tolerance));
  };
  const graph::Graph& evaluated = reference.graph();
  for (const graph::NodeId id : evaluated.topological_order())
    for (const graph::ValueId output : evaluated.node(id).outputs)
      if (output.valid()) compare(evaluated.value(output).name, &evaluated.node(id));
  for (const auto& [name, array] : run.outputs)
    if (!seen.contains(name)) {
      compare(name, nullptr);
      if (!seen.contains(name) && !inputs.contains(name))
        return Diagnostic{"cannot check the run", "output " + name, "the reference has no tensor of that name",
                          "this is a defect of dovetail; please report it with the model"};
    }
  return check;
}

}  // namespace dovetail::cli
