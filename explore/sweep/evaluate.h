// Evaluates a design point: exact time of every model, area, energy.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/work.h"
#include "explore/area/area_model.h"
#include "explore/energy/energy.h"
#include "explore/sweep/front.h"
#include "explore/sweep/metrics.h"
#include "explore/sweep/space.h"
#include "explore/sweep/workload.h"
#include "isa/system.h"

namespace dovetail::explore {

// The memory at the port of a machine, with its clock. Errors: those of parse_memory().
Result<simulator::MemorySpec> memory_of(const isa::SystemConfig& system);

// Costs are minimized: an objective to be maximized counts as its negative.
Costs costs(const Metrics& metrics, std::span<const Objective> objectives);
// The least costs of points with these bounds (Evaluator::lower_bound).
Costs least_costs(const Metrics& bounds, std::span<const Objective> objectives);
// The first constraint that the metrics violate, as text; empty: all are satisfied.
std::string broken_constraint(const Metrics& metrics, std::span<const Constraint> constraints);
// The first constraint that all points with these bounds violate.
std::string surely_broken_constraint(const Metrics& bounds, std::span<const Constraint> constraints);

// Why area and energy are not those of the same chip: "the area is of 45 nm (...), the energy of 7 nm: ...". Empty:
// both are for the same technology node.
std::string mixed_technologies(const Technology& area, const EnergyTable& energy);

// Whether the system's accelerators work on one sample.
bool divides_samples(const isa::SystemConfig& system);

// The part of evaluation that is the same for all points of a sweep. Everything it refers to outlives it. Several
// threads may use it at once.
class Evaluator {
 public:
  // Compiles for the space's base machine. The accelerator must do the same work at every point, since latencies of
  // different work cannot be compared. Error: a model does not compile, or no part of it runs on the accelerator.
  static Result<Evaluator> make(const Workload& workload, const AreaModel& area, const EnergyTable& energy,
                                const isa::Machine& base);

  struct Point {
    Metrics metrics;
    Json models;  // [{"model", "cycles", "milliseconds", "energy_mj", "macs", "bytes_loaded", "bytes_stored"}]
  };
  // Error: a model does not compile, or the host gets work that the accelerator does on the space's base machine.
  Result<Programs> compile(const isa::Machine& machine) const;
  Result<Point> measure(const Programs& programs, const isa::SystemConfig& system, Work* work = nullptr) const;

  // The layers of a model with their part of `energy_mj`: on the chip the energy of the layer's events and cycles, in
  // the DRAM a share by bytes. The last one, without a name, is the rest, which belongs to no layer.
  Result<std::vector<LayerTime>> layers(const Programs& programs, std::size_t model,
                                        const isa::SystemConfig& system) const;

  // Bounds of any program on that machine (MetricRow::bound): only the multiplications, at the peak.
  Metrics lower_bound(const isa::Machine& machine) const;

  const Workload& workload() const { return *workload_; }

  // The accuracy of the workload's models, which does not depend on the hardware.
  void set_accuracy(double accuracy) { accuracy_ = accuracy; }
  // Requires the accelerator to do the same work as for another workload's models. Precondition: the same number of
  // models.
  void require_work_of(const Evaluator& other);

 private:
  Metrics without_time(const isa::HardwareConfig& hardware, std::int64_t accelerators) const;

  const Workload* workload_ = nullptr;
  const AreaModel* area_ = nullptr;
  const EnergyTable* energy_ = nullptr;
  std::optional<double> accuracy_;
  // For each model, on the space's base machine: the accelerator's multiplications, and the nodes that it does not run.
  std::vector<std::uint64_t> accel_macs_;
  std::vector<std::set<std::string>> left_out_;
};

}  // namespace dovetail::explore
