// Where the multiplications of a compiled model are, and why none of them is on the accelerator, if that is so.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "compiler/report.h"

namespace dovetail::cli {

// The share of each target in the multiplications of the graph; nothing where it has none.
std::string macs_text(const PlacementSummary& summary);

// The nodes that no target takes and the host therefore interprets: how many of all, their part of the multiplications
// and, where it is known, of the time; below it the reasons, the most frequent first, each with its nodes. Nothing
// where there are none.
std::string host_text(std::span<const NodePlacement> placement, const PlacementSummary& summary,
                      const std::map<std::string, double>& time_shares);
Json host_json(std::span<const NodePlacement> placement, const PlacementSummary& summary);

// The share of each target in the multiplications of the graph, as numbers; empty where it has none.
std::map<std::string, double> mac_shares(const PlacementSummary& summary);

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
// A line, or nothing.
std::string left_text(const std::optional<LeftAccelerator>& left);
Json left_json(const std::optional<LeftAccelerator>& left);  // {"why", "nodes", "of", "remedy"} or null

}  // namespace dovetail::cli
