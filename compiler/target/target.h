// The extension interface of a back end. A target is a name, a table of patterns with predicates, a cost estimate, and
// plans that turn regions of the graph into steps of the bundle. docs/howto/adding-a-target.md explains how to add one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/report_progress.h"
#include "base/result.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/assemble/program_compiler.h"
#include "compiler/graph/graph.h"
#include "compiler/layout/offer.h"
#include "compiler/partition/pattern.h"
#include "compiler/schedule/recorded.h"

namespace dovetail {

// An analytic estimate; docs/explanation/partition.md states the models.
struct Cost {
  double seconds = 0;
  std::uint64_t operations = 0;  // arithmetic operations, a multiply-add counted as two
  std::uint64_t macs = 0;        // of these, multiply-adds in sums of products, each counted as one
  std::uint64_t bytes = 0;       // of operands, constants and results, each counted once
  std::uint64_t cycles = 0;      // cycles that the seconds are computed from, if the target counts them
  Cost& operator+=(const Cost& other);
};

// What a predicate derived from the nodes that it accepted. A target defines a subclass, which its cost estimate and
// plans read.
struct Taken {
  virtual ~Taken() = default;
};
using TakenPointer = std::shared_ptr<const Taken>;

// A match of a row of a target's table, with the data that the target derived from it.
struct Match {
  std::string row;                      // name of the row
  std::vector<graph::NodeId> nodes;     // covered, in execution order
  std::vector<graph::ValueId> inputs;   // read from outside, without constants
  std::vector<graph::ValueId> outputs;  // results of the last node
  TakenPointer taken;                   // null if the predicate stores nothing
  Cost cost = {};                       // Target::cost, filled in by the partition

  // Precondition: the predicates of the match's target return a T.
  template <typename T>
  const T& taken_as() const {
    const T* own = dynamic_cast<const T*>(taken.get());
    DOVETAIL_CHECK(own != nullptr, "the match belongs to another target");
    return *own;
  }
};

struct PatternRow {
  std::string name;
  pattern::Pattern pattern;
  // The predicate: returns the data derived from the nodes (Match::taken), or a diagnostic whose `why` explains the
  // rejection, with both numbers. Null: everything that the pattern matches is accepted.
  std::function<Result<TakenPointer>(const graph::Graph& graph, const pattern::Found& found)> take = nullptr;
};

// Matches that run on one target without leaving it.
struct GraphRegion {
  std::string name;
  std::vector<Match> matches;                   // in execution order
  std::vector<graph::ValueId> inputs, outputs;  // read from outside, without constants; read outside, or requested

  std::vector<graph::NodeId> nodes() const;
};

struct PlanOptions {
  bool fuse = true;  // combine nodes into kernels; otherwise each node is a separate kernel
  // Sums of products may be rounded once per term and added in any order (loops/product_sum.h); otherwise every
  // operation is rounded separately, as defined by the operators.
  bool free_sums = true;
  schedule::FindRecorded recorded = nullptr;  // schedules found by a tuner; null: none
  ReportProgress progress = nullptr;          // null: no progress reports
};

// Dumps of a region's inner stages, one call per operation or region: "loops", "schedule", "trace", "places", "stream",
// … (compiler/pipeline.cpp lists them).
using Dump = std::function<void(std::string_view stage, std::string_view text)>;

// A target's plan for a region: its scheduled kernels. Created in stage "schedules" by Target::plan.
class RegionPlan {
 public:
  virtual ~RegionPlan() = default;
  RegionPlan(const RegionPlan&) = delete;
  RegionPlan& operator=(const RegionPlan&) = delete;

  // The layouts in which the kernels can read and write, in execution order.
  std::span<const KernelOffer> offers() const { return offers_; }
  // Schedules again the kernels that were scheduled for other layouts than those chosen. Called once, before emit().
  virtual Result<void> settle(const graph::Graph&, const ChosenLayouts&) { return {}; }
  // Appends the region's steps. Called once, after the steps of all regions that it reads from. No effects except on
  // the builder.
  virtual Result<void> emit(const ChosenLayouts& chosen, BundleBuilder& builder, const Dump& dump) const = 0;

 protected:
  explicit RegionPlan(std::vector<KernelOffer> offers) : offers_(std::move(offers)) {}

 private:
  std::vector<KernelOffer> offers_;
};
using RegionPlanPointer = std::unique_ptr<RegionPlan>;

class Target {
 public:
  virtual ~Target() = default;

  virtual std::string_view name() const = 0;  // name in --target
  virtual std::span<const PatternRow> patterns() const = 0;
  // Why no row accepts nodes of that operator.
  virtual std::string no_pattern(const graph::Graph& graph, graph::NodeId node) const;
  // The cost of the match alone, with its operands and results in the layouts and memory that the target needs.
  virtual Cost cost(const graph::Graph& graph, const Match& match) const = 0;
  // Time to transfer a tensor over a region's border, in either direction: copy and relayout. 0 if code on the host can
  // read and write it.
  virtual double border_seconds(const graph::TensorType& type) const = 0;
  // The memory that holds the results of its steps. Values pass unchanged between targets with the same memory.
  virtual std::string_view memory() const { return name(); }
  // Whether it accepts nodes that no target of the user's list accepts (partition), unless the user forbids it.
  virtual bool is_fallback() const { return false; }
  // Graph passes of Level::named that its kernels benefit from (compiler/pipeline.cpp): they run at Level::tolerant and
  // above if all requested targets benefit.
  virtual std::span<const std::string_view> passes() const { return {}; }
  // Maximum difference of floats from the reference, relative to a tensor's largest value, if the user allows the
  // target more than the rounding of operations.
  virtual double tolerance() const { return 0; }
  // Null: the target does not run loop programs on the host's memory.
  virtual std::unique_ptr<ProgramCompiler> program_compiler() const { return nullptr; }
  // The target's part of the compile report, in addition to the fields that all targets share.
  virtual Json facts() const { return Json::object(); }
  // Schedules the region's kernels. Target, graph and region must outlive the plan; no state is kept between regions.
  virtual Result<RegionPlanPointer> plan(const graph::Graph& graph, const GraphRegion& region,
                                         const PlanOptions& options) const = 0;
};
using TargetPointer = std::shared_ptr<const Target>;

// The first row of the table that accepts the node as the last one of its pattern. Errors: one diagnostic; its `why`
// joins the reasons of all rows that may end in such a node.
Result<Match> select(const Target& target, const graph::Graph& graph, graph::NodeId node);

// Operations and bytes of nodes, from the operators' loop programs; no seconds. Results read only by these nodes count
// nothing.
Cost count_work(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes);

// The offer of a region that is one kernel with the model's layouts.
std::vector<KernelOffer> plain_offer(const graph::Graph& graph, const GraphRegion& region);

// A row of a table; the pattern's text must be right.
PatternRow pattern_row(std::string name, std::string_view pattern, decltype(PatternRow::take) take = nullptr);

}  // namespace dovetail
