#include "compiler/target/accel/target.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "bundle/code/accel.h"
#include "compiler/target/accel/count_cycles.h"
#include "compiler/target/accel/programs/dram.h"
#include "compiler/target/accel/region.h"
#include "compiler/target/accel/schedule/sketches.h"
#include "compiler/target/accel/select/cost.h"
#include "compiler/target/accel/select/select.h"
#include "compiler/target/host/cost.h"

namespace dovetail::accel {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

class AccelTarget : public Target {
 public:
  AccelTarget(const isa::HardwareConfig& hardware, double clock_mhz, std::shared_ptr<Memo> memo, Counting counting)
      : hardware_(hardware),
        clock_hz_(clock_mhz * 1e6),
        memo_(memo ? std::move(memo) : make_small_memo()),
        rows_(pattern_rows(hardware, memo_)),
        counting_(std::move(counting)) {}

  std::string_view name() const override { return bundle::kAccelTarget; }
  std::span<const PatternRow> patterns() const override { return rows_; }
  std::string no_pattern(const Graph& graph, NodeId node) const override {
    const std::string& op = graph.node(node).op;
    if (op == "MatMulInteger" || op == "ConvInteger")
      return fmt::format("{} has activations that are quantized as they come, the accelerator takes constant scales",
                         op);
    const auto floating = [&](ValueId value) { return value.valid() && is_floating(graph.value(value).type.dtype); };
    return std::ranges::any_of(graph.node(node).inputs, floating)
               ? fmt::format("{} computes in floating point, the accelerator in int8", op)
               : fmt::format("no accelerator pattern takes {}", op);
  }

  Json facts() const override { return {{"hardware", isa::config_to_json(hardware_)}}; }

  Result<RegionOffer> offer_layouts(const Graph& graph, const GraphRegion& part,
                                    const OfferOptions& options) const override {
    Prepared prepared;
    prepared.recorded = options.recorded;
    for (const Match& match : part.matches) {
      prepared.operations.push_back(operation_of(match));
      prepared.macs.push_back(match.cost.macs);
    }
    std::set<ValueId> crossing(part.inputs.begin(), part.inputs.end());
    crossing.insert(part.outputs.begin(), part.outputs.end());
    DOVETAIL_ASSIGN(prepared.region, region_layouts(graph, prepared.operations, crossing, hardware_));
    const std::map<ValueId, TensorLayout>& layouts = prepared.region.layouts;
    KernelOffer kernel{part.matches.back().nodes.back()};
    for (const ValueId input : part.inputs) kernel.variables.push_back({{layouts.at(input).text()}, {}, {input}, {}});
    for (const ValueId output : part.outputs)
      kernel.variables.push_back({{layouts.at(output).text()}, {}, {}, {output}});
    return RegionOffer{{std::move(kernel)}, std::move(prepared)};
  }

  Result<void> generate(const GraphRegion& part, const RegionOffer& offer, const ChosenLayouts&, BundleBuilder& builder,
                        const Dump& dump) const override {
    const auto& prepared = std::any_cast<const Prepared&>(offer.prepared);
    const std::map<ValueId, TensorLayout>& layouts = prepared.region.layouts;
    DeviceSpace& space = builder.space(bundle::kAccelTarget, "DRAM of " + hardware_.name, kMemoryBase, kPage);
    const auto address = [&](ValueId value) {
      const TensorLayout& layout = layouts.at(value);
      const auto [it, added] = space.tensors.try_emplace({value, layout.text()}, 0);
      if (added) it->second = space.allocate(static_cast<std::uint64_t>(layout.bytes()));
      return it->second;
    };
    bundle::Step step;
    step.name = part.name;
    std::map<ValueId, std::uint64_t> addresses;
    for (const ValueId input : part.inputs) {
      step.arguments.push_back(builder.in_layout(input, layouts.at(input).text()));
      addresses[input] = address(input);
    }
    for (const ValueId output : part.outputs) addresses[output] = address(output);
    std::uint64_t memory_end = 0;
    const RegionSpec spec{part.name,  prepared.operations, prepared.macs, prepared.region,
                          addresses,  builder.progress(),  memo_,         nullptr,
                          &memory_end};
    auto built = counting_.count
                     ? build_counted_region(builder.graph(), spec, hardware_, prepared.recorded, counting_, space, dump)
                     : build_region(builder.graph(), spec, hardware_, prepared.recorded, space, dump);
    if (!built.ok() && memory_end > 0) give_up_largest(prepared, memory_end, builder);
    DOVETAIL_ASSIGN(RegionCode made, std::move(built));
    bundle::AccelCode& code = made.code;
    prove(code, part.name, space);
    for (const TaskUse& use : made.uses) {
      const TaskSchedule& schedule = made.schedules.at(use.content);
      if (!schedule.origin.key.empty())
        builder.add_schedule({use.name, std::string(name()), std::string(schedule.kind.name), schedule.origin});
    }
    builder.add_code(
        {part.name, std::string(name()), line_of(made.statistics, hardware_), to_json(made.statistics, hardware_)});
    for (const ValueId output : part.outputs) step.results.push_back(builder.result(output, layouts.at(output).text()));
    for (const ValueId input : part.inputs) code.argument_addresses.push_back(addresses.at(input));
    for (const ValueId output : part.outputs) code.result_addresses.push_back(addresses.at(output));
    for (std::size_t i = 0; i < step.arguments.size(); ++i)
      builder.place(step.arguments[i], space, code.argument_addresses[i]);
    for (std::size_t i = 0; i < step.results.size(); ++i)
      builder.place(step.results[i], space, code.result_addresses[i]);
    for (const bundle::InstructionRange& range : code.ranges)
      // An operation has several ranges where its loads lie elsewhere.
      for (const std::string& origin : range.origins)
        if (std::ranges::find(step.origins, origin) == step.origins.end()) step.origins.push_back(origin);
    bundle::encode(code, step);
    builder.add_step(std::move(step));
    return {};
  }

  Cost cost(const Graph& graph, const Match& match) const override {
    const CycleEstimate estimate = estimate_cycles(graph, operation_of(match), hardware_);
    Cost cost = count_work(graph, match.nodes);
    cost.cycles = estimate.cycles;
    cost.seconds = static_cast<double>(estimate.cycles) / clock_hz_;
    return cost;
  }
  // A program on the host packs or unpacks it: each byte of the packed form is read and written once.
  double border_seconds(const graph::TensorType& type) const override {
    const Shape& shape = type.shape;
    const std::int64_t columns = shape.empty() ? 1 : shape.back();
    const TensorLayout layout =
        shape.size() == 4 ? make_layout(hardware_, shape[0], shape[1], shape[2], shape[3])
                          : make_layout(hardware_, columns == 0 ? 0 : element_count(shape) / columns, columns, 1, 1);
    return host::kKernelSeconds + 2.0 * static_cast<double>(layout.bytes()) / host::kMemoryBytesPerSecond;
  }

 private:
  static const Operation& operation_of(const Match& match) {
    return *std::any_cast<const std::shared_ptr<const Operation>&>(match.body);
  }

  struct Prepared {
    std::vector<Operation> operations;
    std::vector<std::uint64_t> macs;  // of each
    RegionLayouts region;
    schedule::FindRecorded recorded;
  };

  // As many operations as have the bytes that are too many, the largest first.
  void give_up_largest(const Prepared& prepared, std::uint64_t memory_end, BundleBuilder& builder) const {
    const std::uint64_t limit = end_of_memory(hardware_);
    std::vector<std::pair<std::uint64_t, const Operation*>> by_size;
    for (const Operation& operation : prepared.operations) {
      std::uint64_t bytes = static_cast<std::uint64_t>(prepared.region.layouts.at(operation.output).bytes());
      for (const ValueId input : operation.inputs)
        bytes += static_cast<std::uint64_t>(prepared.region.layouts.at(input).bytes());
      by_size.emplace_back(bytes, &operation);
    }
    std::ranges::stable_sort(by_size, std::ranges::greater(), &decltype(by_size)::value_type::first);
    std::uint64_t given_up = 0;
    for (const auto& [bytes, operation] : by_size) {
      if (given_up > 0 && given_up + limit >= memory_end) return;
      given_up += bytes;
      for (const NodeId node : operation->nodes)
        builder.give_up({node, std::string(name()),
                         fmt::format("its region takes {} KiB of memory, {} of them its operands and its result; {} "
                                     "reaches {} KiB",
                                     memory_end / 1024, bytes / 1024, hardware_.name, limit / 1024)});
    }
  }

  isa::HardwareConfig hardware_;
  double clock_hz_;
  std::shared_ptr<Memo> memo_;
  std::vector<PatternRow> rows_;
  Counting counting_;
};

}  // namespace

TargetPointer make_target(const isa::HardwareConfig& hardware, double clock_mhz, std::shared_ptr<Memo> memo,
                          Counting counting) {
  return std::make_shared<AccelTarget>(hardware, clock_mhz, std::move(memo), std::move(counting));
}

}  // namespace dovetail::accel
