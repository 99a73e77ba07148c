// The report of a region's stream: micro-op kernels and tokens.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/json.h"
#include "compiler/target/accel/stream/stream.h"
#include "isa/config.h"

namespace dovetail::accel {

struct StreamStatistics {
  UopStatistics uops;
  std::uint64_t uops_in_memory = 0;
  TokenStatistics tokens;
  std::vector<std::string> nodes = {};                        // names of the nodes in tokens.by_node; empty: no names
  std::vector<std::array<std::string, 2>> side_by_side = {};  // nodes
  std::size_t launches = 0, groups = 0, accelerators = 0;     // groups: of launches that begin together

  // Adds the counts of another launch.
  StreamStatistics& operator+=(const StreamStatistics& other);
};

// {"uops": {"kernels", "wholes", "in_memory", "loads", "loaded", "loaded_bytes"}, "tokens": {"all", "stage_order",
// FIFO: its tokens, ..., "layers": [{"name", "all", "stage_order"}, ...]}, "relays": {"by_waiting", "made_to_wait",
// "by_nop", "wait_cycles"}, "tokens_limited_by_depth", "side_by_side": [[first node, second node], ...], "launches",
// "groups", "accelerators"}
Json to_json(const StreamStatistics& statistics, const isa::HardwareConfig& config);
// A line for a terminal.
std::string line_of(const StreamStatistics& statistics, const isa::HardwareConfig& config);

}  // namespace dovetail::accel
