// The facts of the compile report: what became of every imported node, why, and what it costs; what each region moves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/graph/graph.h"
#include "compiler/layout/choose_layouts.h"
#include "compiler/partition/partition.h"

namespace dovetail {

// Where nodes run that no listed target takes.
inline constexpr std::string_view kOnHost = "host";
// "Where" nodes run that have no code of their own.
inline constexpr std::string_view kFolded = "folded";

struct NodePlacement {
  std::string node;    // imported node's name
  std::string op;      // imported operator
  std::string target;  // the target's name, kOnHost or kFolded
  std::string why;     // why not on the targets asked before; for folded: into what, or why it is gone
  // Of nodes with code of their own:
  std::string row = {};     // of the target's table
  std::string region = {};  // which holds it
  std::vector<std::string> kernel =
      {};  // nodes that share its kernel, itself among them; empty where the target does not report them
  std::vector<Refusal> refused = {};
  std::optional<Cost> cost = {};
  // Of folded ones:
  std::string into = {};  // the node that does its work; empty where nobody needs to
  std::string pass = {};  // that folded it; "partition" where a target's pattern did
};

// Follows imported nodes through the passes.
class NodeFates {
 public:
  explicit NodeFates(const graph::Graph& imported);
  void observe(const graph::Graph& graph, std::string_view pass);  // after every pass
  std::string pass_that_folded(const std::string& node) const;     // empty where it still is a node

 private:
  std::map<std::string, std::string> folded_by_;
};

// One row for each imported node, in its order.
std::vector<NodePlacement> place_nodes(const graph::Graph& imported, const graph::Graph& graph, const Partition& parts,
                                       const NodeFates& fates);
// Fills in which nodes share a kernel.
void add_kernels(std::vector<NodePlacement>& rows, const std::vector<GroupReport>& groups);

struct RegionSummary {
  std::string name, target;
  std::size_t operations = 0;  // matches
  Cost cost;
  double border_seconds = 0;
  std::optional<Cost> elsewhere;                  // on the targets listed behind
  std::uint64_t read_bytes = 0, given_bytes = 0;  // over its border
};
struct PlacementSummary {
  std::map<std::string, int> nodes;           // imported nodes by target
  std::map<std::string, std::uint64_t> macs;  // Cost::macs by target, of nodes with code of their own
  std::vector<RegionSummary> regions;
  std::uint64_t moved_bytes = 0;  // from a region to one of another target, each tensor once for each reader
  int moved_tensors = 0;
  std::uint64_t input_bytes = 0, output_bytes = 0;  // of the model

  PlacementSummary& operator+=(PlacementSummary inner);  // of a subgraph; the borders stay
};
PlacementSummary summarize(const graph::Graph& graph, const Partition& parts, const std::vector<NodePlacement>& rows);

std::string to_string(const std::vector<NodePlacement>& rows);  // a line for each

struct StageTime {
  std::string name;
  double seconds;
};
// What the pipeline gathers for the report, besides Compiled.
struct ReportParts {
  const std::vector<GroupReport>& groups;
  const std::vector<KernelReport>& kernels;
  const Json& relayouts;
  const Json& passes;
  const MemoryPlan& memory;
};
struct Compiled;
// The report of docs/schema/compile.json, without what targets add.
Json compile_report(const Compiled& compiled, const ReportParts& parts);
// A model gives the same bundle, byte for byte, however long the compiler takes.
Json without_times(Json report);
// A row for each copy.
Json relayout_report(const graph::Graph& graph, const LayoutPlan& layouts);

Json to_json(const NodePlacement& row);
Json to_json(const PlacementSummary& summary);
// What these wrote. Precondition: to_json of this version did.
NodePlacement placement_from_json(const Json& json);
PlacementSummary summary_from_json(const Json& json);

}  // namespace dovetail
