// Removes nodes that return their input: Identity, Dropout in inference, Cast to the same type, reshapes to the same
// shape, Transpose that moves nothing, Slice of everything, Pad by nothing, Expand and Tile that repeat nothing,
// Concat, Sum, Min, Max and Mean of one, Split into one, and integer scalings, sums with a constant, tables and clips
// whose result is their operand for each of the 256 steps.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::NodeId;

bool all_are(const graph::Graph& graph, const graph::Node& node, std::size_t position, std::int64_t number) {
  const auto values = integers(graph, node.inputs[position]);
  return values && std::all_of(values->begin(), values->end(), [&](std::int64_t value) { return value == number; });
}

// requantize of docs/reference/quantization.md. The product is exact if |sum| < kMostSum, since a scale has 24 bits, or
// if the scale is a power of two.
constexpr double kMostSum = 0x1p29;
double requantized(double sum, double scale) { return std::nearbyint(sum * scale); }

// The results of an integer node that computes each element from the same element of its operand; nullopt for others.
using StepFunction = std::function<double(double x)>;
std::optional<std::vector<StepFunction>> functions_of_step(const graph::Graph& graph, const graph::Node& node) {
  const auto number = [&](const char* name) { return static_cast<double>(graph::int_attribute(node, name, 0)); };
  if (node.op == "dovetail.qclip") return std::vector<StepFunction>{[](double x) { return x; }};
  if (node.op == "dovetail.qadd") {
    if (!graph.is_constant(node.inputs[1]) || graph.value(node.inputs[1]).constant->count() != 1) return std::nullopt;
    const double a_zero = number("a_zero_point"), a_multiplier = graph::float_attribute(node, "a_multiplier", 1),
                 b = graph.value(node.inputs[1]).constant->as_double(0) - number("b_zero_point"),
                 addend = requantized(b, graph::float_attribute(node, "b_multiplier", 1)),
                 scale = graph::float_attribute(node, "scale", 1), zero = number("y_zero_point");
    int exponent = 0;
    const bool exact =
        std::abs(std::frexp(scale, &exponent)) == 0.5 || std::abs(255 * a_multiplier) + std::abs(addend) < kMostSum;
    if (!exact) return std::nullopt;
    return std::vector<StepFunction>{
        [=](double x) { return requantized(requantized(x - a_zero, a_multiplier) + addend, scale) + zero; }};
  }
  if (node.op == "dovetail.qtable") {
    if (!graph.is_constant(node.inputs[1])) return std::nullopt;
    const NdArray& tables = *graph.value(node.inputs[1]).constant;
    constexpr std::int64_t kSteps = 256;
    std::vector<StepFunction> functions;
    for (std::int64_t first = 0; first < tables.count(); first += kSteps)
      functions.push_back(
          [&tables, first](double x) { return tables.as_double(first + static_cast<std::int64_t>(x) - INT8_MIN); });
    return functions;
  }
  if (node.op != "dovetail.qconv") return std::nullopt;
  const NdArray& weight = *graph.value(node.inputs[1]).constant;
  if (weight.count() != graph::int_attribute(node, "group", 1) || weight.count() != weight.shape()[0])
    return std::nullopt;
  std::vector<StepFunction> functions;
  for (std::int64_t c = 0; c < weight.count(); ++c) {
    const double weight_zero = has_input(node, 4) ? graph.value(node.inputs[4]).constant->as_double(c) : 0,
                 factor = weight.as_double(c) - weight_zero, bias = graph.value(node.inputs[2]).constant->as_double(c),
                 scale = graph.value(node.inputs[3]).constant->as_double(c), x_zero = number("x_zero_point"),
                 y_zero = number("y_zero_point");
    if (std::abs(bias) > 0x1p28) return std::nullopt;
    functions.push_back([=](double x) { return requantized((x - x_zero) * factor + bias, scale) + y_zero; });
  }
  return functions;
}

bool keeps_steps(const graph::Graph& graph, const graph::Node& node) {
  const auto functions = functions_of_step(graph, node);
  if (!functions) return false;
  const double least = static_cast<double>(graph::int_attribute(node, "y_min", -128)),
               most = static_cast<double>(graph::int_attribute(node, "y_max", 127));
  for (int x = -128; x <= 127; ++x)
    for (const StepFunction& each : *functions)
      if (std::clamp(each(x), least, most) != x) return false;
  return true;
}

bool hands_on(const graph::Graph& graph, const graph::Node& node) {
  if (node.op == "Identity") return true;
  if (node.op == "Dropout") {
    if (node.outputs.size() > 1 && (graph.is_output(node.outputs[1]) || !graph.users(node.outputs[1]).empty()))
      return false;  // the mask is used
    if (!has_input(node, 2)) return true;
    const auto& training = graph.value(node.inputs[2]).constant;
    return training && training->as_int64(0) == 0;
  }
  if (node.outputs.size() != 1 || node.inputs.empty() || !node.inputs[0].valid() ||
      graph.value(node.inputs[0]).type != graph.value(node.outputs[0]).type)
    return false;
  // Below, the types are the same.
  for (const char* op : {"Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile", "Split"})
    if (node.op == op) return true;
  for (const char* op : {"Concat", "Sum", "Min", "Max", "Mean"})
    if (node.op == op) return node.inputs.size() == 1;
  if (node.op == "Transpose") {
    const std::vector<std::int64_t> perm = graph::ints_attribute(node, "perm", {});
    return perm.empty() ? graph.value(node.inputs[0]).type.shape.size() <= 1 : std::is_sorted(perm.begin(), perm.end());
  }
  if (node.op == "Slice")
    return !has_input(node, 4) || all_are(graph, node, 4, 1);  // a step of -1 reverses the elements
  if (node.op == "Pad") return all_are(graph, node, 1, 0);     // pads of -1 and 1 would move the elements
  if (node.op == "Clip") return !has_input(node, 1) && !has_input(node, 2);
  if (node.op.starts_with("dovetail.q")) return keeps_steps(graph, node);
  return false;
}

}  // namespace

Result<PassOutcome> eliminate_identities(graph::Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order()) {
    if (graph.node(id).removed || !hands_on(graph, graph.node(id))) continue;
    // Bypasses the node, unless it copies a graph input or constant to a graph output: that copy is required.
    outcome.changes += bypass(graph, id, graph.node(id).inputs[0]);
  }
  return outcome;
}

}  // namespace dovetail::passes
