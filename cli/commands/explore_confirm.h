// `dovetail explore --confirm`: measures points of the front again, on engines and tools that are too slow for a sweep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/shell/command.h"
#include "driver/explore_models.h"
#include "explore/area/area_model.h"
#include "explore/sweep/report.h"

namespace dovetail::cli {

struct Confirmation {
  std::vector<std::string> how;  // rtl, systemc, area
  std::int64_t most = 4;         // points, evenly along the front
  std::string folder;            // the sweep's folder, for messages
};

// Prints a table of the points. Exit::failed: the cycles of a point differ. Errors: those of engines and tools.
Result<Exit> confirm_points(const explore::SweepReport& report, const driver::ExploreModels& models,
                            const explore::AreaModel& area, const Confirmation& confirmation);

}  // namespace dovetail::cli
