// The micro-op memory of the timing core: indices only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isa/codec.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

class UopMemory {
 public:
  explicit UopMemory(const isa::HardwareConfig& config);

  void reset();
  // A LOAD of micro-ops that is legal by its fields. False: it reads outside the image, and nothing has changed.
  bool load(const isa::Load& load, const Dram& dram);
  std::span<const isa::Uop> uops() const { return uops_; }

 private:
  isa::Codec codec_;
  std::uint64_t uop_bytes_;
  std::vector<isa::Uop> uops_;
};

}  // namespace dovetail::simulator
