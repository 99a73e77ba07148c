#include "compiler/reference/reference.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "compiler/ops/control_flow.h"
#include "compiler/ops/op.h"
#include "compiler/passes/evaluate_node.h"
#include "loops/interpreter.h"
#include "loops/print.h"

namespace dovetail {

using graph::NodeId;
using graph::ValueId;

struct Reference::State {
  struct Step {
    NodeId node;
    std::shared_ptr<const loops::CompiledProgram> program;
    std::vector<std::size_t> operands;  // positions of the node's inputs, in the order of the program's parameters
    std::vector<Reference> subgraphs;   // for a node with subgraphs, instead of a program
  };
  graph::Graph graph;
  std::vector<Step> steps;  // in execution order
};

namespace {

Diagnostics located(const Diagnostics& diagnostics, const graph::Node& node) {
  Diagnostics located = diagnostics;
  for (Diagnostic& diagnostic : located)
    diagnostic.where = fmt::format("node {} ({}){}{}", node.name, node.op,
                                   diagnostic.where.empty() || diagnostic.where == node.name ? "" : ", ",
                                   diagnostic.where == node.name ? "" : diagnostic.where);
  return located;
}

std::string known_inputs(const graph::Graph& graph) {
  std::string text;
  for (ValueId input : graph.inputs)
    text +=
        fmt::format("{}{}: {}", text.empty() ? "" : ", ", graph.value(input).name, to_string(graph.value(input).type));
  return text;
}

Diagnostics check_inputs(const graph::Graph& graph, const std::map<std::string, NdArray>& inputs) {
  Diagnostics findings;
  const auto report = [&](const std::string& name, std::string why) {
    findings.push_back(
        {"cannot run graph " + graph.name, "input " + name, std::move(why), "the inputs are " + known_inputs(graph)});
  };
  std::set<std::string> known;
  for (ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    known.insert(value.name);
    const auto given = inputs.find(value.name);
    if (given == inputs.end()) report(value.name, "the input is missing");
    else if (const graph::TensorType type{given->second.dtype(), given->second.shape()}; type != value.type)
      report(value.name,
             fmt::format("the given tensor is {}, but the graph expects {}", to_string(type), to_string(value.type)));
  }
  for (const auto& [name, array] : inputs)
    if (!known.count(name)) report(name, "the graph has no input of this name");
  return findings;
}

using ValueOf = std::function<const NdArray&(ValueId)>;

}  // namespace

struct Reference::Run {
  static Result<std::vector<NdArray>> program(const State::Step& step, const graph::Node& node, const ValueOf& at,
                                              Work* work) {
    std::vector<NdArray> arguments;
    for (std::size_t position : step.operands) arguments.push_back(at(node.inputs[position]));
    return loops::run(*step.program, arguments, work);
  }

  static Result<std::vector<NdArray>> subgraphs(const graph::Graph& graph, const State::Step& step,
                                                const graph::Node& node, const ValueOf& at, Work* work) {
    std::vector<const NdArray*> operands;
    for (const ValueId input : node.inputs) operands.push_back(input.valid() ? &at(input) : nullptr);
    operands.resize(std::max(operands.size(), std::size_t{2}), nullptr);
    std::vector<bool> ran(step.subgraphs.size(), false);
    const auto run = [&](std::size_t which, std::vector<NdArray> inputs) -> Result<std::vector<NdArray>> {
      const Reference& subgraph = step.subgraphs[which];
      if (work != nullptr && work->stopped()) return work->stopped_at("");
      if (work != nullptr && ran[which]) DOVETAIL_TRY(work->expect(node.name, subgraph.estimate_work()));
      ran[which] = true;
      std::map<std::string, NdArray> by_name;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        by_name.emplace(subgraph.graph().value(subgraph.graph().inputs[i]).name, std::move(inputs[i]));
      DOVETAIL_ASSIGN(const auto results, subgraph.run(by_name, work));
      std::vector<NdArray> outputs;
      for (const ValueId output : subgraph.graph().outputs)
        outputs.push_back(results.at(subgraph.graph().value(output).name));
      return outputs;
    };
    return ops::evaluate_control_flow(graph, node, operands, run);
  }
};

Result<Reference> Reference::make(graph::Graph graph) {
  DOVETAIL_TRY(graph::verify(graph));
  auto state = std::make_shared<State>();
  Diagnostics findings;
  std::map<std::string, std::shared_ptr<const loops::CompiledProgram>>
      compiled;  // by text: equal nodes share one program
  for (NodeId node : graph.topological_order()) {
    if (const auto& held = graph.node(node).subgraphs; !held.empty()) {
      State::Step step{node, nullptr, {}, {}};
      for (const auto& subgraph : held) {
        auto inner = make(*subgraph);
        if (inner.ok()) {
          step.subgraphs.push_back(*std::move(inner));
          continue;
        }
        const Diagnostics errors = located(inner.errors(), graph.node(node));
        findings.insert(findings.end(), errors.begin(), errors.end());
      }
      state->steps.push_back(std::move(step));
      continue;
    }
    auto program = ops::define(graph, node);
    if (!program) {
      const Diagnostics errors = located(program.errors(), graph.node(node));
      findings.insert(findings.end(), errors.begin(), errors.end());
      continue;
    }
    std::shared_ptr<const loops::CompiledProgram>& entry = compiled[loops::to_string(*program)];
    if (!entry) {
      auto bytecode = loops::compile(*program);
      if (!bytecode) {
        const Diagnostics errors = located(bytecode.errors(), graph.node(node));
        findings.insert(findings.end(), errors.begin(), errors.end());
        continue;
      }
      entry = *std::move(bytecode);
    }
    state->steps.push_back({node, entry, passes::operand_positions(*program), {}});
  }
  if (!findings.empty()) return findings;
  state->graph = std::move(graph);
  Reference reference;
  reference.state_ = std::move(state);
  return reference;
}

WorkEstimate Reference::estimate_work() const {
  WorkEstimate sum;
  for (const State::Step& step : state_->steps) {
    if (step.program != nullptr) sum += loops::estimate_work(*step.program);
    // The work estimate counts each subgraph once, since the number of its executions is not known in advance.
    for (const Reference& subgraph : step.subgraphs) sum += subgraph.estimate_work();
  }
  return sum;
}

Result<std::map<std::string, NdArray>> Reference::run(const std::map<std::string, NdArray>& inputs, Work* work,
                                                      const Revise& revise) const {
  const graph::Graph& graph = state_->graph;
  if (Diagnostics findings = check_inputs(graph, inputs); !findings.empty()) return findings;

  std::vector<std::optional<NdArray>> values(graph.values.size());
  for (ValueId input : graph.inputs) values[static_cast<std::size_t>(input.index)] = inputs.at(graph.value(input).name);
  const auto at = [&](ValueId id) -> const NdArray& {
    const graph::Value& value = graph.value(id);
    return value.constant ? *value.constant : *values[static_cast<std::size_t>(id.index)];
  };
  for (const State::Step& step : state_->steps) {
    const graph::Node& node = graph.node(step.node);
    auto outputs =
        step.program != nullptr ? Run::program(step, node, at, work) : Run::subgraphs(graph, step, node, at, work);
    if (!outputs) return located(outputs.errors(), node);
    DOVETAIL_CHECK(outputs->size() == node.outputs.size(),
                   fmt::format("{} yields {} outputs of {}", node.name, outputs->size(), node.outputs.size()));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (revise) revise(node, node.outputs[i], (*outputs)[i]);
      values[static_cast<std::size_t>(node.outputs[i].index)] = std::move((*outputs)[i]);
    }
  }
  std::map<std::string, NdArray> results;
  for (ValueId output : graph.outputs)
    results.insert_or_assign(graph.value(output).name, at(output));  // an input or a constant may be an output
  for (const State::Step& step : state_->steps)
    for (ValueId output : graph.node(step.node).outputs)
      results.insert_or_assign(graph.value(output).name, *std::move(values[static_cast<std::size_t>(output.index)]));
  return results;
}

const graph::Graph& Reference::graph() const { return state_->graph; }

}  // namespace dovetail
