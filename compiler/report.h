// Data of the compile report: for every imported node its target, the reason and the cost; for every region the data
// that it moves.
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

// The place of nodes that no listed target accepts.
inline constexpr std::string_view kOnHost = "host";
// The place of nodes without code.
inline constexpr std::string_view kFolded = "folded";

struct NodePlacement {
  std::string node;    // imported node's name
  std::string op;      // imported operator
  std::string target;  // the target's name, kOnHost or kFolded
  std::string why;     // why not on the targets tried before; if folded: into what, or why it is gone
  // For nodes with code:
  std::string row = {};     // row of the target's table
  std::string region = {};  // region of the node
  std::vector<std::string> kernel =
      {};  // nodes that share its kernel, including itself; empty if the target does not report them
  std::vector<Refusal> refused = {};
  std::optional<Cost> cost = {};
  // For folded nodes:
  std::string into = {};  // the node that does its work; empty if not needed
  std::string pass = {};  // pass that folded it; "partition" if a target's pattern did
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
  std::optional<Cost> elsewhere;                  // on the targets listed after it
  std::uint64_t read_bytes = 0, given_bytes = 0;  // over its border
};
struct PlacementSummary {
  std::map<std::string, int> nodes;           // imported nodes by target
  std::map<std::string, std::uint64_t> macs;  // Cost::macs by target, of nodes with code
  std::vector<RegionSummary> regions;
  std::uint64_t moved_bytes = 0;  // from a region to one of another target, each tensor once for each reader
  int moved_tensors = 0;
  std::uint64_t input_bytes = 0, output_bytes = 0;  // of the model

  PlacementSummary& operator+=(PlacementSummary inner);  // adds those of a subgraph; inputs and outputs stay
};
PlacementSummary summarize(const graph::Graph& graph, const Partition& parts, const std::vector<NodePlacement>& rows);

std::string to_string(const std::vector<NodePlacement>& rows);  // one line per row

struct StageTime {
  std::string name;
  double seconds;
};
// Data that the pipeline collects for the report, in addition to Compiled.
struct ReportParts {
  const std::vector<GroupReport>& groups;
  const std::vector<KernelReport>& kernels;
  const Json& relayouts;
  const Json& passes;
  const MemoryPlan& memory;
};
struct Compiled;
// The report of docs/schema/compile.json, without the parts that targets add.
Json compile_report(const Compiled& compiled, const ReportParts& parts);
// Removes the times: the bundle of a model must be the same byte for byte, however long the compiler takes.
Json without_times(Json report);
// One row per copy.
Json relayout_report(const graph::Graph& graph, const LayoutPlan& layouts);

Json to_json(const NodePlacement& row);
Json to_json(const PlacementSummary& summary);
// Reads what to_json of this version wrote.
NodePlacement placement_from_json(const Json& json);
PlacementSummary summary_from_json(const Json& json);

}  // namespace dovetail
