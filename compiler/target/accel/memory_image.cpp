#include "compiler/target/accel/memory_image.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "compiler/assemble/plan_memory.h"
#include "compiler/schedule/index_map.h"
#include "compiler/target/accel/programs/dram.h"

namespace dovetail::accel {

using graph::ValueId;

MemoryImage::MemoryImage(const graph::Graph& graph, const RegionSpec& spec, const RegionMemory& memory)
    : config(spec.cores.first()),
      layouts_(spec.layouts.layouts),
      views_(spec.layouts.views),
      addresses_(memory.addresses),
      space_(memory.space),
      shares_(!spec.cores.same()) {
  place_inner_values(spec);
  // Borders of tensors made in the region are written once, into the image. Tensors from outside have their borders.
  const auto is_outside = [&](const Operation& operation) {
    const auto* move = std::get_if<MoveOperation>(&operation.body);
    return views_.contains(operation.output) || (move != nullptr && move->position);
  };
  for (const OperationForms& forms : spec.operations) {
    const Operation& operation = forms.any();
    if (const TensorLayout& made = layout(operation.output); !made.border.empty() && !is_outside(operation))
      add_segment(
          "border of " + graph.value(operation.output).name, address(operation.output),
          std::vector<std::byte>(static_cast<std::size_t>(made.bytes()), static_cast<std::byte>(made.border_value)));
  }
}

MemoryImage::MemoryImage(MemoryImage& first, const Core& core)
    : config(core),
      layouts_(first.layouts_),
      views_(first.views_),
      addresses_(first.addresses_),
      space_(first.space_),
      first_(&first),
      shares_(true) {}

void MemoryImage::add_segment(std::string name, std::uint64_t address, bundle::Blob bytes) {
  std::vector<bundle::Segment>& segments = first_ == nullptr ? segments_ : first_->segments_;
  if (bytes.size() > 0) segments.push_back({std::move(name), address, std::move(bytes)});
}

std::uint64_t MemoryImage::constant(const std::string& name, NdArray array) {
  bundle::Blob bytes(std::move(array));
  for (const bundle::Segment& known : first_ == nullptr ? segments_ : first_->segments_)
    if (shares_ && known.name == name && std::ranges::equal(known.bytes.bytes(), bytes.bytes())) return known.address;
  const std::uint64_t address = space_.allocate(bytes.size());
  add_segment(name, address, std::move(bytes));
  return address;
}

DramPlace MemoryImage::weights(const std::string& name, NdArray array) {
  if (!are_int4(array, config)) return constant(name, std::move(array));
  return {constant(name, pack_int4(array)), true};
}

std::uint64_t MemoryImage::table(const std::string& name, const NdArray& table) {
  return constant("table of " + name, table_constants(table.data<std::int8_t>()));
}

std::uint64_t MemoryImage::identity(std::int32_t factor) {
  const auto [known, added] = identities_.try_emplace(factor, 0);
  if (added)
    known->second = constant(factor == 1 ? "identity" : fmt::format("identity times {}", factor),
                             pack_weight(identity_weights(config, factor), config));
  return known->second;
}

std::uint64_t MemoryImage::identity_as_rows() {
  if (!identity_as_rows_)
    identity_as_rows_ = constant("identity, as rows", packed(transposing_identity(config), "i2,i0,i1"));
  return *identity_as_rows_;
}

std::uint64_t MemoryImage::arranging_selection() {
  if (!arranging_selection_)
    arranging_selection_ =
        constant("selection of rows", packed(accel::arranging_selection(config), parts_index_map(config.block_in)));
  return *arranging_selection_;
}

std::uint64_t MemoryImage::ones() {
  if (!ones_) {
    NdArray ones(DType::int8, {config.block_out, config.block_in});
    std::ranges::fill(ones.data<std::int8_t>(), std::int8_t{1});
    ones_ = constant("ones", std::move(ones));
  }
  return *ones_;
}

std::uint64_t MemoryImage::selection(const MoveSpec::Term& term) {
  const auto [known, added] = selections_.try_emplace(term.channels, 0);
  if (added) known->second = constant("selection of channels", pack_weight(selection_weights(term), config));
  return known->second;
}

std::uint64_t MemoryImage::factors(const std::string& name, NdArray array) {
  const auto numbers = array.data<std::int8_t>();
  const auto [known, added] = factors_.try_emplace({numbers.begin(), numbers.end()}, 0);
  if (added) known->second = constant(name, std::move(array));
  return known->second;
}

// Values that do not leave the region share memory by their live ranges; a value within another one has that value's
// live range. A value with a border is live from the start, since the border is part of the image. On one accelerator
// adjacent operations may be interleaved, so that one stores while the one before still loads. On several ones all
// operations of a group run together.
void MemoryImage::place_inner_values(const RegionSpec& spec) {
  const bool groups = spec.shares.back().group > 0 ||
                      std::ranges::any_of(spec.shares, [](const Share& share) { return share.accelerator > 0; });
  std::map<ValueId, bundle::LiveRange> ranges;  // of values that are not within others
  for (const Share& share : spec.shares) {
    const Operation& operation = spec.operations[share.operation].any();
    const auto at = static_cast<std::ptrdiff_t>(groups ? share.group : share.operation);
    const auto use = [&](ValueId value) {
      for (auto view = views_.find(value); view != views_.end(); view = views_.find(value)) value = view->second.base;
      if (addresses_.contains(value)) return;
      auto& range = ranges.try_emplace(value, bundle::LiveRange{at, at}).first->second;
      range.first = layout(value).border.empty() ? std::min(range.first, at) : 0;
      range.last = std::max(range.last, groups ? at : at + 1);
    };
    use(operation.output);
    for (const ValueId input : operation.inputs) use(input);
  }
  std::vector<ValueId> values;
  std::vector<MemoryItem> items;
  for (const auto& [value, range] : ranges) {
    values.push_back(value);
    items.push_back({static_cast<std::uint64_t>(layout(value).bytes()), range});
  }
  const std::uint64_t base = space_.allocate(place_items(items, kPage));
  for (std::size_t i = 0; i < values.size(); ++i) addresses_[values[i]] = base + items[i].offset;
  for (const auto& [value, view] : views_) place_view(value);
}

std::uint64_t MemoryImage::place_view(ValueId value) {
  if (const auto known = addresses_.find(value); known != addresses_.end()) return known->second;
  const View& view = views_.at(value);
  const TensorLayout& viewed = layout(value);
  const std::int64_t block_bytes = viewed.bytes() / (viewed.padded_c() / viewed.block);
  return addresses_[value] = place_view(view.base) + static_cast<std::uint64_t>(view.block * block_bytes);
}

NdArray packed(const NdArray& array, const std::string& index_map) {
  return schedule::pack(array, *schedule::parse_index_map(index_map, array.shape()));
}
NdArray pack_weight(const NdArray& weight, const BlockSizes& sizes) {
  return packed(weight, weight_index_map(sizes, weight.shape().size()));
}
NdArray pack_constants(const NdArray& constants, const BlockSizes& sizes) {
  return packed(constants, parts_index_map(sizes.block_out));
}

}  // namespace dovetail::accel
