// The table of contents. Stages in order; each comment says why it stands where it does.
#include "compiler/pipeline.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/assemble.h"
#include "compiler/ops/op.h"
#include "compiler/partition.h"
#include "compiler/passes/eliminate_common_subexpressions.h"
#include "compiler/passes/eliminate_dead_nodes.h"
#include "compiler/passes/eliminate_identities.h"
#include "compiler/passes/fold_batch_norm.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/fuse_matmul_add.h"
#include "compiler/passes/keep_weights_int8.h"
#include "compiler/passes/lower_qdq.h"
#include "compiler/target/all.h"

namespace dovetail {

namespace {

using GraphPass = Result<passes::PassOutcome> (*)(graph::Graph&, const passes::PassContext&);

struct NamedPass {
  std::string_view name;
  GraphPass run;
};
Result<passes::PassOutcome> fold_all_constants(graph::Graph& graph, const passes::PassContext& context) {
  return passes::fold_constants(graph, context);
}
Result<passes::PassOutcome> fold_but_dequantised(graph::Graph& graph, const passes::PassContext& context) {
  return passes::fold_constants(graph, context, passes::FoldScope::keep_dequantised);
}

// From ONNX's quantised forms to the integer graph, which is the reference of every run.
constexpr NamedPass kIntegerPasses[] = {
    // Scales and weights that exporters compute from constants must be constants when lower_qdq looks at them.
    {"fold_constants", fold_but_dequantised},
    // Identities between a DequantizeLinear and its user would hide the pair.
    {"eliminate_identities", passes::eliminate_identities},
    {"lower_qdq", passes::lower_qdq},
    // What lower_qdq left of quantised weights has float activations; folding would expand them.
    {"keep_weights_int8", passes::keep_weights_int8},
};
// On the integer graph.
constexpr NamedPass kGraphPasses[] = {
    {"fold_batch_norm", passes::fold_batch_norm},
    {"fuse_matmul_add", passes::fuse_matmul_add},
    // After the patterns above, which want to see a constant's own node; what is left of dequantised weights becomes float.
    {"fold_constants", fold_all_constants},
    // Last: the passes above leave duplicates and dead nodes behind.
    {"eliminate_common_subexpressions", passes::eliminate_common_subexpressions},
    {"eliminate_dead_nodes", passes::eliminate_dead_nodes},
};
struct Stage {
  std::string_view name;
  bool whole;  // of the whole model: one may stop after it. The others come from inside a region, once per operation or region
};
constexpr Stage kStages[] = {{"import", true},    {"integer", true},   {"graph", true},   {"partition", true}, {"loops", false},
                             {"trace", false},    {"schedule", false}, {"stream", false}, {"bundle", true}};

class Pipeline {
 public:
  explicit Pipeline(const CompileOptions& options) : options_(options) {}

  Result<Compiled> run(import::Imported model) {
    DOVETAIL_TRY(check_stage_names());
    Compiled result;
    graph::Graph graph = model.graph;
    result.imported = std::move(model.graph);
    dump("import", [&] { return graph::to_string(graph); });
    if (stop("import")) return finish(std::move(result));

    DOVETAIL_TRY(timed("integer", [&] { return run_passes(kIntegerPasses, graph); }));
    result.integer = graph;
    dump("integer", [&] { return graph::to_string(graph); });
    if (stop("integer")) return finish(std::move(result));

    DOVETAIL_TRY(timed("graph", [&] { return run_passes(kGraphPasses, graph); }));
    dump("graph", [&] { return graph::to_string(graph); });
    if (stop("graph")) return finish(std::move(result));

    Partition parts;
    DOVETAIL_TRY(timed("partition", [&]() -> Result<void> {
      DOVETAIL_TRY(find_processor());
      PartitionOptions partition_options{built_in_targets({options_.hardware, options_.clock_mhz, processor_, options_.fuse}), options_.targets, {"cpu", "host"}, options_.place,
                                         options_.strict, options_.offload};
      partition_options.available.insert(partition_options.available.begin(), options_.backends.begin(), options_.backends.end());
      DOVETAIL_ASSIGN(parts, partition(graph, partition_options));
      return {};
    }));
    result.placement = placement(result.imported, graph, parts);
    dump("partition", [&] { return placement_text(result.placement); });
    if (stop("partition")) return finish(std::move(result));

    DOVETAIL_TRY(timed("code", [&]() -> Result<void> {
      const AssembleOptions code{processor_, options_.expose_all ? Expose::all : Expose::needed, options_.free_borders};
      DOVETAIL_ASSIGN(Assembled assembled, assemble(graph, parts, code, [&](std::string_view stage, std::string_view text) {
                        dump(stage, [&] { return std::string(text); });
                      }));
      result.bundle = std::move(assembled.bundle);
      groups_ = std::move(assembled.groups);
      kernels_ = std::move(assembled.kernels);
      return bundle::verify(result.bundle);
    }));
    result.bundle.report = report(result);
    return finish(std::move(result));
  }

 private:
  Result<void> check_stage_names() const {
    Diagnostics errors;
    std::vector<std::string> asked = options_.dump;
    if (!options_.stop_after.empty()) asked.push_back(options_.stop_after);
    for (const std::string& name : asked)
      if (const auto names = stage_names(); name != "all" && std::find(names.begin(), names.end(), name) == names.end())
        errors.push_back({fmt::format("unknown stage \"{}\"", name), "--dump, --stop-after", "the compiler has no such stage", fmt::format("the stages are {}", fmt::join(names, ", "))});
    const auto whole = whole_stage_names();
    if (!options_.stop_after.empty() && errors.empty() && std::find(whole.begin(), whole.end(), options_.stop_after) == whole.end())
      errors.push_back({fmt::format("cannot stop after \"{}\"", options_.stop_after), "--stop-after", "operations pass through that stage one by one",
                        fmt::format("dump it with --dump; stop after {}", fmt::join(whole, ", "))});
    return errors;
  }

  Result<void> find_processor() {
    if (options_.cpu == "interpreter") return {};
    auto processor = cpu::find_cpu(options_.cpu);
    // Where nobody asked for the CPU, its nodes may as well be interpreted.
    const bool asked = options_.cpu != "native" || std::find(options_.targets.begin(), options_.targets.end(), "cpu") != options_.targets.end();
    if (!processor.ok() && asked) return processor.errors();
    if (processor.ok()) processor_ = *std::move(processor);
    return {};
  }

  Result<void> run_passes(std::span<const NamedPass> list, graph::Graph& graph) {
    for (const NamedPass& pass : list) {
      DOVETAIL_ASSIGN(const passes::PassOutcome outcome, pass.run(graph, options_.context));
      passes_.push_back(Json{{"pass", pass.name}, {"changes", outcome.changes}, {"notes", outcome.notes}});
      DOVETAIL_TRY(graph::verify(graph));
    }
    return {};
  }

  template <typename Body>
  Result<void> timed(std::string name, const Body& body) {
    const auto begin = std::chrono::steady_clock::now();
    Result<void> status = body();
    stages_.push_back({std::move(name), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
    return status;
  }
  template <typename Text>
  void dump(std::string_view stage, const Text& text) const {
    const bool wanted = std::any_of(options_.dump.begin(), options_.dump.end(), [&](const std::string& name) { return name == stage || name == "all"; });
    if (wanted && options_.on_dump) options_.on_dump(stage, text());
  }
  bool stop(std::string_view stage) const { return options_.stop_after == stage; }

  Compiled finish(Compiled result) const {
    result.stages = stages_;
    if (result.report.is_null()) result.report = report(result);
    return result;
  }

  // Imported nodes in their order: where each went.
  static std::vector<NodePlacement> placement(const graph::Graph& imported, const graph::Graph& graph, const Partition& parts) {
    std::map<std::string, NodePlacement> by_name;
    const auto place = [&](graph::NodeId id, const std::string& target, const std::string& why) {
      const graph::Node& node = graph.node(id);
      for (const std::string& origin : node.origins)
        if (origin != node.name) by_name.insert({origin, {origin, "", "folded", "into " + node.name}});
      by_name[node.name] = {node.name, "", target, why};
    };
    for (const PartitionRegion& part : parts.regions)
      for (const Match& match : part.region.matches) {
        const graph::NodeId last = match.nodes.back();
        std::vector<std::string> why;
        if (const auto it = parts.refused.find(last); it != parts.refused.end())
          for (const Refusal& refusal : it->second) why.push_back(refusal.why);
        for (const graph::NodeId id : match.nodes) place(id, parts.fallback.count(last) ? "host" : std::string(part.target->name()), fmt::format("{}", fmt::join(why, "; ")));
        for (std::size_t i = 0; i + 1 < match.nodes.size(); ++i)
          by_name[graph.node(match.nodes[i]).name] = {graph.node(match.nodes[i]).name, "", "folded", "into " + graph.node(last).name};
      }
    std::vector<NodePlacement> placed;
    for (const graph::Node& node : imported.nodes) {
      if (node.removed) continue;
      const auto it = by_name.find(node.name);
      const bool quantisation = node.op == "QuantizeLinear" || node.op == "DequantizeLinear";
      const char* vanished = quantisation ? "into the integer form of its neighbours" : "its value is constant or unused";
      NodePlacement row = it != by_name.end() ? it->second : NodePlacement{node.name, "", "folded", vanished};
      row.op = node.op;
      placed.push_back(std::move(row));
    }
    return placed;
  }

  static std::string placement_text(const std::vector<NodePlacement>& placed) {
    std::string text;
    for (const NodePlacement& row : placed) text += fmt::format("{:<32} {:<20} {:<12} {}\n", row.node, row.op, row.target, row.why);
    return text;
  }

  Json report(const Compiled& result) const {
    Json nodes = Json::array();
    for (const NodePlacement& row : result.placement) nodes.push_back({{"node", row.node}, {"op", row.op}, {"target", row.target}, {"why", row.why}});
    Json stages = Json::array();
    for (const StageTime& stage : stages_) stages.push_back({{"stage", stage.name}, {"seconds", stage.seconds}});
    Json groups = Json::array();
    for (const GroupReport& group : groups_) groups.push_back({{"name", group.name}, {"schedule", group.kind}, {"nodes", group.nodes}, {"trace", group.trace}, {"notes", group.notes}});
    Json kernels = Json::array();
    for (const cpu::KernelReport& kernel : kernels_)
      kernels.push_back({{"symbol", kernel.symbol}, {"uses", kernel.uses}, {"code_bytes", kernel.code_bytes}, {"compile_seconds", kernel.seconds}, {"notes", kernel.notes}});
    return Json{{"groups", groups}, {"kernels", kernels}, {"model", result.imported.name}, {"hardware", isa::config_to_json(options_.hardware)}, {"nodes", nodes}, {"passes", passes_}, {"stages", stages}};
  }

  const CompileOptions& options_;
  std::optional<cpu::Cpu> processor_;
  std::vector<StageTime> stages_;
  Json passes_ = Json::array();
  std::vector<GroupReport> groups_;
  std::vector<cpu::KernelReport> kernels_;
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

Result<Compiled> compile(import::Imported model, const CompileOptions& options) { return Pipeline(options).run(std::move(model)); }

}  // namespace dovetail
