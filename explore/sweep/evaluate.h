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
#include "explore/sweep/space.h"
#include "explore/sweep/workload.h"
#include "isa/system.h"

namespace dovetail::explore {

// The memory at the port of a machine, with its clock. Errors: those of parse_memory().
Result<simulator::MemorySpec> memory_of(const isa::SystemConfig& system);

struct Metrics {
  // Weighted means over the models. With several accelerators, the latency is for a batch with one sample each, the
  // energy for one inference; area, power, SRAM and gates are for all accelerators.
  double latency_ms = 0, energy_mj = 0, area_mm2 = 0;
  double power_w = 0;     // while the models run
  double sram_bytes = 0;  // of all memories of the area model: OUT, a table's copies, queues and beat buffers too
  double gates = 0;
  double design_clock_mhz = 0;  // that the levels of logic of the area model allow; the point's clock may be beyond it
  double inferences_per_second = 0;
  std::optional<double> accuracy = {};  // 0 to 1; empty: the space has no numeric choices

  // The value of a constraint's or objective's key. Precondition: the key exists.
  double of(std::string_view key) const;
};
Json to_json(const Metrics& metrics);
Metrics metrics_from_json(const Json& json);
// Costs are minimized: a metric to be maximized counts as its negative.
Costs costs(const Metrics& metrics, std::span<const Objective> objectives);
// The first constraint that the metrics violate, as text; empty: all are satisfied.
std::string broken_constraint(const Metrics& metrics, std::span<const Constraint> constraints);

// Why area and energy are not those of the same chip: "the area is of 45 nm (...), the energy of 7 nm: ...". Empty:
// both are for the same technology node.
std::string mixed_technologies(const Technology& area, const EnergyTable& energy);

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
  Result<Programs> compile(const isa::HardwareConfig& hardware) const;
  Result<Point> measure(const Programs& programs, const isa::SystemConfig& system, Work* work = nullptr) const;

  // The layers of a model with their part of `energy_mj`: on the chip the energy of the layer's events and cycles, in
  // the DRAM a share by bytes. The last one, without a name, is the rest, which belongs to no layer.
  Result<std::vector<LayerTime>> layers(const Programs& programs, std::size_t model,
                                        const isa::SystemConfig& system) const;

  // Lower bounds for any program on that machine: only the multiplications, at the peak.
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
