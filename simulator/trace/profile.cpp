#include "simulator/trace/profile.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "isa/semantics/load.h"
#include "isa/spec/memories.h"
#include "isa/verify/token_machine.h"
#include "simulator/cycle/bursts.h"
#include "simulator/cycle/count.h"
#include "simulator/functional/routes.h"

namespace dovetail::simulator {

namespace {

void finish(ProfilePart& part, const TracedProgram& program, const MemorySpec& memory, std::int64_t accelerators) {
  const isa::HardwareConfig& config = program.config;
  const auto sum = [](const auto& values) { return std::accumulate(values.begin(), values.end(), std::uint64_t{0}); };
  part.bounds = bounds_of(config, memory, part.counters, accelerators);
  part.bytes_read = sum(part.counters.bytes_loaded) +
                    sum(part.counters.instructions) * static_cast<std::uint64_t>(config.instruction_bytes());
  part.bytes_written = part.counters.bytes_stored;
  part.charged_bytes = peak_rate(memory, config.bus_bytes, accelerators).charged(part.bytes_read, part.bytes_written);
}

// Index into kComputeKindNames.
std::size_t kind_of(const isa::Instruction& instruction) {
  if (isa::product_loop(instruction) != nullptr) return 0;
  if (std::holds_alternative<isa::Alu>(instruction.body)) return 1;
  const auto* load = std::get_if<isa::Load>(&instruction.body);
  if (load == nullptr || load->x_size == 0) return 4;
  return load->memory == isa::Memory::uop ? 3 : 2;
}

// Adds the events of the instruction in its units, memories and at the port.
void count_all(const isa::HardwareConfig& config, const BusGeometry& bus, const Route& route,
               const isa::Instruction& instruction, Counters& counters) {
  count(config, instruction, route, {}, counters);
  if (!counters.fetch) counters.fetch.emplace();
  counters.fetch->beats +=
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, config.instruction_bytes() / config.bus_bytes));
  const auto* load = std::get_if<isa::Load>(&instruction.body);
  if (load != nullptr && load->x_size != 0)
    counters.sram_of(isa::spec::info(load->memory).buffer).writes += isa::semantics::loaded_elements(*load);
  const auto* store = std::get_if<isa::Store>(&instruction.body);
  const isa::Transfer* transfer = load != nullptr ? static_cast<const isa::Transfer*>(load) : store;
  if (transfer == nullptr) return;
  const BurstTotals totals =
      burst_totals(bus, *transfer, static_cast<std::uint64_t>(config.element_bytes(transfer->memory)));
  counters.port[isa::index(route.use.queue)] += {.bursts = totals.bursts, .beats = totals.beats};
}

// `time`: of the compute unit.
CyclesByCause by_cause(std::span<const KindTime> kinds, const UnitTime& time) {
  CyclesByCause cycles{};
  for (std::size_t k = 0; k < kinds.size(); ++k) cycles[k] = kinds[k].time.busy;
  std::size_t next = kinds.size();
  using enum StallCause;
  for (const StallCause cause : {token_prev, token_next, drain, unit, fetch})
    cycles[next++] = time.waiting[static_cast<std::size_t>(cause)];
  return cycles;
}

Json to_json(const UnitTime& time) {
  Json waiting;
  for (std::size_t c = 0; c < time.waiting.size(); ++c) waiting[std::string(kStallCauseNames[c])] = time.waiting[c];
  return {{"cycles", time.total()}, {"busy", time.busy}, {"waiting", waiting}};
}

// Counts instructions by source and configuration: what follows from a number of micro-ops differs by configuration.
class SourceCounters {
 public:
  SourceCounters(const TracedProgram& program, std::size_t sources) : program_(program), configs_(program.configs()) {
    for (std::size_t i = 0; i < configs_.size(); ++i) {
      buses_.emplace_back(configs_[i]);
      counters_.emplace_back(sources);
    }
  }

  void add(std::size_t source, std::size_t instruction) {
    const std::size_t accelerator = configs_.same() ? 0 : program_.accelerators[instruction];
    const isa::Instruction& what = program_.program[instruction];
    count_all(configs_[accelerator], buses_[accelerator], routes_.of(what), what, counters_[accelerator][source]);
  }
  Counters of(std::size_t source) const {
    Counters sum;
    for (std::size_t i = 0; i < configs_.size(); ++i) {
      Counters own = counters_[i][source];
      complete(own, configs_[i]);
      sum += own;
    }
    return sum;
  }

 private:
  const TracedProgram& program_;
  const isa::AcceleratorConfigs configs_;
  const Routes routes_;
  std::vector<BusGeometry> buses_;
  std::vector<std::vector<Counters>> counters_;  // by configuration, then by source
};

// Adds the instructions of launches that are not in the trace.
void count_others(const TracedProgram& program, const std::vector<std::string>& sources, SourceCounters& counters) {
  std::vector<bool> traced(program.program.size());
  for (const isa::Launch& launch : program.launches)
    std::fill_n(traced.begin() + static_cast<std::ptrdiff_t>(launch.begin), launch.count, true);
  for (const SourceRange& range : program.ranges) {
    const auto source = std::ranges::find(sources, range.source);
    if (source == sources.end()) continue;
    for (std::size_t i = range.begin; i < range.end; ++i)
      if (!traced[i]) counters.add(static_cast<std::size_t>(source - sources.begin()), i);
  }
}

}  // namespace

Profile profile(const Trace& trace, std::size_t first_launch, const TracedProgram& program, const MemorySpec& memory) {
  DOVETAIL_CHECK(first_launch + program.launches.size() <= trace.launches.size(),
                 "a program's launches must be those of its trace");
  Trace own{.launches = {trace.launches.begin() + static_cast<std::ptrdiff_t>(first_launch),
                         trace.launches.begin() + static_cast<std::ptrdiff_t>(first_launch + program.launches.size())},
            .sources = trace.sources};
  Profile profile;
  const isa::AcceleratorConfigs configs = program.configs();
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const auto macs = static_cast<double>(configs[i].macs_per_uop());
    profile.peak_macs_per_cycle += macs * static_cast<double>(configs.same() ? program.divided : 1);
    profile.layer_peak_macs_per_cycle = std::max(profile.layer_peak_macs_per_cycle, macs);
  }
  profile.peak_rate = peak_rate(memory, program.config.bus_bytes, program.divided);
  profile.knows_waits = std::all_of(own.launches.begin(), own.launches.end(),
                                    [](const LaunchTrace& launch) { return launch.waits.has_value(); });

  constexpr std::size_t kKinds = kComputeKindNames.size();
  const auto kinds = attribute(own, trace.sources.size() * kKinds, [&](const TraceEvent& event) {
    return event.source * kKinds + kind_of(program.program[event.instruction]);
  });
  const auto times = attribute(own);
  std::vector<ProfilePart> parts(trace.sources.size());
  profile.whole.name = program.name;
  SourceCounters counters(program, parts.size()), others(program, parts.size());
  for (std::size_t l = 0; l < own.launches.size(); ++l) {
    const LaunchTrace& launch = own.launches[l];
    profile.whole.cycles += launch.cycles;
    for (std::size_t u = 0; u < 3; ++u)
      for (std::size_t c = 0; c < launch.classes[u].size(); ++c) profile.classes[u][c] += launch.classes[u][c];
    for (std::size_t i = 0; i < launch.events.size(); ++i) {
      const TraceEvent& event = launch.events[i];
      const isa::Instruction& instruction = program.program[event.instruction];
      ProfilePart& part = parts[event.source];
      if (event.unit == isa::Queue::compute) ++profile.compute_kinds[kind_of(instruction)].instructions;
      counters.add(event.source, event.instruction);
      if (profile.knows_waits) part.waits[isa::index(event.unit)] += launch.waits->instructions[i];
    }
    if (!profile.knows_waits) continue;
    for (std::size_t u = 0; u < 3; ++u) profile.waits[u] += launch.waits->units[u];
    profile.fetch += launch.waits->fetch;
  }
  if (program.divided > 1) count_others(program, trace.sources, others);
  for (std::size_t s = 0; s < parts.size(); ++s) {
    ProfilePart& part = parts[s];
    part.name = trace.sources[s];
    part.units = times[s];
    part.cycles = part.units[isa::index(isa::Queue::compute)].total();
    std::array<KindTime, kKinds> of_kinds;
    for (std::size_t k = 0; k < kKinds; ++k) {
      of_kinds[k].time = kinds[s * kKinds + k][isa::index(isa::Queue::compute)];
      profile.compute_kinds[k].time += of_kinds[k].time;
    }
    part.by_cause = by_cause(of_kinds, part.units[isa::index(isa::Queue::compute)]);
    part.counters = counters.of(s);
    if (program.divided > 1) part.others = others.of(s);
    finish(part, program, memory, 1);
    if (!program.useful_macs.empty()) {
      const auto useful = program.useful_macs.find(part.name);
      const std::uint64_t all = useful == program.useful_macs.end() ? 0 : useful->second;
      profile.whole.useful_macs = profile.whole.useful_macs.value_or(0) + all;
      const std::uint64_t executed = part.counters.macs + part.others.macs;
      part.useful_macs = part.others.macs == 0 ? all
                                               : static_cast<std::uint64_t>(static_cast<double>(all) *
                                                                            static_cast<double>(part.counters.macs) /
                                                                            static_cast<double>(executed));
    }
    profile.whole.counters += part.counters;
    profile.whole.counters += part.others;
    for (std::size_t u = 0; u < 3; ++u) profile.whole.units[u] += part.units[u];
    if (std::any_of(part.units.begin(), part.units.end(), [](const UnitTime& time) { return time.total() != 0; }))
      profile.layers.push_back(part);
  }
  if (std::ranges::all_of(own.launches, [](const LaunchTrace& launch) { return launch.counters.has_value(); })) {
    profile.whole.counters = {};
    for (const LaunchTrace& launch : own.launches) profile.whole.counters += *launch.counters;
  }
  profile.after.name = "after the last instruction";
  profile.after.units = times.back();
  const UnitTime& compute_after = times.back()[isa::index(isa::Queue::compute)];
  profile.after.cycles = compute_after.total();
  profile.after.by_cause = by_cause(std::array<KindTime, kKinds>{}, compute_after);
  for (std::size_t u = 0; u < 3; ++u) profile.whole.units[u] += times.back()[u];
  profile.whole.by_cause = by_cause(profile.compute_kinds, profile.whole.units[isa::index(isa::Queue::compute)]);
  profile.whole.waits = profile.waits;
  finish(profile.whole, program, memory, program.divided);
  return profile;
}

Json to_json(const std::array<KindTime, kComputeKindNames.size()>& kinds) {
  Json json;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    Json& row = json[std::string(kComputeKindNames[k])] = to_json(kinds[k].time);
    row["instructions"] = kinds[k].instructions;
  }
  return json;
}

Json to_json(const ProfilePart& part, bool knows_waits) {
  Json units;
  for (const isa::Queue unit : kUnits) {
    Json row = to_json(part.units[isa::index(unit)]);
    if (knows_waits) row["memory"] = to_json(part.waits[isa::index(unit)]);
    units[std::string(isa::name(unit))] = std::move(row);
  }
  Json by_cause;
  for (std::size_t c = 0; c < kCycleCauseNames.size(); ++c)
    by_cause[std::string(kCycleCauseNames[c])] = part.by_cause[c];
  return {{"cycles", part.cycles},
          {"bounds", to_json(part.bounds)},
          {"of_tightest_bound", part.of_bound()},
          {"macs", part.counters.macs},
          {"macs_per_cycle", part.macs_per_cycle()},
          {"useful_macs", part.useful_macs ? Json(*part.useful_macs) : Json()},
          {"useful_macs_per_cycle", part.useful_macs ? Json(part.useful_macs_per_cycle()) : Json()},
          {"bytes_read", part.bytes_read},
          {"bytes_written", part.bytes_written},
          {"macs_per_byte", part.intensity()},
          {"cycles_by_cause", by_cause},
          {"units", units}};
}

}  // namespace dovetail::simulator
