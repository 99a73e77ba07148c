#include "compiler/target/cpu/target.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/cpu.h"
#include "compiler/fuse/fuse.h"
#include "compiler/layout/layout.h"
#include "compiler/ops/op.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/cost.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/library.h"
#include "compiler/target/cpu/schedule_group.h"
#include "compiler/target/cpu/sketches/conv_operands.h"
#include "compiler/target/cpu/sketches/sketches.h"
#include "compiler/target/dump_program.h"
#include "compiler/target/host/cost.h"
#include "loops/print.h"
#include "loops/product_sum.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

// The facts about a group that are known before layouts are chosen.
struct Prepared {
  FusedGroup group;
  ScheduledGroup scheduled;  // for operands in the layouts that the kernel prefers
  std::vector<std::string> notes;
};

// The cost of reading or writing a tensor across its order, relative to moving it.
constexpr double kAcross = 0.5;

// Only a reshape: its result is its argument under another name.
bool is_view(const Graph& graph, const FusedGroup& group) {
  return group.nodes.size() == 1 && ops::find(graph.node(group.nodes.front()).op)->movement == ops::Movement::reshapes;
}

// A convolution or pooling: a reduction over windows of images.
bool has_window(const FusedGroup& group) {
  bool found = false;
  loops::visit_stmts(group.program.body, [&](const loops::Stmt& stmt) {
    const auto* block = std::get_if<loops::Block>(&stmt->node);
    found |= block != nullptr && block->init && block->iterators.size() >= 6;
  });
  return found;
}
std::string image_layout(const Graph& graph, ValueId value) {
  const std::size_t rank = graph.value(value).type.shape.size();
  return rank == 4 || rank == 5 ? channels_last(rank) : "";  // with three dimensions, it may be a broadcast operand
}

ScheduledGroup schedule(const Graph& graph, const FusedGroup& group, const GroupLayouts& layouts,
                        const std::optional<Cpu>& processor, const schedule::FindRecorded& recorded,
                        std::vector<std::string>& notes) {
  if (!is_view(graph, group) && processor) return schedule_group(group, layouts, *processor, recorded, notes);
  const std::size_t arguments = group.arguments.size(), results = group.results.size();
  return ScheduledGroup{group.program,
                        {},
                        std::vector<std::string>(arguments),
                        std::vector<std::string>(results),
                        is_view(graph, group) ? "view" : "interpreted",
                        {},
                        std::vector<bool>(arguments + results, false)};
}

// A value that is two arguments of a kernel is read in the schedule's layouts, since choices per kernel and value could
// not distinguish the two.
bool is_twice(const FusedGroup& group, std::size_t argument) {
  return std::ranges::count(group.arguments, group.arguments[argument]) > 1;
}

// Whether an operand that accepts any layout is needed in another one than the group is scheduled for.
bool differs(const FusedGroup& group, const ScheduledGroup& scheduled, const GroupLayouts& layouts) {
  bool differs = false;
  for (std::size_t i = 0; i < group.arguments.size(); ++i)
    differs |= scheduled.follows[i] && scheduled.argument_layouts[i] != layouts.arguments[i];
  for (std::size_t i = 0; i < group.results.size(); ++i)
    differs |= scheduled.follows[group.arguments.size() + i] && scheduled.result_layouts[i] != layouts.results[i];
  return differs;
}

double bytes(const Graph& graph, ValueId value) {
  return static_cast<double>(layout_bytes(graph.value(value).type, ""));
}

// A variable for each operand: the schedule's layout, or one of several if it accepts them.
KernelOffer offer_of(const Graph& graph, const FusedGroup& group, const ScheduledGroup& scheduled) {
  KernelOffer offer{group.nodes.back()};
  std::vector<std::size_t> following, written;
  const auto add = [&](ValueId value, const std::string& layout, bool follows, bool result) {
    LayoutVariable variable{{layout}};
    const std::size_t rank = graph.value(value).type.shape.size();
    if (follows && may_be_image(rank)) {
      if (scheduled.kind == "generic") {
        variable.layouts = {"", channels_last(rank)};
      } else if (scheduled.kind == "convolution") {
        // It copies its input anyway, to pad or to pack it.
        variable.layouts = {channels_last(rank), ""};
        variable.costs = {0, kAcross * bytes(graph, value)};
      }
    }
    (result ? variable.writes : variable.reads).push_back(value);
    if (follows) (result ? written : following).push_back(offer.variables.size());
    offer.variables.push_back(std::move(variable));
  };
  for (std::size_t i = 0; i < group.arguments.size(); ++i)
    if (!graph.is_constant(group.arguments[i]))
      add(group.arguments[i], scheduled.argument_layouts[i], scheduled.follows[i] && !is_twice(group, i), false);
  for (std::size_t i = 0; i < group.results.size(); ++i)
    add(group.results[i], scheduled.result_layouts[i], scheduled.follows[group.arguments.size() + i], true);
  // Reading and writing in the same order costs least.
  for (const std::size_t from : following)
    for (const std::size_t to : written) {
      const ValueId argument = offer.variables[from].reads.front(), result = offer.variables[to].writes.front();
      if (graph.value(argument).type.shape.size() == graph.value(result).type.shape.size())
        offer.passages.push_back({from, to, kAcross * std::min(bytes(graph, argument), bytes(graph, result))});
    }
  return offer;
}
class CpuPlan : public RegionPlan {
 public:
  CpuPlan(std::vector<KernelOffer> offers, std::vector<Prepared> groups, const std::optional<Cpu>& processor,
          schedule::FindRecorded recorded)
      : RegionPlan(std::move(offers)),
        groups_(std::move(groups)),
        processor_(processor),
        recorded_(std::move(recorded)) {}

  Result<void> settle(const Graph& graph, const ChosenLayouts& chosen) override {
    for (Prepared& next : groups_) {
      const FusedGroup& group = next.group;
      GroupLayouts layouts;
      for (std::size_t i = 0; i < group.arguments.size(); ++i)
        layouts.arguments.push_back(is_twice(group, i) ? next.scheduled.argument_layouts[i]
                                                       : chosen.read(group.nodes.back(), group.arguments[i]));
      for (const ValueId result : group.results) layouts.results.push_back(chosen.write(result));
      if (!differs(group, next.scheduled, layouts)) continue;
      next.notes.clear();
      next.scheduled = schedule(graph, group, layouts, processor_, recorded_, next.notes);
    }
    return {};
  }

  Result<void> emit(const ChosenLayouts&, BundleBuilder& builder, const Dump& dump) const override {
    for (const Prepared& group : groups_) emit_group(group, builder, processor_, dump);
    return {};
  }

 private:
  static void emit_group(Prepared planned, BundleBuilder& builder, const std::optional<Cpu>& processor,
                         const Dump& dump) {
    const Graph& graph = builder.graph();
    const FusedGroup& group = planned.group;
    GroupReport report{
        graph.node(group.anchor).name, planned.scheduled.kind, {}, schedule::to_string(planned.scheduled.trace),
        std::move(planned.notes),      group.unfused};
    for (const NodeId id : group.nodes) report.nodes.push_back(graph.node(id).name);
    if (dump)
      dump("groups", fmt::format("{} ({}): {}\n{}{}", report.name, report.kind, fmt::join(report.nodes, " + "),
                                 report.unfused.empty() ? "" : "  ", fmt::join(report.unfused, "\n  ")));
    if (is_view(graph, group)) {
      builder.add_view(group.results.front(), group.arguments.front());
      builder.add_group(std::move(report));
      return;
    }
    if (!planned.scheduled.origin.key.empty())
      builder.add_schedule({report.name, std::string(bundle::kCpuTarget), report.kind, planned.scheduled.origin});
    if (dump) {
      dump("trace", fmt::format("# {} ({})\n{}", report.name, report.kind, report.trace));
      dump_program(dump, planned.scheduled.program, processor ? intrinsics(*processor) : loops::IntrinsicTable{});
    }
    std::vector<bundle::TensorIndex> arguments, results;
    for (std::size_t i = 0; i < group.arguments.size(); ++i) {
      const std::string& layout = planned.scheduled.argument_layouts[i];
      const auto changed = planned.scheduled.constants.find(i);
      // A constant derived from one of the model's by the schedule.
      const std::string own = fmt::format("{}@{}", graph.value(group.arguments[i]).name, report.name);
      arguments.push_back(changed == planned.scheduled.constants.end()
                              ? builder.in_layout(group.arguments[i], layout)
                              : builder.add_constant(own, changed->second, layout));
    }
    for (std::size_t i = 0; i < group.results.size(); ++i)
      results.push_back(builder.result(group.results[i], planned.scheduled.result_layouts[i]));
    builder.add_program({report.name, builder.origins(group.nodes), std::move(planned.scheduled.program),
                         std::move(arguments), std::move(results), &group.program});
    builder.add_group(std::move(report));
  }

  std::vector<Prepared> groups_;
  const std::optional<Cpu>& processor_;
  schedule::FindRecorded recorded_;
};

class CpuTarget : public Target {
 public:
  CpuTarget(std::optional<Cpu> processor, std::string prefix)
      : processor_(std::move(processor)), prefix_(std::move(prefix)) {
    rows_.push_back(
        pattern_row("operator", "*", [](const Graph& graph, const pattern::Found& found) -> Result<TakenPointer> {
          DOVETAIL_TRY(ops::define(graph, found.nodes.back()));
          return TakenPointer();
        }));
  }

  std::string_view name() const override { return bundle::kCpuTarget; }
  std::span<const PatternRow> patterns() const override { return rows_; }

  Cost cost(const Graph& graph, const Match& match) const override {
    Cost cost = count_work(graph, match.nodes);
    cost.seconds = processor_ ? estimate_seconds(graph, match.nodes, cost.operations, cost.bytes, *processor_)
                              : host::estimate_seconds(match.nodes.size(), cost.operations, cost.bytes,
                                                       host::kInterpretedOperationsPerSecond);
    return cost;
  }
  double border_seconds(const graph::TensorType&) const override { return 0; }

  bool is_fallback() const override { return true; }
  std::unique_ptr<ProgramCompiler> program_compiler() const override {
    return processor_ ? std::make_unique<KernelLibrary>(*processor_, prefix_) : nullptr;
  }

  Result<RegionPlanPointer> plan(const Graph& graph, const GraphRegion& region,
                                 const PlanOptions& options) const override {
    DOVETAIL_ASSIGN(std::vector<FusedGroup> groups,
                    fuse_groups(graph, region.nodes(), processor_.has_value() && options.fuse));
    std::vector<KernelOffer> offers;
    std::vector<Prepared> prepared;
    for (FusedGroup& group : groups) {
      if (options.progress)
        options.progress("schedules", static_cast<std::int64_t>(offers.size()),
                         static_cast<std::int64_t>(groups.size()));
      if (!options.free_sums) group.program = loops::with_fixed_rounding(std::move(group.program));
      std::vector<std::string> notes;
      GroupLayouts best;
      const bool images = has_window(group);
      for (const ValueId argument : group.arguments)
        best.arguments.push_back(images ? image_layout(graph, argument) : "");
      for (const ValueId result : group.results) best.results.push_back(images ? image_layout(graph, result) : "");
      ScheduledGroup scheduled = schedule(graph, group, best, processor_, options.recorded, notes);
      offers.push_back(offer_of(graph, group, scheduled));
      prepared.push_back({std::move(group), std::move(scheduled), std::move(notes)});
    }
    return RegionPlanPointer(
        std::make_unique<CpuPlan>(std::move(offers), std::move(prepared), processor_, options.recorded));
  }

 private:
  std::optional<Cpu> processor_;
  std::string prefix_;
  std::vector<PatternRow> rows_;
};

}  // namespace

TargetPointer make_target(std::optional<Cpu> processor, std::string prefix) {
  return std::make_shared<CpuTarget>(std::move(processor), std::move(prefix));
}

TargetPointer make_native_target() {
  auto processor = find_cpu("native");
  return make_target(processor.ok() ? std::optional(*std::move(processor)) : std::nullopt);
}

}  // namespace dovetail::cpu
