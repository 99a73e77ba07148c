#include "compiler/assemble/assemble.h"

namespace dovetail {

Result<Assembled> assemble(const graph::Graph& graph, const Partition& parts, const LayoutPlan& layouts,
                           const std::optional<cpu::Cpu>& processor, const Dump& dump) {
  BundleBuilder builder(graph, processor, layouts.chosen);
  for (std::size_t i = 0; i < parts.regions.size(); ++i)
    DOVETAIL_TRY(
        parts.regions[i].target->generate(parts.regions[i].region, layouts.offers[i], layouts.chosen, builder, dump));
  return builder.finish();
}

}  // namespace dovetail
