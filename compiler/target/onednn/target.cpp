#include "compiler/target/onednn/target.h"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/onednn.h"
#include "compiler/target/host/cost.h"
#include "compiler/target/onednn/rows.h"

namespace dovetail::onednn {

using graph::Graph;
using graph::ValueId;

namespace {

// Of one core with AVX-512. Above what our own kernels are estimated at: who names the library first wants its kernels.
constexpr double kOperationsPerSecond = 100e9;

class OnednnTarget : public Target {
 public:
  std::string_view name() const override { return bundle::kOnednnTarget; }
  std::span<const PatternRow> patterns() const override { return rows_; }
  std::string no_pattern(const Graph& graph, graph::NodeId node) const override {
    return fmt::format("the library's operations do not cover {}", graph.node(node).op);
  }

  Cost cost(const Graph& graph, const Match& match) const override {
    Cost cost = count_work(graph, match.nodes);
    cost.seconds = host::estimate_seconds(1, cost.operations, cost.bytes, kOperationsPerSecond);
    return cost;
  }
  // It reads and writes the tensors where they are.
  double border_seconds(const graph::TensorType&) const override { return 0; }

  // Arrays as the model has them, on both sides.
  Result<void> generate(const GraphRegion& region, const RegionOffer&, const ChosenLayouts&, BundleBuilder& builder,
                        const Dump& dump) const override {
    const Graph& graph = builder.graph();
    bundle::Step step{region.name, {}, builder.origins(region.nodes()), {}, {}};
    // The numbers of tensors: arguments, then results, then those of the region alone.
    std::map<ValueId, std::uint64_t> numbers;
    std::map<const Body*, std::uint64_t> weights;
    std::set<ValueId> computed;
    for (const Match& match : region.matches) {
      const Body& body = std::any_cast<const Body&>(match.body);
      for (std::size_t i = 0; i < body.operands.size(); ++i) {
        const ValueId operand = body.operands[i];
        if (i == 1 && body.weights != nullptr) {
          weights.emplace(&body, step.arguments.size());
          step.arguments.push_back(builder.add_constant(graph.value(operand).name + " as floats", *body.weights, ""));
        } else if (!computed.contains(operand) && numbers.emplace(operand, step.arguments.size()).second) {
          step.arguments.push_back(builder.in_layout(operand, ""));
        }
      }
      computed.insert(body.result);
    }
    std::uint64_t next = step.arguments.size();
    for (const ValueId output : region.outputs) {
      numbers.emplace(output, next++);
      step.results.push_back(builder.result(output, ""));
    }
    bundle::OnednnCode code;
    for (const Match& match : region.matches) {
      const Body& body = std::any_cast<const Body&>(match.body);
      bundle::OnednnOperation operation = body.operation;
      for (std::size_t i = 0; i < body.operands.size(); ++i)
        operation.operands.push_back(i == 1 && body.weights != nullptr ? weights.at(&body)
                                                                       : numbers.at(body.operands[i]));
      if (numbers.emplace(body.result, next).second) {
        code.inner.push_back(graph.value(body.result).type.shape);
        ++next;
      }
      operation.result = numbers.at(body.result);
      code.operations.push_back(std::move(operation));
      code.arithmetic += match.cost.operations;
    }
    bundle::encode(code, step);
    if (dump) dump("stream", std::string(reinterpret_cast<const char*>(step.code.data()), step.code.size()));
    report(region, builder);
    builder.add_step(std::move(step));
    return {};
  }

 private:
  static void report(const GraphRegion& region, BundleBuilder& builder) {
    std::map<std::string, int> rows;
    for (const Match& match : region.matches) ++rows[match.row];
    std::vector<std::string> words;
    for (const auto& [row, count] : rows) words.push_back(fmt::format("{} {}", row, count));
    builder.add_code({region.name,
                      std::string(bundle::kOnednnTarget),
                      fmt::format("{} operations of the library: {}", region.matches.size(), fmt::join(words, ", ")),
                      {{"operations", rows}}});
  }

  std::vector<PatternRow> rows_ = pattern_rows();
};

}  // namespace

TargetPointer make_target() { return std::make_shared<OnednnTarget>(); }

}  // namespace dovetail::onednn
