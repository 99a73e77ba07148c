// A sweep for people, for spreadsheets, for machines, and as a page.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "explore/area/area_model.h"
#include "explore/sweep/points_file.h"
#include "explore/sweep/space.h"
#include "explore/sweep/workload.h"

namespace dovetail::explore {

struct SweepReport {
  std::vector<std::string> models, names;                     // paths, and what they are called
  std::map<std::string, std::vector<std::string>> quantized;  // the models' files by Numerics::text(), where it counts
  std::string accuracy;                                       // what it is measured by; empty: it is not
  std::string space_path, strategy;
  const Space* space = nullptr;
  std::vector<PointRecord> points;                          // by key
  std::vector<std::size_t> front;                           // positions in `points`
  std::vector<std::vector<std::vector<LayerTime>>> layers;  // of each point of the front, of each model
  AreaError area_fitted, area_held_back;
  std::string technology, energy;  // what the numbers are of
  double seconds = 0;              // that this run of the sweep took
  std::uint64_t finished = 0;      // points that this run has finished

  std::vector<std::uint64_t> processes;  // hardware configurations that each compiled for it; empty: it was alone

  // Of a record, whose values are choices of the space.
  Result<isa::Machine> machine_of(const PointRecord& record) const {
    return space->machine(space->genes_of(record.chosen));
  }
  // How to do a point again by hand.
  std::string command(const PointRecord& point) const;

  std::string text() const;
  std::string csv() const;
  Json json() const;         // "kind": "explore"
  std::string page() const;  // HTML that refers to nothing outside of it
};

}  // namespace dovetail::explore
