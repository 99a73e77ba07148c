// Which node runs where: the tables of the targets in order of preference, and maximal regions of one target in execution order.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/target/target.h"

namespace dovetail {

struct PartitionOptions {
  std::vector<TargetPointer> available = {};      // those that may be named; names are unique
  std::vector<std::string> targets = {};          // in order of preference
  std::vector<std::string> fallback = {};         // behind them, for nodes that no listed target takes
  std::map<std::string, std::string> place = {};  // node name -> target, by the user
  bool strict = false;                            // no fallback
};

// Why a node does not run on a target that was asked before the one that took it.
struct Refusal {
  std::string target, why;
};
struct PartitionRegion {
  TargetPointer target;
  Region region;
};
struct Partition {
  std::vector<PartitionRegion> regions;                   // in execution order; every live node once
  // By the last node of a match:
  std::map<graph::NodeId, std::vector<Refusal>> refused;  // in the order in which targets were asked
  std::set<graph::NodeId> fallback;                       // taken by a target that was not asked for
};

// Regions are convex, and their order is one in which they can run. They are maximal: no two regions of one target could be one.
// Errors: an unknown target or node name; a placement that no pattern allows; with `strict`, every node that no listed target takes.
Result<Partition> partition(const graph::Graph& graph, const PartitionOptions& options);

}  // namespace dovetail
