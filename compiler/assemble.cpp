#include "compiler/assemble.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/fuse.h"
#include "compiler/ops/op.h"
#include "compiler/schedule/index_map.h"
#include "compiler/target/accel/region.h"
#include "compiler/target/cpu/default_schedule.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/library.h"
#include "compiler/target/cpu/relayout.h"
#include "loops/print.h"

namespace dovetail {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

// The layout of a value as the model has it.
const std::string kPlain;

class Assembler {
 public:
  Assembler(const Graph& graph, const Partition& parts, const AssembleOptions& options, const accel::Dump& dump)
      : graph_(graph), parts_(parts), options_(options), dump_(dump) {
    if (options_.cpu) library_.emplace(*options_.cpu);
  }

  Result<Assembled> run() {
    bundle_.name = graph_.name;
    for (const ValueId input : graph_.inputs) bundle_.inputs.push_back(tensor(input));
    if (options_.free_borders) free_.insert(graph_.inputs.begin(), graph_.inputs.end());
    for (std::size_t i = 0; i < parts_.regions.size(); ++i)
      DOVETAIL_TRY(parts_.regions[i].accelerator ? accelerator(i) : host(parts_.regions[i]));
    for (const ValueId output : graph_.outputs) bundle_.outputs.push_back(in_layout(output, options_.free_borders && layouts_.count(output) ? layouts_.at(output) : kPlain));
    Assembled result;
    if (library_ && !library_->empty()) {
      DOVETAIL_TRY(library_->finish(bundle_));
      result.kernels = library_->report();
    }
    result.bundle = std::move(bundle_);
    result.groups = std::move(groups_);
    return result;
  }

 private:
  bundle::TensorIndex add_tensor(std::string name, DType dtype, Shape shape, std::optional<NdArray> constant = std::nullopt) {
    bundle_.tensors.push_back({std::move(name), dtype, std::move(shape), std::move(constant)});
    return static_cast<bundle::TensorIndex>(bundle_.tensors.size() - 1);
  }
  // The value's tensor in the model's layout; made where there is none yet.
  bundle::TensorIndex tensor(ValueId id) {
    const auto it = tensors_.find({id, kPlain});
    if (it != tensors_.end()) return it->second;
    const graph::Value& value = graph_.value(id);
    return tensors_[{id, kPlain}] = add_tensor(value.name, value.type.dtype, value.type.shape, value.constant);
  }
  // A tensor for a value that a step computes in that layout.
  bundle::TensorIndex result_tensor(ValueId id, const std::string& layout) {
    layouts_[id] = layout;
    if (layout.empty()) return tensor(id);
    const graph::Value& value = graph_.value(id);
    auto map = schedule::parse_index_map(layout, value.type.shape);
    DOVETAIL_CHECK(map.ok(), "the layout of " + value.name + " is one of its shape");
    const bundle::TensorIndex index = add_tensor(fmt::format("{}@{}", value.name, layout), value.type.dtype, map->physical_shape());
    bundle_.tensors.back().layout = layout;
    bundle_.tensors.back().logical = value.name;
    return tensors_[{id, layout}] = index;
  }
  // The value in that layout: packed here where it is constant, else by a step.
  bundle::TensorIndex in_layout(ValueId id, const std::string& layout) {
    if (const auto it = tensors_.find({id, layout}); it != tensors_.end()) {
      free_.erase(id);
      return it->second;
    }
    const graph::Value& value = graph_.value(id);
    const std::string from = layouts_.count(id) ? layouts_.at(id) : kPlain;
    if (from == layout) return tensor(id);
    if (value.constant) {
      auto map = schedule::parse_index_map(layout, value.type.shape);
      DOVETAIL_CHECK(map.ok(), "the layout of " + value.name + " is one of its shape");
      NdArray packed = schedule::pack(*value.constant, *map);
      const Shape shape = packed.shape();
      return tensors_[{id, layout}] = add_tensor(fmt::format("{}@{}", value.name, layout), value.type.dtype, shape, std::move(packed));
    }
    if (free_.erase(id) != 0) {
      // The first kernel that reads an input decides how it lies.
      auto map = schedule::parse_index_map(layout, value.type.shape);
      DOVETAIL_CHECK(map.ok(), "the layout of " + value.name + " is one of its shape");
      bundle::Tensor& input = bundle_.tensors[static_cast<std::size_t>(tensors_.at({id, kPlain}))];
      input.shape = map->physical_shape();
      input.layout = layout;
      input.logical = value.name;
      const bundle::TensorIndex index = tensors_.at({id, kPlain});
      tensors_.erase({id, kPlain});
      layouts_[id] = layout;
      return tensors_[{id, layout}] = index;
    }
    const bundle::TensorIndex source = tensors_.at({id, from});
    const bundle::TensorIndex target = result_tensor(id, layout);
    layouts_[id] = from;
    const std::string name = "relayout " + value.name;
    add_program(name, {}, cpu::relayout_program(value.type, from, layout), {source}, {target});
    return target;
  }

  // A constant that a schedule made of one of the model's.
  bundle::TensorIndex own_constant(const FusedGroup& group, std::size_t argument, const NdArray& value, const std::string& layout) {
    const std::string name = fmt::format("{}@{}", graph_.value(group.arguments[argument]).name, graph_.node(group.nodes.front()).name);
    if (layout.empty()) return add_tensor(name, value.dtype(), value.shape(), value);
    auto map = schedule::parse_index_map(layout, value.shape());
    DOVETAIL_CHECK(map.ok(), "the layout of " + name + " is one of its shape");
    NdArray packed = schedule::pack(value, *map);
    const Shape shape = packed.shape();
    return add_tensor(name, value.dtype(), shape, std::move(packed));
  }

  // A step for a loop program in its final form: a kernel where the back end can make one, else interpreted.
  void add_program(const std::string& name, std::vector<std::string> origins, loops::Program program, std::vector<bundle::TensorIndex> arguments,
                   std::vector<bundle::TensorIndex> results, const cpu::Operations& operations = {}) {
    if (library_ && cpu::supported(program).ok()) {
      const std::string symbol = library_->add(program, cpu::intrinsics(library_->cpu()));
      bundle::CpuStep step;
      step.name = name;
      step.origins = std::move(origins);
      step.symbol = symbol;
      step.arguments = std::move(arguments);
      step.results = std::move(results);
      step.operations = operations.floating + operations.integer;
      step.integer = operations.integer > operations.floating;
      bundle_.steps.push_back(std::move(step));
    } else {
      bundle_.steps.push_back(bundle::HostStep{name, std::move(origins), std::move(program), std::move(arguments), std::move(results)});
    }
  }

  Result<void> host(const PartitionRegion& region) {
    DOVETAIL_ASSIGN(const std::vector<FusedGroup> groups, fuse_groups(graph_, region.nodes, library_.has_value() && options_.fuse));
    for (const FusedGroup& group : groups) {
      cpu::ScheduledGroup scheduled{group.program, {}, std::vector<std::string>(group.arguments.size()), std::vector<std::string>(group.results.size()), "interpreted"};
      GroupReport report;
      if (library_ && cpu::supported(group.program).ok()) {
        std::vector<std::string> layouts;
        for (const ValueId argument : group.arguments) layouts.push_back(layouts_.count(argument) ? layouts_.at(argument) : kPlain);
        DOVETAIL_ASSIGN(scheduled, cpu::default_schedule(group, layouts, library_->cpu(), report.notes));
      }
      std::vector<std::string> origins;
      for (const NodeId id : group.nodes) {
        const graph::Node& node = graph_.node(id);
        if (node.origins.empty()) origins.push_back(node.name);
        origins.insert(origins.end(), node.origins.begin(), node.origins.end());
      }
      std::vector<bundle::TensorIndex> arguments, results;
      for (std::size_t i = 0; i < group.arguments.size(); ++i) {
        const auto changed = scheduled.constants.find(i);
        arguments.push_back(changed == scheduled.constants.end() ? in_layout(group.arguments[i], scheduled.argument_layouts[i]) : own_constant(group, i, changed->second, scheduled.argument_layouts[i]));
      }
      for (std::size_t i = 0; i < group.results.size(); ++i) results.push_back(result_tensor(group.results[i], scheduled.result_layouts[i]));
      report.name = graph_.node(group.nodes.front()).name;
      report.kind = scheduled.kind;
      for (const NodeId id : group.nodes) report.nodes.push_back(graph_.node(id).name);
      report.trace = schedule::to_string(scheduled.trace);
      dump_("trace", fmt::format("# {} ({})\n{}", report.name, report.kind, report.trace));
      dump_("schedule", loops::to_string(scheduled.program));
      add_program(report.name, std::move(origins), std::move(scheduled.program), std::move(arguments), std::move(results), cpu::count_operations(group.program));
      groups_.push_back(std::move(report));
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
      if (options_.expose == Expose::all || graph_.is_output(operation.output) || std::any_of(users.begin(), users.end(), [&](NodeId user) { return !own.count(user); }))
        values.push_back(operation.output);
    }
    return values;
  }

  Result<void> accelerator(std::size_t index) {
    const PartitionRegion& part = parts_.regions[index];
    DOVETAIL_ASSIGN(accel::Region region, accel::build_region(graph_, part.operations, escaping(part), options_.hardware, fmt::format("region{}", index), dump_));
    for (const accel::PackedTensor& input : region.inputs) {
      const graph::Value& value = graph_.value(input.value);
      const bundle::TensorIndex packed = add_tensor(fmt::format("{}.packed.{}", value.name, region.step.name), DType::int8, input.layout.physical_shape());
      const std::string name = "pack " + value.name;
      add_program(name, {}, accel::pack_program(name, value.type.shape, input.layout), {in_layout(input.value, kPlain)}, {packed});
      region.step.inputs.push_back({packed, input.address});
    }
    for (const accel::PackedTensor& output : region.outputs) {
      const graph::Value& value = graph_.value(output.value);
      const bundle::TensorIndex packed = add_tensor(fmt::format("{}.packed.{}", value.name, region.step.name), DType::int8, output.layout.physical_shape());
      region.step.outputs.push_back({packed, output.address});
    }
    const std::vector<bundle::Binding> packed = region.step.outputs;
    bundle_.steps.push_back(std::move(region.step));
    for (std::size_t i = 0; i < region.outputs.size(); ++i) {
      const graph::Value& value = graph_.value(region.outputs[i].value);
      const std::string name = "unpack " + value.name;
      add_program(name, {}, accel::unpack_program(name, value.type.shape, region.outputs[i].layout), {packed[i].tensor}, {tensor(region.outputs[i].value)});
    }
    return {};
  }

  const Graph& graph_;
  const Partition& parts_;
  const AssembleOptions& options_;
  const accel::Dump& dump_;
  std::optional<cpu::KernelLibrary> library_;
  bundle::Bundle bundle_;
  std::map<std::pair<ValueId, std::string>, bundle::TensorIndex> tensors_;  // by layout
  std::map<ValueId, std::string> layouts_;                                  // in which a value was computed
  std::set<ValueId> free_;                                                  // inputs that nothing has read yet
  std::vector<GroupReport> groups_;
};

}  // namespace

Result<Assembled> assemble(const Graph& graph, const Partition& parts, const AssembleOptions& options,
                           const std::function<void(std::string_view stage, std::string_view text)>& dump) {
  return Assembler(graph, parts, options, dump).run();
}

}  // namespace dovetail
