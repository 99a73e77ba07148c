// The open interface of a back end. A target is a name, a table of patterns with predicates, an estimate of what they
// cost, and plans that turn regions of the graph into steps of the bundle. docs/howto/adding-a-target.md leads through
// one.
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
  std::uint64_t operations = 0;  // arithmetic, a multiply-add counted as two
  std::uint64_t macs = 0;        // among them, the products that sums of products add up, each with its addition one
  std::uint64_t bytes = 0;       // of operands, constants and results, each once
  std::uint64_t cycles = 0;      // behind the seconds, where the target counts them
  Cost& operator+=(const Cost& other);
};

// What a predicate made of the nodes that it takes. A target derives a class of its own from it, which its cost and its
// plans read.
struct Taken {
  virtual ~Taken() = default;
};
using TakenPointer = std::shared_ptr<const Taken>;

// What a row of a target's table takes of a graph, and what the target has made of it.
struct Match {
  std::string row;                      // its name
  std::vector<graph::NodeId> nodes;     // covered, in execution order
  std::vector<graph::ValueId> inputs;   // read from outside, constants left out
  std::vector<graph::ValueId> outputs;  // results of the last node
  TakenPointer taken;                   // null where the predicate keeps nothing
  Cost cost = {};                       // Target::cost, filled in by the partition

  // Precondition: the predicates of the match's target make a T of what they take.
  template <typename T>
  const T& taken_as() const {
    const T* own = dynamic_cast<const T*>(taken.get());
    DOVETAIL_CHECK(own != nullptr, "a match of another target");
    return *own;
  }
};

struct PatternRow {
  std::string name;
  pattern::Pattern pattern;
  // The predicate: what the target makes of the nodes (Match::taken), or a diagnostic whose `why` says in words why
  // it refuses, with both numbers. Null: everything that the pattern matches is taken.
  std::function<Result<TakenPointer>(const graph::Graph& graph, const pattern::Found& found)> take = nullptr;
};

// Matches that run on one target without leaving it.
struct GraphRegion {
  std::string name;
  std::vector<Match> matches;                   // in execution order
  std::vector<graph::ValueId> inputs, outputs;  // read from outside, constants left out; read outside, or asked for

  std::vector<graph::NodeId> nodes() const;
};

struct PlanOptions {
  bool fuse = true;  // nodes to kernels; else each node is a kernel of its own
  // Sums of products may be rounded once a term and added in any order (loops/product_sum.h); else every operation
  // rounds by itself, as the operators' definitions have it.
  bool free_sums = true;
  schedule::FindRecorded recorded = nullptr;  // schedules that a tuner has found; null: none
  ReportProgress progress = nullptr;          // null: nobody watches
};

// Dumps of a region's inner stages, one call per operation or region: "loops", "schedule", "trace", "places", "stream",
// … (compiler/pipeline.cpp lists them).
using Dump = std::function<void(std::string_view stage, std::string_view text)>;

// What a target will make of a region: its kernels, scheduled. Made in stage "schedules" by Target::plan.
class RegionPlan {
 public:
  virtual ~RegionPlan() = default;
  RegionPlan(const RegionPlan&) = delete;
  RegionPlan& operator=(const RegionPlan&) = delete;

  // In which layouts the kernels can read and write, in execution order.
  std::span<const KernelOffer> offers() const { return offers_; }
  // Schedules anew what was scheduled for other layouts than those chosen. Called once, before emit().
  virtual Result<void> settle(const graph::Graph&, const ChosenLayouts&) { return {}; }
  // Appends the region's steps. Called once, after those of all regions that it reads from. Pure but for the builder.
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

  virtual std::string_view name() const = 0;  // as in --target
  virtual std::span<const PatternRow> patterns() const = 0;
  // Why no row takes nodes of that operator.
  virtual std::string no_pattern(const graph::Graph& graph, graph::NodeId node) const;
  // Of the match by itself, its operands and results lying where the target needs them.
  virtual Cost cost(const graph::Graph& graph, const Match& match) const = 0;
  // Seconds that it takes to bring a tensor over a region's border, in either direction: copy and relayout. 0 where
  // code on the host reads and writes it.
  virtual double border_seconds(const graph::TensorType& type) const = 0;
  // The memory in which the results of its steps lie. A value passes between targets of one memory as it is.
  virtual std::string_view memory() const { return name(); }
  // It takes nodes that no target of the user's list takes (partition), unless the user forbids it.
  virtual bool is_fallback() const { return false; }
  // Graph passes of Level::named that its kernels gain by (compiler/pipeline.cpp): they run at Level::tolerant and
  // above where all targets asked for gain by them.
  virtual std::span<const std::string_view> passes() const { return {}; }
  // How far floats may lie from the reference, as a part of a tensor's largest, where the user allows the target more
  // than the rounding of operations.
  virtual double tolerance() const { return 0; }
  // Null: the target does not run loop programs on the host's memory.
  virtual std::unique_ptr<ProgramCompiler> program_compiler() const { return nullptr; }
  // What the compile report says of the target, beside the fields that all targets share.
  virtual Json facts() const { return Json::object(); }
  // Schedules the region's kernels. Target, graph and region outlive the plan; no state is kept from region to region.
  virtual Result<RegionPlanPointer> plan(const graph::Graph& graph, const GraphRegion& region,
                                         const PlanOptions& options) const = 0;
};
using TargetPointer = std::shared_ptr<const Target>;

// The first row of the table that takes the node as the last of its pattern. Errors: one diagnostic; its `why` joins
// the reasons of all rows that may end in such a node.
Result<Match> select(const Target& target, const graph::Graph& graph, graph::NodeId node);

// Operations and bytes of nodes, by the operators' loop programs; no seconds. Results that only these nodes read count
// nothing.
Cost count_work(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes);

// The offer of a region that is one kernel and works on everything as the model has it.
std::vector<KernelOffer> plain_offer(const graph::Graph& graph, const GraphRegion& region);

// A row of a table; the pattern's text must be right.
PatternRow pattern_row(std::string name, std::string_view pattern, decltype(PatternRow::take) take = nullptr);

}  // namespace dovetail
