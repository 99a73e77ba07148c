// The compiler's table of contents: the passes and the stages (kStages) in order; a comment explains each position.
#include "compiler/pipeline.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/assemble/bundle_builder.h"
#include "compiler/layout/choose_layouts.h"
#include "compiler/ops/op.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/report.h"
#include "compiler/target/flow/target.h"

namespace dovetail {

namespace {

using passes::Level;
using passes::pass;

Result<passes::PassOutcome> fold_but_dequantized(graph::Graph& graph, const passes::PassContext& context) {
  return passes::fold_constants(graph, context, passes::FoldScope::keep_dequantized);
}

// From ONNX's quantized forms to the integer graph, which is the reference of every run.
constexpr passes::Row kIntegerPasses[] = {
    // Scales and weights that exporters compute from constants must be constants when lower_qdq looks at them.
    pass("fold_constants", Level::needed, fold_but_dequantized),
    // Constants that subgraphs capture, likewise.
    pass("sink_into_subgraphs"),
    // Identities between a DequantizeLinear and its user would hide the pair.
    pass("eliminate_identities", Level::needed),
    // A pad of -inf before a maximum cannot be quantized, so it must become the maximum's own pad.
    pass("fold_pads"),
    pass("lower_qdq"),
    // Scales along the reduction have no other packed form; keep_weights_int8 would report them as expanded.
    pass("pack_block_weights"),
    // The quantized weights that lower_qdq left have float activations; folding would expand them to floats.
    pass("keep_weights_int8"),
};
// On the integer graph, repeated while a pass changes something, since each enables others.
constexpr passes::Row kGraphPasses[] = {
    // First, since the patterns below look for constants; remaining dequantized weights become float.
    pass("fold_constants"),
    pass("sink_into_subgraphs"),
    pass("eliminate_identities"),
    pass("simplify_movement"),
    // Folds BatchNormalization into convolutions while it is one node, so that factors are rounded only once.
    pass("fold_batch_norm"),
    pass("simplify_algebra"),
    // After simplify_algebra, which reduces the number of forms of each pattern.
    pass("recognize_normalizations"),
    pass("recognize_activations"),
    // Only if targets request it (Target::passes): on the CPU, three kernels are faster than its loop program.
    pass("recognize_attention"),
    // Before passes that fold into convolutions, and before those that merge the movements that it creates.
    pass("lower_conv_transpose"),
    // Before what folds its sum into its product.
    pass("split_recurrent"),
    // After the patterns, which it would take apart.
    pass("fuse_matmul_add"),
    pass("take_out_zero_points"),
    pass("fold_scales"),
    pass("fold_pads"),
    pass("pool_early"),
    // Last, since the passes above create duplicates and dead nodes.
    pass("eliminate_common_subexpressions"),
    pass("eliminate_dead_nodes"),
};
// Runs once, when nothing can be folded into one of the parts any more.
constexpr passes::Row kLatePasses[] = {
    pass("merge_parallel_convolutions"),
    // After everything that changes weights.
    pass("drop_tiny_weights"),
    // After merge_parallel_convolutions, which creates Splits, and after passes that look for Splits.
    pass("split_to_slices"),
    pass("eliminate_dead_nodes"),
};
constexpr passes::Row kPassesAfterSubgraphs[] = {
    pass("sink_into_subgraphs"),
    pass("eliminate_dead_nodes"),
};
static_assert(std::ranges::all_of(passes::kPasses,
                                  [](const passes::Row& row) {
                                    const auto has = [&](std::span<const passes::Row> list) {
                                      return std::ranges::find(list, row.name, &passes::Row::name) != list.end();
                                    };
                                    return has(kIntegerPasses) || has(kGraphPasses) || has(kLatePasses);
                                  }),
              "every pass of the list runs somewhere");
constexpr int kMostRounds = 16;
constexpr double kRounding =
    1e-4;  // relative to a tensor's largest value: change in float32 from folding constants into weights

class Pipeline {
 public:
  explicit Pipeline(const CompileOptions& options) : options_(options) {}

  Result<Compiled> run(import::Imported model);

  // ---- Stages (kStages)

  Result<void> lower_to_integers() {
    if (options_.graph_passes) DOVETAIL_TRY(integer_passes(graph_));
    tolerance_ = 0;  // the integer graph is the reference of every run
    if (options_.keep_graphs) result_.integer = graph_;
    return {};
  }
  Result<void> optimize() {
    if (options_.graph_passes) DOVETAIL_TRY(graph_passes(graph_));
    if (options_.keep_graphs) result_.optimized = graph_;
    return {};
  }
  Result<void> partition_graph() {
    // Clears the results of the previous attempt, in which a target gave up nodes.
    plans_.clear(), groups_.clear(), kernels_.clear(), programs_.clear();
    result_.schedules.clear(), result_.codes.clear();
    relayouts_ = Json::array();
    memory_ = {};
    PartitionOptions options{options_.available, options_.targets, {},
                             places_in(graph_),  options_.strict,  options_.offload};
    options.control_flow = flow::make_target([this](graph::NodeId node, std::size_t subgraph) -> const bundle::Bundle& {
      return programs_.at({node, subgraph});
    });
    for (const TargetPointer& target : options_.available) {
      if (options_.targets.empty()) options.targets.emplace_back(target->name());
      if (target->is_fallback()) options.fallback.emplace_back(target->name());
    }
    for (const GivenUp& node : given_up_) options.given_up[node.node].push_back({node.target, node.why});
    DOVETAIL_ASSIGN(parts_, partition(graph_, options));
    for (const PartitionRegion& placed : parts_.regions) tolerance_ = std::max(tolerance_, placed.target->tolerance());
    result_.placement = place_nodes(result_.imported, graph_, parts_, *fates_);
    result_.summary = summarize(graph_, parts_, result_.placement);
    return {};
  }
  // Each subgraph becomes a program through the same stages, except the passes, which already ran on it with its graph.
  Result<void> compile_subgraphs() {
    for (const graph::NodeId id : graph_.topological_order()) {
      const graph::Node& node = graph_.node(id);
      for (std::size_t s = 0; s < node.subgraphs.size(); ++s) {
        CompileOptions options = options_;
        options.graph_passes = options.keep_graphs = options.expose_all = options.free_borders = false;
        std::erase_if(options.place, [&](const auto& entry) {
          return !has_node(*node.subgraphs[s], entry.first) && !has_node_inside(*node.subgraphs[s], entry.first);
        });
        if (options_.on_dump)
          options.on_dump = [this](std::string_view stage, std::string_view text) {
            // The dump of the enclosing graph contains these stages.
            if (stage != "import" && stage != "integer" && stage != "graph") options_.on_dump(stage, text);
          };
        Pipeline inner(options);
        auto compiled = inner.run({*node.subgraphs[s], {}});
        if (!compiled.ok()) return compiled.errors();
        add(std::move(inner), *std::move(compiled), id, s);
      }
    }
    return {};
  }
  Result<void> plan() {
    if (options_.expose_all) expose_all(parts_);
    DOVETAIL_ASSIGN(plans_, plan_regions(graph_, parts_,
                                         {.fuse = options_.fuse && options_.context.level > Level::needed,
                                          .free_sums = options_.context.level > Level::exact,
                                          .recorded = options_.recorded,
                                          .progress = options_.progress}));
    return {};
  }
  Result<void> lay_out() {
    layouts_ = choose_layouts(graph_, offers_of(plans_), {options_.free_borders, options_.choose_layouts});
    for (Json& row : relayout_report(graph_, layouts_)) relayouts_.push_back(std::move(row));
    return {};
  }
  Result<void> settle() {
    for (const RegionPlanPointer& plan : plans_) DOVETAIL_TRY(plan->settle(graph_, layouts_.chosen));
    return {};
  }
  // The plans append the steps of their regions; the builder appends the copies between layouts.
  Result<void> generate() {
    std::vector<std::unique_ptr<ProgramCompiler>> compilers;
    for (const TargetPointer& target : options_.available)
      if (auto compiler = target->program_compiler()) compilers.push_back(std::move(compiler));
    if (compilers.empty())
      return Diagnostic{"cannot make a bundle", "CompileOptions::available",
                        "no target runs loop programs on the host, but copies between layouts need one",
                        "also pass the interpreter (compiler/target/host/target.h)"};
    BundleBuilder builder(graph_, layouts_.chosen, std::move(compilers), options_.progress, options_.machine_code);
    Dump dump_inner;  // empty if nothing is dumped, so that targets format no text in vain
    if (!options_.dump.empty())
      dump_inner = [this](std::string_view stage, std::string_view text) {
        if (is_dumped(stage)) options_.on_dump(stage, text);
      };
    for (const RegionPlanPointer& plan : plans_) {
      const Result<void> emitted = plan->emit(layouts_.chosen, builder, dump_inner);
      std::ranges::copy(builder.given_up(), std::back_inserter(given_up_));
      DOVETAIL_TRY(emitted);
    }
    DOVETAIL_ASSIGN(Assembled assembled, builder.finish());
    result_.bundle = std::move(assembled.bundle);
    std::ranges::move(assembled.groups, std::back_inserter(groups_));
    add_kernels(result_.placement, groups_);
    std::ranges::move(assembled.kernels, std::back_inserter(kernels_));
    std::ranges::move(assembled.schedules, std::back_inserter(result_.schedules));
    std::ranges::move(assembled.codes, std::back_inserter(result_.codes));
    memory_ += assembled.memory;
    return {};
  }
  Result<void> finish_bundle() {
    if (options_.machine_code) DOVETAIL_TRY(bundle::verify(result_.bundle));
    result_.bundle.report = without_times(report());
    return {};
  }

  std::string graph_text() const { return graph::to_string(graph_); }
  std::string placement_text() const { return to_string(result_.placement); }
  std::string offers_text() const { return to_string(graph_, offers_of(plans_)); }
  std::string layouts_text() const { return to_string(graph_, layouts_); }

 private:
  // ---- Subgraphs

  // Applies `run` to the graph, and to the subgraphs of its nodes.
  Result<void> in_subgraphs(graph::Graph& graph, Result<void> (Pipeline::*run)(graph::Graph&)) {
    for (const graph::NodeId id : graph.live_nodes()) {
      std::vector<std::shared_ptr<const graph::Graph>> changed;
      for (const auto& subgraph : graph.node(id).subgraphs) {
        graph::Graph copy = *subgraph;
        const std::string outer = std::exchange(subgraph_, copy.name);
        const Result<void> status = (this->*run)(copy);
        subgraph_ = outer;
        DOVETAIL_TRY(status);
        changed.push_back(std::make_shared<const graph::Graph>(std::move(copy)));
      }
      if (!changed.empty()) graph.edit(id)->subgraphs = std::move(changed);
    }
    return {};
  }
  Result<void> integer_passes(graph::Graph& graph) {
    DOVETAIL_TRY(run_passes(kIntegerPasses, 1, graph));
    return in_subgraphs(graph, &Pipeline::integer_passes);
  }
  Result<void> graph_passes(graph::Graph& graph) {
    DOVETAIL_TRY(run_passes(kGraphPasses, kMostRounds, graph));
    DOVETAIL_TRY(run_passes(kLatePasses, 1, graph));
    DOVETAIL_TRY(in_subgraphs(graph, &Pipeline::graph_passes));
    // Removes values that subgraphs no longer read, and their producers.
    return run_passes(kPassesAfterSubgraphs, 1, graph);
  }

  static bool has_node(const graph::Graph& graph, const std::string& name) {
    return std::ranges::any_of(graph.nodes, [&](const graph::Node& node) {
      return !node.removed && (node.name == name || std::ranges::find(node.origins, name) != node.origins.end());
    });
  }
  static bool has_node_inside(const graph::Graph& graph, const std::string& name) {
    return std::ranges::any_of(graph.nodes, [&](const graph::Node& node) {
      return !node.removed && std::ranges::any_of(node.subgraphs, [&](const auto& subgraph) {
        return has_node(*subgraph, name) || has_node_inside(*subgraph, name);
      });
    });
  }
  // The user's placements that apply to this graph: those of nodes that exist only in subgraphs are omitted.
  std::map<std::string, std::string> places_in(const graph::Graph& graph) const {
    std::map<std::string, std::string> places = options_.place;
    std::erase_if(places, [&](const auto& entry) {
      return !has_node(graph, entry.first) && has_node_inside(graph, entry.first);
    });
    return places;
  }

  void add(Pipeline inner, Compiled compiled, graph::NodeId node, std::size_t subgraph) {
    const auto append = [](auto& to, auto& from) { std::ranges::move(from, std::back_inserter(to)); };
    const std::string& name = compiled.bundle.name;
    for (NodePlacement& row : compiled.placement) row.region = fmt::format("{}: {}", name, row.region);
    for (RegionSummary& row : compiled.summary.regions) row.name = fmt::format("{}: {}", name, row.name);
    append(groups_, inner.groups_);
    append(kernels_, inner.kernels_);
    append(result_.placement, compiled.placement);
    append(result_.schedules, compiled.schedules);
    append(result_.codes, compiled.codes);
    for (Json& row : inner.relayouts_) relayouts_.push_back(std::move(row));
    result_.summary += std::move(compiled.summary);
    tolerance_ = std::max(tolerance_, inner.tolerance_);
    memory_ += inner.memory_;
    compiled.bundle.report = Json::object();  // merged into the report of the whole model
    programs_[{node, subgraph}] = std::move(compiled.bundle);
  }

  // ---- Passes

  bool runs(const passes::Row& pass) const {
    const auto has = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), pass.name) != names.end();
    };
    const bool allowed = pass.level == Level::named ? options_.context.level >= Level::tolerant && all_gain(pass.name)
                                                    : pass.level <= options_.context.level;
    return !has(options_.without_passes) && (allowed || has(options_.with_passes));
  }
  // Whether every requested target benefits.
  bool all_gain(std::string_view pass) const {
    bool any = false;
    for (const TargetPointer& target : options_.available) {
      const bool asked =
          options_.targets.empty() || std::ranges::find(options_.targets, target->name()) != options_.targets.end();
      if (!asked) continue;
      if (std::ranges::find(target->passes(), pass) == target->passes().end()) return false;
      any = true;
    }
    return any;
  }

  Result<void> run_passes(std::span<const passes::Row> list, int most_rounds, graph::Graph& graph) {
    bool changed = true;
    for (int round = 1; changed; ++round) {
      if (round > most_rounds && most_rounds > 1) {
        passes_.push_back(Json{
            {"pass", "(all)"},
            {"changes", 0},
            {"notes", {fmt::format("stopped after {} rounds, although the last one changed something", most_rounds)}}});
        break;
      }
      if (round > most_rounds) break;
      changed = false;
      for (const passes::Row& pass : list) {
        if (!runs(pass)) continue;
        const bool dumped = asked_for(pass.name) || asked_for("passes");
        const std::string before = dumped ? graph::to_string(graph) : "";
        DOVETAIL_ASSIGN(const passes::PassOutcome outcome, pass.run(graph, options_.context));
        changed |= outcome.changes > 0;
        if (outcome.changes > 0 && options_.context.level >= Level::tolerant)
          tolerance_ = std::max({tolerance_, outcome.tolerance, kRounding});
        // Rounds that change nothing do not need a line.
        if (round == 1 || outcome.changes > 0) {
          passes_.push_back(
              Json{{"pass", pass.name}, {"round", round}, {"changes", outcome.changes}, {"notes", outcome.notes}});
          if (!subgraph_.empty()) passes_.back()["subgraph"] = subgraph_;
        }
        if (dumped && options_.on_dump) {
          if (outcome.changes == 0) {
            options_.on_dump(pass.name, fmt::format("{} changed nothing\n", pass.name));
          } else {
            options_.on_dump(fmt::format("{}: before", pass.name), before);
            options_.on_dump(fmt::format("{}: after, {} changes", pass.name, outcome.changes), graph::to_string(graph));
          }
        }
        DOVETAIL_TRY(graph::verify(graph));
        if (outcome.changes > 0 && subgraph_.empty()) fates_->observe(graph, pass.name);
      }
    }
    return {};
  }

  // ---- Dumps and the report

  bool is_dumped(std::string_view stage) const { return options_.on_dump && (asked_for(stage) || asked_for("all")); }
  bool asked_for(std::string_view name) const { return std::ranges::find(options_.dump, name) != options_.dump.end(); }

  void add_time(std::string_view stage, std::chrono::steady_clock::time_point begin) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto row = std::ranges::find(result_.stages, stage, &StageTime::name);
    if (row != result_.stages.end()) row->seconds += seconds;
    else result_.stages.push_back({std::string(stage), seconds});
  }
  Json report() const {
    Json report = compile_report(result_, {groups_, kernels_, relayouts_, passes_, memory_});
    for (const TargetPointer& target : options_.available) report.update(target->facts());
    return report;
  }

  const CompileOptions& options_;
  graph::Graph graph_;  // as the last stage left it
  Compiled result_;
  Partition parts_;
  std::vector<RegionPlanPointer> plans_;
  LayoutPlan layouts_;
  std::vector<GivenUp> given_up_;   // by targets that had accepted them
  std::optional<NodeFates> fates_;  // fates of the imported nodes
  std::string subgraph_;            // the subgraph on which passes run; empty: the graph itself
  std::map<std::pair<graph::NodeId, std::size_t>, bundle::Bundle> programs_;  // programs of its nodes' subgraphs
  Json passes_ = Json::array();
  double tolerance_ = 0;
  std::vector<GroupReport> groups_;
  std::vector<KernelReport> kernels_;
  Json relayouts_ = Json::array();
  MemoryPlan memory_;
};

struct Stage {
  std::string_view name;
  bool whole;  // --stop-after may name it: covers the whole model. The others dump the inside of a region, once per
               // operation or region
  Result<void> (Pipeline::*run)() = nullptr;
  std::string (Pipeline::*text)() const = nullptr;  // the text that --dump prints after it
};
// In execution order; rows with the same name are one stage.
constexpr Stage kStages[] = {
    {"import", true, nullptr, &Pipeline::graph_text},
    {"integer", true, &Pipeline::lower_to_integers, &Pipeline::graph_text},
    {"graph", true, &Pipeline::optimize, &Pipeline::graph_text},
    {"partition", true, &Pipeline::partition_graph, &Pipeline::placement_text},
    {"partition", true, &Pipeline::compile_subgraphs},
    // Before layouts are chosen: the schedules determine which layouts the kernels support.
    {"schedules", true, &Pipeline::plan, &Pipeline::offers_text},
    {"layouts", true, &Pipeline::lay_out, &Pipeline::layouts_text},
    {"schedules", true, &Pipeline::settle},
    {"groups", false},
    {"loops", false},
    {"trace", false},
    {"schedule", false},
    {"mlir", false},
    {"places", false},
    {"symbolic", false},
    {"micro-ops", false},
    {"order", false},
    {"stream", false},
    {"kernels", false},
    {"code", false, &Pipeline::generate},
    {"bundle", true, &Pipeline::finish_bundle},
};
constexpr const Stage* kPartition = std::ranges::find(kStages, std::string_view("partition"), &Stage::name);

Result<Compiled> Pipeline::run(import::Imported model) {
  DOVETAIL_TRY(check_names(options_));
  graph_ = model.graph;
  result_.imported = std::move(model.graph);
  fates_.emplace(result_.imported);
  for (const Stage* stage = std::begin(kStages); stage != std::end(kStages); ++stage) {
    const std::size_t given_up = given_up_.size();
    const auto begin = std::chrono::steady_clock::now();
    const Result<void> status = stage->run != nullptr ? (this->*stage->run)() : Result<void>();
    if (stage->run != nullptr) add_time(stage->name, begin);
    if (given_up_.size() > given_up) {
      // Another attempt, without the nodes that did not fit their targets. Each attempt has fewer nodes to place, so
      // this ends.
      stage = std::prev(kPartition);
      continue;
    }
    DOVETAIL_TRY(status);
    if (stage->text != nullptr && is_dumped(stage->name)) options_.on_dump(stage->name, (this->*stage->text)());
    const bool ends = std::next(stage) == std::end(kStages) || std::next(stage)->name != stage->name;
    if (ends && options_.stop_after == stage->name) break;
  }
  result_.tolerance = tolerance_;
  result_.report = report();
  return std::move(result_);
}

std::vector<std::string_view> stage_names(bool whole) {
  std::vector<std::string_view> names;
  for (const Stage& stage : kStages)
    if ((stage.whole || !whole) && std::ranges::find(names, stage.name) == names.end()) names.push_back(stage.name);
  return names;
}
}  // namespace
std::vector<std::string_view> stage_names() { return stage_names(false); }
std::vector<std::string_view> whole_stage_names() { return stage_names(true); }

Result<void> check_names(const CompileOptions& options) {
  Diagnostics errors;
  std::vector<std::string_view> known = stage_names(), passes;
  for (const passes::Row& row : passes::kPasses) passes.push_back(row.name);
  const auto has = [](const auto& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& name : options.dump)
    if (name != "all" && name != "passes" && !has(known, name) && !has(passes, name))
      errors.push_back(
          {fmt::format("cannot dump \"{}\"", name), "--dump", "the compiler has no stage or pass of this name",
           fmt::format("stages: all, {}; passes: passes, {}", fmt::join(known, ", "), fmt::join(passes, ", "))});
  const auto whole = whole_stage_names();
  if (const std::string& stage = options.stop_after; !stage.empty() && !has(known, stage))
    errors.push_back({fmt::format("unknown stage \"{}\"", stage), "--stop-after",
                      "the compiler has no stage of this name",
                      fmt::format("the stages are {}", fmt::join(whole, ", "))});
  else if (!stage.empty() && !has(whole, stage))
    errors.push_back({fmt::format("cannot stop after \"{}\"", stage), "--stop-after",
                      "operations pass through this stage one at a time",
                      fmt::format("dump the stage with --dump, or stop after {}", fmt::join(whole, ", "))});
  const auto check_passes = [&](const std::vector<std::string>& names, const char* option) {
    for (const std::string& name : names)
      if (!has(passes, name))
        errors.push_back({fmt::format("unknown pass \"{}\"", name), option, "the compiler has no pass of this name",
                          fmt::format("the passes are {}", fmt::join(passes, ", "))});
  };
  check_passes(options.with_passes, "--pass");
  check_passes(options.without_passes, "--no-pass");
  for (const std::string& name : options.with_passes)
    if (has(options.without_passes, name))
      errors.push_back({fmt::format("pass \"{}\" is both requested and excluded", name), "--pass, --no-pass",
                        "a pass can be either on or off", "remove one of the two"});
  return errors;
}

Result<Compiled> compile(import::Imported model, const CompileOptions& options) {
  return Pipeline(options).run(std::move(model));
}

}  // namespace dovetail
