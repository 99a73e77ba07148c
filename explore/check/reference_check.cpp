#include "explore/check/reference_check.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/difference.h"
#include "compiler/layout/layout.h"
#include "compiler/ops/recurrent.h"
#include "compiler/reference/reference.h"
#include "runtime/cut.h"

namespace dovetail::explore {

namespace {

std::string type_text(const NdArray& array) {
  return fmt::format("{}{}", name(array.dtype()), to_string(array.shape()));
}

Diagnostic difference(const std::string& name, const graph::Node* producer, const NdArray& expected,
                      const NdArray& actual, double float_tolerance) {
  std::string where = fmt::format("tensor {}", name);
  if (producer != nullptr) {
    where += fmt::format(", node {} ({})", producer->name, producer->op);
    if (!producer->origins.empty()) where += fmt::format(" for {}", fmt::join(producer->origins, ", "));
  }
  const std::string hint =
      "all earlier tensors agree: look at this node's schedule and lowering with `dovetail compile --dump all`";
  if (expected.dtype() != actual.dtype() || expected.shape() != actual.shape())
    return {"the run differs from the reference", where,
            fmt::format("it is {}, expected {}", type_text(actual), type_text(expected)), hint};
  const auto differing = find_difference(expected, actual, {float_tolerance});
  return {"the run differs from the reference", where, differing ? to_string(*differing, expected, actual) : "", hint};
}

// A tensor of a run; null if the run did not keep it.
const NdArray* kept(const runtime::RunResult& run, const std::string& name) {
  if (const auto found = run.tensors.find(name); found != run.tensors.end()) return &found->second;
  const auto output = run.outputs.find(name);
  return output != run.outputs.end() ? &output->second : nullptr;
}

// Whether the node rounds floats that another node computes to integers. (The index of a maximum is not such a
// rounding.)
bool rounds_floats(const graph::Graph& graph, const graph::Node& node, graph::ValueId output) {
  const bool rounds = node.op == "QuantizeLinear" || node.op == "DynamicQuantizeLinear" || node.op == "Cast";
  const graph::Value& from = graph.value(node.inputs[0]);
  return rounds && is_integer(graph.value(output).type.dtype) && is_floating(from.type.dtype) && from.producer.valid();
}

// The number of elements that differ by one step; nullopt if some differ by more, or too many differ.
std::optional<std::int64_t> steps_apart(const NdArray& expected, const NdArray& actual) {
  if (expected.dtype() != actual.dtype() || expected.shape() != actual.shape()) return std::nullopt;
  const auto differing = find_difference(expected, actual);
  if (!differing) return 0;
  constexpr std::int64_t kOneOf = 100;
  if (differing->count > std::max<std::int64_t>(1, expected.count() / kOneOf) ||
      find_difference(expected, actual, {0, 1}))
    return std::nullopt;
  return differing->count;
}

// Whether a recurrence that rounds its state may give either: one other step of the state changes all that follows. The
// differences must not exceed the noise of the rounding, whose root mean square is a step divided by the root of 12,
// and none may be more than a few steps.
bool within_state_steps(const NdArray& expected, const NdArray& actual) {
  constexpr double kStep = 1.0 / 255, kMostSteps = 8;
  if (expected.dtype() != actual.dtype() || expected.shape() != actual.shape() ||
      find_difference(expected, actual, {kMostSteps * kStep}))
    return false;
  double squares = 0, largest = 0;
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const double difference = expected.as_double(i) - actual.as_double(i);
    squares += difference * difference;
    largest = std::max(largest, std::abs(expected.as_double(i)));
  }
  const double step = kStep * largest;
  return squares <= step * step / 12 * static_cast<double>(expected.count());
}

// An int8 tensor that a kernel does not keep, seen through the nodes of one value that follow it in the kernel.
struct Seen {
  const NdArray* kept = nullptr;  // what the kernel keeps
  std::vector<double> numbers;    // of each step, from -128 on
};
// nullopt if the kernel keeps nothing that depends on this tensor alone.
std::optional<Seen> seen_through(const graph::Graph& graph, graph::ValueId value, const runtime::RunResult& run) {
  Seen seen;
  for (int step = INT8_MIN; step <= INT8_MAX; ++step) seen.numbers.push_back(step);
  while (seen.kept == nullptr) {
    if (graph.value(value).type.dtype != DType::int8 || graph.count_reads(value, 2) != 1) return std::nullopt;
    const graph::Node& node = graph.node(graph.users(value).front());
    if (node.inputs.size() < 2 || !graph.is_constant(node.inputs[1])) return std::nullopt;
    const NdArray& constant = *graph.value(node.inputs[1]).constant;
    if (node.op == "dovetail.qtable" && constant.shape().size() == 1) {
      for (double& number : seen.numbers) number = constant.as_double(static_cast<std::int64_t>(number) - INT8_MIN);
    } else if (node.op == "DequantizeLinear" && constant.count() == 1) {
      const bool shifts = node.inputs.size() > 2 && node.inputs[2].valid();
      if (shifts && !graph.is_constant(node.inputs[2])) return std::nullopt;
      const double zero = shifts ? graph.value(node.inputs[2]).constant->as_double(0) : 0;
      for (double& number : seen.numbers)
        number = static_cast<double>(static_cast<float>(number - zero) * static_cast<float>(constant.as_double(0)));
    } else {
      return std::nullopt;
    }
    value = node.outputs[0];
    seen.kept = kept(run, graph.value(value).name);
    if (seen.kept == nullptr && graph.is_output(value)) return std::nullopt;
  }
  return seen;
}

// The run's tensor, as far as it shows: steps of the reference, or next to them where only these give what it keeps.
NdArray steps_of_run(const NdArray& expected, const Seen& seen) {
  NdArray steps = expected;
  if (seen.kept->count() != expected.count()) return steps;
  for (std::int64_t i = 0; i < expected.count(); ++i)
    for (const std::int64_t distance : {0, -1, 1}) {
      const std::int64_t step = expected.as_int64(i) + distance;
      if (step < INT8_MIN || step > INT8_MAX ||
          seen.numbers[static_cast<std::size_t>(step - INT8_MIN)] != seen.kept->as_double(i))
        continue;
      steps.set_int64(i, step);
      break;
    }
  return steps;
}

}  // namespace

void cut_to_extents(const graph::Graph& graph, std::map<std::string, NdArray>& values) {
  for (const graph::OutputExtent& row : graph.extents)
    if (const auto output = values.find(row.output); output != values.end())
      output->second =
          runtime::first_along(output->second, static_cast<std::size_t>(row.axis), values.at(row.extent).as_int64(0));
}

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
  ReferenceCheck check;
  const auto take_state = [&](const NdArray& have, NdArray& value) {
    if (!within_state_steps(value, have)) return;
    if (const auto differing = find_difference(value, have, {float_tolerance})) {
      check.stepped += differing->count;
      value = have;
    }
  };
  const Reference::Revise take_steps = [&](const graph::Node& node, graph::ValueId output, NdArray& value) {
    const NdArray* have = kept(run, reference.graph().value(output).name);
    if (ops::quantizes_state(node.op) && have != nullptr) take_state(*have, value);
    if (!rounds_floats(reference.graph(), node, output)) return;
    NdArray shown;
    if (have == nullptr)
      if (const auto seen = seen_through(reference.graph(), output, run)) have = &(shown = steps_of_run(value, *seen));
    if (have == nullptr) return;
    const auto steps = steps_apart(value, *have);
    if (steps.value_or(0) == 0) return;
    check.stepped += *steps;
    value = *have;
  };
  DOVETAIL_ASSIGN(auto expected, reference.run(inputs, work, float_tolerance > 0 ? take_steps : nullptr));

  cut_to_extents(graph, expected);
  check.float_tolerance = float_tolerance;
  check.graph_tensors = expected.size();
  std::set<std::string> seen;
  const auto compare = [&](const std::string& name, const graph::Node* producer) {
    const auto exact = expected.find(name);
    const bool cut = std::ranges::find(graph.extents, name, &graph::OutputExtent::output) != graph.extents.end();
    const NdArray* const actual = cut && run.outputs.contains(name) ? &run.outputs.at(name) : kept(run, name);
    if (exact == expected.end() || actual == nullptr || !seen.insert(name).second) return;
    ++check.compared;
    check.elements += static_cast<std::size_t>(exact->second.count());
    if (const double tolerance = tolerance_of(exact->second.dtype(), float_tolerance); tolerance != float_tolerance)
      check.half_tolerance = std::max(check.half_tolerance, tolerance);
    const bool same_type = exact->second.dtype() == actual->dtype() && exact->second.shape() == actual->shape();
    if (same_type && !find_difference(exact->second, *actual, {float_tolerance})) return;
    ++check.different;
    if (check.first.empty()) check.first.push_back(difference(name, producer, exact->second, *actual, float_tolerance));
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
                          "this is a bug of the kit: report it with the model"};
    }
  return check;
}

}  // namespace dovetail::explore
