#include "compiler/target/cuda/target.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/cuda.h"
#include "compiler/fuse/fuse.h"
#include "compiler/layout/layout.h"
#include "compiler/ops/op.h"
#include "compiler/target/cuda/codegen/source.h"
#include "compiler/target/cuda/launches.h"
#include "compiler/target/cuda/nvrtc.h"
#include "compiler/target/cuda/schedule_group.h"
#include "compiler/target/gpu_cost.h"
#include "loops/operations.h"
#include "loops/print.h"
#include "loops/product_sum.h"

namespace dovetail::cuda {

using graph::Graph;
using graph::ValueId;

namespace {

// A group's schedule; nothing where it is a view.
struct Prepared {
  FusedGroup group;
  std::optional<ScheduledGroup> scheduled;
  bool free_sums = false;
};

// A reshape alone: its result is its argument under another name.
bool is_view(const Graph& graph, const FusedGroup& group) {
  return group.nodes.size() == 1 && ops::find(graph.node(group.nodes.front()).op)->movement == ops::Movement::reshapes;
}

// Symbols are words of C, whatever the operator is called.
std::string symbol_of(std::string_view name, std::size_t number) {
  std::string symbol = fmt::format("k{}_", number);
  for (const char c : name) symbol += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return symbol;
}

// Distinct kernels of a region, in one text. Equal programs share theirs.
class Kernels {
 public:
  const Source& add(const ScheduledGroup& scheduled) {
    const std::string key = loops::to_string(scheduled.program);
    if (const auto known = by_text_.find(key); known != by_text_.end()) return known->second;
    Source source = emit_source(scheduled.kernels, scheduled.program.parameters,
                                symbol_of(scheduled.program.name, by_text_.size()));
    text_ += source.text;
    return by_text_.emplace(key, std::move(source)).first->second;
  }
  const std::string& text() const { return text_; }
  std::size_t count() const { return by_text_.size(); }

 private:
  std::map<std::string, Source> by_text_;
  std::string text_;
};

class CudaTarget : public Target {
 public:
  explicit CudaTarget(Gpu gpu) : gpu_(std::move(gpu)) { rows_.push_back(pattern_row("operator", "*")); }

  std::string_view name() const override { return bundle::kCudaTarget; }
  std::span<const PatternRow> patterns() const override { return rows_; }
  std::string_view memory() const override { return bundle::kCudaSpace; }
  double tolerance() const override {
    constexpr double kOfTf32 = 4e-3;  // 2 * 2^-11 of each product, and a few layers of them
    return gpu_.tf32 ? kOfTf32 : 0;
  }
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

  Result<RegionOffer> offer_layouts(const Graph& graph, const GraphRegion& region,
                                    const OfferOptions& options) const override {
    DOVETAIL_ASSIGN(std::vector<FusedGroup> groups, fuse_groups(graph, region.nodes(), options.fuse));
    RegionOffer offer;
    std::vector<Prepared> prepared;
    for (FusedGroup& group : groups) {
      if (!options.free_sums) group.program = loops::with_fixed_rounding(std::move(group.program));
      KernelOffer kernel{group.nodes.back()};
      for (const ValueId argument : group.arguments)
        if (!graph.is_constant(argument)) kernel.variables.push_back({{kPlainLayout}, {}, {argument}, {}});
      for (const ValueId result : group.results) kernel.variables.push_back({{kPlainLayout}, {}, {}, {result}});
      offer.kernels.push_back(std::move(kernel));
      Prepared next{std::move(group), std::nullopt, options.free_sums};
      if (!is_view(graph, next.group)) {
        DOVETAIL_ASSIGN(next.scheduled, schedule_group(next.group, gpu_, options.recorded,
                                                       options.free_sums ? FloatSums::free : FloatSums::in_order));
      }
      prepared.push_back(std::move(next));
    }
    offer.prepared = std::move(prepared);
    return offer;
  }

  Result<void> generate(const GraphRegion& region, const RegionOffer& offer, const ChosenLayouts&,
                        BundleBuilder& builder, const Dump& dump) const override {
    const auto& prepared = std::any_cast<const std::vector<Prepared>&>(offer.prepared);
    Kernels kernels;
    std::vector<const Source*> sources;
    for (const Prepared& group : prepared)
      sources.push_back(group.scheduled ? &kernels.add(*group.scheduled) : nullptr);
    if (dump && !kernels.text().empty()) dump("code", kernels.text());
    const auto start = std::chrono::steady_clock::now();
    DOVETAIL_ASSIGN(const std::vector<bundle::CudaImage> images, compile(kernels.text()));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    DeviceSpace& space =
        builder.space(bundle::kCudaTarget, std::string(bundle::kCudaSpace), 0, bundle::kTensorAlignment);
    for (std::size_t i = 0; i < prepared.size(); ++i) add_step(prepared[i], sources[i], images, builder, space, dump);
    report(region, kernels, images, seconds.count(), builder);
    return {};
  }

 private:
  Result<std::vector<bundle::CudaImage>> compile(const std::string& text) const {
    std::vector<bundle::CudaImage> images;
    if (text.empty()) return images;
    DOVETAIL_ASSIGN(const std::shared_ptr<const Nvrtc> nvrtc, Nvrtc::find());
    std::optional<bundle::CudaImage> ptx;  // of the oldest one
    for (const std::string& architecture : gpu_.architectures) {
      DOVETAIL_ASSIGN(Binary binary, nvrtc->compile(text, architecture));
      images.push_back({architecture, false, std::move(binary.cubin)});
      const bool own = std::isalpha(static_cast<unsigned char>(architecture.back())) != 0;
      if (!own && (!ptx || architecture_number(architecture) < architecture_number(ptx->architecture)))
        ptx = bundle::CudaImage{architecture, true, std::move(binary.ptx)};
    }
    if (ptx) images.push_back(*std::move(ptx));
    return images;
  }

  static void add_step(const Prepared& prepared, const Source* source, const std::vector<bundle::CudaImage>& images,
                       BundleBuilder& builder, const DeviceSpace& space, const Dump& dump) {
    const Graph& graph = builder.graph();
    const FusedGroup& group = prepared.group;
    GroupReport report{graph.node(group.anchor).name, "view", {}, {}, {}, group.unfused};
    if (const auto& scheduled = prepared.scheduled) {
      report.kind = scheduled->kind;
      report.trace = schedule::to_string(scheduled->trace);
      report.notes = scheduled->notes;
    }
    for (const graph::NodeId id : group.nodes) report.nodes.push_back(graph.node(id).name);
    if (dump)
      dump("groups", fmt::format("{} ({}): {}\n{}{}", report.name, report.kind, fmt::join(report.nodes, " + "),
                                 report.unfused.empty() ? "" : "  ", fmt::join(report.unfused, "\n  ")));
    if (source == nullptr) {
      builder.add_view(group.results.front(), group.arguments.front());
      builder.add_group(std::move(report));
      return;
    }
    const ScheduledGroup& scheduled = *prepared.scheduled;
    if (!scheduled.origin.key.empty())
      builder.add_schedule({report.name, std::string(bundle::kCudaTarget), report.kind, scheduled.origin});
    if (dump) {
      dump("trace", fmt::format("# {} ({})\n{}", report.name, report.kind, report.trace));
      dump("schedule", loops::to_string(scheduled.program));
      dump("kernels", loops::to_string(scheduled.kernels));
    }
    bundle::CudaCode code{launches_of(*source), images, source->workspace_bytes, 0, false, source->failures};
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

  static void report(const GraphRegion& region, const Kernels& kernels, const std::vector<bundle::CudaImage>& images,
                     double seconds, BundleBuilder& builder) {
    Json sizes = Json::array();
    std::vector<std::string> words;
    for (const bundle::CudaImage& image : images) {
      sizes.push_back({{"architecture", image.architecture}, {"ptx", image.ptx}, {"bytes", image.bytes.size()}});
      words.push_back(fmt::format("{}{} {} bytes", image.architecture, image.ptx ? " (PTX)" : "", image.bytes.size()));
    }
    builder.add_code({region.name,
                      std::string(bundle::kCudaTarget),
                      fmt::format("{} programs of kernels, compiled in {:.2f} s: {}", kernels.count(), seconds,
                                  fmt::join(words, ", ")),
                      {{"programs", kernels.count()}, {"compile_seconds", seconds}, {"images", sizes}}});
  }

  Gpu gpu_;
  std::vector<PatternRow> rows_;
};

}  // namespace

TargetPointer make_target(Gpu gpu) { return std::make_shared<CudaTarget>(std::move(gpu)); }

}  // namespace dovetail::cuda
