// The on-chip memories, in the kernels' form, with a record of which elements were written. After reset all elements
// read as zero, and none is defined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/ndarray.h"
#include "isa/codec.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "simulator/functional/kernels/kernels.h"
#include "simulator/functional/kernels/tile_layout.h"

namespace dovetail::simulator {

// The elements of a memory that have been written. Instructions query whole ranges, which are nearly always defined.
class DefinedElements {
 public:
  explicit DefinedElements(std::size_t count) : defined_(count, 0) {}

  // False beyond the end, too.
  bool operator[](std::size_t index) const { return index < defined_.size() && defined_[index] != 0; }
  void define(std::size_t index) { defined_[index] = 1; }
  void define_all() { std::memset(defined_.data(), 1, defined_.size()); }
  void define(std::size_t begin, std::size_t count) { std::memset(defined_.data() + begin, 1, count); }
  void undefine(std::size_t begin, std::size_t count) { std::memset(defined_.data() + begin, 0, count); }
  bool any(std::size_t min, std::size_t max) const {
    return std::memchr(defined_.data() + min, 1, max - min + 1) != nullptr;
  }

  bool all(std::size_t min, std::size_t max) const {
    return min == max ? defined_[min] != 0 : std::memchr(defined_.data() + min, 0, max - min + 1) == nullptr;
  }
  // The first undefined element of [min, max].
  std::optional<std::size_t> find_undefined(std::size_t min, std::size_t max) const {
    const void* hole = std::memchr(defined_.data() + min, 0, max - min + 1);
    if (hole == nullptr) return std::nullopt;
    return static_cast<const std::uint8_t*>(hole) - defined_.data();
  }

 private:
  std::vector<std::uint8_t> defined_;
};

class Sram {
 public:
  Sram(const isa::HardwareConfig& config, const Kernels& kernels);

  const TileLayout& layout() const { return layout_; }

  // Writes the elements of a LOAD. `dram` contains `count` consecutive DRAM elements. Precondition: the range is within
  // the memory.
  void write(isa::Memory memory, std::size_t begin, std::size_t count, const std::byte* dram);
  void write_zeros(isa::Memory memory, std::size_t begin, std::size_t count);

  // `count` elements of OUT: ACC as int8 lanes, wrapped or saturated, or what the epilogue wrote.
  void read_out(std::size_t begin, std::size_t count, bool saturate, std::byte* dram) const;

  // See SramReader.
  NdArray read(isa::Memory memory, std::size_t begin, std::size_t count) const;
  bool is_written(isa::Memory memory, std::size_t element) const {
    return const_cast<Sram*>(this)->defined(memory)[element];
  }

  // With the extension `epilogue`: the bytes of an element of OUT, by words of ACC's layout, and whether the epilogue
  // was the last to write it.
  std::int8_t* out(std::size_t element) { return out_.data() + element * layout_.acc_words(); }
  DefinedElements& requantized() { return requantized_; }

  // From now on all elements count as written.
  void define_all();

  UopView uops(std::size_t begin, std::size_t end) const {
    return {uop_dst_.data() + begin, uop_src_.data() + begin, uop_wgt_.data() + begin, end - begin};
  }
  std::int32_t* acc() { return acc_.front().words; }
  const std::uint32_t* inp() const { return inp_.data(); }
  const std::uint16_t* table() const { return table_.data(); }
  const std::int32_t* compensation() const { return compensation_.data(); }
  const std::uint32_t* wgt() const { return reinterpret_cast<const std::uint32_t*>(wgt_.front().words); }

  DefinedElements& defined(isa::Memory memory) {
    switch (memory) {
      case isa::Memory::uop: return uop_defined_;
      case isa::Memory::wgt:
      case isa::Memory::wgt4: return wgt_defined_;
      case isa::Memory::inp: return inp_defined_;
      case isa::Memory::tab: return tab_defined_;
      case isa::Memory::acc:
      case isa::Memory::out:
      case isa::Memory::acc8: break;
    }
    return acc_defined_;
  }

 private:
  struct alignas(64) Vector {
    std::int32_t words[kVectorLanes];
  };

  void write_uops(std::size_t begin, std::size_t count, const std::byte* dram);
  std::int32_t* acc_element(std::size_t index) { return acc_[index * layout_.vectors()].words; }
  const std::int32_t* acc_element(std::size_t index) const { return acc_[index * layout_.vectors()].words; }

  isa::Codec codec_;
  std::size_t uop_bytes_;
  TileLayout layout_;
  std::vector<std::uint32_t> uop_dst_, uop_src_, uop_wgt_;
  std::vector<std::uint32_t> inp_;
  std::vector<std::int32_t> compensation_;
  std::vector<Vector> wgt_, acc_;
  std::vector<std::uint16_t> table_;
  std::vector<std::int8_t> out_;
  DefinedElements requantized_;
  DefinedElements uop_defined_, inp_defined_, wgt_defined_, acc_defined_, tab_defined_;
};

}  // namespace dovetail::simulator
