#include "bench/cpu/ours.h"

#include <map>
#include <memory>

#include "compiler/ops/op.h"
#include "compiler/pipeline.h"
#include "compiler/schedule/index_map.h"
#include "compiler/target/cpu/target.h"
#include "compiler/target/host/target.h"
#include "runtime/executor.h"

namespace dovetail::bench {
namespace {

graph::ValueId add(graph::Graph& graph, const std::string& op, std::vector<graph::ValueId> inputs,
                   graph::Attributes attributes = {}) {
  graph::Node node;
  node.name = graph.unique_node_name(op);
  node.op = op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.origins = {node.name};
  node.outputs = {graph.add_value(node.name + "_out", {})};
  const graph::ValueId output = node.outputs[0];
  const graph::NodeId id = graph.add_node(std::move(node));
  const auto status = ops::infer(graph, id);
  DOVETAIL_CHECK(status.ok(), "the layer must be a legal node: " + (status.ok() ? "" : to_string(status.errors())));
  return output;
}

// uint8 with zero point 0 as the int8 that is 128 less.
NdArray recentered(const NdArray& bytes) {
  NdArray result(DType::int8, bytes.shape());
  for (std::int64_t i = 0; i < bytes.count(); ++i) result.set_int64(i, bytes.as_int64(i) - 128);
  return result;
}

graph::Graph graph_of(const Problem& problem) {
  graph::Graph graph;
  graph.name = problem.spec.name;
  const bool bytes = problem.spec.number == Number::int8;
  const auto* convolution = std::get_if<Convolution>(&problem.spec.shape);
  const graph::ValueId x =
      graph.add_value("input", {bytes && convolution ? DType::int8 : problem.x.dtype(), problem.x.shape()});
  graph.inputs = {x};
  const graph::ValueId w = graph.add_constant("w", problem.w);
  if (convolution == nullptr) {
    graph.outputs = {add(graph, bytes ? "MatMulInteger" : "MatMul", {x, w})};
    return graph;
  }
  const std::vector<std::int64_t> strides(2, convolution->stride), pads(4, convolution->pad);
  graph::Attributes attributes{{"strides", strides}, {"pads", pads}, {"group", convolution->groups}};
  const graph::ValueId bias = graph.add_constant("bias", problem.bias);
  if (bytes) {
    for (const char* name : {"x_zero_point", "y_zero_point", "y_min"}) attributes[name] = std::int64_t{-128};
    graph.outputs = {
        add(graph, "dovetail.qconv", {x, w, bias, graph.add_constant("scale", problem.scale)}, attributes)};
  } else {
    graph.outputs = {add(graph, "Relu", {add(graph, "Conv", {x, w, bias}, attributes)})};
  }
  return graph;
}

// `array` in the layout that the tensor needs, and back.
NdArray packed(const NdArray& array, const std::string& layout) {
  return layout.empty() ? array : schedule::pack(array, schedule::parse_index_map(layout, array.shape()).value());
}
NdArray unpacked(const NdArray& array, const std::string& layout, const Shape& shape) {
  if (layout.empty()) return array;
  NdArray places(DType::int64, shape), result(array.dtype(), shape);
  for (std::int64_t i = 0; i < places.count(); ++i) places.set_int64(i, i);
  const NdArray order = packed(places, layout);
  for (std::int64_t i = 0; i < array.count(); ++i) {
    if (is_floating(array.dtype())) result.set_double(order.as_int64(i), array.as_double(i));
    else result.set_int64(order.as_int64(i), array.as_int64(i));
  }
  return result;
}

CompileOptions compile_options(bool free_borders) {
  CompileOptions options;
  options.available = {cpu::make_native_target(), host::make_target()};
  options.targets = {"cpu"};
  options.free_borders = free_borders;
  return options;
}

Result<Candidate> candidate(std::string name, const graph::Graph& graph, const NdArray& input, int threads,
                            const CompileOptions& options) {
  DOVETAIL_ASSIGN(Compiled compiled, compile({graph, {}}, options));
  DOVETAIL_ASSIGN(const auto simulators, runtime::simulator_factory("functional"));
  const bundle::Tensor input_tensor = compiled.bundle.tensors[static_cast<std::size_t>(compiled.bundle.inputs[0])];
  const bundle::Tensor result_tensor = compiled.bundle.tensors[static_cast<std::size_t>(compiled.bundle.outputs[0])];
  DOVETAIL_ASSIGN(runtime::Executor executor,
                  runtime::Executor::make(std::move(compiled.bundle), simulators, {threads}));
  const auto inputs = std::make_shared<const std::map<std::string, NdArray>>(
      std::map<std::string, NdArray>{{input_tensor.name, packed(input, input_tensor.layout)}});
  const Shape shape = graph.value(graph.outputs[0]).type.shape;
  runtime::RunOptions in_place;
  in_place.copy_outputs = false;
  return Candidate{std::move(name), [=]() mutable { executor.run(*inputs, in_place).value(); },
                   [=] {
                     return unpacked({result_tensor.dtype, result_tensor.shape, executor.output(result_tensor.name)},
                                     result_tensor.layout, shape);
                   }};
}

Result<std::vector<Candidate>> candidates(const graph::Graph& graph, const NdArray& input, int threads) {
  std::vector<Candidate> result;
  for (const bool free_borders : {true, false}) {
    DOVETAIL_ASSIGN(Candidate one, candidate(free_borders ? "ours" : "ours plain", graph, input, threads,
                                             compile_options(free_borders)));
    result.push_back(std::move(one));
  }
  return result;
}

Result<Candidate> tuned_candidate(const graph::Graph& graph, const NdArray& input, int threads, const Tuning& tuning) {
  CompileOptions options = compile_options(true);
  if (tuning.trials > 0) DOVETAIL_TRY(tune_layer(graph, options, tuning, threads));
  DOVETAIL_ASSIGN(options.recorded, tuned_schedules(tuning, threads));
  return candidate("ours tuned", graph, input, threads, options);
}

}  // namespace

Result<std::vector<Candidate>> make_ours(const Problem& problem, int threads, const Tuning& tuning) {
  const bool bytes = problem.spec.number == Number::int8 && std::holds_alternative<Convolution>(problem.spec.shape);
  const graph::Graph graph = graph_of(problem);
  const NdArray input = bytes ? recentered(problem.x) : problem.x;
  DOVETAIL_ASSIGN(std::vector<Candidate> result, candidates(graph, input, threads));
  if (!tuning.records.empty()) {
    DOVETAIL_ASSIGN(Candidate tuned, tuned_candidate(graph, input, threads, tuning));
    result.push_back(std::move(tuned));
  }
  if (bytes)
    for (Candidate& one : result)
      one.result = [inner = one.result] {
        const NdArray array = inner();
        NdArray plain(DType::uint8, array.shape());
        for (std::int64_t i = 0; i < array.count(); ++i) plain.set_int64(i, array.as_int64(i) + 128);
        return plain;
      };
  return result;
}

Result<std::vector<Candidate>> make_ours(const graph::Graph& network, const NdArray& input, int threads) {
  return candidates(network, input, threads);
}

}  // namespace dovetail::bench
