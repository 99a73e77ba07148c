// The accelerators that a program is compiled for.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/target/accel/division.h"
#include "compiler/target/accel/programs/core.h"
#include "isa/accelerators.h"
#include "isa/config.h"

namespace dovetail::accel {

// All accelerators on one memory. Equal ones are of one kind.
class Cores {
 public:
  // Without `others` all accelerators of the division have the first configuration.
  explicit Cores(const isa::HardwareConfig& first, const Division& division = {});

  std::size_t size() const { return kinds_.size(); }  // of accelerators
  const Core& operator[](std::size_t accelerator) const { return cores_[kinds_[accelerator]]; }
  const Core& first() const { return cores_.front(); }
  bool same() const { return cores_.size() == 1; }
  // The kinds, numbered in the order of their first accelerators.
  std::size_t kinds() const { return cores_.size(); }
  std::size_t kind(std::size_t accelerator) const { return kinds_[accelerator]; }
  const Core& of_kind(std::size_t kind) const { return cores_[kind]; }
  std::size_t first_of_kind(std::size_t kind) const;

  const isa::AcceleratorConfigs& configs() const { return configs_; }

 private:
  isa::AcceleratorConfigs configs_;
  std::vector<Core> cores_;         // by kind
  std::vector<std::size_t> kinds_;  // by accelerator
};

}  // namespace dovetail::accel
