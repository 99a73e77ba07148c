// Where the multiplications of a compiled model are, and why none of them is on the accelerator, if that is so.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/report.h"

namespace dovetail::driver {

// The share of each target in the multiplications of the graph; empty where it has none.
std::map<std::string, double> mac_shares(const PlacementSummary& summary);

// Nodes that no target takes and the host therefore interprets: those that are there for one reason.
struct OnHost {
  std::string op, why;
  std::vector<std::string> nodes = {};
};
// The most frequent reason first.
std::vector<OnHost> on_host(std::span<const NodePlacement> placement);

// Why the accelerator has no multiplication of a model that was to run on it.
struct LeftAccelerator {
  std::string why;          // of the nodes that multiply, the most frequent refusal
  std::size_t nodes = 0;    // refused for it, or in the same words of another operator
  std::size_t of = 0;       // nodes that multiply
  std::string remedy = {};  // an option or command that changes it
};
// Nothing where accel is not among `targets`, has some of them, or there are none.
std::optional<LeftAccelerator> left_accelerator(std::span<const NodePlacement> placement,
                                                const PlacementSummary& summary, std::span<const std::string> targets);
}  // namespace dovetail::driver
