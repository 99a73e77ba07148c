#include "compiler/quantize/memory.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/dtype.h"
#include "base/saturating.h"

namespace dovetail::quantize {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

std::uint64_t bytes_of(const Graph& graph, ValueId value) {
  const graph::Value& known = graph.value(value);
  if (known.constant) return 0;
  return static_cast<std::uint64_t>(element_count(known.type.shape)) *
         static_cast<std::uint64_t>(size_bytes(known.type.dtype));
}

std::uint64_t mebibytes(std::uint64_t bytes) { return (bytes >> 20) + ((bytes & ((1U << 20) - 1)) != 0 ? 1 : 0); }

}  // namespace

std::uint64_t peak_bytes(const Graph& graph, std::span<const ValueId> kept) {
  const std::vector<NodeId> order = graph.topological_order();
  constexpr std::size_t kEnd = std::numeric_limits<std::size_t>::max();
  std::map<ValueId, std::size_t> last;
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (const ValueId input : graph.node(order[at]).inputs)
      if (input.valid()) last[input] = at;
    for (const ValueId output : graph.node(order[at]).outputs)
      if (output.valid()) last[output] = at;
  }
  for (const ValueId value : graph.inputs) last[value] = kEnd;
  for (const ValueId value : graph.outputs) last[value] = kEnd;
  for (const ValueId value : kept) last[value] = kEnd;
  std::uint64_t now = 0, peak = 0;
  for (const ValueId value : graph.inputs) now += bytes_of(graph, value);
  std::map<std::size_t, std::uint64_t> freed;
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (const ValueId output : graph.node(order[at]).outputs) {
      if (!output.valid()) continue;
      const std::uint64_t bytes = bytes_of(graph, output);
      now = saturating_sum(now, bytes);
      if (last.at(output) != kEnd) freed[last.at(output)] += bytes;
    }
    peak = std::max(peak, now);
    if (const auto here = freed.find(at); here != freed.end()) now -= here->second;
  }
  return std::max(peak, now);
}

Result<std::vector<Range>> ranges_within(const MemoryBudget& budget, std::size_t count,
                                         const std::function<std::uint64_t(Range)>& bytes_of, const std::string& model,
                                         const std::string& what) {
  const std::uint64_t left = budget.limit > budget.used ? budget.limit - budget.used : 0;
  std::vector<Range> ranges;
  for (std::size_t begin = 0; begin < count;) {
    // The end is between `fits` and `exceeds`.
    std::size_t fits = begin, exceeds = count + 1;
    while (exceeds - fits > 1) {
      const std::size_t end = exceeds == count + 1 && fits == begin ? count : fits + (exceeds - fits) / 2;
      (bytes_of({begin, end}) <= left ? fits : exceeds) = end;
    }
    if (fits == begin) {
      const std::uint64_t needed = saturating_sum(budget.used, bytes_of({begin, begin + 1}));
      return Diagnostic{
          fmt::format("cannot quantize {}", model), what,
          fmt::format("{} MiB of memory are needed, {} of them for the kit, the model and the samples > limit {}",
                      mebibytes(needed), mebibytes(budget.used), mebibytes(budget.limit)),
          fmt::format("set the limit to at least {}MiB (--memory-limit), use fewer samples, or give "
                      "the inputs a smaller shape",
                      mebibytes(needed))};
    }
    ranges.push_back({begin, fits});
    begin = fits;
  }
  return ranges;
}

}  // namespace dovetail::quantize
