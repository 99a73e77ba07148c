// The compiler's table of contents: ONNX graph to bundle. pipeline.cpp is the flat list of stages; dumping, timing and
// verifying come from here.
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
  // The targets that there are, handed in by the caller (docs/howto/adding-a-target.md). Among them one that
  // runs loop programs on the host, as cpu and host do: copies between layouts are such programs.
  std::vector<TargetPointer> available = {};
  std::vector<std::string> targets = {};     // names of those asked for, in order of preference; empty: all of them
  std::map<std::string, std::string> place;  // node name -> target
  Offload offload = Offload::possible;       // when regions leave the targets that are listed later
  bool strict = false;  // refuse nodes that no listed target takes, instead of running them on the host
  // Every accelerator operation's result becomes a tensor of the bundle, so that a run can be compared operation by
  // operation. The instructions stay the same; each tensor costs a host step that unpacks it.
  bool expose_all = false;
  bool graph_passes = true;    // false: the graph has been through them
  bool keep_graphs = true;     // Compiled::integer and optimized, each with all weights; false: they stay empty
  bool fuse = true;            // nodes to kernels
  bool choose_layouts = true;  // for the whole graph; else every kernel takes those that it likes best
  bool free_borders = false;   // the model's inputs and outputs lie as the kernels like them best, as their tensors say
  schedule::FindRecorded recorded = nullptr;             // schedules that a tuner has found
  passes::PassContext context;                           // its level says which passes run
  std::vector<std::string> with_passes, without_passes;  // by name, whatever the level says; compiler/passes/list.h
  // Called with each stage's printed form when its name is in `dump` ("all" for every one), and with the graph before
  // and after each pass whose name is there ("passes" for every one). Stages: see stage_names().
  std::vector<std::string> dump;
  std::function<void(std::string_view stage, std::string_view text)> on_dump;
  std::string stop_after;  // stage name; empty: run to the end
  // false: kernels are scheduled, and no machine code is made of them; the bundle cannot run. For who asks which tasks
  // a model has.
  bool machine_code = true;
  ReportProgress progress = nullptr;  // what takes long, part after part: schedules, operations, kernels
};

struct Compiled {
  graph::Graph imported;   // after import, before any pass
  graph::Graph integer;    // after lower_qdq: the graph that the reference evaluates
  graph::Graph optimized;  // after all graph passes
  double tolerance =
      0;  // how far passes may have moved floats beyond the rounding of operators (PassOutcome::tolerance)
  bundle::Bundle bundle;                 // empty when stopped early
  std::vector<NodePlacement> placement;  // of every imported node, in order
  PlacementSummary summary;
  std::vector<ScheduleReport> schedules;  // of tasks, where CompileOptions::recorded was asked for them
  std::vector<CodeReport> codes;          // of regions whose targets report some
  std::vector<StageTime> stages;
  Json report;  // everything above that a user may need, as JSON (also in the bundle)
};

// The names of the stages in order: all, for --dump, and those of the whole model, for --stop-after.
std::vector<std::string_view> stage_names();
std::vector<std::string_view> whole_stage_names();

// Names of stages and passes that the options hold; compile() checks them first.
Result<void> check_names(const CompileOptions& options);

Result<Compiled> compile(import::Imported model, const CompileOptions& options);

}  // namespace dovetail
