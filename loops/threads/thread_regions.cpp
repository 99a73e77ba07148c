#include "loops/threads/thread_regions.h"

namespace dovetail::loops {

namespace {

void collect(const Core& core, std::vector<AroundThread> around, bool repeated, std::vector<ThreadRegion>& regions) {
  if (!core) return;
  if (!has_thread_loops(core)) {
    regions.push_back({core, std::move(around), repeated});
  } else if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
    const bool bound = loop->kind == ForKind::thread;
    if (bound) around.push_back({loop->thread_axis, loop->var.get(), loop->extent});
    collect(loop->body, std::move(around), repeated || !bound, regions);
  } else if (const auto* condition = std::get_if<CoreIf>(&core->node)) {
    collect(condition->then_body, around, repeated, regions);
    collect(condition->else_body, around, repeated, regions);
  } else if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& part : sequence->body) collect(part, around, repeated, regions);
  }
}

}  // namespace

std::vector<ThreadRegion> thread_regions_of(const Core& kernel) {
  std::vector<ThreadRegion> regions;
  collect(kernel, {}, false, regions);
  return regions;
}

}  // namespace dovetail::loops
