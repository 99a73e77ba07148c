// The contents of SRAM after a program, by isa/semantics: for engines whose SRAM can be inspected. Elements that have
// not been written since reset are undefined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "isa/codec.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/spec/memories.h"
#include "simulator/simulator.h"

namespace dovetail::test {

class SramModel {
 public:
  explicit SramModel(const isa::HardwareConfig& config);

  // Runs the launch in an order that its tokens allow. Precondition: it is legal and race-free. `dram` changes in the
  // same way as on every engine.
  void launch(std::span<const isa::Instruction> program, simulator::Dram& dram);

  std::uint64_t depth(isa::Memory memory) const { return buffer(memory).defined.size(); }
  // The bytes of an element in SRAM; empty: undefined. Of micro-ops only the bits of fields count.
  std::span<const std::byte> element(isa::Memory memory, std::uint64_t index) const;

 private:
  void execute(const isa::Instruction& instruction, simulator::Dram& dram);
  void put(isa::Memory memory, std::uint64_t index, const std::byte* from);
  void set_acc(std::uint64_t index, std::span<const std::int32_t> lanes);
  std::vector<std::int32_t> acc(std::uint64_t index) const;
  void requantize(const isa::Uop& parameters, std::uint64_t dst);

  struct Buffer {
    std::size_t element_bytes = 0;
    std::vector<std::byte> bytes;
    std::vector<bool> defined;
  };
  Buffer& buffer(isa::Memory memory) { return buffers_[static_cast<std::size_t>(memory)]; }
  const Buffer& buffer(isa::Memory memory) const { return buffers_[static_cast<std::size_t>(memory)]; }

  isa::HardwareConfig config_;
  isa::Codec codec_;
  std::array<Buffer, isa::spec::kMemories.size()> buffers_;  // those of acc8 and out stay unused
  std::vector<isa::Uop> uops_;                               // buffer uop, decoded
  std::map<std::uint64_t, std::vector<std::int8_t>> out_;    // elements that an epilogue was the last to write
};

}  // namespace dovetail::test
