#include "cli/reference_check.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/text.h"
#include "compiler/layout/layout.h"
#include "compiler/reference/reference.h"

namespace dovetail::cli {

namespace {

bool equal_element(const NdArray& a, const NdArray& b, std::int64_t index) {
  const auto size = static_cast<std::size_t>(size_bytes(a.dtype()));
  const auto at = static_cast<std::size_t>(index) * size;
  if (std::equal(a.bytes().begin() + static_cast<std::ptrdiff_t>(at),
                 a.bytes().begin() + static_cast<std::ptrdiff_t>(at + size),
                 b.bytes().begin() + static_cast<std::ptrdiff_t>(at)))
    return true;
  return is_floating(a.dtype()) && std::isnan(a.as_double(index)) && std::isnan(b.as_double(index));
}

// How much an element may differ.
double tolerance(const NdArray& expected, double part) {
  if (part == 0 || !is_floating(expected.dtype())) return 0;
  double largest = 0;
  for (std::int64_t i = 0; i < expected.count(); ++i)
    if (const double value = std::abs(expected.as_double(i)); std::isfinite(value)) largest = std::max(largest, value);
  return part * largest;
}

bool close_element(const NdArray& a, const NdArray& b, std::int64_t index, double tolerance) {
  return equal_element(a, b, index) ||
         (tolerance > 0 && std::abs(a.as_double(index) - b.as_double(index)) <= tolerance);
}

std::string element_text(const NdArray& array, std::int64_t index) {
  return is_floating(array.dtype()) ? fmt::format("{:.9g}", array.as_double(index))
                                    : fmt::format("{}", array.as_int64(index));
}

// [1, 16, 8, 8] at 1023 -> "[0, 15, 7, 7]"
std::string position_text(const Shape& shape, std::int64_t index) {
  Shape position(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    position[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return to_string(position);
}

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
  std::int64_t count = 0, first = -1;
  const double allowed = tolerance(expected, float_tolerance);
  for (std::int64_t i = 0; i < expected.count(); ++i)
    if (!close_element(expected, actual, i, allowed)) {
      if (first < 0) first = i;
      ++count;
    }
  return {
      "the run differs from the reference", where,
      fmt::format("{} of {} elements; first at {}: {}, expected {}", count, expected.count(),
                  position_text(expected.shape(), first), element_text(actual, first), element_text(expected, first)),
      hint};
}

}  // namespace

std::optional<std::int64_t> first_difference(const NdArray& a, const NdArray& b, double float_tolerance) {
  const double allowed = tolerance(a, float_tolerance);
  for (std::int64_t i = 0; i < a.count(); ++i)
    if (!close_element(a, b, i, allowed)) return i;
  return std::nullopt;
}

void add_logical_tensors(const bundle::Bundle& bundle, const graph::Graph& graph, runtime::RunResult& run) {
  for (const bundle::Tensor& tensor : bundle.tensors) {
    const auto kept = run.tensors.find(tensor.name);
    const auto value = graph.find_value(tensor.logical);
    if (tensor.layout.empty() || kept == run.tensors.end() || !value || run.tensors.count(tensor.logical)) continue;
    if (const auto layout = parse_layout(tensor.layout, graph.value(*value).type.shape); layout.ok())
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
    const bool same_type = want->second.dtype() == have->second.dtype() && want->second.shape() == have->second.shape();
    if (same_type && !first_difference(want->second, have->second, float_tolerance)) return;
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
