#include "compiler/target/cpu/target.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/fuse.h"
#include "compiler/ops/op.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/cost.h"
#include "compiler/target/cpu/default_schedule.h"
#include "loops/print.h"

namespace dovetail::cpu {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

struct PlannedGroup {
  FusedGroup group;
  ScheduledGroup scheduled;
  GroupReport report;
};

class CpuTarget : public Target {
 public:
  CpuTarget(std::optional<Cpu> processor, bool fuse) : processor_(std::move(processor)), fuse_(fuse) {
    const bool code = processor_.has_value();
    rows_.push_back(pattern_row("operator", "*", [code](const Graph& graph, const pattern::Found& found) -> Result<std::any> {
      DOVETAIL_ASSIGN(const loops::Program program, ops::define(graph, found.nodes.back()));
      if (code) DOVETAIL_TRY(supported(program));
      return std::any{};
    }));
  }

  std::string_view name() const override { return "cpu"; }
  std::span<const PatternRow> patterns() const override { return rows_; }

  Cost cost(const Graph& graph, const Match& match) const override {
    Cost cost = count_work(graph, match.nodes);
    cost.seconds = estimate_seconds(graph, match.nodes, cost.operations, cost.bytes, processor_);
    return cost;
  }
  double border_seconds(const graph::TensorType&) const override { return 0; }

  Result<RegionPlan> plan(const Graph& graph, const Region& region, const Surroundings& surroundings, const Dump& dump) const override {
    DOVETAIL_ASSIGN(std::vector<FusedGroup> groups, fuse_groups(graph, region.nodes(), processor_.has_value() && fuse_));
    Layouts lie = surroundings.layouts;
    std::set<ValueId> free = surroundings.free;
    RegionPlan plan;
    auto planned = std::make_shared<std::vector<PlannedGroup>>();
    for (FusedGroup& group : groups) {
      DOVETAIL_ASSIGN(PlannedGroup next, schedule(graph, std::move(group), lie, dump));
      for (std::size_t i = 0; i < next.group.arguments.size(); ++i) {
        const ValueId argument = next.group.arguments[i];
        if (graph.is_constant(argument) || plan.leaves.count(argument)) continue;
        const std::string& layout = next.scheduled.argument_layouts[i];
        if (free.erase(argument) != 0) lie[argument] = layout;
        plan.wants.emplace(argument, layout);
      }
      for (std::size_t i = 0; i < next.group.results.size(); ++i) plan.leaves[next.group.results[i]] = lie[next.group.results[i]] = next.scheduled.result_layouts[i];
      planned->push_back(std::move(next));
    }
    plan.emit = [planned](BundleBuilder& builder) -> Result<void> {
      for (PlannedGroup& group : *planned) emit(std::move(group), builder);
      return {};
    };
    return plan;
  }

 private:
  Result<PlannedGroup> schedule(const Graph& graph, FusedGroup group, const Layouts& lie, const Dump& dump) const {
    ScheduledGroup scheduled{group.program, {}, std::vector<std::string>(group.arguments.size()), std::vector<std::string>(group.results.size()), "interpreted"};
    GroupReport report;
    if (processor_ && supported(group.program).ok()) {
      std::vector<std::string> layouts;
      for (const ValueId argument : group.arguments) layouts.push_back(lie.count(argument) ? lie.at(argument) : "");
      DOVETAIL_ASSIGN(scheduled, default_schedule(group, layouts, *processor_, report.notes));
    }
    report.name = graph.node(group.anchor).name;
    report.kind = scheduled.kind;
    for (const NodeId id : group.nodes) report.nodes.push_back(graph.node(id).name);
    report.trace = schedule::to_string(scheduled.trace);
    report.unfused = group.unfused;
    if (dump) {
      dump("groups", fmt::format("{} ({}): {}\n{}{}", report.name, report.kind, fmt::join(report.nodes, " + "), report.unfused.empty() ? "" : "  ", fmt::join(report.unfused, "\n  ")));
      dump("trace", fmt::format("# {} ({})\n{}", report.name, report.kind, report.trace));
      dump("schedule", loops::to_string(scheduled.program));
    }
    return PlannedGroup{std::move(group), std::move(scheduled), std::move(report)};
  }

  static void emit(PlannedGroup planned, BundleBuilder& builder) {
    const FusedGroup& group = planned.group;
    std::vector<bundle::TensorIndex> arguments, results;
    for (std::size_t i = 0; i < group.arguments.size(); ++i) {
      const std::string& layout = planned.scheduled.argument_layouts[i];
      const auto changed = planned.scheduled.constants.find(i);
      // A constant that the schedule made of one of the model's.
      const std::string own = fmt::format("{}@{}", builder.graph().value(group.arguments[i]).name, planned.report.name);
      arguments.push_back(changed == planned.scheduled.constants.end() ? builder.in_layout(group.arguments[i], layout) : builder.add_constant(own, changed->second, layout));
    }
    for (std::size_t i = 0; i < group.results.size(); ++i) results.push_back(builder.result(group.results[i], planned.scheduled.result_layouts[i]));
    builder.add_program(planned.report.name, builder.origins(group.nodes), std::move(planned.scheduled.program), std::move(arguments), std::move(results), &group.program);
    builder.add_group(std::move(planned.report));
  }

  std::optional<Cpu> processor_;
  bool fuse_;
  std::vector<PatternRow> rows_;
};

}  // namespace

TargetPointer make_target(std::optional<Cpu> processor, bool fuse) { return std::make_shared<CpuTarget>(std::move(processor), fuse); }

}  // namespace dovetail::cpu
