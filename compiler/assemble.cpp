#include "compiler/assemble.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "compiler/target/accel/region.h"

namespace dovetail {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

class Assembler {
 public:
  Assembler(const Graph& graph, const Partition& parts, const isa::HardwareConfig& hardware, const accel::Dump& dump, Expose expose)
      : graph_(graph), parts_(parts), hardware_(hardware), dump_(dump), expose_(expose) {}

  Result<bundle::Bundle> run() {
    bundle_.name = graph_.name;
    for (const ValueId input : graph_.inputs) bundle_.inputs.push_back(tensor(input));
    for (std::size_t i = 0; i < parts_.regions.size(); ++i)
      DOVETAIL_TRY(parts_.regions[i].accelerator ? accelerator(i) : host(parts_.regions[i]));
    for (const ValueId output : graph_.outputs) bundle_.outputs.push_back(tensor(output));
    return std::move(bundle_);
  }

 private:
  bundle::TensorIndex add_tensor(std::string name, DType dtype, Shape shape, std::optional<NdArray> constant = std::nullopt) {
    bundle_.tensors.push_back({std::move(name), dtype, std::move(shape), std::move(constant)});
    return static_cast<bundle::TensorIndex>(bundle_.tensors.size() - 1);
  }
  bundle::TensorIndex tensor(ValueId id) {
    const auto it = tensors_.find(id);
    if (it != tensors_.end()) return it->second;
    const graph::Value& value = graph_.value(id);
    return tensors_[id] = add_tensor(value.name, value.type.dtype, value.type.shape, value.constant);
  }

  Result<void> host(const PartitionRegion& region) {
    for (const NodeId id : region.nodes) {
      const graph::Node& node = graph_.node(id);
      DOVETAIL_ASSIGN(loops::Program program, ops::define(graph_, id));
      const std::vector<int>& compile_time = ops::find(node.op)->compile_time_inputs;
      bundle::HostStep step{node.name, node.origins.empty() ? std::vector<std::string>{node.name} : node.origins, std::move(program), {}, {}};
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i].valid() && std::find(compile_time.begin(), compile_time.end(), static_cast<int>(i)) == compile_time.end())
          step.arguments.push_back(tensor(node.inputs[i]));
      for (const ValueId output : node.outputs)
        if (output.valid()) step.results.push_back(tensor(output));
      bundle_.steps.push_back(std::move(step));
    }
    return {};
  }

  // Values of a region that are read outside of it, or asked for.
  std::vector<ValueId> escaping(const PartitionRegion& region) const {
    std::set<NodeId> own;
    for (const accel::Operation& operation : region.operations) own.insert(operation.nodes.begin(), operation.nodes.end());
    std::vector<ValueId> values;
    for (const accel::Operation& operation : region.operations) {
      const std::vector<NodeId> users = graph_.users(operation.output);
      if (expose_ == Expose::all || graph_.is_output(operation.output) || std::any_of(users.begin(), users.end(), [&](NodeId user) { return !own.count(user); }))
        values.push_back(operation.output);
    }
    return values;
  }

  Result<void> accelerator(std::size_t index) {
    const PartitionRegion& part = parts_.regions[index];
    DOVETAIL_ASSIGN(accel::Region region, accel::build_region(graph_, part.operations, escaping(part), hardware_, fmt::format("region{}", index), dump_));
    for (const accel::PackedTensor& input : region.inputs) {
      const graph::Value& value = graph_.value(input.value);
      const bundle::TensorIndex packed = add_tensor(fmt::format("{}.packed.{}", value.name, region.step.name), DType::int8, input.layout.physical_shape());
      const std::string name = "pack " + value.name;
      bundle_.steps.push_back(bundle::HostStep{name, {}, accel::pack_program(name, value.type.shape, input.layout), {tensor(input.value)}, {packed}});
      region.step.inputs.push_back({packed, input.address});
    }
    std::vector<bundle::Step> unpack;
    for (const accel::PackedTensor& output : region.outputs) {
      const graph::Value& value = graph_.value(output.value);
      const bundle::TensorIndex packed = add_tensor(fmt::format("{}.packed.{}", value.name, region.step.name), DType::int8, output.layout.physical_shape());
      region.step.outputs.push_back({packed, output.address});
      const std::string name = "unpack " + value.name;
      unpack.push_back(bundle::HostStep{name, {}, accel::unpack_program(name, value.type.shape, output.layout), {packed}, {tensor(output.value)}});
    }
    bundle_.steps.push_back(std::move(region.step));
    bundle_.steps.insert(bundle_.steps.end(), std::make_move_iterator(unpack.begin()), std::make_move_iterator(unpack.end()));
    return {};
  }

  const Graph& graph_;
  const Partition& parts_;
  const isa::HardwareConfig& hardware_;
  const accel::Dump& dump_;
  Expose expose_;
  bundle::Bundle bundle_;
  std::map<ValueId, bundle::TensorIndex> tensors_;
};

}  // namespace

Result<bundle::Bundle> assemble(const Graph& graph, const Partition& parts, const isa::HardwareConfig& hardware,
                                const std::function<void(std::string_view stage, std::string_view text)>& dump,
                                Expose expose) {
  return Assembler(graph, parts, hardware, dump, expose).run();
}

}  // namespace dovetail
