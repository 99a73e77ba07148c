#include "compiler/quantize/sum_scales.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/quantize/compare.h"

namespace dovetail::quantize {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using passes::qdq::kMostFactor;
using passes::qdq::Quantization;

namespace {

// The least number >= 1 that makes `ratio` one of integers when it is multiplied by it; nullopt if it is above 65/64.
std::optional<double> growth_to_integers(double ratio) {
  constexpr double kMostGrowth = 65.0 / 64, kRounding = 1 - 0x1p-22;  // of scales that are binary32
  std::optional<double> least;
  for (int below = 1; below <= kMostFactor; ++below) {
    const double above = std::ceil(ratio * below * kRounding);
    if (above < 1 || above > kMostFactor) continue;
    const double growth = std::max(above / below / ratio, 1.0);
    if (growth <= kMostGrowth && (!least || growth < *least)) least = growth;
  }
  return least;
}

// The same range, or up to a step more, with a scale `growth` times as large.
Quantization grown(const Quantization& q, double growth) {
  const double least = (-128.0 - q.zero_point) * static_cast<double>(q.scale);
  Quantization result{static_cast<float>(static_cast<double>(q.scale) * growth), q.zero_point};
  if (q.zero_point != 0)
    result.zero_point =
        static_cast<int>(std::clamp(std::nearbyint(-128 - least / static_cast<double>(result.scale)), -128.0, 127.0));
  return result;
}

// Values that sums relate to each other keep their ratios: they grow together.
class Relations {
 public:
  explicit Relations(std::map<ValueId, Quantization>& ranges) : ranges_(ranges) {
    for (const auto& [value, q] : ranges) members_[value] = {value}, representative_[value] = value;
  }

  // Prefers to let `second` grow.
  void relate(ValueId first, ValueId second) {
    const ValueId a = representative_.at(first), b = representative_.at(second);
    if (a == b) return;
    const bool second_grows = members_.at(b).size() <= members_.at(a).size();
    const auto [fixed, growing] = second_grows ? std::pair(first, second) : std::pair(second, first);
    const double ratio = static_cast<double>(ranges_.at(growing).scale) / static_cast<double>(ranges_.at(fixed).scale);
    const auto growth = growth_to_integers(ratio);
    if (!growth) return;
    const ValueId from = representative_.at(growing), to = representative_.at(fixed);
    for (const ValueId member : members_.at(from)) {
      if (*growth > 1) ranges_.at(member) = grown(ranges_.at(member), *growth);
      representative_.at(member) = to;
    }
    auto& joined = members_.at(to);
    joined.insert(joined.end(), members_.at(from).begin(), members_.at(from).end());
    members_.erase(from);
  }

 private:
  std::map<ValueId, Quantization>& ranges_;
  std::map<ValueId, std::vector<ValueId>> members_;  // of each group, by its representative
  std::map<ValueId, ValueId> representative_;
};

}  // namespace

void relate_sums(const Graph& graph, const Places& places, std::map<ValueId, Quantization>& ranges) {
  Relations relations(ranges);
  for (const NodeId id : graph.topological_order()) {
    const graph::Node& node = graph.node(id);
    if ((node.op != "Add" && node.op != "Sub") || node.inputs.size() != 2) continue;
    ValueId a = source_of(places, node.inputs[0]), b = source_of(places, node.inputs[1]);
    if (!ranges.contains(a) || !ranges.contains(b)) continue;
    // A value that only this sum reads grows rather than one with other readers.
    if (graph.users(a).size() < graph.users(b).size()) std::swap(a, b);
    relations.relate(a, b);
  }
}

}  // namespace dovetail::quantize
