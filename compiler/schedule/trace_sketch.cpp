#include "compiler/schedule/trace_sketch.h"

#include <utility>

#include "compiler/schedule/context.h"

namespace dovetail::schedule {

Sketch sketch_of(std::vector<Step> trace) {
  return {"trace", 1, [trace = std::move(trace)](Context& c) {
            for (const Step& step : trace) c.replay(step);
            return true;
          }};
}

}  // namespace dovetail::schedule
