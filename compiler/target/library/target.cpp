#include "compiler/target/library/target.h"

#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/cuda.h"
#include "bundle/code/library.h"
#include "compiler/layout/layout.h"
#include "compiler/target/library/takes.h"
#include "compiler/target/support/gpu_cost.h"

namespace dovetail::library {

using graph::Graph;
using graph::ValueId;

namespace {

// Arrays in the model's layout, on both sides.
class LibraryPlan : public RegionPlan {
 public:
  LibraryPlan(const Graph& graph, const GraphRegion& region, const Library& library)
      : RegionPlan(plain_offer(graph, region)), region_(region), library_(library) {}

  Result<void> emit(const ChosenLayouts&, BundleBuilder& builder, const Dump& dump) const override {
    if (library_.on_device) {
      for (const Match& match : region_.matches) {
        const auto& body = match.taken_as<TakenBody>().body;
        add_step(builder.graph().node(match.nodes.back()).name, std::span(&match, 1), match.nodes, {body.result},
                 builder, dump);
      }
    } else {
      add_step(region_.name, region_.matches, region_.nodes(), region_.outputs, builder, dump);
    }
    report(builder);
    return {};
  }

 private:
  void add_step(const std::string& step_name, std::span<const Match> matches, const std::vector<graph::NodeId>& nodes,
                const std::vector<ValueId>& outputs, BundleBuilder& builder, const Dump& dump) const {
    const Graph& graph = builder.graph();
    bundle::Step step{step_name, {}, builder.origins(nodes), {}, {}};
    // The numbers of tensors: arguments, then results, then temporaries of the step.
    std::map<ValueId, std::uint64_t> numbers;
    std::map<const NdArray*, std::uint64_t> made;
    std::set<ValueId> computed;
    for (const Match& match : matches) {
      const auto& body = match.taken_as<TakenBody>().body;
      for (std::size_t i = 0; i < body.operands.size(); ++i) {
        const ValueId operand = body.operands[i];
        if (const auto other = body.made.find(i); other != body.made.end()) {
          made.emplace(other->second.get(), step.arguments.size());
          step.arguments.push_back(
              builder.add_constant(graph.value(operand).name + " made ready", *other->second, kPlainLayout));
        } else if (!computed.contains(operand) && numbers.emplace(operand, step.arguments.size()).second) {
          step.arguments.push_back(builder.in_layout(operand, kPlainLayout));
        }
      }
      computed.insert(body.result);
    }
    std::uint64_t next = step.arguments.size();
    for (const ValueId output : outputs) {
      numbers.emplace(output, next++);
      step.results.push_back(builder.result(output, kPlainLayout));
      if (library_.on_device)
        builder.place(step.results.back(),
                      builder.space(bundle::kCudaTarget, std::string(bundle::kCudaSpace), 0, bundle::kTensorAlignment),
                      std::nullopt);
    }
    bundle::LibraryCode code;
    for (const Match& match : matches) {
      const auto& body = match.taken_as<TakenBody>().body;
      bundle::LibraryOperation operation = body.operation;
      for (std::size_t i = 0; i < body.operands.size(); ++i) {
        const auto other = body.made.find(i);
        operation.operands.push_back(other != body.made.end() ? made.at(other->second.get())
                                                              : numbers.at(body.operands[i]));
      }
      if (numbers.emplace(body.result, next).second) {
        code.inner.push_back(graph.value(body.result).type.shape);
        ++next;
      }
      operation.result = numbers.at(body.result);
      const bool multiplies =
          operation.kind == bundle::LibraryKind::product || operation.kind == bundle::LibraryKind::convolution;
      operation.tf32 = library_.tf32 && multiplies && operand_type(graph, body, 0).dtype == DType::float32;
      code.operations.push_back(std::move(operation));
      code.arithmetic += match.cost.operations;
    }
    bundle::encode(code, library_.target, step);
    if (dump) dump("stream", std::string(reinterpret_cast<const char*>(step.code.data()), step.code.size()));
    builder.add_step(std::move(step));
  }

  void report(BundleBuilder& builder) const {
    std::map<std::string, int> rows;
    for (const Match& match : region_.matches) ++rows[match.row];
    std::vector<std::string> words;
    for (const auto& [row, count] : rows) words.push_back(fmt::format("{} {}", row, count));
    builder.add_code({region_.name,
                      std::string(library_.target),
                      fmt::format("{} operations of the library: {}", region_.matches.size(), fmt::join(words, ", ")),
                      {{"operations", rows}}});
  }

  const GraphRegion& region_;
  const Library& library_;
};

class LibraryTarget : public Target {
 public:
  explicit LibraryTarget(Library library) : library_(std::move(library)) {}

  std::string_view name() const override { return library_.target; }
  std::span<const PatternRow> patterns() const override { return library_.rows; }
  std::string_view memory() const override { return library_.on_device ? bundle::kCudaSpace : name(); }
  std::string no_pattern(const Graph& graph, graph::NodeId node) const override {
    return fmt::format("the library's operations do not cover {}", graph.node(node).op);
  }

  double tolerance() const override { return library_.tolerance; }

  Cost cost(const Graph& graph, const Match& match) const override {
    Cost cost = count_work(graph, match.nodes);
    const auto& body = match.taken_as<TakenBody>().body;
    cost.seconds = library_.seconds(operand_type(graph, body, 0).dtype, cost);
    return cost;
  }
  double border_seconds(const graph::TensorType& type) const override {
    return library_.on_device ? gpu::estimate_copy_seconds(layout_bytes(type, kPlainLayout)) : 0;
  }

  Result<RegionPlanPointer> plan(const Graph& graph, const GraphRegion& region, const PlanOptions&) const override {
    return RegionPlanPointer(std::make_unique<LibraryPlan>(graph, region, library_));
  }

 private:
  Library library_;
};

}  // namespace

TargetPointer make_target(Library library) { return std::make_shared<LibraryTarget>(std::move(library)); }

TargetPointer make_gpu_target(std::string_view target, std::vector<PatternRow> rows, bool tf32) {
  return make_target(
      {.target = target,
       .rows = std::move(rows),
       .seconds = [](DType type,
                     const Cost& work) { return gpu::estimate_library_seconds(type, work.operations, work.bytes); },
       .on_device = true,
       .tf32 = tf32,
       .tolerance = tf32 ? gpu::kTf32Tolerance : 0});
}

}  // namespace dovetail::library
