#include "compiler/assemble.h"

namespace dovetail {

Result<Assembled> assemble(const graph::Graph& graph, const Partition& parts, const AssembleOptions& options, const Dump& dump) {
  BundleBuilder builder(graph, options.processor, options.free_borders);
  for (const PartitionRegion& part : parts.regions) {
    Region region = part.region;
    if (options.expose == Expose::all) {
      region.outputs.clear();
      for (const Match& match : region.matches) region.outputs.insert(region.outputs.end(), match.outputs.begin(), match.outputs.end());
    }
    DOVETAIL_ASSIGN(const RegionPlan plan, part.target->plan(graph, region, {builder.layouts(), builder.free()}, dump));
    DOVETAIL_TRY(plan.emit(builder));
  }
  return builder.finish();
}

}  // namespace dovetail
