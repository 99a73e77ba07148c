#include "compiler/target/host/target.h"

#include <memory>
#include <optional>
#include <utility>

#include "compiler/fuse.h"
#include "compiler/target/cpu/cost.h"

namespace dovetail::host {

using graph::Graph;

namespace {

class HostTarget : public Target {
 public:
  HostTarget() : rows_{pattern_row("operator", "*")} {}

  std::string_view name() const override { return "host"; }
  std::span<const PatternRow> patterns() const override { return rows_; }

  Cost cost(const Graph& graph, const Match& match) const override {
    Cost cost = count_work(graph, match.nodes);
    cost.seconds = cpu::estimate_seconds(graph, match.nodes, cost.operations, cost.bytes, std::nullopt);
    return cost;
  }
  double border_seconds(const graph::TensorType&) const override { return 0; }

  Result<RegionPlan> plan(const Graph& graph, const Region& region, const Surroundings&, const Dump&) const override {
    DOVETAIL_ASSIGN(std::vector<FusedGroup> groups, fuse_groups(graph, region.nodes(), false));
    RegionPlan plan;
    for (const graph::ValueId input : region.inputs) plan.wants[input] = "";
    for (const FusedGroup& group : groups)
      for (const graph::ValueId result : group.results) plan.leaves[result] = "";
    plan.emit = [groups = std::move(groups)](BundleBuilder& builder) -> Result<void> {
      for (const FusedGroup& group : groups) {
        bundle::HostStep step{builder.graph().node(group.nodes.front()).name, builder.origins(group.nodes), group.program, {}, {}};
        for (const graph::ValueId argument : group.arguments) step.arguments.push_back(builder.in_layout(argument, ""));
        for (const graph::ValueId result : group.results) step.results.push_back(builder.result(result, ""));
        builder.add_step(std::move(step));
        builder.add_group({step.name, "interpreted", {step.name}, {}, {}, {}});
      }
      return {};
    };
    return plan;
  }

 private:
  std::vector<PatternRow> rows_;
};

}  // namespace

TargetPointer make_target() { return std::make_shared<HostTarget>(); }

}  // namespace dovetail::host
