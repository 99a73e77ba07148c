#include "compiler/target/cuda/target.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/cuda.h"
#include "compiler/fuse/fuse.h"
#include "compiler/layout/layout.h"
#include "compiler/ops/op.h"
#include "compiler/target/cuda/codegen/source.h"
#include "compiler/target/cuda/kernels.h"
#include "compiler/target/cuda/launches.h"
#include "compiler/target/cuda/schedule_group.h"
#include "compiler/target/support/gpu_cost.h"
#include "loops/operations.h"
#include "loops/print.h"
#include "loops/product_sum.h"

namespace dovetail::cuda {

using graph::Graph;
using graph::ValueId;

namespace {

// A group's schedules, one for each variant of the GPUs; none for a view.
struct Prepared {
  FusedGroup group;
  std::vector<ScheduledGroup> scheduled;
  bool free_sums = false;
};

// A text common to all variants, or one per variant.
template <typename Say>
std::string of_variants(const std::vector<Gpu>& variants, const std::vector<ScheduledGroup>& scheduled,
                        std::string_view between, const Say& say) {
  std::vector<std::string> words;
  for (std::size_t v = 0; v < scheduled.size(); ++v) words.push_back(say(scheduled[v]));
  if (std::ranges::all_of(words, [&](const std::string& word) { return word == words.front(); })) return words.front();
  for (std::size_t v = 0; v < words.size(); ++v)
    words[v] = between == "\n" ? fmt::format("# {}\n{}", fmt::join(variants[v].architectures, ", "), words[v])
                               : fmt::format("{} for {}", words[v], fmt::join(variants[v].architectures, ", "));
  return fmt::format("{}", fmt::join(words, between));
}

// Only a reshape: its result is its argument under another name.
bool is_view(const Graph& graph, const FusedGroup& group) {
  return group.nodes.size() == 1 && ops::find(graph.node(group.nodes.front()).op)->movement == ops::Movement::reshapes;
}

// The parameters of a kernel are limited to 32,764 bytes (PTX ISA 8.1), 8 per address. A few are reserved for the
// workspace, tensor maps and the address of a failure.
Result<TakenPointer> fits_parameters(const Graph& graph, const pattern::Found& found) {
  constexpr std::size_t kMostOperands = 4000;
  std::size_t operands = 0;
  for (const graph::NodeId id : found.nodes) {
    const graph::Node& node = graph.node(id);
    const std::set<ValueId> inputs(node.inputs.begin(), node.inputs.end());
    operands = std::max(operands, inputs.size() + node.outputs.size());
  }
  if (operands > kMostOperands)
    return Diagnostic{"cannot compile for the GPU", "",
                      fmt::format("the region has {} operands and results, but a kernel supports at most {}", operands,
                                  kMostOperands),
                      "split the region into smaller ones"};
  return TakenPointer();
}

class CudaPlan : public RegionPlan {
 public:
  CudaPlan(std::vector<KernelOffer> offers, const GraphRegion& region, const std::vector<Gpu>& variants,
           std::vector<Prepared> groups)
      : RegionPlan(std::move(offers)), region_(region), variants_(variants), groups_(std::move(groups)) {}

  Result<void> emit(const ChosenLayouts&, BundleBuilder& builder, const Dump& dump) const override {
    std::vector<Variant> all(variants_.size());
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t v = 0; v < variants_.size(); ++v) {
      Variant& variant = all[v];
      for (const Prepared& group : groups_)
        variant.sources.push_back(group.scheduled.empty()
                                      ? nullptr
                                      : &variant.kernels.add(group.scheduled[v].program, group.scheduled[v].kernels));
      if (dump && !variant.kernels.text().empty() && (v == 0 || variant.kernels.text() != all[0].kernels.text()))
        dump("code", fmt::format("// {}\n{}", fmt::join(variants_[v].architectures, ", "), variant.kernels.text()));
      if (!builder.makes_machine_code()) continue;
      DOVETAIL_ASSIGN(variant.images, compile_kernels(variant.kernels.text(), variants_[v].architectures));
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    DeviceSpace& space =
        builder.space(bundle::kCudaTarget, std::string(bundle::kCudaSpace), 0, bundle::kTensorAlignment);
    for (std::size_t i = 0; i < groups_.size(); ++i) add_step(groups_[i], i, all, builder, space, dump);
    report(region_, all, seconds.count(), builder);
    return {};
  }

 private:
  // The text of a variant, and its compiled results.
  struct Variant {
    Kernels kernels;
    std::vector<const Source*> sources;  // per group; null: a view
    std::vector<bundle::CudaImage> images;
  };

  void add_step(const Prepared& prepared, std::size_t number, const std::vector<Variant>& variants,
                BundleBuilder& builder, const DeviceSpace& space, const Dump& dump) const {
    const Graph& graph = builder.graph();
    const FusedGroup& group = prepared.group;
    GroupReport report{graph.node(group.anchor).name, "view", {}, {}, {}, group.unfused};
    if (const auto& scheduled = prepared.scheduled; !scheduled.empty()) {
      report.kind = of_variants(variants_, scheduled, ", ", [](const ScheduledGroup& one) { return one.kind; });
      report.trace = of_variants(variants_, scheduled, "\n",
                                 [](const ScheduledGroup& one) { return schedule::to_string(one.trace); });
      for (const ScheduledGroup& one : scheduled)
        for (const std::string& note : one.notes)
          if (std::ranges::find(report.notes, note) == report.notes.end()) report.notes.push_back(note);
    }
    for (const graph::NodeId id : group.nodes) report.nodes.push_back(graph.node(id).name);
    if (dump)
      dump("groups", fmt::format("{} ({}): {}\n{}{}", report.name, report.kind, fmt::join(report.nodes, " + "),
                                 report.unfused.empty() ? "" : "  ", fmt::join(report.unfused, "\n  ")));
    if (prepared.scheduled.empty()) {
      builder.add_view(group.results.front(), group.arguments.front());
      builder.add_group(std::move(report));
      return;
    }
    for (const ScheduledGroup& one : prepared.scheduled)
      if (!one.origin.key.empty())
        builder.add_schedule({report.name, std::string(bundle::kCudaTarget), one.kind, one.origin});
    if (dump) {
      dump("trace", fmt::format("# {} ({})\n{}", report.name, report.kind, report.trace));
      dump("schedule", of_variants(variants_, prepared.scheduled, "\n",
                                   [](const ScheduledGroup& one) { return loops::to_string(one.program); }));
      dump("kernels", of_variants(variants_, prepared.scheduled, "\n",
                                  [](const ScheduledGroup& one) { return loops::to_string(one.kernels); }));
    }
    bundle::CudaCode code;
    for (const Variant& variant : variants) {
      const Source& source = *variant.sources[number];
      code.kernels.push_back({launches_of(source), variant.images, source.workspace_bytes, source.failures});
    }
    // The constants that a schedule changes depend on the group only.
    const ScheduledGroup& scheduled = prepared.scheduled.front();
    const loops::Operations operations = loops::count_operations(group.program);
    code.operations = operations.all();
    code.integer = operations.integer > operations.floating;
    code.steps = loops::count_steps(group.program);
    code.rounds_freely =
        loops::calls_mathematics(group.program) || (prepared.free_sums && loops::reduces_floats(group.program));
    bundle::Step step{report.name, {}, builder.origins(group.nodes), {}, {}};
    for (std::size_t i = 0; i < group.arguments.size(); ++i) {
      const auto changed = scheduled.constants.find(i);
      step.arguments.push_back(
          changed == scheduled.constants.end()
              ? builder.in_layout(group.arguments[i], kPlainLayout)
              : builder.add_constant(fmt::format("{}@{}", graph.value(group.arguments[i]).name, report.name),
                                     changed->second, kPlainLayout));
    }
    for (const ValueId result : group.results) {
      step.results.push_back(builder.result(result, kPlainLayout));
      builder.place(step.results.back(), space, std::nullopt);
    }
    bundle::encode(code, step);
    builder.add_step(std::move(step));
    builder.add_group(std::move(report));
  }

  static void report(const GraphRegion& region, const std::vector<Variant>& variants, double seconds,
                     BundleBuilder& builder) {
    Json sizes = Json::array();
    std::vector<std::string> words;
    std::size_t programs = 0;  // the most of any variant: programs may be shared
    for (const Variant& variant : variants) {
      programs = std::max(programs, variant.kernels.count());
      for (const bundle::CudaImage& image : variant.images) {
        sizes.push_back({{"architecture", image.architecture}, {"ptx", image.ptx}, {"bytes", image.bytes.size()}});
        words.push_back(
            fmt::format("{}{} {} bytes", image.architecture, image.ptx ? " (PTX)" : "", image.bytes.size()));
      }
    }
    builder.add_code(
        {region.name,
         std::string(bundle::kCudaTarget),
         fmt::format("{} programs of kernels, compiled in {:.2f} s: {}", programs, seconds, fmt::join(words, ", ")),
         {{"programs", programs}, {"compile_seconds", seconds}, {"images", sizes}}});
  }

  const GraphRegion& region_;
  const std::vector<Gpu>& variants_;
  std::vector<Prepared> groups_;
};

class CudaTarget : public Target {
 public:
  explicit CudaTarget(Gpu gpu) : gpu_(std::move(gpu)), variants_(variants_of(gpu_)) {
    rows_.push_back(pattern_row("operator", "*", fits_parameters));
  }

  std::string_view name() const override { return bundle::kCudaTarget; }
  std::span<const PatternRow> patterns() const override { return rows_; }
  std::string_view memory() const override { return bundle::kCudaSpace; }
  double tolerance() const override { return gpu_.tf32 ? gpu::kTf32Tolerance : 0; }
  std::span<const std::string_view> passes() const override {
    static constexpr std::string_view kPasses[] = {"recognize_attention"};
    return kPasses;
  }

  Cost cost(const Graph& graph, const Match& match) const override {
    Cost cost = count_work(graph, match.nodes);
    cost.seconds = gpu::estimate_seconds(match.nodes.size(), cost.operations, cost.bytes);
    return cost;
  }
  double border_seconds(const graph::TensorType& type) const override {
    return gpu::estimate_copy_seconds(layout_bytes(type, kPlainLayout));
  }

  Result<RegionPlanPointer> plan(const Graph& graph, const GraphRegion& region,
                                 const PlanOptions& options) const override {
    DOVETAIL_ASSIGN(std::vector<FusedGroup> groups, fuse_groups(graph, region.nodes(), options.fuse));
    std::vector<KernelOffer> offers;
    std::vector<Prepared> prepared;
    Known known;
    for (FusedGroup& group : groups) {
      if (!options.free_sums) group.program = loops::with_fixed_rounding(std::move(group.program));
      KernelOffer kernel{group.nodes.back()};
      for (const ValueId argument : group.arguments)
        if (!graph.is_constant(argument)) kernel.variables.push_back({{kPlainLayout}, {}, {argument}, {}});
      for (const ValueId result : group.results) kernel.variables.push_back({{kPlainLayout}, {}, {}, {result}});
      offers.push_back(std::move(kernel));
      Prepared next{std::move(group), {}, options.free_sums};
      if (!is_view(graph, next.group)) {
        DOVETAIL_ASSIGN(next.scheduled, schedules_of(next.group, options, known));
      }
      prepared.push_back(std::move(next));
    }
    return RegionPlanPointer(std::make_unique<CudaPlan>(std::move(offers), region, variants_, std::move(prepared)));
  }

 private:
  using Known = std::map<std::string, std::vector<ScheduledGroup>>;

  // For each variant. A layer that occurs several times in a model is scheduled once, unless its schedule changes
  // constants, whose values differ.
  Result<std::vector<ScheduledGroup>> schedules_of(const FusedGroup& group, const PlanOptions& options,
                                                   Known& known) const {
    std::string key = loops::to_string(group.program);
    for (const NdArray* constant : group.constants) key += constant != nullptr ? 'c' : 'v';
    if (const auto found = known.find(key); found != known.end()) return found->second;
    std::vector<ScheduledGroup> schedules;
    for (const Gpu& variant : variants_) {
      DOVETAIL_ASSIGN(
          ScheduledGroup scheduled,
          schedule_group(group, variant, options.recorded, options.free_sums ? FloatSums::free : FloatSums::in_order));
      schedules.push_back(std::move(scheduled));
    }
    const bool own = std::ranges::any_of(schedules, [](const ScheduledGroup& one) { return !one.constants.empty(); });
    if (!own) known.emplace(std::move(key), schedules);
    return schedules;
  }

  Gpu gpu_;
  std::vector<Gpu> variants_;
  std::vector<PatternRow> rows_;
};

}  // namespace

TargetPointer make_target(Gpu gpu) { return std::make_shared<CudaTarget>(std::move(gpu)); }

}  // namespace dovetail::cuda
