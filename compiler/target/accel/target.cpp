#include "compiler/target/accel/target.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "compiler/target/accel/region.h"
#include "compiler/target/accel/select.h"

namespace dovetail::accel {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

class AccelTarget : public Target {
 public:
  explicit AccelTarget(const isa::HardwareConfig& hardware) : hardware_(hardware), rows_(pattern_rows(hardware)) {}

  std::string_view name() const override { return "accel"; }
  std::span<const PatternRow> patterns() const override { return rows_; }
  std::string no_pattern(const Graph& graph, NodeId node) const override {
    const std::string& op = graph.node(node).op;
    const auto floating = [&](ValueId value) { return value.valid() && is_floating(graph.value(value).type.dtype); };
    return std::ranges::any_of(graph.node(node).inputs, floating) ? fmt::format("{} computes in floating point, the accelerator in int8", op)
                                                                   : fmt::format("no accelerator pattern takes {}", op);
  }

  Result<RegionPlan> plan(const Graph& graph, const dovetail::Region& part, const Surroundings&, const Dump& dump) const override {
    std::vector<Operation> operations;
    for (const Match& match : part.matches) operations.push_back(std::any_cast<const Operation&>(match.body));
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

 private:
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
  std::vector<PatternRow> rows_;
};

}  // namespace

TargetPointer make_target(const isa::HardwareConfig& hardware) { return std::make_shared<AccelTarget>(hardware); }

}  // namespace dovetail::accel
