// Assigns nodes to targets: the pattern tables of the targets in order of preference, and maximal regions of one target
// in execution order.
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

// When a region runs on a target although another listed one could run it too. Costs are estimates
// (docs/explanation/partition.md).
enum class Offload : std::uint8_t {
  always,    // whenever its patterns match
  possible,  // unless it cannot pay off: its transfers alone cost more than all of it on the other target, even if this
             // target took no time
  cost,      // only if it saves more than its transfers cost
};
std::string_view name(Offload offload);
std::optional<Offload> offload_from_name(std::string_view name);

// Why a node does not run on a target that was tried before the one that accepted it.
struct Refusal {
  std::string target, why;
};

struct PartitionOptions {
  std::vector<TargetPointer> available = {};      // all that can be selected; names are unique
  std::vector<std::string> targets = {};          // in order of preference
  std::vector<std::string> fallback = {};         // tried after them, for nodes that no listed target accepts
  std::map<std::string, std::string> place = {};  // node name -> target, given by the user
  bool strict = false;                            // no fallback
  Offload offload = Offload::possible;
  // Nodes that a target accepted, but that do not fit its memory (BundleBuilder::give_up).
  std::map<graph::NodeId, std::vector<Refusal>> given_up = {};
  TargetPointer control_flow = nullptr;  // runs nodes with subgraphs, regardless of the user's list
};

struct PartitionRegion {
  TargetPointer target;
  GraphRegion region;
  Cost cost;                  // sum over its matches
  double border_seconds = 0;  // transfers of all tensors that cross its border
  // The region's cost on the next listed targets that accept its nodes; nothing if no such target accepts some node, or
  // the user placed one here.
  std::optional<Cost> elsewhere = {};
};
struct Partition {
  std::vector<PartitionRegion> regions;  // in execution order; every live node once
  // By the last node of a match:
  std::map<graph::NodeId, std::vector<Refusal>> refused;  // in the order in which targets were tried
  std::set<graph::NodeId> fallback;                       // run by a target that was not requested
};

// A region that does not pay off is dissolved, and its nodes go to the next targets in the user's order; then regions
// are formed again, until all remaining ones pay off. Regions are convex, and their order is one in which they can run.
// They are maximal: no two regions of one target could be merged. Errors: an unknown target or node name; a placement
// that no pattern allows; with `strict`, every node that no listed target accepts.
Result<Partition> partition(const graph::Graph& graph, const PartitionOptions& options);

// The plans of all regions, in their order. Errors: those of a target that cannot plan a region.
Result<std::vector<RegionPlanPointer>> plan_regions(const graph::Graph& graph, const Partition& parts,
                                                    const PlanOptions& options);
// The layout offers of all kernels of these plans, in execution order.
std::vector<KernelOffer> offers_of(std::span<const RegionPlanPointer> plans);

// Makes every match's results outputs of its region, to compare a run with the reference operation by operation.
void expose_all(Partition& parts);

}  // namespace dovetail
