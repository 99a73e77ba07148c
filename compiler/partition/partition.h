// Which node runs where: the tables of the targets in order of preference, and maximal regions of one target in
// execution order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/target/target.h"

namespace dovetail {

// When a region goes to a target although another listed one would take it, too. Estimates, of
// docs/explanation/partition.md.
enum class Offload : std::uint8_t {
  always,    // whenever its patterns take it
  possible,  // unless it cannot pay: its borders alone cost more than all of it on the other target, however fast this
             // one is
  cost,      // only if it saves more than its borders cost
};
std::string_view name(Offload offload);
std::optional<Offload> offload_from_name(std::string_view name);

// Why a node does not run on a target that was asked before the one that took it.
struct Refusal {
  std::string target, why;
};

struct PartitionOptions {
  std::vector<TargetPointer> available = {};      // those that may be named; names are unique
  std::vector<std::string> targets = {};          // in order of preference
  std::vector<std::string> fallback = {};         // behind them, for nodes that no listed target takes
  std::map<std::string, std::string> place = {};  // node name -> target, by the user
  bool strict = false;                            // no fallback
  Offload offload = Offload::possible;
  // Of nodes that a target took and could not hold (BundleBuilder::give_up).
  std::map<graph::NodeId, std::vector<Refusal>> given_up = {};
  TargetPointer control_flow = nullptr;  // of nodes that hold subgraphs, whatever the user's list is
};

struct PartitionRegion {
  TargetPointer target;
  GraphRegion region;
  Cost cost;                  // sum over its matches
  double border_seconds = 0;  // of all tensors that cross its border
  // What it would cost on the next listed targets that take it; nothing where one of its nodes finds none, or was
  // placed here by the user.
  std::optional<Cost> elsewhere = {};
};
struct Partition {
  std::vector<PartitionRegion> regions;  // in execution order; every live node once
  // By the last node of a match:
  std::map<graph::NodeId, std::vector<Refusal>> refused;  // in the order in which targets were asked
  std::set<graph::NodeId> fallback;                       // taken by a target that was not asked for
};

// A region that does not pay is taken apart, and its nodes go to the next targets in the user's order; then regions are
// made again, until all that stay pay. Regions are convex, and their order is one in which they can run. They are
// maximal: no two regions of one target could be one. Errors: an unknown target or node name; a placement that no
// pattern allows; with `strict`, every node that no listed target takes.
Result<Partition> partition(const graph::Graph& graph, const PartitionOptions& options);

// The plans of all regions, in their order. Errors: those of a target that cannot plan a region.
Result<std::vector<RegionPlanPointer>> plan_regions(const graph::Graph& graph, const Partition& parts,
                                                    const PlanOptions& options);
// The offers of all their kernels, in execution order.
std::vector<KernelOffer> offers_of(std::span<const RegionPlanPointer> plans);

// Every match's results leave its region: for comparing a run with the reference, operation by operation.
void expose_all(Partition& parts);

}  // namespace dovetail
