#include "compiler/target/accel/target.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "bundle/code/accel.h"
#include "compiler/target/accel/cores.h"
#include "compiler/target/accel/count_cycles.h"
#include "compiler/target/accel/programs/dram.h"
#include "compiler/target/accel/region.h"
#include "compiler/target/accel/schedule/sketches.h"
#include "compiler/target/accel/select/cost.h"
#include "compiler/target/accel/select/select.h"
#include "compiler/target/host/cost.h"
#include "isa/system.h"

namespace dovetail::accel {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

// State that plans share with their target.
struct Shared {
  Cores cores;
  std::shared_ptr<Memo> memo;
  Counting counting;
  Division division;
};

class AccelPlan : public RegionPlan {
 public:
  AccelPlan(std::vector<KernelOffer> offers, const GraphRegion& region, const Shared& target,
            std::vector<OperationForms> operations, RegionLayouts layouts, std::vector<Share> shares)
      : RegionPlan(std::move(offers)),
        region_(region),
        target_(target),
        operations_(std::move(operations)),
        layouts_(std::move(layouts)),
        shares_(std::move(shares)) {
    for (const Match& match : region.matches) macs_.push_back(match.cost.macs);
    const std::set<ValueId> outputs(region.outputs.begin(), region.outputs.end());
    for (const OperationForms& forms : operations_)
      if (const Operation& operation = forms.any(); position_of(operation) && outputs.contains(operation.output))
        in_place_.emplace(operation.output, operation.inputs[0]);
  }

  Result<void> schedule(const Graph& graph, const PlanOptions& options) {
    const Counting& counting = target_.counting;
    DOVETAIL_ASSIGN(schedules_, counting.count ? counted_schedules(graph, spec(), region_, options.recorded, counting,
                                                                   options.progress)
                                               : schedule_region(spec(), options.recorded, nullptr, options.progress));
    return {};
  }

  // Of the region alone, with default or recorded schedules. Precondition: Division::count.
  Result<std::uint64_t> count_cycles(const Graph& graph, const PlanOptions& options) const {
    DOVETAIL_ASSIGN(const RegionSchedules schedules, schedule_region(spec(), options.recorded, nullptr, nullptr));
    return counted_cycles(graph, spec(), region_, schedules, target_.division.count);
  }

  Result<void> emit(const ChosenLayouts&, BundleBuilder& builder, const Dump& dump) const override {
    const std::map<ValueId, TensorLayout>& layouts = layouts_.layouts;
    DeviceSpace& space =
        builder.space(bundle::kAccelTarget, "DRAM of " + isa::name_of(target_.cores.configs()), kMemoryBase, kPage);
    const auto address = [&](ValueId value) {
      const TensorLayout& layout = layouts.at(value);
      const auto [it, added] = space.tensors.try_emplace({value, layout.text()}, 0);
      if (added) it->second = space.allocate(static_cast<std::uint64_t>(layout.bytes()));
      return it->second;
    };
    bundle::Step step;
    step.name = region_.name;
    std::map<ValueId, std::uint64_t> addresses;
    std::vector<ValueId> inputs = region_.inputs;  // in the accelerator's memory
    if (const auto value = position()) std::erase(inputs, *value);
    for (const ValueId input : inputs) {
      step.arguments.push_back(builder.in_layout(input, layouts.at(input).text()));
      addresses[input] = address(input);
    }
    for (const auto& [output, input] : in_place_)
      space.tensors.try_emplace({output, layouts.at(output).text()}, address(input));
    for (const ValueId output : region_.outputs) addresses[output] = address(output);
    RegionMemory memory{addresses, space};
    auto built = build_region(builder.graph(), spec(), schedules_, memory, builder.progress(), dump);
    if (!built.ok() && memory.end > 0) give_up_largest(memory.end, builder);
    DOVETAIL_ASSIGN(RegionCode made, std::move(built));
    bundle::AccelCode& code = made.code;
    prove(code, region_.name, space);
    for (const RegionProgram& program : schedules_.programs) {
      const TaskSchedule& schedule = schedules_.schedules.at(program.schedule);
      if (!schedule.origin.key.empty())
        builder.add_schedule({program.task.program.name, std::string(bundle::kAccelTarget),
                              std::string(schedule.kind.name), schedule.origin});
    }
    builder.add_code({region_.name, std::string(bundle::kAccelTarget), line_of(made.statistics, target_.cores.first()),
                      to_json(made.statistics, target_.cores.first())});
    for (const ValueId output : region_.outputs)
      step.results.push_back(builder.result(output, layouts.at(output).text()));
    for (const ValueId input : inputs) code.argument_addresses.push_back(addresses.at(input));
    for (const ValueId output : region_.outputs) code.result_addresses.push_back(addresses.at(output));
    for (std::size_t i = 0; i < inputs.size(); ++i) builder.place(step.arguments[i], space, code.argument_addresses[i]);
    for (std::size_t i = 0; i < step.results.size(); ++i)
      builder.place(step.results[i], space, code.result_addresses[i]);
    for (const auto& [output, input] : in_place_)
      builder.overwrite(output, layouts.at(output).text(), input, layouts.at(input).text());
    if (const auto value = position()) step.arguments.push_back(builder.in_layout(*value, ""));
    for (const bundle::InstructionRange& range : code.ranges)
      // An operation has several ranges if its loads are moved.
      for (const std::string& origin : range.origins)
        if (std::ranges::find(step.origins, origin) == step.origins.end()) step.origins.push_back(origin);
    bundle::encode(code, step);
    builder.add_step(std::move(step));
    return {};
  }

 private:
  static std::optional<ValueId> position_of(const Operation& operation) {
    const auto* move = std::get_if<MoveOperation>(&operation.body);
    return move && move->position ? std::optional(move->position->value) : std::nullopt;
  }
  // The value that OFFSET is computed from, which is the same for all operations.
  std::optional<ValueId> position() const {
    for (const OperationForms& forms : operations_)
      if (const auto value = position_of(forms.any())) return value;
    return std::nullopt;
  }

  RegionSpec spec() const { return {region_.name, target_.cores, operations_, macs_, layouts_, shares_, target_.memo}; }

  // Gives up the largest operations until the bytes that exceed the memory are saved.
  void give_up_largest(std::uint64_t memory_end, BundleBuilder& builder) const {
    const std::uint64_t limit = end_of_memory(target_.cores.first());
    std::vector<std::pair<std::uint64_t, const Operation*>> by_size;
    for (const OperationForms& forms : operations_) {
      const Operation& operation = forms.any();
      std::uint64_t bytes = static_cast<std::uint64_t>(layouts_.layouts.at(operation.output).bytes());
      for (const ValueId input : operation.inputs)
        bytes += static_cast<std::uint64_t>(layouts_.layouts.at(input).bytes());
      by_size.emplace_back(bytes, &operation);
    }
    std::ranges::stable_sort(by_size, std::ranges::greater(), &decltype(by_size)::value_type::first);
    std::uint64_t given_up = 0;
    for (const auto& [bytes, operation] : by_size) {
      if (given_up > 0 && given_up + limit >= memory_end) return;
      given_up += bytes;
      for (const NodeId node : operation->nodes)
        builder.give_up(
            {node, std::string(bundle::kAccelTarget),
             fmt::format("its region needs {} KiB of memory, {} of them for its operands and its result; {} "
                         "reaches {} KiB",
                         memory_end / 1024, bytes / 1024, target_.cores.first().name, limit / 1024)});
    }
  }

  const GraphRegion& region_;
  const Shared& target_;
  std::vector<OperationForms> operations_;
  std::vector<std::uint64_t> macs_;      // of each operation
  std::map<ValueId, ValueId> in_place_;  // outputs that are written over an input
  RegionLayouts layouts_;
  std::vector<Share> shares_;
  RegionSchedules schedules_;
};

class AccelTarget : public Target {
 public:
  AccelTarget(const isa::HardwareConfig& hardware, double clock_mhz, std::shared_ptr<Memo> memo, Counting counting,
              const Division& division)
      : shared_{Cores(hardware, division), memo ? std::move(memo) : make_small_memo(), std::move(counting), division},
        clock_hz_(clock_mhz * 1e6),
        rows_(pattern_rows(kinds_of(shared_.cores), shared_.memo)) {}

  std::string_view name() const override { return bundle::kAccelTarget; }
  std::span<const PatternRow> patterns() const override { return rows_; }
  std::string no_pattern(const Graph& graph, NodeId node) const override {
    const std::string& op = graph.node(node).op;
    if (op == "MatMulInteger" || op == "ConvInteger")
      return fmt::format(
          "{} has activations that are quantized as they come, and the accelerator needs constant scales", op);
    // Constants may be floats in an integer form: scales.
    const auto floating = [&](ValueId value) {
      return value.valid() && !graph.is_constant(value) && is_floating(graph.value(value).type.dtype);
    };
    return std::ranges::any_of(graph.node(node).inputs, floating)
               ? fmt::format("{} computes in floating point, and the accelerator in int8", op)
               : fmt::format("no accelerator pattern matches {}", op);
  }

  Json facts() const override {
    Json facts{{"hardware", isa::config_to_json(shared_.cores.first())}};
    for (const isa::HardwareConfig& other : shared_.cores.configs().others())
      facts["others"].push_back(isa::config_to_json(other));
    if (shared_.division.divides())
      facts.update({{"accelerators", shared_.division.accelerators}, {"split", isa::name(shared_.division.split)}});
    return facts;
  }

  Result<RegionPlanPointer> plan(const Graph& graph, const GraphRegion& region,
                                 const PlanOptions& options) const override {
    std::vector<OperationForms> operations;
    for (const Match& match : region.matches) operations.push_back(forms_of(match));
    std::set<ValueId> crossing(region.inputs.begin(), region.inputs.end());
    crossing.insert(region.outputs.begin(), region.outputs.end());
    DOVETAIL_ASSIGN(RegionLayouts layouts, region_layouts(graph, operations, crossing, shared_.cores.first()));
    DOVETAIL_ASSIGN(std::vector<DividedRegion> ways,
                    divide_region(graph, operations, layouts, shared_.division, shared_.cores, shared_.memo));
    KernelOffer kernel{region.matches.back().nodes.back()};
    for (const ValueId input : region.inputs)
      kernel.variables.push_back(
          {{layouts.layouts.contains(input) ? layouts.layouts.at(input).text() : ""}, {}, {input}, {}});
    for (const ValueId output : region.outputs)
      kernel.variables.push_back({{layouts.layouts.at(output).text()}, {}, {}, {output}});
    std::unique_ptr<AccelPlan> best;
    std::uint64_t least = 0;
    for (DividedRegion& way : ways) {
      auto plan = std::make_unique<AccelPlan>(std::vector<KernelOffer>{kernel}, region, shared_,
                                              std::move(way.operations), layouts, std::move(way.shares));
      if (ways.size() > 1) {
        DOVETAIL_ASSIGN(const std::uint64_t cycles, plan->count_cycles(graph, options));
        if (best && cycles >= least) continue;
        least = cycles;
      }
      best = std::move(plan);
    }
    DOVETAIL_TRY(best->schedule(graph, options));
    return RegionPlanPointer(std::move(best));
  }

  Cost cost(const Graph& graph, const Match& match) const override {
    const CycleEstimate estimate =
        estimate_cycles(graph, forms_of(match).any(), shared_.cores.of_kind(forms_of(match).first_kind()));
    Cost cost = count_work(graph, match.nodes);
    cost.cycles = estimate.cycles;
    cost.seconds = static_cast<double>(estimate.cycles) / clock_hz_;
    return cost;
  }
  // A program on the host packs or unpacks the tensor: each byte of the packed form is read and written once.
  double border_seconds(const graph::TensorType& type) const override {
    const Shape& shape = type.shape;
    const std::int64_t columns = shape.empty() ? 1 : shape.back();
    const TensorLayout layout =
        shape.size() == 4
            ? make_layout(shared_.cores.first(), shape[0], shape[1], shape[2], shape[3])
            : make_layout(shared_.cores.first(), columns == 0 ? 0 : element_count(shape) / columns, columns, 1, 1);
    return host::kKernelSeconds + 2.0 * static_cast<double>(layout.bytes()) / host::kMemoryBytesPerSecond;
  }

 private:
  static const OperationForms& forms_of(const Match& match) { return match.taken_as<TakenOperation>().forms; }
  static std::vector<Core> kinds_of(const Cores& cores) {
    std::vector<Core> kinds;
    for (std::size_t kind = 0; kind < cores.kinds(); ++kind) kinds.push_back(cores.of_kind(kind));
    return kinds;
  }

  Shared shared_;
  double clock_hz_;
  std::vector<PatternRow> rows_;
};

}  // namespace

TargetPointer make_target(const isa::HardwareConfig& hardware, double clock_mhz, std::shared_ptr<Memo> memo,
                          Counting counting, const Division& division) {
  return std::make_shared<AccelTarget>(hardware, clock_mhz, std::move(memo), std::move(counting), division);
}

}  // namespace dovetail::accel
