// The compiler's table of contents: ONNX graph to bundle. pipeline.cpp is the flat list of stages; it also does the
// dumping, timing and verifying.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/report_progress.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "compiler/graph/graph.h"
#include "compiler/import/onnx.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/list.h"
#include "compiler/report.h"
#include "compiler/target/target.h"

namespace dovetail {

struct CompileOptions {
  // The available targets, provided by the caller (docs/howto/adding-a-target.md). One of them must run loop programs
  // on the host, as cpu and host do: copies between layouts are such programs.
  std::vector<TargetPointer> available = {};
  std::vector<std::string> targets = {};     // names of the requested ones, in order of preference; empty: all
  std::map<std::string, std::string> place;  // node name -> target
  Offload offload = Offload::possible;       // when regions leave the targets listed later
  bool strict = false;  // reject nodes that no listed target accepts instead of running them on the host
  // Every accelerator operation's result becomes a tensor of the bundle, so that a run can be compared operation by
  // operation. The instructions stay the same; each tensor costs a host step that unpacks it.
  bool expose_all = false;
  bool graph_passes = true;    // false: the passes already ran on the graph
  bool keep_graphs = true;     // Compiled::integer and optimized, each with all weights; false: they stay empty
  bool fuse = true;            // combine nodes into kernels
  bool choose_layouts = true;  // for the whole graph; otherwise each kernel uses its preferred layouts
  bool free_borders =
      false;  // the model's inputs and outputs use the layouts that kernels prefer, recorded in their tensors
  schedule::FindRecorded recorded = nullptr;             // schedules found by a tuner
  passes::PassContext context;                           // its level selects the passes
  std::vector<std::string> with_passes, without_passes;  // by name, overriding the level; compiler/passes/list.h
  // Called with each stage's printed form if its name is in `dump` ("all" for every stage), and with the graph before
  // and after each pass whose name is in it ("passes" for every pass). Stages: see stage_names().
  std::vector<std::string> dump;
  std::function<void(std::string_view stage, std::string_view text)> on_dump;
  std::string stop_after;  // stage name; empty: run to the end
  // false: kernels are scheduled but not compiled to machine code; the bundle cannot run. Used to list the tasks of a
  // model.
  bool machine_code = true;
  ReportProgress progress = nullptr;  // progress of long steps: schedules, operations, kernels
};

struct Compiled {
  graph::Graph imported;   // after import, before any pass
  graph::Graph integer;    // after lower_qdq: the graph that the reference evaluates
  graph::Graph optimized;  // after all graph passes
  double tolerance =
      0;  // how much passes may have changed floats beyond the operators' rounding (PassOutcome::tolerance)
  bundle::Bundle bundle;                 // empty when stopped early
  std::vector<NodePlacement> placement;  // of every imported node, in order
  PlacementSummary summary;
  std::vector<ScheduleReport> schedules;  // of tasks, if CompileOptions::recorded was queried for them
  std::vector<CodeReport> codes;          // of regions whose targets report code
  std::vector<StageTime> stages;
  Json report;  // everything above that users may need, as JSON (also in the bundle)
};

// The names of the stages in order: all of them, for --dump, and those of the whole model, for --stop-after.
std::vector<std::string_view> stage_names();
std::vector<std::string_view> whole_stage_names();

// Checks the names of stages and passes in the options; compile() calls it first.
Result<void> check_names(const CompileOptions& options);

Result<Compiled> compile(import::Imported model, const CompileOptions& options);

}  // namespace dovetail
