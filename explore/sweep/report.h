// The report of a sweep as text, as CSV, as JSON and as a page.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "explore/area/area_model.h"
#include "explore/energy/energy.h"
#include "explore/sweep/points_file.h"
#include "explore/sweep/space.h"
#include "explore/sweep/workload.h"

namespace dovetail::explore {

struct SweepReport {
  std::vector<std::string> models, names;  // titles, and short names
  std::vector<std::string> model_words;    // each model on a command line
  std::map<std::string, std::vector<std::string>>
      quantized;         // the models' files by Numerics::text(), for numeric choices
  std::string accuracy;  // how it is measured; empty: not measured
  std::string space_path, strategy;
  const Space* space = nullptr;
  std::vector<PointRecord> points;                          // by key
  std::vector<std::size_t> front;                           // positions in `points`
  std::vector<std::vector<std::vector<LayerTime>>> layers;  // by point of the front, then by model
  const AreaModel* area = nullptr;                          // of the numbers; outlives the report
  std::string energy;                                       // the table of the numbers
  std::string energy_file;                                  // that replaces rows of the kit\'s table; empty: none
  std::string technology_file;                              // of the areas, another than the kit's; empty: none
  std::string mixed;                                        // mixed_technologies()
  std::string unknown_energies;                             // find_unknown_energies()
  // How many points extrapolate the area model; empty: none.
  std::string extrapolated() const;
  // A text with the number of points whose clock exceeds their design's; empty: none.
  std::string beyond_design() const;
  // How many points have more regions of a model than others, between which the host works; empty: none.
  std::string between_regions() const;
  double seconds = 0;          // duration of this run of the sweep
  std::uint64_t finished = 0;  // points that this run finished

  std::vector<std::uint64_t> processes;  // hardware configurations that each process compiled; empty: one process

  // The machine of a record, whose values are choices of the space.
  Result<isa::Machine> machine_of(const PointRecord& record) const {
    return space->machine(space->genes_of(record.chosen));
  }
  // Gives the points the names of their machines: paths in a name are relative to the working folder, which may have
  // been another one when a point was measured.
  void name_machines();
  // The command that runs a point again, for a shell, with all that its cycles and its energy depend on.
  std::string command(const PointRecord& point) const;

  // The memories of measured points with events whose energy is not known: "bank:hbm3: refresh, standby". Empty: none.
  std::string find_unknown_energies(const EnergyTable& table) const;

  // How the values of measured points compare with the reference: "equal of 12 points; not checked of 3 points".
  std::string checks() const;

  std::string text() const;
  std::string csv() const;
  std::string layers_csv() const;  // of the points that were measured with their layers; empty: none
  Json json() const;               // "kind": "explore"

 private:
  // Metrics that the table of the front has after the objectives: the power, and those with constraints.
  std::vector<std::string> shown_metrics() const;
  bool extrapolates(const PointRecord& point) const;
  // A text with the number of measured points for which `is` is true, described by `what`; empty: none.
  std::string count_of(std::string_view what, const std::function<bool(const PointRecord&)>& is) const;
};

// HTML without references to other files, of that JSON. Error: it has other members than a report of a sweep.
Result<std::string> sweep_page(const Json& report, std::string_view where);

}  // namespace dovetail::explore
