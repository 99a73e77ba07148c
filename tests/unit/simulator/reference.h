// An independent reference for programs: VTA's rules written out plainly, one lane at a time, in program order, sharing
// nothing with isa/semantics or the simulators. Legal programs only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"
#include "simulator/simulator.h"

namespace dovetail::simulator::testing {

class Reference {
 public:
  explicit Reference(const isa::HardwareConfig& config);

  void run(std::span<const isa::Instruction> program, Dram& dram);

 private:
  void load(const isa::Load& load, const Dram& dram);
  void store(const isa::Store& store, Dram& dram) const;
  void gemm(const isa::Gemm& gemm);
  void window(const isa::Window& window);
  void gemmq(const isa::GemmQ& gemmq);
  void requantize(const isa::Uop& parameters, std::size_t dst);
  void alu(const isa::Alu& alu);
  // Writes one DRAM element, or a zero element for a null pointer, into SRAM.
  void put(isa::Memory memory, std::size_t index, const std::byte* element);

  isa::HardwareConfig config_;
  std::size_t batch_, in_, out_;
  std::vector<isa::Uop> uop_;
  std::vector<std::int8_t> inp_, wgt_;
  std::vector<std::int32_t> acc_;
  std::map<std::size_t, std::vector<std::int32_t>> requantized_;  // elements that an epilogue was the last to write
  std::array<std::int32_t, 256> table_{};                         // sign-extended
};

}  // namespace dovetail::simulator::testing
