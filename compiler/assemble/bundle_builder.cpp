#include "compiler/assemble/bundle_builder.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/layout/layout.h"

namespace dovetail {

using bundle::TensorIndex;
using graph::NodeId;
using graph::ValueId;

namespace {

Layout parsed(const std::string& layout, const Shape& shape, const std::string& name) {
  auto result = parse_layout(layout, shape);
  DOVETAIL_CHECK(result.ok(),
                 "the layout of " + name + " must fit its shape: " + (result.ok() ? "" : to_string(result.errors())));
  return *std::move(result);
}

// The dimensions with more than one element, in physical order: layouts that agree in these store the same bytes.
std::vector<std::array<std::int64_t, 3>> order_of(const Layout& layout) {
  std::vector<std::array<std::int64_t, 3>> order;
  for (const schedule::IndexMap::Part& part : layout.map.parts)
    if (part.extent > 1) order.push_back({part.dimension, part.divisor, part.extent});
  return order;
}
bool same_bytes(const Layout& a, const Layout& b) {
  return a.folds.empty() && b.folds.empty() && a.view == b.view && a.framed() == a.view && b.framed() == b.view &&
         order_of(a) == order_of(b);
}

}  // namespace

std::uint64_t DeviceSpace::allocate(std::uint64_t bytes) {
  const std::uint64_t address = next;
  next = (next + bytes + granule - 1) / granule * granule;
  return address;
}

BundleBuilder::BundleBuilder(const graph::Graph& graph, const ChosenLayouts& layouts,
                             std::vector<std::unique_ptr<ProgramCompiler>> compilers, ReportProgress progress,
                             bool machine_code)
    : graph_(graph),
      chosen_(layouts),
      compilers_(std::move(compilers)),
      progress_(std::move(progress)),
      machine_code_(machine_code),
      inputs_(graph.inputs.begin(), graph.inputs.end()) {
  bundle_.name = graph_.name;
  for (const ValueId input : graph_.inputs) bundle_.inputs.push_back(add_value(input, chosen_.write(input)));
}

DeviceSpace& BundleBuilder::space(std::string_view target, const std::string& name, std::uint64_t base,
                                  std::uint64_t granule) {
  for (DeviceSpace& known : spaces_)
    if (const bundle::MemorySpace& space = bundle_.spaces[static_cast<std::size_t>(known.index)];
        space.target == target && space.name == name)
      return known;
  const auto index = static_cast<bundle::SpaceIndex>(bundle_.spaces.size());
  bundle_.spaces.push_back({std::string(target), name, base});
  return spaces_.emplace_back(DeviceSpace{index, base, granule, base});
}

void BundleBuilder::place(TensorIndex index, const DeviceSpace& space, std::optional<std::uint64_t> address) {
  bundle::Tensor& tensor = bundle_.tensors[static_cast<std::size_t>(index)];
  const bool computed = !tensor.constant && !tensor.view_of && std::ranges::count(bundle_.inputs, index) == 0;
  if (!computed || tensor.space != bundle::kHostSpace) return;
  tensor.space = space.index;
  if (address) tensor.offset = *address - space.base;
}

void BundleBuilder::overwrite(ValueId value, const std::string& layout, ValueId argument,
                              const std::string& argument_layout) {
  const TensorIndex after = tensors_.at({value, layout}), before = tensors_.at({argument, argument_layout});
  bundle::Tensor& tensor = bundle_.tensors[static_cast<std::size_t>(after)];
  const bundle::Tensor& there = bundle_.tensors[static_cast<std::size_t>(before)];
  if (there.space == bundle::kHostSpace || there.space != tensor.space || there.offset != tensor.offset) return;
  tensor.overwrites = before;
  overwritten_.push_back({value, argument, after, before});
}

// The tensors that are overwritten may stay between runs if the model's input and output have the same steps, perhaps
// converted to real numbers with one scale.
std::vector<bundle::Resident> BundleBuilder::residents() const {
  const auto converts = [&](NodeId id, std::string_view op) {
    return id.valid() && graph_.node(id).op == op && graph_.node(id).inputs.size() == 3 &&
           graph_.is_constant(graph_.node(id).inputs[1]) && graph_.is_constant(graph_.node(id).inputs[2]);
  };
  const auto parameter = [&](NodeId id, std::size_t i) -> const NdArray& {
    return *graph_.value(graph_.node(id).inputs[i]).constant;
  };
  std::vector<bundle::Resident> residents;
  for (const Overwritten& row : overwritten_) {
    const auto stays = [&](ValueId input, ValueId output) {
      if (!is_input(input) || !graph_.is_output(output)) return false;
      residents.push_back(
          {tensors_.at({input, layouts_.at(input)}), tensors_.at({output, kPlainLayout}), row.before, row.after});
      return true;
    };
    if (stays(row.argument, row.value)) continue;
    const NodeId quantize = graph_.value(row.argument).producer;
    if (!converts(quantize, "QuantizeLinear")) continue;
    for (const NodeId user : graph_.users(row.value))
      if (converts(user, "DequantizeLinear") && parameter(user, 1) == parameter(quantize, 1) &&
          parameter(user, 2) == parameter(quantize, 2) &&
          stays(graph_.node(quantize).inputs[0], graph_.node(user).outputs[0]))
        break;
  }
  return residents;
}

TensorIndex BundleBuilder::add_tensor(std::string name, DType dtype, Shape shape, std::optional<NdArray> constant) {
  bundle_.tensors.push_back({std::move(name), dtype, std::move(shape), std::move(constant)});
  return static_cast<TensorIndex>(bundle_.tensors.size() - 1);
}

TensorIndex BundleBuilder::add_constant(std::string name, const NdArray& value, const std::string& layout) {
  if (layout.empty()) return add_tensor(std::move(name), value.dtype(), value.shape(), value);
  NdArray packed = pack(value, parsed(layout, value.shape(), name));
  const Shape shape = packed.shape();
  return add_tensor(std::move(name), value.dtype(), shape, std::move(packed));
}

bool BundleBuilder::is_input(ValueId id) const { return inputs_.count(id) != 0; }

// A tensor for the value in that layout, once the value is computed.
TensorIndex BundleBuilder::add_value(ValueId id, const std::string& layout) {
  const graph::Value& value = graph_.value(id);
  layouts_.emplace(id, layout);
  // An input with a free layout exists in one layout only and keeps its name.
  const bool own_name =
      layout.empty() ? chosen_.write(id).empty() || !is_input(id) : is_input(id) && chosen_.write(id) == layout;
  const std::string name = own_name ? value.name : fmt::format("{}@{}", value.name, layout.empty() ? "plain" : layout);
  if (layout.empty()) return tensors_[{id, layout}] = add_tensor(name, value.type.dtype, value.type.shape);
  const TensorIndex index =
      add_tensor(name, value.type.dtype, parsed(layout, value.type.shape, value.name).physical_shape());
  bundle_.tensors.back().layout = layout;
  bundle_.tensors.back().logical = value.name;
  return tensors_[{id, layout}] = index;
}

TensorIndex BundleBuilder::result(ValueId id, const std::string& layout) { return add_value(id, layout); }

void BundleBuilder::add_view(ValueId value, ValueId root) {
  const TensorIndex shown = in_layout(root, kPlainLayout);
  bundle_.tensors[static_cast<std::size_t>(result(value, kPlainLayout))].view_of = shown;
}

TensorIndex BundleBuilder::in_layout(ValueId id, const std::string& layout) {
  if (const auto it = tensors_.find({id, layout}); it != tensors_.end()) return it->second;
  const graph::Value& value = graph_.value(id);
  if (value.constant) {
    const std::string name = layout.empty() ? value.name : fmt::format("{}@{}", value.name, layout);
    return tensors_[{id, layout}] = add_constant(name, *value.constant, layout);
  }
  const std::string from = layouts_.at(id);
  const TensorIndex source = tensors_.at({id, from}), target = add_value(id, layout);
  if (same_bytes(parsed(from, value.type.shape, value.name), parsed(layout, value.type.shape, value.name))) {
    bundle_.tensors[static_cast<std::size_t>(target)].view_of = source;
    return target;
  }
  add_program({"relayout " + value.name, {}, relayout_program(value.type, from, layout), {source}, {target}});
  return target;
}

void BundleBuilder::add_program(HostProgram program) {
  for (const auto& compiler : compilers_)
    if (std::optional<bundle::Step> step = compiler->step(program)) return add_step(*std::move(step));
  DOVETAIL_CHECK(false, "no target accepts the program of " + program.name);
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
  const auto is_extent = [&](ValueId output) {
    return std::ranges::find(graph_.extents, graph_.value(output).name, &graph::OutputExtent::extent) !=
           graph_.extents.end();
  };
  for (const ValueId output : graph_.outputs) {
    if (is_extent(output)) continue;
    const auto layout = chosen_.outputs.find(output);
    bundle_.outputs.push_back(in_layout(output, layout == chosen_.outputs.end() ? kPlainLayout : layout->second));
  }
  for (const graph::OutputExtent& row : graph_.extents)
    bundle_.extents.push_back({in_layout(*graph_.find_value(row.output), kPlainLayout), row.axis,
                               in_layout(*graph_.find_value(row.extent), kPlainLayout)});
  bundle_.residents = residents();
  for (const DeviceSpace& space : spaces_)
    bundle_.spaces[static_cast<std::size_t>(space.index)].bytes = space.next - space.base;
  Assembled result;
  result.memory = plan_memory(bundle_);
  if (!machine_code_) compilers_.clear();
  for (const auto& compiler : compilers_) {
    DOVETAIL_TRY(compiler->finish(bundle_, progress_));
    for (KernelReport& kernel : compiler->report()) result.kernels.push_back(std::move(kernel));
  }
  result.bundle = std::move(bundle_);
  result.groups = std::move(groups_);
  result.schedules = std::move(schedules_);
  result.codes = std::move(codes_);
  return result;
}

}  // namespace dovetail
