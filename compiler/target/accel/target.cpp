#include "compiler/target/accel/target.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "compiler/target/accel/cost.h"
#include "compiler/target/accel/region.h"
#include "compiler/target/accel/select.h"
#include "compiler/target/cpu/cost.h"

namespace dovetail::accel {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

class AccelTarget : public Target {
 public:
  AccelTarget(const isa::HardwareConfig& hardware, double clock_mhz) : hardware_(hardware), clock_hz_(clock_mhz * 1e6), rows_(pattern_rows(hardware)) {}

  std::string_view name() const override { return "accel"; }
  std::span<const PatternRow> patterns() const override { return rows_; }
  std::string no_pattern(const Graph& graph, NodeId node) const override {
    const std::string& op = graph.node(node).op;
    if (op == "dovetail.qtable") return "it looks its values up in a table, for which the accelerator has no memory";
    if (op == "dovetail.qmatmul") return "it multiplies two activations, the accelerator by constant weights";
    const auto floating = [&](ValueId value) { return value.valid() && is_floating(graph.value(value).type.dtype); };
    return std::ranges::any_of(graph.node(node).inputs, floating) ? fmt::format("{} computes in floating point, the accelerator in int8", op)
                                                                   : fmt::format("no accelerator pattern takes {}", op);
  }

  Result<RegionPlan> plan(const Graph& graph, const dovetail::Region& part, const Surroundings&, const Dump& dump) const override {
    std::vector<Operation> operations;
    for (const Match& match : part.matches) operations.push_back(operation_of(match));
    DOVETAIL_ASSIGN(Region built, build_region(graph, operations, part.outputs, hardware_, part.name, dump));
    RegionPlan plan;
    for (const PackedTensor& input : built.inputs) plan.wants[input.value] = "";
    for (const PackedTensor& output : built.outputs) plan.leaves[output.value] = "";
    plan.emit = [region = std::make_shared<Region>(std::move(built))](BundleBuilder& builder) -> Result<void> {
      emit(std::move(*region), builder);
      return {};
    };
    return plan;
  }

  Cost cost(const Graph& graph, const Match& match) const override {
    const CycleEstimate estimate = estimate_cycles(graph, operation_of(match), hardware_);
    Cost cost = count_work(graph, match.nodes);
    cost.seconds = static_cast<double>(estimate.cycles) / clock_hz_;
    return cost;
  }
  // A program on the host packs or unpacks it: each byte of the packed form is read and written once.
  double border_seconds(const graph::TensorType& type) const override {
    const ImageShape shape = image_shape(type.shape);
    const TensorLayout layout = make_layout(hardware_, shape.n, shape.c, shape.h, shape.w);
    return cpu::kKernelSeconds + 2.0 * static_cast<double>(layout.bytes()) / cpu::kMemoryBytesPerSecond;
  }

 private:
  static const Operation& operation_of(const Match& match) { return *std::any_cast<const std::shared_ptr<const Operation>&>(match.body); }

  static void emit(Region region, BundleBuilder& builder) {
    const auto packed = [&](const PackedTensor& tensor) {
      return builder.add_tensor(fmt::format("{}.packed.{}", builder.graph().value(tensor.value).name, region.step.name), DType::int8, tensor.layout.physical_shape());
    };
    for (const PackedTensor& input : region.inputs) {
      const graph::Value& value = builder.graph().value(input.value);
      const bundle::TensorIndex tensor = packed(input);
      const std::string name = "pack " + value.name;
      builder.add_program(name, {}, pack_program(name, value.type.shape, input.layout), {builder.in_layout(input.value, "")}, {tensor});
      region.step.inputs.push_back({tensor, input.address});
    }
    for (const PackedTensor& output : region.outputs) region.step.outputs.push_back({packed(output), output.address});
    const std::vector<bundle::Binding> results = region.step.outputs;
    builder.add_step(std::move(region.step));
    for (std::size_t i = 0; i < region.outputs.size(); ++i) {
      const graph::Value& value = builder.graph().value(region.outputs[i].value);
      const std::string name = "unpack " + value.name;
      builder.add_program(name, {}, unpack_program(name, value.type.shape, region.outputs[i].layout), {results[i].tensor}, {builder.result(region.outputs[i].value, "")});
    }
  }

  isa::HardwareConfig hardware_;
  double clock_hz_;
  std::vector<PatternRow> rows_;
};

}  // namespace

TargetPointer make_target(const isa::HardwareConfig& hardware, double clock_mhz) { return std::make_shared<AccelTarget>(hardware, clock_mhz); }

}  // namespace dovetail::accel
