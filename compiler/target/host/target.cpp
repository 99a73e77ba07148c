#include "compiler/target/host/target.h"

#include <memory>
#include <optional>
#include <utility>

#include "bundle/code/host.h"
#include "compiler/fuse/fuse.h"
#include "compiler/ops/op.h"
#include "compiler/target/host/cost.h"

namespace dovetail::host {

using graph::Graph;

namespace {

class Interpreter : public ProgramCompiler {
 public:
  std::optional<bundle::Step> step(HostProgram& program) override {
    bundle::Step step{std::move(program.name),
                      {},
                      std::move(program.origins),
                      std::move(program.arguments),
                      std::move(program.results)};
    bundle::encode(bundle::HostCode{std::move(program.program)}, step);
    return step;
  }
};

class HostPlan : public RegionPlan {
 public:
  HostPlan(std::vector<KernelOffer> offers, std::vector<FusedGroup> groups)
      : RegionPlan(std::move(offers)), groups_(std::move(groups)) {}

  Result<void> emit(const ChosenLayouts&, BundleBuilder& builder, const Dump&) const override {
    for (const FusedGroup& group : groups_) {
      const graph::Node& node = builder.graph().node(group.nodes.front());
      const bool view = ops::find(node.op)->movement == ops::Movement::reshapes;
      builder.add_group({node.name, view ? "view" : "interpreted", {node.name}, {}, {}, {}});
      if (view) {
        builder.add_view(group.results.front(), group.arguments.front());
        continue;
      }
      bundle::Step step{node.name, {}, builder.origins(group.nodes), {}, {}};
      bundle::encode(bundle::HostCode{group.program}, step);
      for (const graph::ValueId argument : group.arguments) step.arguments.push_back(builder.in_layout(argument, ""));
      for (const graph::ValueId result : group.results) step.results.push_back(builder.result(result, ""));
      builder.add_step(std::move(step));
    }
    return {};
  }

 private:
  std::vector<FusedGroup> groups_;
};

class HostTarget : public Target {
 public:
  HostTarget() : rows_{pattern_row("operator", "*")} {}

  std::string_view name() const override { return bundle::kHostTarget; }
  std::span<const PatternRow> patterns() const override { return rows_; }

  Cost cost(const Graph& graph, const Match& match) const override {
    Cost cost = count_work(graph, match.nodes);
    cost.seconds = estimate_seconds(match.nodes.size(), cost.operations, cost.bytes, kInterpretedOperationsPerSecond);
    return cost;
  }
  double border_seconds(const graph::TensorType&) const override { return 0; }
  bool is_fallback() const override { return true; }
  std::unique_ptr<ProgramCompiler> program_compiler() const override { return std::make_unique<Interpreter>(); }

  Result<RegionPlanPointer> plan(const Graph& graph, const GraphRegion& region, const PlanOptions&) const override {
    DOVETAIL_ASSIGN(std::vector<FusedGroup> groups, fuse_groups(graph, region.nodes(), false));
    return RegionPlanPointer(std::make_unique<HostPlan>(plain_offer(graph, region), std::move(groups)));
  }

 private:
  std::vector<PatternRow> rows_;
};

}  // namespace

TargetPointer make_target() { return std::make_shared<HostTarget>(); }

}  // namespace dovetail::host
