#include "examples/backend_c/generate.h"

#include <algorithm>

#include <fmt/format.h>

namespace backend_c {

using namespace dovetail;
using graph::Graph;
using graph::ValueId;
using pattern::Found;

namespace {

std::string array(ValueId value) { return fmt::format("v{}", value.index); }
const Shape& shape_of(const Graph& graph, ValueId value) { return graph.value(value).type.shape; }
// The result of the last node of the match.
ValueId result_of(const Graph& graph, const Found& found) { return graph.node(found.nodes.back()).outputs[0]; }
const graph::Node* find_node(const Graph& graph, const Found& found, std::string_view op) {
  for (const graph::NodeId id : found.nodes)
    if (graph.node(id).op == op) return &graph.node(id);
  return nullptr;
}
std::string rectified(const Graph& graph, const Found& found, const std::string& value) {
  return find_node(graph, found, "Relu") ? fmt::format("{0} > 0 ? {0} : 0", value) : value;
}

Diagnostic refuse(std::string why) {
  return {"the C back end does not take it", "", std::move(why), "leave it to another target"};
}

// y[i, j] = bias[j] + sum over k of x[i, k] * w[k, j], or w[j, k] where `transposed`.
Result<TakenPointer> product(const Graph& graph, const Found& found, ValueId bias, bool transposed) {
  const ValueId x = found.values.at("x"), w = found.values.at("w"), y = result_of(graph, found);
  const Shape &weights = shape_of(graph, w), &rows = shape_of(graph, x);
  if (weights.size() != 2)
    return refuse(fmt::format("its weights have {} dimensions, the loops take 2", weights.size()));
  const std::int64_t k = weights[transposed ? 1 : 0], n = weights[transposed ? 0 : 1];
  if (bias.valid() && shape_of(graph, bias) != Shape{n})
    return refuse(fmt::format("its bias has the shape {}, the loops add [{}]", to_string(shape_of(graph, bias)), n));
  const std::int64_t m = element_count(rows) / std::max<std::int64_t>(k, 1);
  Code code{fmt::format("  for (long i = 0; i < {m}; ++i)\n"
                        "    for (long j = 0; j < {n}; ++j) {{\n"
                        "      float sum = {bias};\n"
                        "      for (long k = 0; k < {k}; ++k) sum += {x}[i * {k} + k] * {w}[{w_index}];\n"
                        "      {y}[i * {n} + j] = {result};\n"
                        "    }}\n",
                        fmt::arg("m", m), fmt::arg("n", n), fmt::arg("k", k), fmt::arg("x", array(x)),
                        fmt::arg("w", array(w)), fmt::arg("y", array(y)),
                        fmt::arg("bias", bias.valid() ? array(bias) + "[j]" : "0"),
                        fmt::arg("w_index", transposed ? fmt::format("j * {} + k", k) : fmt::format("k * {} + j", n)),
                        fmt::arg("result", rectified(graph, found, "sum"))),
            {x, w}};
  if (bias.valid()) code.reads.push_back(bias);
  return TakenPointer(std::make_shared<const Code>(std::move(code)));
}

Result<TakenPointer> take_gemm(const Graph& graph, const Found& found) {
  const graph::Node& node = *find_node(graph, found, "Gemm");
  const double alpha = graph::float_attribute(node, "alpha", 1), beta = graph::float_attribute(node, "beta", 1);
  if (alpha != 1 || beta != 1)
    return refuse(fmt::format("alpha and beta are {} and {}, the loops take 1 and 1", alpha, beta));
  if (graph::int_attribute(node, "transA", 0) != 0) return refuse("its left operand is transposed");
  return product(graph, found, found.values.at("b"), graph::int_attribute(node, "transB", 0) != 0);
}
Result<TakenPointer> take_matmul(const Graph& graph, const Found& found) {
  const auto bias = found.values.find("b");
  return product(graph, found, bias == found.values.end() ? ValueId{} : bias->second, false);
}

Result<TakenPointer> take_elementwise(const Graph& graph, const Found& found) {
  const ValueId a = found.values.at("a"), y = result_of(graph, found);
  const auto b = found.values.find("b");
  std::string value = array(a) + "[i]";
  Code code{"", {a}};
  if (b != found.values.end()) {
    if (shape_of(graph, a) != shape_of(graph, b->second))
      return refuse(fmt::format("its operands have the shapes {} and {}, the loops take equal ones",
                                to_string(shape_of(graph, a)), to_string(shape_of(graph, b->second))));
    value = fmt::format("{} + {}[i]", value, array(b->second));
    code.reads.push_back(b->second);
  }
  code.statements =
      fmt::format("  for (long i = 0; i < {}; ++i) {{\n    const float value = {};\n    {}[i] = {};\n  }}\n",
                  element_count(shape_of(graph, y)), value, array(y), rectified(graph, found, "value"));
  return TakenPointer(std::make_shared<const Code>(std::move(code)));
}

// Requires every array to have floats.
decltype(PatternRow::take) of_floats(Result<TakenPointer> (*take)(const Graph&, const Found&)) {
  return [take](const Graph& graph, const Found& found) -> Result<TakenPointer> {
    for (const auto& [name, value] : found.values)
      if (const DType dtype = graph.value(value).type.dtype; dtype != DType::float32)
        return refuse(fmt::format("`{}` is {}, the loops take float32", name, dovetail::name(dtype)));
    return take(graph, found);
  };
}

}  // namespace

std::vector<PatternRow> pattern_rows() {
  // The first row that matches a node is used: longer patterns come before shorter ones.
  return {pattern_row("dense layer", "Relu?(Gemm(x=_, w=#, b=#))", of_floats(take_gemm)),
          pattern_row("product with bias", "Relu?(Add~(MatMul(x=_, w=#), b=#))", of_floats(take_matmul)),
          pattern_row("product", "Relu?(MatMul(x=_, w=#))", of_floats(take_matmul)),
          pattern_row("sum", "Relu?(Add(a=_, b=_))", of_floats(take_elementwise)),
          pattern_row("rectifier", "Relu(a=_)", of_floats(take_elementwise))};
}

std::string generate(const Graph& graph, const GraphRegion& region, std::vector<ValueId>& arguments) {
  std::string locals, body;
  std::vector<ValueId> made;
  for (const Match& match : region.matches) {
    const Code& code = match.taken_as<Code>();
    for (const ValueId read : code.reads)
      if (std::ranges::find(made, read) == made.end() && std::ranges::find(arguments, read) == arguments.end())
        arguments.push_back(read);
    const ValueId output = match.outputs.front();
    made.push_back(output);
    if (std::ranges::find(region.outputs, output) == region.outputs.end())
      locals += fmt::format("  static float {}[{}];\n", array(output),
                            std::max<std::int64_t>(1, element_count(shape_of(graph, output))));
    body += fmt::format("  /* {}: {} */\n{}", graph.node(match.nodes.back()).name, match.row, code.statements);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i)
    locals += fmt::format("  const float* {} = arguments[{}];\n", array(arguments[i]), i);
  for (std::size_t i = 0; i < region.outputs.size(); ++i)
    locals += fmt::format("  float* {} = results[{}];\n", array(region.outputs[i]), i);
  return fmt::format("void region(const float* const* arguments, float* const* results) {{\n{}{}}}\n", locals, body);
}

}  // namespace backend_c
