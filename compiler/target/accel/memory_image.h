// The memory of a region: the addresses of its values, and its constants.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ndarray.h"
#include "bundle/code/accel.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/graph/graph.h"
#include "compiler/target/accel/lower/lower.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/region.h"

namespace dovetail::accel {

class MemoryImage {
 public:
  // Allocates the values that do not cross the region's border, and constants on demand, in the form that the first
  // kind of accelerator needs.
  MemoryImage(const graph::Graph& graph, const RegionSpec& spec, const RegionMemory& memory);
  // The same values, with constants for another accelerator. `first` outlives it.
  MemoryImage(MemoryImage& first, const Core& core);

  const Core& config;

  const TensorLayout& layout(graph::ValueId value) const { return layouts_.at(value); }
  std::uint64_t address(graph::ValueId value) const { return addresses_.at(value); }
  // Allocates memory that is not shared.
  std::uint64_t allocate(std::int64_t bytes) { return space_.allocate(static_cast<std::uint64_t>(bytes)); }
  // Addresses of constants: a new constant; the identity times a factor and ones, shared by all operations; a
  // selection, shared by equal selections, and a tensor of factors, by equal tensors, as of all layers that rotate by
  // position.
  std::uint64_t constant(const std::string& name, NdArray array);
  // Packed weights, as int4 where the hardware loads them and all of them fit.
  DramPlace weights(const std::string& name, NdArray array);
  std::uint64_t table(const std::string& name, const NdArray& table);  // int8 [256]
  std::uint64_t identity(std::int32_t factor = 1);
  std::uint64_t identity_as_rows();
  std::uint64_t arranging_selection();
  std::uint64_t ones();  // an element of WGT
  std::uint64_t selection(const MoveSpec::Term& term);
  std::uint64_t factors(const std::string& name, NdArray array);  // int8

  // Of the first kind of accelerator's image: the segments of all.
  std::vector<bundle::Segment> take_segments() { return std::move(segments_); }

 private:
  void place_inner_values(const RegionSpec& spec);
  std::uint64_t place_view(graph::ValueId value);
  void add_segment(std::string name, std::uint64_t address, bundle::Blob bytes);

  const std::map<graph::ValueId, TensorLayout>& layouts_;
  const std::map<graph::ValueId, View>& views_;
  std::map<graph::ValueId, std::uint64_t> addresses_;
  DeviceSpace& space_;
  std::vector<bundle::Segment> segments_;
  MemoryImage* first_ = nullptr;  // null: this is it
  bool shares_ = false;           // constants of equal names and values have one address
  std::optional<std::uint64_t> identity_as_rows_, arranging_selection_, ones_;
  std::map<std::int32_t, std::uint64_t> identities_;               // by factor
  std::map<std::vector<std::int64_t>, std::uint64_t> selections_;  // by MoveSpec::Term::channels
  std::map<std::vector<std::int8_t>, std::uint64_t> factors_;      // by the packed tensor
};

// Packs arrays into elements of the accelerator's memories: weights, constants of channels, and by any index map.
NdArray packed(const NdArray& array, const std::string& index_map);
NdArray pack_weight(const NdArray& weight, const BlockSizes& sizes);
NdArray pack_constants(const NdArray& constants, const BlockSizes& sizes);

}  // namespace dovetail::accel
