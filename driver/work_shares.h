// Where the multiplications of a compiled model run, and if none runs on the accelerator, why.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/report.h"

namespace dovetail::driver {

// The share of each target in the multiplications of the graph; empty if it has none.
std::map<std::string, double> mac_shares(const PlacementSummary& summary);

// A group of nodes that the host interprets because no target supports them, all for the same reason.
struct OnHost {
  std::string op, why;
  std::vector<std::string> nodes = {};
};
// The most frequent reason first.
std::vector<OnHost> on_host(std::span<const NodePlacement> placement);

// Why no multiplication of a model runs on the accelerator, although it is a requested target.
struct LeftAccelerator {
  std::string why;          // the most frequent refusal of nodes that multiply
  std::size_t nodes = 0;    // nodes refused for this reason, or for the same reason with another operator
  std::size_t of = 0;       // all nodes that multiply
  std::string remedy = {};  // an option or command that changes it
};
Json to_json(const LeftAccelerator& left);  // {"why", "nodes", "of", "remedy"}
// nullopt if accel is not one of `targets`, has multiplications, or the model has none.
std::optional<LeftAccelerator> left_accelerator(std::span<const NodePlacement> placement,
                                                const PlacementSummary& summary, std::span<const std::string> targets);
}  // namespace dovetail::driver
