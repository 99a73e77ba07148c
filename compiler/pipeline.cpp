// The table of contents. Stages in order; each comment says why it is where it is.
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
    pass("lower_qdq"),
    // What lower_qdq left of quantized weights has float activations; folding would expand them.
    pass("keep_weights_int8"),
};
// On the integer graph, over and over while one of them changes something: each makes room for others.
constexpr passes::Row kGraphPasses[] = {
    // First: the patterns below look for constants; what is left of dequantized weights becomes float.
    pass("fold_constants"),
    pass("sink_into_subgraphs"),
    pass("eliminate_identities"),
    pass("simplify_movement"),
    // Into convolutions while their BatchNormalization is still one node, whose factors are then rounded once.
    pass("fold_batch_norm"),
    pass("simplify_algebra"),
    // Behind simplify_algebra, which gives each pattern fewer forms.
    pass("recognize_normalizations"),
    pass("recognize_activations"),
    // Where targets gain by it (Target::passes): three kernels of the CPU are faster than its loop program.
    pass("recognize_attention"),
    // In front of what folds into convolutions, and of what merges the movements that it leaves.
    pass("lower_conv_transpose"),
    // In front of what folds its sum into its product.
    pass("split_recurrent"),
    // Behind the patterns, which it would take apart.
    pass("fuse_matmul_add"),
    pass("take_out_zero_points"),
    pass("fold_scales"),
    pass("fold_pads"),
    pass("pool_early"),
    // Last: the passes above leave duplicates and dead nodes behind.
    pass("eliminate_common_subexpressions"),
    pass("eliminate_dead_nodes"),
};
// Once, when nothing is left that could still be folded into one of the parts.
constexpr passes::Row kLatePasses[] = {
    pass("merge_parallel_convolutions"),
    // Behind it, since it makes Splits, and behind what looks for Splits.
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
constexpr double kRounding = 1e-4;  // of a tensor's largest value: what folding constants into weights moves in float32

struct Stage {
  std::string_view name;
  bool whole;  // of the whole model: one may stop after it. The others come from inside a region, once per operation or
               // region
};
constexpr Stage kStages[] = {{"import", true},    {"integer", true}, {"graph", true},     {"partition", true},
                             {"layouts", true},   {"groups", false}, {"loops", false},    {"trace", false},
                             {"schedule", false}, {"places", false}, {"symbolic", false}, {"micro-ops", false},
                             {"order", false},    {"stream", false}, {"kernels", false},  {"code", false},
                             {"bundle", true}};

class Pipeline {
 public:
  explicit Pipeline(const CompileOptions& options) : options_(options) {}

  Result<Compiled> run(import::Imported model) {
    DOVETAIL_TRY(check_names(options_));
    Compiled result;
    graph::Graph graph = model.graph;
    result.imported = std::move(model.graph);
    fates_.emplace(result.imported);
    dump("import", [&] { return graph::to_string(graph); });
    if (stop("import")) return finish(std::move(result));

    DOVETAIL_TRY(timed("integer", [&]() -> Result<void> {
      if (!options_.graph_passes) return {};
      return integer_passes(graph);
    }));
    tolerance_ = 0;  // the integer graph is what runs are held against
    if (options_.keep_graphs) result.integer = graph;
    dump("integer", [&] { return graph::to_string(graph); });
    if (stop("integer")) return finish(std::move(result));

    DOVETAIL_TRY(timed("graph", [&]() -> Result<void> {
      if (!options_.graph_passes) return {};
      return graph_passes(graph);
    }));
    dump("graph", [&] { return graph::to_string(graph); });
    if (options_.keep_graphs) result.optimized = graph;
    if (stop("graph")) return finish(std::move(result));

    PartitionOptions partition_options{options_.available, options_.targets, {},
                                       places_in(graph),   options_.strict,  options_.offload};
    partition_options.control_flow =
        flow::make_target([this](graph::NodeId node, std::size_t subgraph) -> const bundle::Bundle& {
          return programs_.at({node, subgraph});
        });
    for (const TargetPointer& target : options_.available) {
      if (options_.targets.empty()) partition_options.targets.emplace_back(target->name());
      if (target->is_fallback()) partition_options.fallback.emplace_back(target->name());
    }
    while (true) {
      std::vector<GivenUp> given_up;
      auto made = make_code(graph, partition_options, result, given_up);
      if (made.ok()) break;
      // Every time a target gives up nodes that it had, so that this ends.
      if (given_up.empty()) return made.errors();
      for (const GivenUp& node : given_up) partition_options.given_up[node.node].push_back({node.target, node.why});
    }
    return finish(std::move(result));
  }

 private:
  // From the integer graph to the bundle, or to where the user stops. `given_up`: where the error is that a target
  // cannot hold all that it took.
  Result<void> make_code(const graph::Graph& graph, const PartitionOptions& partition_options, Compiled& result,
                         std::vector<GivenUp>& given_up) {
    // What an attempt left that a target gave up.
    groups_.clear(), kernels_.clear(), programs_.clear(), result.schedules.clear(), result.codes.clear();
    relayouts_ = Json::array();
    memory_ = {};
    Partition parts;
    DOVETAIL_TRY(timed("partition", [&]() -> Result<void> {
      DOVETAIL_ASSIGN(parts, partition(graph, partition_options));
      return {};
    }));
    for (const PartitionRegion& placed : parts.regions) tolerance_ = std::max(tolerance_, placed.target->tolerance());
    result.placement = place_nodes(result.imported, graph, parts, *fates_);
    result.summary = summarize(graph, parts, result.placement);
    dump("partition", [&] { return placement_text(result.placement); });
    DOVETAIL_TRY(compile_subgraphs(graph, result));
    if (stop("partition")) return {};

    if (options_.expose_all) expose_all(parts);
    std::vector<RegionOffer> offers;
    LayoutPlan layouts;
    DOVETAIL_TRY(timed("layouts", [&]() -> Result<void> {
      DOVETAIL_ASSIGN(offers, offer_layouts(graph, parts,
                                            {.fuse = options_.fuse && options_.context.level > Level::needed,
                                             .free_sums = options_.context.level > Level::exact,
                                             .recorded = options_.recorded,
                                             .progress = options_.progress}));
      layouts = choose_layouts(graph, offers, {options_.free_borders, options_.choose_layouts});
      return {};
    }));
    dump("layouts", [&] { return to_string(graph, layouts); });
    for (Json& row : relayout_report(graph, layouts)) relayouts_.push_back(std::move(row));
    if (stop("layouts")) return {};

    DOVETAIL_TRY(timed("code", [&]() -> Result<void> {
      DOVETAIL_ASSIGN(Assembled assembled, generate(graph, parts, offers, layouts.chosen, given_up));
      result.bundle = std::move(assembled.bundle);
      std::ranges::move(assembled.groups, std::back_inserter(groups_));
      add_kernels(result.placement, groups_);
      std::ranges::move(assembled.kernels, std::back_inserter(kernels_));
      std::ranges::move(assembled.schedules, std::back_inserter(result.schedules));
      std::ranges::move(assembled.codes, std::back_inserter(result.codes));
      memory_ += assembled.memory;
      if (!options_.machine_code) return {};
      return bundle::verify(result.bundle);
    }));
    result.report = report(result);
    result.bundle.report = without_times(result.report);
    return {};
  }

  // ---- Subgraphs

  // What `run` does to a graph, it does to those that nodes of it hold, too.
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
    // What subgraphs no longer read, and who computed it.
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
  // Of the user's placements those that are about this graph: all but those of nodes that are only in its subgraphs.
  std::map<std::string, std::string> places_in(const graph::Graph& graph) const {
    std::map<std::string, std::string> places = options_.place;
    std::erase_if(places, [&](const auto& entry) {
      return !has_node(graph, entry.first) && has_node_inside(graph, entry.first);
    });
    return places;
  }

  // Each subgraph becomes a program by the same stages, behind the passes, which it has been through with its graph.
  Result<void> compile_subgraphs(const graph::Graph& graph, Compiled& result) {
    for (const graph::NodeId id : graph.topological_order()) {
      const graph::Node& node = graph.node(id);
      for (std::size_t s = 0; s < node.subgraphs.size(); ++s) {
        CompileOptions options = options_;
        options.graph_passes = options.keep_graphs = options.expose_all = options.free_borders = false;
        std::erase_if(options.place, [&](const auto& entry) {
          return !has_node(*node.subgraphs[s], entry.first) && !has_node_inside(*node.subgraphs[s], entry.first);
        });
        if (options_.on_dump)
          options.on_dump = [this](std::string_view stage, std::string_view text) {
            // The graph around it has shown it in these.
            if (stage != "import" && stage != "integer" && stage != "graph") options_.on_dump(stage, text);
          };
        Pipeline inner(options);
        auto compiled = inner.run({*node.subgraphs[s], {}});
        if (!compiled.ok()) return compiled.errors();
        add(std::move(inner), *std::move(compiled), id, s, result);
      }
    }
    return {};
  }
  void add(Pipeline inner, Compiled compiled, graph::NodeId node, std::size_t subgraph, Compiled& result) {
    const auto append = [](auto& to, auto& from) { std::ranges::move(from, std::back_inserter(to)); };
    const std::string& name = compiled.bundle.name;
    for (NodePlacement& row : compiled.placement) row.region = fmt::format("{}: {}", name, row.region);
    for (RegionSummary& row : compiled.summary.regions) row.name = fmt::format("{}: {}", name, row.name);
    append(groups_, inner.groups_);
    append(kernels_, inner.kernels_);
    append(result.placement, compiled.placement);
    append(result.schedules, compiled.schedules);
    append(result.codes, compiled.codes);
    for (Json& row : inner.relayouts_) relayouts_.push_back(std::move(row));
    result.summary += std::move(compiled.summary);
    tolerance_ = std::max(tolerance_, inner.tolerance_);
    memory_ += inner.memory_;
    compiled.bundle.report = Json::object();  // all of it is in that of the whole
    programs_[{node, subgraph}] = std::move(compiled.bundle);
  }

  // ---- Stages

  bool runs(const passes::Row& pass) const {
    const auto has = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), pass.name) != names.end();
    };
    const bool allowed = pass.level == Level::named ? options_.context.level >= Level::tolerant && all_gain(pass.name)
                                                    : pass.level <= options_.context.level;
    return !has(options_.without_passes) && (allowed || has(options_.with_passes));
  }
  // Each target that was asked for.
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

  // Each target's code generator appends the steps of its regions, the builder the copies between layouts.
  Result<Assembled> generate(const graph::Graph& graph, const Partition& parts, const std::vector<RegionOffer>& offers,
                             const ChosenLayouts& layouts, std::vector<GivenUp>& given_up) const {
    std::vector<std::unique_ptr<ProgramCompiler>> compilers;
    for (const TargetPointer& target : options_.available)
      if (auto compiler = target->program_compiler()) compilers.push_back(std::move(compiler));
    if (compilers.empty())
      return Diagnostic{"cannot make a bundle", "CompileOptions::available",
                        "none of the targets runs loop programs on the host, which copies between layouts are",
                        "hand in the interpreter as well (compiler/target/host/target.h)"};
    BundleBuilder builder(graph, layouts, std::move(compilers), options_.progress, options_.machine_code);
    Dump dump_inner;  // none where nothing is asked for, so that targets print nothing in vain
    if (!options_.dump.empty())
      dump_inner = [this](std::string_view stage, std::string_view text) {
        dump(stage, [&] { return std::string(text); });
      };
    for (std::size_t i = 0; i < parts.regions.size(); ++i) {
      auto generated =
          parts.regions[i].target->generate(parts.regions[i].region, offers[i], layouts, builder, dump_inner);
      given_up = builder.given_up();
      DOVETAIL_TRY(std::move(generated));
    }
    return builder.finish();
  }

  Result<void> run_passes(std::span<const passes::Row> list, int most_rounds, graph::Graph& graph) {
    bool changed = true;
    for (int round = 1; changed; ++round) {
      if (round > most_rounds && most_rounds > 1) {
        passes_.push_back(Json{
            {"pass", "(all)"},
            {"changes", 0},
            {"notes", {fmt::format("stopped after {} rounds, though the last one changed something", most_rounds)}}});
        break;
      }
      if (round > most_rounds) break;
      changed = false;
      for (const passes::Row& pass : list) {
        if (!runs(pass)) continue;
        const bool dumped = wanted(pass.name) || wanted("passes");
        const std::string before = dumped ? graph::to_string(graph) : "";
        DOVETAIL_ASSIGN(const passes::PassOutcome outcome, pass.run(graph, options_.context));
        changed |= outcome.changes > 0;
        if (outcome.changes > 0 && options_.context.level >= Level::tolerant)
          tolerance_ = std::max({tolerance_, outcome.tolerance, kRounding});
        // Rounds that only prove that nothing is left to do are not worth a line.
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

  template <typename Body>
  Result<void> timed(std::string name, const Body& body) {
    const auto begin = std::chrono::steady_clock::now();
    Result<void> status = body();
    stages_.push_back(
        {std::move(name), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
    return status;
  }
  template <typename Text>
  void dump(std::string_view stage, const Text& text) const {
    if ((wanted(stage) || wanted("all")) && options_.on_dump) options_.on_dump(stage, text());
  }
  bool wanted(std::string_view name) const {
    return std::find(options_.dump.begin(), options_.dump.end(), name) != options_.dump.end();
  }
  bool stop(std::string_view stage) const { return options_.stop_after == stage; }

  Compiled finish(Compiled result) const {
    result.stages = stages_;
    result.tolerance = tolerance_;
    if (result.report.is_null()) result.report = report(result);
    return result;
  }

  static std::string placement_text(const std::vector<NodePlacement>& placed) {
    std::string text;
    for (const NodePlacement& row : placed)
      text += fmt::format("{:<32} {:<20} {:<12} {}\n", row.node, row.op, row.target, row.why);
    return text;
  }

  static Json relayout_report(const graph::Graph& graph, const LayoutPlan& layouts) {
    Json rows = Json::array();
    for (const Relayout& relayout : layouts.relayouts) {
      Json readers = Json::array();
      for (const graph::NodeId reader : relayout.readers) readers.push_back(graph.node(reader).name);
      rows.push_back({{"value", graph.value(relayout.value).name},
                      {"from", relayout.from},
                      {"to", relayout.to},
                      {"bytes", relayout.bytes},
                      {"readers", readers}});
    }
    return rows;
  }

  Json report(const Compiled& result) const {
    Json nodes = Json::array();
    for (const NodePlacement& row : result.placement) nodes.push_back(to_json(row));
    Json stages = Json::array();
    for (const StageTime& stage : stages_) stages.push_back({{"stage", stage.name}, {"seconds", stage.seconds}});
    Json groups = Json::array();
    for (const GroupReport& group : groups_)
      groups.push_back({{"name", group.name},
                        {"schedule", group.kind},
                        {"nodes", group.nodes},
                        {"trace", group.trace},
                        {"notes", group.notes},
                        {"unfused", group.unfused}});
    Json kernels = Json::array();
    for (const KernelReport& kernel : kernels_)
      kernels.push_back({{"symbol", kernel.symbol},
                         {"uses", kernel.uses},
                         {"code_bytes", kernel.code_bytes},
                         {"compile_seconds", kernel.seconds},
                         {"notes", kernel.notes}});
    Json schedules = Json::array();
    for (const ScheduleReport& schedule : result.schedules)
      schedules.push_back({{"name", schedule.name},
                           {"target", schedule.target},
                           {"kind", schedule.kind},
                           {"task", schedule.origin.key},
                           {"recorded", schedule.origin.recorded},
                           {"counted", schedule.origin.counted},
                           {"from", schedule.origin.text}});
    Json codes = Json::array();
    for (const CodeReport& code : result.codes) {
      codes.push_back({{"region", code.region}, {"target", code.target}});
      codes.back().update(code.facts);
    }
    const Json memory{{"bytes", memory_.bytes}, {"bound_bytes", memory_.bound_bytes}, {"sum_bytes", memory_.sum_bytes}};
    Json report{{"memory", memory},
                {"relayouts", relayouts_},
                {"groups", groups},
                {"schedules", schedules},
                {"codes", codes},
                {"kernels", kernels},
                {"model", result.imported.name},
                {"nodes", nodes},
                {"summary", to_json(result.summary)},
                {"passes", passes_},
                {"stages", stages}};
    for (const TargetPointer& target : options_.available) report.update(target->facts());
    return report;
  }

  // A model gives the same bundle, byte for byte, however long the compiler takes.
  static Json without_times(Json report) {
    report.erase("stages");
    for (const char* part : {"kernels", "codes"})
      for (Json& row : report[part]) row.erase("compile_seconds");
    return report;
  }

  const CompileOptions& options_;
  std::optional<NodeFates> fates_;  // of the imported nodes
  std::string subgraph_;            // on which passes run; empty: the graph itself
  std::map<std::pair<graph::NodeId, std::size_t>, bundle::Bundle> programs_;  // of its nodes' subgraphs
  std::vector<StageTime> stages_;
  Json passes_ = Json::array();
  double tolerance_ = 0;
  std::vector<GroupReport> groups_;
  std::vector<KernelReport> kernels_;
  Json relayouts_ = Json::array();
  MemoryPlan memory_;
};

}  // namespace

std::vector<std::string_view> stage_names() {
  std::vector<std::string_view> names;
  for (const Stage& stage : kStages) names.push_back(stage.name);
  return names;
}
std::vector<std::string_view> whole_stage_names() {
  std::vector<std::string_view> names;
  for (const Stage& stage : kStages)
    if (stage.whole) names.push_back(stage.name);
  return names;
}

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
          {fmt::format("cannot dump \"{}\"", name), "--dump", "the compiler has no stage and no pass of that name",
           fmt::format("stages: all, {}; passes: passes, {}", fmt::join(known, ", "), fmt::join(passes, ", "))});
  const auto whole = whole_stage_names();
  if (const std::string& stage = options.stop_after; !stage.empty() && !has(known, stage))
    errors.push_back({fmt::format("unknown stage \"{}\"", stage), "--stop-after", "the compiler has no such stage",
                      fmt::format("the stages are {}", fmt::join(whole, ", "))});
  else if (!stage.empty() && !has(whole, stage))
    errors.push_back({fmt::format("cannot stop after \"{}\"", stage), "--stop-after",
                      "operations pass through that stage one by one",
                      fmt::format("dump it with --dump; stop after {}", fmt::join(whole, ", "))});
  const auto check_passes = [&](const std::vector<std::string>& names, const char* option) {
    for (const std::string& name : names)
      if (!has(passes, name))
        errors.push_back({fmt::format("unknown pass \"{}\"", name), option, "the compiler has no such pass",
                          fmt::format("the passes are {}", fmt::join(passes, ", "))});
  };
  check_passes(options.with_passes, "--pass");
  check_passes(options.without_passes, "--no-pass");
  for (const std::string& name : options.with_passes)
    if (has(options.without_passes, name))
      errors.push_back({fmt::format("pass \"{}\" is asked for and forbidden", name), "--pass, --no-pass",
                        "it can be either on or off", "leave out one of the two"});
  return errors;
}

Result<Compiled> compile(import::Imported model, const CompileOptions& options) {
  return Pipeline(options).run(std::move(model));
}

}  // namespace dovetail
