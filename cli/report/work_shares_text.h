// Where the multiplications of a compiled model are, for people and for machines.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/json.h"
#include "driver/compile_model.h"
#include "driver/work_shares.h"

namespace dovetail::cli {

// The share of each target in the multiplications of the graph; nothing where it has none.
std::string macs_text(const PlacementSummary& summary);

// The nodes that no target takes and the host therefore interprets: how many of all, their part of the multiplications
// and, where it is known, of the time; below it the reasons, the most frequent first, each with its nodes. Nothing
// where there are none.
std::string host_text(std::span<const NodePlacement> placement, const PlacementSummary& summary,
                      const std::map<std::string, double>& time_shares);
Json host_json(std::span<const NodePlacement> placement, const PlacementSummary& summary);

// A line, or nothing.
std::string left_text(const std::optional<driver::LeftAccelerator>& left);
Json left_json(const std::optional<driver::LeftAccelerator>& left);  // {"why", "nodes", "of", "remedy"} or null

// The same in a few lines: shares of the work and of the time, what the host interprets, and why nothing is on the
// accelerator.
std::string work_summary(const driver::CompiledModel& model, const std::map<std::string, double>& time_shares);

}  // namespace dovetail::cli
