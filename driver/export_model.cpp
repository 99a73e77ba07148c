#include "driver/export_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/cpu.h"
#include "driver/targets.h"
#include "driver/tensor_files.h"
#include "runtime/executor.h"

namespace dovetail::driver {

namespace {

std::optional<exporting::Quantization> quantization(const graph::Graph& graph, graph::ValueId scale,
                                                    graph::ValueId zero_point) {
  if (!graph.is_constant(scale) || graph.value(scale).constant->count() != 1) return std::nullopt;
  exporting::Quantization result{graph.value(scale).constant->as_double(0), 0};
  if (!zero_point.valid()) return result;
  if (!graph.is_constant(zero_point) || graph.value(zero_point).constant->count() != 1) return std::nullopt;
  result.zero_point = graph.value(zero_point).constant->as_int64(0);
  return result;
}

// The positions of the scale and the zero point of a node's output among its inputs.
std::optional<std::pair<std::size_t, std::size_t>> output_scale(const std::string& op) {
  if (op == "QuantizeLinear") return std::pair<std::size_t, std::size_t>{1, 2};
  if (op == "QLinearConv" || op == "QLinearMatMul") return std::pair<std::size_t, std::size_t>{6, 7};
  return std::nullopt;
}

graph::ValueId input(const graph::Node& node, std::size_t position) {
  return position < node.inputs.size() ? node.inputs[position] : graph::ValueId{};
}

}  // namespace

ModelOptions portable_model(ModelOptions options) {
  options.targets = {std::string(bundle::kCpuTarget)};
  options.cpu = kPortable;
  return options;
}

std::map<std::string, exporting::Quantization> border_quantization(const graph::Graph& graph) {
  std::map<std::string, exporting::Quantization> result;
  for (const graph::ValueId id : graph.inputs) {
    std::optional<exporting::Quantization> found;
    for (const graph::NodeId user : graph.users(id)) {
      const graph::Node& node = graph.node(user);
      const std::size_t scale = 1, zero_point = 2;
      const bool reads = node.op == "DequantizeLinear" || node.op == "QLinearConv" || node.op == "QLinearMatMul";
      if (reads && node.inputs.front() == id) found = quantization(graph, input(node, scale), input(node, zero_point));
    }
    if (found) result[graph.value(id).name] = *found;
  }
  for (const graph::ValueId id : graph.outputs) {
    const graph::NodeId producer = graph.value(id).producer;
    if (!producer.valid()) continue;
    const graph::Node& node = graph.node(producer);
    const auto places = output_scale(node.op);
    if (!places) continue;
    if (const auto found = quantization(graph, input(node, places->first), input(node, places->second)))
      result[graph.value(id).name] = *found;
  }
  return result;
}

Result<Exported> export_bundle(const bundle::Bundle& bundle, const std::string& title, exporting::Options options,
                               const GoldenOptions& golden) {
  DOVETAIL_ASSIGN(exporting::Plan plan, exporting::plan_project(bundle, std::move(options)));
  plan.model = title;
  DOVETAIL_ASSIGN(RunInputs inputs, gather_inputs(bundle, golden.files, golden.seed));
  for (const auto& [name, value] : golden.tensors) inputs.tensors.insert_or_assign(name, value);
  DOVETAIL_ASSIGN(const auto make_simulator, runtime::simulator_factory("functional"));
  DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(bundle, make_simulator));
  DOVETAIL_ASSIGN(runtime::RunResult run, executor.run(inputs.tensors, {.keep_tensors = true}));
  exporting::GoldenVector vector{{}, {}, fmt::format("{}", fmt::join(inputs.announcements, "; "))};
  for (const exporting::Port& port : plan.inputs)
    vector.inputs.insert_or_assign(port.tensor, inputs.tensors.at(port.tensor));
  for (const exporting::Port& port : plan.outputs) {
    // The whole tensor, where only a part of it is valid.
    const auto kept = run.tensors.find(port.tensor);
    vector.outputs.insert_or_assign(port.tensor,
                                    kept != run.tensors.end() ? kept->second : run.outputs.at(port.tensor));
  }
  return Exported{std::move(plan), std::move(vector)};
}

}  // namespace dovetail::driver
