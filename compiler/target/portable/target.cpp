#include "compiler/target/portable/target.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/cpu.h"
#include "compiler/fuse/fuse.h"
#include "compiler/ops/op.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/dump_program.h"
#include "compiler/target/host/cost.h"
#include "compiler/target/portable/schedule.h"
#include "loops/print.h"
#include "loops/product_sum.h"

namespace dovetail::portable {

using graph::Graph;

namespace {

// Only a reshape: its result is its argument under another name.
bool is_view(const Graph& graph, const FusedGroup& group) {
  return group.nodes.size() == 1 && ops::find(graph.node(group.nodes.front()).op)->movement == ops::Movement::reshapes;
}

class PortablePlan : public RegionPlan {
 public:
  PortablePlan(std::vector<KernelOffer> offers, std::vector<FusedGroup> groups)
      : RegionPlan(std::move(offers)), groups_(std::move(groups)) {}

  Result<void> emit(const ChosenLayouts&, BundleBuilder& builder, const Dump& dump) const override {
    for (const FusedGroup& group : groups_) emit_group(group, builder, dump);
    return {};
  }

 private:
  static void emit_group(const FusedGroup& group, BundleBuilder& builder, const Dump& dump) {
    const Graph& graph = builder.graph();
    GroupReport report{graph.node(group.anchor).name, "view", {}, {}, {}, group.unfused};
    for (const graph::NodeId id : group.nodes) report.nodes.push_back(graph.node(id).name);
    if (is_view(graph, group)) {
      builder.add_view(group.results.front(), group.arguments.front());
      builder.add_group(std::move(report));
      return;
    }
    std::vector<std::string> names;  // of the arguments
    std::set<std::string> constants;
    for (const loops::Parameter& parameter : group.program.parameters) {
      if (parameter.role == loops::ParameterRole::output) continue;
      if (group.constants[names.size()] != nullptr) constants.insert(parameter.buffer->name);
      names.push_back(parameter.buffer->name);
    }
    PortableSchedule scheduled = schedule_portable(group.program, constants);
    report.kind = scheduled.kind;
    report.trace = schedule::to_string(scheduled.trace);
    if (dump) {
      dump("groups", fmt::format("{} ({}): {}", report.name, report.kind, fmt::join(report.nodes, " + ")));
      dump("trace", fmt::format("# {} ({})\n{}", report.name, report.kind, report.trace));
      dump_program(dump, scheduled.program, {});
    }
    HostProgram program{report.name,   builder.origins(group.nodes), std::move(scheduled.program), {}, {},
                        &group.program};
    for (std::size_t i = 0; i < group.arguments.size(); ++i) {
      const auto layout = scheduled.layouts.find(names[i]);
      program.arguments.push_back(
          builder.in_layout(group.arguments[i], layout == scheduled.layouts.end() ? "" : layout->second));
    }
    for (const graph::ValueId result : group.results) program.results.push_back(builder.result(result, ""));
    builder.add_program(std::move(program));
    builder.add_group(std::move(report));
  }

  std::vector<FusedGroup> groups_;
};

class PortableTarget : public Target {
 public:
  explicit PortableTarget(MakeProgramCompiler compiler)
      : compiler_(std::move(compiler)), rows_{pattern_row("operator", "*")} {}

  std::string_view name() const override { return bundle::kCpuTarget; }
  std::span<const PatternRow> patterns() const override { return rows_; }

  Cost cost(const Graph& graph, const Match& match) const override {
    Cost cost = count_work(graph, match.nodes);
    cost.seconds =
        host::estimate_seconds(match.nodes.size(), cost.operations, cost.bytes, host::kInterpretedOperationsPerSecond);
    return cost;
  }
  double border_seconds(const graph::TensorType&) const override { return 0; }
  bool is_fallback() const override { return true; }
  std::unique_ptr<ProgramCompiler> program_compiler() const override { return compiler_ ? compiler_() : nullptr; }

  Result<RegionPlanPointer> plan(const Graph& graph, const GraphRegion& region,
                                 const PlanOptions& options) const override {
    DOVETAIL_ASSIGN(std::vector<FusedGroup> groups, fuse_groups(graph, region.nodes(), options.fuse));
    // Every operation rounds separately: C has no other arithmetic.
    for (FusedGroup& group : groups) group.program = loops::with_fixed_rounding(std::move(group.program));
    return RegionPlanPointer(std::make_unique<PortablePlan>(plain_offer(graph, region), std::move(groups)));
  }

 private:
  MakeProgramCompiler compiler_;
  std::vector<PatternRow> rows_;
};

}  // namespace

TargetPointer make_target(MakeProgramCompiler compiler) {
  return std::make_shared<PortableTarget>(std::move(compiler));
}

}  // namespace dovetail::portable
