#include "compiler/bundle_builder.h"

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/schedule/index_map.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/relayout.h"

namespace dovetail {

using bundle::TensorIndex;
using graph::ValueId;

namespace {

// The layout of a value as the model has it.
const std::string kPlain;

schedule::IndexMap index_map(const std::string& layout, const Shape& shape, const std::string& name) {
  auto map = schedule::parse_index_map(layout, shape);
  DOVETAIL_CHECK(map.ok(), "the layout of " + name + " is one of its shape: " + to_string(map.errors()));
  return *std::move(map);
}

}  // namespace

BundleBuilder::BundleBuilder(const graph::Graph& graph, const std::optional<cpu::Cpu>& processor, bool free_borders) : graph_(graph), free_borders_(free_borders) {
  if (processor) library_.emplace(*processor);
  bundle_.name = graph_.name;
  for (const ValueId input : graph_.inputs) bundle_.inputs.push_back(tensor(input));
  if (free_borders) free_.insert(graph_.inputs.begin(), graph_.inputs.end());
}

TensorIndex BundleBuilder::add_tensor(std::string name, DType dtype, Shape shape, std::optional<NdArray> constant) {
  bundle_.tensors.push_back({std::move(name), dtype, std::move(shape), std::move(constant)});
  return static_cast<TensorIndex>(bundle_.tensors.size() - 1);
}

TensorIndex BundleBuilder::add_constant(std::string name, const NdArray& value, const std::string& layout) {
  if (layout.empty()) return add_tensor(std::move(name), value.dtype(), value.shape(), value);
  NdArray packed = schedule::pack(value, index_map(layout, value.shape(), name));
  const Shape shape = packed.shape();
  return add_tensor(std::move(name), value.dtype(), shape, std::move(packed));
}

// The value's tensor in the model's layout; made where there is none yet.
TensorIndex BundleBuilder::tensor(ValueId id) {
  const auto it = tensors_.find({id, kPlain});
  if (it != tensors_.end()) return it->second;
  const graph::Value& value = graph_.value(id);
  return tensors_[{id, kPlain}] = add_tensor(value.name, value.type.dtype, value.type.shape, value.constant);
}

TensorIndex BundleBuilder::result(ValueId id, const std::string& layout) {
  layouts_[id] = layout;
  if (layout.empty()) return tensor(id);
  const graph::Value& value = graph_.value(id);
  const TensorIndex index = add_tensor(fmt::format("{}@{}", value.name, layout), value.type.dtype, index_map(layout, value.type.shape, value.name).physical_shape());
  bundle_.tensors.back().layout = layout;
  bundle_.tensors.back().logical = value.name;
  return tensors_[{id, layout}] = index;
}

TensorIndex BundleBuilder::in_layout(ValueId id, const std::string& layout) {
  if (const auto it = tensors_.find({id, layout}); it != tensors_.end()) {
    free_.erase(id);
    return it->second;
  }
  const graph::Value& value = graph_.value(id);
  const std::string from = layouts_.count(id) ? layouts_.at(id) : kPlain;
  if (from == layout) return tensor(id);
  if (value.constant) return tensors_[{id, layout}] = add_constant(fmt::format("{}@{}", value.name, layout), *value.constant, layout);
  if (free_.erase(id) != 0) {
    // The first kernel that reads an input decides how it lies.
    const TensorIndex index = tensors_.at({id, kPlain});
    bundle::Tensor& input = bundle_.tensors[static_cast<std::size_t>(index)];
    input.shape = index_map(layout, value.type.shape, value.name).physical_shape();
    input.layout = layout;
    input.logical = value.name;
    tensors_.erase({id, kPlain});
    layouts_[id] = layout;
    return tensors_[{id, layout}] = index;
  }
  const TensorIndex source = tensors_.at({id, from});
  const TensorIndex target = result(id, layout);
  layouts_[id] = from;
  add_program("relayout " + value.name, {}, cpu::relayout_program(value.type, from, layout), {source}, {target});
  return target;
}

void BundleBuilder::add_program(const std::string& name, std::vector<std::string> origins, loops::Program program, std::vector<TensorIndex> arguments,
                                std::vector<TensorIndex> results, const loops::Program* operation_source) {
  if (!library_ || !cpu::supported(program).ok()) {
    add_step(bundle::HostStep{name, std::move(origins), std::move(program), std::move(arguments), std::move(results)});
    return;
  }
  bundle::CpuStep step;
  step.name = name;
  step.origins = std::move(origins);
  step.symbol = library_->add(program, cpu::intrinsics(library_->cpu()));
  step.arguments = std::move(arguments);
  step.results = std::move(results);
  if (operation_source != nullptr) {
    const cpu::Operations operations = cpu::count_operations(*operation_source);
    step.operations = operations.floating + operations.integer;
    step.integer = operations.integer > operations.floating;
  }
  add_step(std::move(step));
}

std::vector<std::string> BundleBuilder::origins(const std::vector<graph::NodeId>& nodes) const {
  std::vector<std::string> names;
  for (const graph::NodeId id : nodes) {
    const graph::Node& node = graph_.node(id);
    if (node.origins.empty()) names.push_back(node.name);
    names.insert(names.end(), node.origins.begin(), node.origins.end());
  }
  return names;
}

Result<Assembled> BundleBuilder::finish() {
  for (const ValueId output : graph_.outputs) bundle_.outputs.push_back(in_layout(output, free_borders_ && layouts_.count(output) ? layouts_.at(output) : kPlain));
  Assembled result;
  if (library_ && !library_->empty()) {
    DOVETAIL_TRY(library_->finish(bundle_));
    result.kernels = library_->report();
  }
  result.bundle = std::move(bundle_);
  result.groups = std::move(groups_);
  return result;
}

}  // namespace dovetail
