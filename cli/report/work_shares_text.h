// Where the multiplications of a compiled model run, as text and as JSON.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/json.h"
#include "driver/compile_model.h"
#include "driver/work_shares.h"

namespace dovetail::cli {

// The share of each target in the multiplications of the graph; empty if the graph has none.
std::string macs_text(const PlacementSummary& summary);

// The nodes that the host interprets, because no target supports them: their number, their share of the multiplications
// and, if known, of the time; below it the reasons, the most frequent first, each with its nodes. Empty if there are no
// such nodes.
std::string host_text(std::span<const NodePlacement> placement, const PlacementSummary& summary,
                      const std::map<std::string, double>& time_shares);
Json host_json(std::span<const NodePlacement> placement, const PlacementSummary& summary);

// Lines about the nodes that the accelerator does not run; empty without `left`.
std::string left_text(const std::optional<driver::LeftAccelerator>& left);
Json left_json(const std::optional<driver::LeftAccelerator>& left);  // {"why", "nodes", "of", "remedy"} or null

// A summary in a few lines: shares of the work and of the time, the nodes that the host interprets, and why nodes are
// not on the accelerator.
std::string work_summary(const driver::CompiledModel& model, const std::map<std::string, double>& time_shares);

}  // namespace dovetail::cli
