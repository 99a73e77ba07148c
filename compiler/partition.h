// Which node runs where: patterns of each target in order of preference, and maximal regions of one target in execution order.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/target/accel/select.h"
#include "isa/config.h"

namespace dovetail {

struct PartitionOptions {
  std::vector<std::string> targets;          // "accel", "cpu"; in order of preference
  isa::HardwareConfig hardware;
  std::map<std::string, std::string> place;  // node name -> target, by the user
  bool strict = false;
};

// A region: consecutive units of one target. Accelerator regions hold operations, host regions nodes.
struct PartitionRegion {
  bool accelerator = false;
  std::vector<accel::Operation> operations;
  std::vector<graph::NodeId> nodes;
};
struct Partition {
  std::vector<PartitionRegion> regions;      // in execution order; every live node once
  std::map<graph::NodeId, std::string> why;  // for nodes on the host: what stands against the accelerator
};

// Regions are convex, because they are runs of one topological order; the order prefers to stay on a target, so that runs are long.
// Errors: an unknown target or node name; a placement that no pattern allows; with `strict`, every node that no listed target takes.
Result<Partition> partition(const graph::Graph& graph, const PartitionOptions& options);

}  // namespace dovetail
