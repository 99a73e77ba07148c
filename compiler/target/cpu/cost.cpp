#include "compiler/target/cpu/cost.h"

#include <algorithm>

#include "compiler/ops/op.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/host/cost.h"

namespace dovetail::cpu {

namespace {

constexpr double kClockHz = 3e9;
constexpr double kShareOfPeak = 0.5;  // approximately what the default schedules reach

// One vector multiply-add per cycle, counted as two operations per lane; with VNNI, kDotBytes byte products per lane.
double operations_per_cycle(const Cpu& processor, bool bytes) {
  return 2.0 * processor.lanes(4) * static_cast<double>(bytes && processor.byte_dots ? kDotBytes : 1);
}

}  // namespace

double estimate_seconds(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes, std::uint64_t operations,
                        std::uint64_t bytes, const Cpu& processor) {
  const auto is_int8 = [&](graph::NodeId id) {
    const auto& inputs = graph.node(id).inputs;
    return !inputs.empty() && inputs[0].valid() && size_bytes(graph.value(inputs[0]).type.dtype) == 1;
  };
  // Elementwise nodes are fused into an existing kernel.
  const auto starts_kernel = [&](graph::NodeId id) {
    const ops::OpDef* op = ops::find(graph.node(id).op);
    return op == nullptr || op->category != ops::Category::injective;
  };
  const double speed = kClockHz * kShareOfPeak * operations_per_cycle(processor, std::ranges::any_of(nodes, is_int8));
  return host::estimate_seconds(static_cast<std::size_t>(std::ranges::count_if(nodes, starts_kernel)), operations,
                                bytes, speed);
}

}  // namespace dovetail::cpu
