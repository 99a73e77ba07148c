#include "explore/sweep/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "explore/measure/count_cycles.h"
#include "simulator/memory/system_memory.h"

namespace dovetail::explore {

namespace {

constexpr double kMilli = 1e3;

std::string text(const Programs::Model::LeftOut& node) { return fmt::format("{}: {}", node.node, node.why); }

// The reason is the nodes that this hardware does not support, but the base machine does.
Diagnostic less_work(const isa::HardwareConfig& hardware, std::string_view name, const Programs::Model& model,
                     std::uint64_t base_macs, const std::set<std::string>& left_on_base) {
  std::string first;
  std::size_t more = 0;
  for (const Programs::Model::LeftOut& node : model.left_out) {
    if (left_on_base.contains(node.node)) continue;
    if (first.empty()) first = text(node);
    else ++more;
  }
  if (more > 0) first += fmt::format("; and {} other nodes", more);
  return {"the accelerator does less work at this point", hardware.name,
          fmt::format("{} of {} multiplications of {} are left to the host ({})", base_macs - model.accel_macs,
                      base_macs, name, first),
          "use larger buffers, or other blocks"};
}

}  // namespace

Result<simulator::MemorySpec> memory_of(const isa::SystemConfig& system) {
  DOVETAIL_ASSIGN(simulator::MemorySpec memory, simulator::system_memory(system));
  if (auto* bank = std::get_if<simulator::BankMemory>(&memory))
    bank->clock_ps = simulator::picoseconds_of(system.clock_mhz);
  return memory;
}

Costs costs(const Metrics& metrics, std::span<const Objective> objectives) {
  Costs all;
  for (const Objective& objective : objectives) {
    const double value = objective.formula.value(metrics);
    all.push_back(objective.larger ? -value : value);
  }
  return all;
}

Costs least_costs(const Metrics& bounds, std::span<const Objective> objectives) {
  Costs all;
  for (const Objective& objective : objectives) {
    const Interval range = objective.formula.range(bounds);
    all.push_back(objective.larger ? -range.most : range.least);
  }
  return all;
}

namespace {

// `range`: the values that a point may have.
std::string broken(const Constraint& constraint, const Interval& range) {
  if (std::isnan(range.least)) return fmt::format("{} is not a number", constraint.key());
  if (constraint.least && range.most < *constraint.least)
    return fmt::format("{} {:.6g} < {:.6g}, the constraint's minimum", constraint.key(), range.most, *constraint.least);
  if (constraint.most && range.least > *constraint.most)
    return fmt::format("{} {:.6g} > {:.6g}, the constraint's maximum", constraint.key(), range.least, *constraint.most);
  return {};
}

template <typename Range>
std::string first_broken(std::span<const Constraint> constraints, const Range& range) {
  for (const Constraint& constraint : constraints)
    if (std::string text = broken(constraint, range(constraint.formula)); !text.empty()) return text;
  return {};
}

}  // namespace

std::string broken_constraint(const Metrics& metrics, std::span<const Constraint> constraints) {
  return first_broken(constraints, [&](const Formula& formula) {
    const double value = formula.value(metrics);
    return Interval{value, value};
  });
}

std::string surely_broken_constraint(const Metrics& bounds, std::span<const Constraint> constraints) {
  return first_broken(constraints, [&](const Formula& formula) { return formula.range(bounds); });
}

Result<Evaluator> Evaluator::make(const Workload& workload, const AreaModel& area, const EnergyTable& energy,
                                  const isa::Machine& base) {
  Evaluator evaluator;
  evaluator.workload_ = &workload;
  evaluator.area_ = &area;
  evaluator.energy_ = &energy;
  DOVETAIL_ASSIGN(const Programs programs, workload.compile(base.hardware));
  for (std::size_t i = 0; i < programs.models.size(); ++i) {
    const Programs::Model& model = programs.models[i];
    if (model.accel_macs == 0)
      return Diagnostic{
          "nothing to explore", workload.models()[i].path,
          fmt::format("none of the model's multiplications runs on the accelerator {}{}", base.hardware.name,
                      model.left_out.empty() ? "" : ": " + text(model.left_out.front())),
          "quantize the model first; `dovetail compile` reports the reason for every node"};
    evaluator.accel_macs_.push_back(model.accel_macs);
    std::set<std::string>& left_out = evaluator.left_out_.emplace_back();
    for (const Programs::Model::LeftOut& node : model.left_out) left_out.insert(node.node);
  }
  return evaluator;
}

std::string mixed_technologies(const Technology& area, const EnergyTable& energy) {
  if (area.node_nm == energy.node_nm) return {};
  const std::string node = energy.node_nm == 0 ? "a node that is not stated" : fmt::format("{:g} nm", energy.node_nm);
  return fmt::format("the area is for {}, but the energy for {}: they are not of the same chip", area.name, node);
}

void Evaluator::require_work_of(const Evaluator& other) {
  DOVETAIL_CHECK(accel_macs_.size() == other.accel_macs_.size(), "workloads of other models");
  for (std::size_t i = 0; i < accel_macs_.size(); ++i) {
    accel_macs_[i] = std::max(accel_macs_[i], other.accel_macs_[i]);
    std::erase_if(left_out_[i], [&](const std::string& node) { return !other.left_out_[i].contains(node); });
  }
}

bool divides_samples(const isa::SystemConfig& system) {
  return system.accelerators > 1 && system.split != isa::Split::samples;
}

Result<Programs> Evaluator::compile(const isa::Machine& machine) const {
  const isa::HardwareConfig& hardware = machine.hardware;
  accel::Division division{machine.system.accelerators, machine.system.split};
  if (division.divides()) {
    DOVETAIL_ASSIGN(const simulator::MemorySpec memory, memory_of(machine.system));
    division.count = cycle_counter(memory, division.accelerators);
  }
  DOVETAIL_ASSIGN(Programs programs, workload_->compile(hardware, division));
  for (std::size_t i = 0; i < programs.models.size(); ++i)
    if (const Programs::Model& model = programs.models[i]; model.accel_macs < accel_macs_[i])
      return less_work(hardware, workload_->models()[i].name, model, accel_macs_[i], left_out_[i]);
  return programs;
}

Metrics Evaluator::without_time(const isa::HardwareConfig& hardware, std::int64_t accelerators) const {
  const AreaEstimate area = area_->estimate(hardware).times(accelerators);
  Metrics metrics;
  metrics.accuracy = accuracy_;
  metrics.area_mm2 = area.mm2();
  metrics.gates = area.gates;
  metrics.levels = area.logic_levels;
  metrics.design_clock_mhz = area.clock_mhz;
  metrics.sram_bytes = area.memory_bits / 8;
  std::ranges::transform(area_->fpgas(), metrics.fpga.begin(),
                         [&](const FpgaModel& model) { return model.estimate(hardware).times(accelerators); });
  return metrics;
}

namespace {

// Weighted sums over the models of one accelerator's multiplications, and of those that its cycles have room for.
struct Products {
  double macs = 0, peak_macs = 0;
};

// Computes the metrics that follow from the sums over all models.
void complete(Metrics& metrics, std::int64_t accelerators, const Products& products) {
  if (!(metrics.latency_ms > 0)) return;
  const auto samples = static_cast<double>(accelerators);
  metrics.power_w = samples * metrics.energy_mj / metrics.latency_ms;
  metrics.inferences_per_second = samples / metrics.latency_ms * kMilli;
  const double operations = 2 * samples * products.macs;
  metrics.tops = operations / (metrics.latency_ms / kMilli) * 1e-12;
  metrics.tops_per_w = metrics.power_w > 0 ? metrics.tops / metrics.power_w : 0;
  metrics.utilization = products.macs / products.peak_macs;
}

}  // namespace

Result<Evaluator::Point> Evaluator::measure(const Programs& programs, const isa::SystemConfig& system,
                                            Work* work) const {
  DOVETAIL_ASSIGN(const simulator::MemorySpec memory, memory_of(system));
  DOVETAIL_ASSIGN(const std::vector<ModelTime> times, workload_->time(programs, memory, system.accelerators, work));
  const AreaEstimate area = area_->estimate(programs.hardware);
  const auto samples = static_cast<double>(divides_samples(system) ? 1 : system.accelerators);
  Point point{without_time(programs.hardware, system.accelerators), Json::array()};
  Products products;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Workload::Model& model = workload_->models()[i];
    const RunTime time{times[i].cycles, system.clock_mhz * 1e6, system.accelerators, !divides_samples(system)};
    const Energy energy =
        energy_of(times[i].counters, programs.hardware, memory, time, *energy_, LogicSize{area.gates, area.flip_flops});
    const double milliseconds = time.seconds() * kMilli, millijoules = energy.joules / samples * kMilli;
    point.metrics.latency_ms += model.weight * milliseconds;
    point.metrics.energy_mj += model.weight * millijoules;
    products.macs += model.weight * static_cast<double>(programs.models[i].accel_macs);
    products.peak_macs += model.weight * static_cast<double>(times[i].cycles) *
                          static_cast<double>(programs.hardware.macs_per_uop() * programs.divided);
    const simulator::Counters& counters = times[i].counters;
    point.models.push_back({{"model", model.name},
                            {"cycles", times[i].cycles},
                            {"milliseconds", milliseconds},
                            {"energy_mj", millijoules},
                            {"chip_mj", energy.chip_joules() / samples * kMilli},
                            {"macs", programs.models[i].accel_macs},
                            {"executed_macs", counters.macs},
                            {"regions", programs.models[i].steps.size()},
                            {"bytes_loaded", std::accumulate(counters.bytes_loaded.begin(), counters.bytes_loaded.end(),
                                                             std::uint64_t{0})},
                            {"bytes_stored", counters.bytes_stored}});
  }
  complete(point.metrics, divides_samples(system) ? 1 : system.accelerators, products);
  return point;
}

Result<std::vector<LayerTime>> Evaluator::layers(const Programs& programs, std::size_t model,
                                                 const isa::SystemConfig& system) const {
  DOVETAIL_ASSIGN(const simulator::MemorySpec memory, memory_of(system));
  DOVETAIL_ASSIGN(auto layers, workload_->layers(programs, model, memory, system.accelerators));
  DOVETAIL_ASSIGN(const std::vector<ModelTime> times, workload_->time(programs, memory, system.accelerators));
  const AreaEstimate area = area_->estimate(programs.hardware);
  const LogicSize logic{area.gates, area.flip_flops};
  const RunTime time{times[model].cycles, system.clock_mhz * 1e6, system.accelerators, !divides_samples(system)};
  const Energy whole = energy_of(times[model].counters, programs.hardware, memory, time, *energy_, logic);
  std::vector<RunPart> parts;
  for (const LayerTime& layer : std::span(layers).first(layers.size() - 1))
    parts.push_back({layer.cycles, layer.counters});
  const std::vector<double> joules = split_energy(whole, parts, programs.hardware, memory, time, *energy_, logic);
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i].energy_mj = joules[i] * kMilli;
  return layers;
}

Metrics Evaluator::lower_bound(const isa::Machine& machine) const {
  const bool divides = divides_samples(machine.system);
  const std::int64_t accelerators = machine.system.accelerators, samples = divides ? 1 : accelerators;
  Metrics metrics = without_time(machine.hardware, accelerators);
  const AreaEstimate area = area_->estimate(machine.hardware);
  double all_macs = 0;
  for (std::size_t i = 0; i < accel_macs_.size(); ++i) {
    const double weight = workload_->models()[i].weight;
    const std::uint64_t macs = accel_macs_[i];
    const auto peak = static_cast<std::uint64_t>(machine.hardware.macs_per_uop() * accelerators / samples);
    const RunTime time{(macs + peak - 1) / peak, machine.system.clock_mhz * 1e6, accelerators, !divides};
    metrics.latency_ms += weight * time.seconds() * kMilli;
    all_macs += weight * static_cast<double>(macs);
    // The lower bound of the energy: multiplications and time-dependent energy, without memory accesses.
    simulator::Counters counters;
    counters.macs = macs;
    const Energy energy = energy_of(counters, machine.hardware, simulator::IdealMemory{}, time, *energy_,
                                    LogicSize{area.gates, area.flip_flops});
    metrics.energy_mj += weight * energy.joules / static_cast<double>(samples) * kMilli;
  }
  // Throughput and efficiency have upper bounds, from the lower bounds of latency and energy. The power, a quotient of
  // two lower bounds, has none.
  const double operations = 2 * all_macs;
  if (metrics.latency_ms > 0) {
    metrics.inferences_per_second = static_cast<double>(samples) / metrics.latency_ms * kMilli;
    metrics.tops = operations * static_cast<double>(samples) / metrics.latency_ms * kMilli * 1e-12;
  }
  if (metrics.energy_mj > 0) metrics.tops_per_w = operations / metrics.energy_mj * kMilli * 1e-12;
  metrics.utilization = 1;
  return metrics;
}

}  // namespace dovetail::explore
