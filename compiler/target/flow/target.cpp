#include "compiler/target/flow/target.h"

#include <memory>
#include <utility>

#include "bundle/code/flow.h"
#include "compiler/ops/control_flow.h"

namespace dovetail::flow {

namespace {

using graph::Graph;

class FlowPlan : public RegionPlan {
 public:
  FlowPlan(std::vector<KernelOffer> offers, std::vector<graph::NodeId> nodes, FindProgram programs)
      : RegionPlan(std::move(offers)), nodes_(std::move(nodes)), programs_(std::move(programs)) {}

  Result<void> emit(const ChosenLayouts&, BundleBuilder& builder, const Dump&) const override {
    for (const graph::NodeId id : nodes_) {
      const graph::Node& node = builder.graph().node(id);
      bundle::FlowCode code;
      if (node.op == ops::kLoop) {
        const auto present = [&](std::size_t i) { return i < node.inputs.size() && node.inputs[i].valid(); };
        const ops::LoopParts parts = ops::loop_parts(node);
        code.loop = bundle::FlowLoop{parts.carried, parts.limit, present(0), present(1)};
      }
      bundle::Step step{node.name, {}, builder.origins({id}), {}, {}};
      bundle::encode(code, step);
      for (const graph::ValueId input : node.inputs)
        if (input.valid()) step.arguments.push_back(builder.in_layout(input, ""));
      for (const graph::ValueId output : node.outputs) step.results.push_back(builder.result(output, ""));
      for (std::size_t s = 0; s < node.subgraphs.size(); ++s) step.programs.push_back(programs_(id, s));
      builder.add_group({node.name, code.loop ? "loop" : "if", {node.name}, {}, {}, {}});
      builder.add_step(std::move(step));
    }
    return {};
  }

 private:
  std::vector<graph::NodeId> nodes_;
  FindProgram programs_;
};

class FlowTarget : public Target {
 public:
  explicit FlowTarget(FindProgram programs)
      : rows_{pattern_row("if", ops::kIf), pattern_row("loop", ops::kLoop)}, programs_(std::move(programs)) {}

  std::string_view name() const override { return bundle::kFlowTarget; }
  std::span<const PatternRow> patterns() const override { return rows_; }

  // Costs nothing itself: the programs that it runs are estimated by their nodes.
  Cost cost(const Graph&, const Match&) const override { return {}; }
  double border_seconds(const graph::TensorType&) const override { return 0; }
  std::string_view memory() const override { return "host"; }

  Result<RegionPlanPointer> plan(const Graph& graph, const GraphRegion& region, const PlanOptions&) const override {
    return RegionPlanPointer(std::make_unique<FlowPlan>(plain_offer(graph, region), region.nodes(), programs_));
  }

 private:
  std::vector<PatternRow> rows_;
  FindProgram programs_;
};

}  // namespace

TargetPointer make_target(FindProgram programs) { return std::make_shared<FlowTarget>(std::move(programs)); }

}  // namespace dovetail::flow
