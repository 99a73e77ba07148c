// What a design point costs: exact time of every model, area, energy.
#pragma once

#include <optional>
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

// The memory after the port of a machine, at its clock. Errors: as parse_memory().
Result<simulator::MemorySpec> memory_of(const isa::SystemConfig& system);

struct Metrics {
  // The models', by weight. Of several accelerators the latency is that of a batch with a sample for each, energy that
  // of one inference; area, power, SRAM and gates are those of all.
  double latency_ms = 0, energy_mj = 0, area_mm2 = 0;
  double power_w = 0;  // while they run
  double sram_bytes = 0, gates = 0;
  double inferences_per_second = 0;
  std::optional<double> accuracy = {};  // 0 to 1; empty: the space has no numeric choices

  // The value of a constraint's or objective's key. Precondition: the key exists.
  double of(std::string_view key) const;
};
Json to_json(const Metrics& metrics);
Metrics metrics_from_json(const Json& json);
// Costs are minimized: a metric to be maximized counts as its negative.
Costs costs(const Metrics& metrics, std::span<const Objective> objectives);
// The first constraint that the metrics break, as text; empty: they keep all constraints.
std::string broken_constraint(const Metrics& metrics, std::span<const Constraint> constraints);

// What is the same for all points of a sweep. Everything it refers to outlives it. May be used by several threads at
// once.
class Evaluator {
 public:
  // Compiles for the space's own machine: what the accelerator does there it has to do at every point, as latencies of
  // different work cannot be compared. Error: that does not compile, or nothing of a model runs on the accelerator.
  static Result<Evaluator> make(const Workload& workload, const AreaModel& area, const EnergyTable& energy,
                                const isa::Machine& base);

  struct Point {
    Metrics metrics;
    Json models;  // [{"model", "cycles", "milliseconds", "energy_mj", "macs", "bytes_loaded", "bytes_stored"}]
  };
  // Errors: what does not compile, or leaves work to the host that the space's own machine does.
  Result<Programs> compile(const isa::HardwareConfig& hardware) const;
  Result<Point> measure(const Programs& programs, const isa::SystemConfig& system, Work* work = nullptr) const;

  // The layers of a model with their energy, in the sense of `energy_mj`: of the chip what their own events and cycles
  // cost, of the DRAM a share by bytes. The last one, without a name, is what no layer has for itself.
  Result<std::vector<LayerTime>> layers(const Programs& programs, std::size_t model,
                                        const isa::SystemConfig& system) const;

  // What no program can beat on that machine: all multiplications at the peak, and nothing else.
  Metrics lower_bound(const isa::Machine& machine) const;

  const Workload& workload() const { return *workload_; }

  // Of the workload's models, which no hardware changes.
  void set_accuracy(double accuracy) { accuracy_ = accuracy; }
  // What the accelerator does of another workload's models it has to do of these. Precondition: as many models.
  void require_work_of(const Evaluator& other);

 private:
  Metrics without_time(const isa::HardwareConfig& hardware, std::int64_t accelerators) const;

  const Workload* workload_ = nullptr;
  const AreaModel* area_ = nullptr;
  const EnergyTable* energy_ = nullptr;
  std::optional<double> accuracy_;
  std::vector<std::uint64_t> accel_macs_;  // of each model, on the space's own machine
};

}  // namespace dovetail::explore
