// Compiles a net for a machine, runs it, and compares it with the reference.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isa/config.h"
#include "tests/machines/nets.h"

namespace dovetail::test {

struct Attempt {
  std::string failure;  // empty: the run equals the reference
  int accelerated = 0;  // nodes of the accelerator
  // Nodes that could have been, by the accelerator's reason with its numbers replaced by #.
  std::map<std::string, int> refused;
  std::uint64_t instructions = 0;
};

// On each engine. All outputs of the engines are equal, and all values that the run has in common with the reference.
Attempt try_net(const Net& net, const isa::HardwareConfig& machine, const std::vector<std::string>& engines);

}  // namespace dovetail::test
